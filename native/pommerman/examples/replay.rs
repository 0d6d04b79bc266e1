//! Replays traces that were unpacked to `.npy` files, one folder each: `replay FOLDER...`.

use std::fs;
use std::path::Path;

use moemcts_pommerman::trace::{Decisions, Trace};
use moemcts_pommerman::{variant, Rules};

struct Folder(std::path::PathBuf);

impl Folder {
    fn bytes(&self, name: &str) -> Vec<u8> {
        let bytes = fs::read(self.0.join(format!("{name}.npy"))).unwrap_or_default();
        match bytes.len() {
            0 => bytes,
            _ => bytes[10 + u16::from_le_bytes([bytes[8], bytes[9]]) as usize..].to_vec(),
        }
    }

    fn i8(&self, name: &str) -> Vec<i8> {
        self.bytes(name).into_iter().map(|byte| byte as i8).collect()
    }

    fn i16(&self, name: &str) -> Vec<i16> {
        self.bytes(name).chunks_exact(2).map(|b| i16::from_le_bytes([b[0], b[1]])).collect()
    }

    fn i32(&self, name: &str) -> Vec<i32> {
        self.bytes(name).chunks_exact(4).map(|b| i32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    }

    fn f64(&self, name: &str) -> Vec<f64> {
        self.bytes(name).chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect()
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }
}

fn main() {
    for folder in std::env::args().skip(1) {
        let folder = Folder(Path::new(&folder).to_path_buf());
        let rules = rules(&folder);
        if folder.0.join("out_prob.npy").exists() {
            decisions(&folder, rules);
        } else {
            trace(&folder, rules);
        }
    }
}

/// `rules.txt`: id, first collapse (0 for none), max steps.
fn rules(folder: &Folder) -> Rules {
    let text = folder.text("rules.txt");
    let mut words = text.split_whitespace();
    let mut rules = variant::find(words.next().unwrap()).unwrap().rules;
    rules.first_collapse = words.next().unwrap().parse().unwrap();
    rules.max_steps = words.next().unwrap().parse().unwrap();
    rules
}

fn trace(folder: &Folder, rules: Rules) {
    let (game_off, bomb_off, flame_off) = (folder.i32("game_off"), folder.i32("bomb_off"), folder.i32("flame_off"));
    let trace = Trace {
        rules,
        game_off: &game_off,
        step: &folder.i16("step"),
        board: &folder.bytes("board"),
        items: &folder.bytes("items"),
        agents: &folder.i8("agents"),
        bombs: &folder.i8("bombs"),
        bomb_off: &bomb_off,
        flames: &folder.i8("flames"),
        flame_off: &flame_off,
        actions: &folder.i8("actions"),
        rewards: &folder.i8("rewards"),
        done: &folder.bytes("done"),
        result: &folder.bytes("result"),
    };
    match trace.replay() {
        Ok((steps, mismatches)) => {
            println!("{}: {steps} steps, {} mismatches", folder.0.display(), mismatches.len());
            mismatches.iter().take(2).for_each(|line| println!("  {line}"));
        }
        Err(error) => println!("{}: {error}", folder.0.display()),
    }
}

fn decisions(folder: &Folder, rules: Rules) {
    let decisions = Decisions {
        size: rules.board_size,
        board: &folder.bytes("board"),
        bomb_blast_strength: &folder.bytes("bomb_blast_strength"),
        position: &folder.i8("position"),
        ammo: &folder.i8("ammo"),
        blast_strength: &folder.i8("blast_strength"),
        enemies: &folder.bytes("enemies"),
        prev_direction: &folder.i8("prev_direction"),
        recent: &folder.i8("recent"),
        recent_len: &folder.i8("recent_len"),
    };
    let (offsets, keys, probabilities) = (folder.i32("out_off"), folder.i8("out_key"), folder.f64("out_prob"));
    let mut mismatches = 0;
    for sample in 0..decisions.len() {
        let rows = decisions.distribution(sample).unwrap();
        let (start, end) = (offsets[sample] as usize, offsets[sample + 1] as usize);
        let mut expected: Vec<_> =
            (start..end).map(|at| (keys[3 * at], keys[3 * at + 1], keys[3 * at + 2] != 0, probabilities[at])).collect();
        expected.sort_by_key(|row| (row.0, row.1, row.2));
        let equal = rows.len() == expected.len()
            && rows.iter().zip(&expected).all(|(a, b)| (a.0, a.1, a.2) == (b.0, b.1, b.2) && (a.3 - b.3).abs() < 1e-12);
        if !equal && mismatches < 3 {
            println!("sample {sample}: expected {expected:?}, got {rows:?}");
        }
        mismatches += usize::from(!equal);
    }
    println!("{}: {} decisions, {mismatches} mismatches", folder.0.display(), decisions.len());
}

//! Measures the crate's speed on one core: perft, planes, gates, and the import of the PGN files given as arguments.

use std::path::Path;
use std::time::Instant;

use moemcts_chess::gates::Measure;
use moemcts_chess::pgn::{Filter, Importer};
use moemcts_chess::variant::{Rules, Variant};
use moemcts_chess::{notation, Chess, Compact};
use moemcts_tree::{Rng, State};

const MIDDLEGAME: &str = "r1bq1rk1/pp2bppp/2n1pn2/3p4/3P4/2NB1N2/PP3PPP/R1BQ1RK1 w - - 0 9";

fn measure(name: &str, count: usize, mut run: impl FnMut(usize)) {
    let start = Instant::now();
    (0..count).for_each(&mut run);
    println!("{name}: {:.0}/s", count as f64 / start.elapsed().as_secs_f64());
}

fn main() {
    println!("a state has {} bytes", size_of::<Chess>());
    for (game, fen) in [
        ("chess", "startpos"),
        ("chess", MIDDLEGAME),
        ("antichess", "startpos"),
        ("crazyhouse", "startpos"),
        ("atomic", "startpos"),
    ] {
        let rules = Rules::of(Variant::named(game).unwrap());
        let root = notation::parse_state(fen, rules).unwrap();
        let mut rng = Rng::new(1);
        let mut actions = Vec::new();
        let mut state = root.clone();
        let mut positions = Vec::new();
        measure(&format!("{game} {fen}: leaf (clone, play, over?, legal actions)"), 300_000, |i| {
            actions.clear();
            if i % 40 == 0 {
                state = root.clone();
            }
            let Some(player) = state.active_players().unwrap().iter().next() else {
                state = root.clone();
                return;
            };
            state.legal_actions(player, &mut actions).unwrap();
            let mut child = state.clone();
            child.play(&[actions[rng.below(actions.len())]]).unwrap();
            state = child;
            if i % 100 == 0 {
                positions.push(Compact::of(&state));
            }
        });
        let mut planes = vec![0f32; 64 * rules.planes.num_planes()];
        let bytes: Vec<_> = positions.iter().map(|position| position.to_bytes()).collect();
        measure("  planes from bytes", 200_000, |i| {
            let position = Compact::from_bytes(&bytes[i % bytes.len()]).unwrap();
            planes.fill(0.0);
            rules.planes.encode(&position, position.turn()).write(&mut planes);
        });
        let mut sum = 0;
        measure("  lichess gate from bytes", 2_000_000, |i| {
            sum += Measure::Lichess.of(&Compact::from_bytes(&bytes[i % bytes.len()]).unwrap());
        });
        println!("  ({sum})");
    }
    for path in std::env::args().skip(1) {
        for threads in [1, 2] {
            let rules = Rules::of(&moemcts_chess::VARIANTS[0]);
            let start = Instant::now();
            let mut importer = Importer::open(Path::new(&path), rules, Filter::default(), threads).unwrap();
            let (mut games, mut positions, mut damaged, mut rejected) = (0, 0, Vec::new(), [0; 5]);
            while let Some(read) = importer.next_games().unwrap() {
                games += read.games.len();
                positions += read.actions.len();
                damaged.extend(read.damaged);
                rejected.iter_mut().zip(read.rejected).for_each(|(sum, n)| *sum += n);
            }
            let seconds = start.elapsed().as_secs_f64();
            println!("{path}, {threads} threads: {games} games, {positions} positions, {:.0}/s, rejected {rejected:?}, {} damaged {:?}", positions as f64 / seconds, damaged.len(), &damaged[..damaged.len().min(5)]);
        }
    }
}

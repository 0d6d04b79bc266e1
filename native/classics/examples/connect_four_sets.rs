//! Prints six sets of solved connect four positions, sampled with a seed, in the manner of Pons' test sets.
//!
//! cargo run --release --example connect_four_sets -- [POSITIONS PER SET] [THREADS] [SEED]
//!
//! Each line has the set, the moves (columns 1 to 7), the score, and the value of each column for the mover: `+`, `0`,
//! `-`, or `x` if it is full. Stages are 10 to 14 stones, up to 28 and more; a position is easy, medium or hard where
//! fewer than 14, fewer than 28 or more plies are left if both sides play perfectly (Pons, Solving Connect 4, part 2).

use moemcts_classics::solver::Solver;
use moemcts_classics::{ConnectFour, Position};
use moemcts_tree::{Action, Rng};
use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;

const SETS: [(&str, std::ops::RangeInclusive<u16>, std::ops::Range<i32>); 6] = [
    ("begin-easy", 10..=14, 0..14),
    ("begin-medium", 10..=14, 14..28),
    ("begin-hard", 10..=14, 28..43),
    ("middle-easy", 15..=28, 0..14),
    ("middle-medium", 15..=28, 14..28),
    ("end-easy", 29..=41, 0..14),
];

/// The set, the key and the line of a position.
type Found = (usize, u64, String);

fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).map(|text| text.parse().expect("a number")).collect();
    let number = |at: usize, default| numbers.get(at).copied().unwrap_or(default);
    let (size, num_threads, seed) = (number(0, 1000) as usize, number(1, 1), number(2, 0));
    for stage in [0, 3, 5] {
        let sets: Vec<usize> = (0..SETS.len()).filter(|&set| SETS[set].1 == SETS[stage].1).collect();
        for line in draw(&sets, size, num_threads, seed) {
            println!("{line}");
        }
    }
}

/// Returns the lines of the sets of one stage: the first candidates in order of their numbers that fit.
fn draw(sets: &[usize], size: usize, num_threads: u64, seed: u64) -> Vec<String> {
    let next = AtomicU64::new(0);
    let found: Mutex<BTreeMap<u64, Found>> = Mutex::default();
    let is_full = |found: &BTreeMap<u64, Found>, before: u64| {
        sets.iter().all(|&set| found.range(..before).filter(|(_, one)| one.0 == set).count() >= size)
    };
    std::thread::scope(|scope| {
        for _ in 0..num_threads {
            scope.spawn(|| {
                let mut solver = Solver::default();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number.is_multiple_of(64) && is_full(&found.lock().unwrap(), number) {
                        break;
                    }
                    if let Some(one) = candidate(&mut solver, sets, size, seed, number, &found) {
                        found.lock().unwrap().insert(number, one);
                    }
                }
            });
        }
    });
    let mut counts = [0; SETS.len()];
    let mut seen = HashSet::new();
    let found = found.into_inner().unwrap();
    let mut chosen: Vec<&Found> = found
        .values()
        .filter(|(set, key, _)| {
            let is_new = seen.insert(*key);
            counts[*set] += usize::from(is_new);
            is_new && counts[*set] <= size
        })
        .collect();
    chosen.sort_by_key(|(set, _, _)| *set);
    chosen.into_iter().map(|(_, _, line)| line.clone()).collect()
}

/// Returns the position of a random game if it belongs to a set that is not full.
fn candidate(
    solver: &mut Solver,
    sets: &[usize],
    size: usize,
    seed: u64,
    number: u64,
    found: &Mutex<BTreeMap<u64, Found>>,
) -> Option<Found> {
    let mut rng = Rng::new(Rng::new(seed ^ (sets[0] as u64) << 32).next_u64() ^ number);
    let plies = SETS[sets[0]].1.clone();
    let target = plies.start() + rng.below(usize::from(plies.end() - plies.start()) + 1) as u16;
    let mut position = Position::<ConnectFour>::default();
    let mut moves = String::new();
    while position.plies() < target {
        let actions = position.actions();
        let action = *actions.get(rng.below(actions.len().max(1)))?;
        position = position.after(action);
        moves.push_str(&(action + 1).to_string());
    }
    if position.is_over() {
        return None;
    }
    let score = solver.score(&position);
    let left = plies_left(position.plies().into(), score);
    let set = *sets.iter().find(|&&set| SETS[set].2.contains(&left))?;
    let before = |found: &BTreeMap<u64, Found>| found.range(..number).filter(|(_, one)| one.0 == set).count();
    // Slightly more than requested, as duplicates are dropped.
    if before(&found.lock().unwrap()) > size + size / 4 {
        return None;
    }
    let values: String = (0..7).map(|column| worth(solver, &position, column)).collect();
    let line = format!("{}\t{moves}\t{score}\t{values}", SETS[set].0);
    Some((set, position.own | position.occupied() << 32 ^ position.occupied(), line))
}

/// Returns the number of plies to the end under perfect play.
fn plies_left(ply: i32, score: i32) -> i32 {
    match score {
        0 => 42 - ply,
        // The winner's last stone is its stone number `22 - |score|`.
        1.. => 2 * (22 - score) - 1 - ply + ply % 2,
        _ => 2 * (22 + score) - ply - ply % 2,
    }
}

fn worth(solver: &mut Solver, position: &Position<ConnectFour>, column: Action) -> char {
    if !position.actions().contains(&column) {
        return 'x';
    }
    let child = position.after(column);
    let value = match child.ending() {
        moemcts_classics::Ending::None => -solver.value(&child),
        moemcts_classics::Ending::Draw => 0,
        _ => 1,
    };
    ['-', '0', '+'][(value + 1) as usize]
}

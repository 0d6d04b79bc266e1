//! Perft of every variant against published numbers; the files name their sources.

use moemcts_chess::notation;
use moemcts_chess::variant::{Rules, Variant};

/// Checks lines `game; fen; depth nodes; ...` up to a number of nodes that a debug build can count in seconds.
fn check(text: &str, limit: u64) {
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mut fields = line.split(';').map(str::trim);
        let rules = Rules::of(Variant::named(fields.next().unwrap()).unwrap());
        let state = notation::parse_state(fields.next().unwrap(), rules).unwrap();
        for field in fields {
            let (depth, nodes) = field.split_once(' ').unwrap();
            let nodes: u64 = nodes.parse().unwrap();
            if nodes <= limit {
                assert_eq!(
                    notation::perft(&state, depth.parse().unwrap(), &|| false),
                    Some(nodes),
                    "{line}: depth {depth}"
                );
            }
        }
    }
}

#[test]
fn perft_equals_the_published_numbers() {
    let limit = if cfg!(debug_assertions) { 20_000 } else { 5_000_000 };
    check(include_str!("../../../tests/games/chess/perft.txt"), limit);
}

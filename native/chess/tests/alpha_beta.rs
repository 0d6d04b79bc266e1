//! Limits end a search at any point, and it still returns a legal action.

use std::cell::Cell;
use std::time::{Duration, Instant};

use moemcts_chess::alpha_beta::{search, Limits, SearchResult};
use moemcts_chess::variant::{Rules, Variant};
use moemcts_chess::{notation, Chess};

/// Thirty queens that can capture each other: too many captures to search even one ply completely.
const QUEENS: &str = "qqqqkqqq/qqqqqqqq/8/8/8/8/QQQQQQQQ/QQQQKQQQ w - - 0 1";
const NONE: Limits = Limits { depth: 1, nodes: u64::MAX, time: None };

fn queens(variant: &str) -> Chess {
    let rules = Rules::of(Variant::named(variant).unwrap());
    notation::parse_state(QUEENS, rules).unwrap()
}

fn is_legal(result: SearchResult, state: &Chess) -> bool {
    notation::legal_moves(state).iter().any(|&m| state.action(m) == result.action)
}

#[test]
fn nodes_end_the_first_depth_too() {
    for variant in ["chess", "crazyhouse"] {
        let state = queens(variant);
        for nodes in [1, 2, 100, 2000] {
            let result = search(&state, &Limits { nodes, ..NONE }, &|| false).unwrap();
            assert_eq!(result.depth, 0, "{variant}");
            // Terminal positions do not count towards the limit.
            assert!((nodes + 1..nodes + 100).contains(&result.nodes), "{variant}: {}", result.nodes);
            assert!(is_legal(result, &state), "{variant}");
        }
    }
}

#[test]
fn time_ends_the_first_depth_too() {
    let started = Instant::now();
    let state = queens("crazyhouse");
    let result = search(&state, &Limits { time: Some(Duration::from_millis(50)), ..NONE }, &|| false).unwrap();
    assert!(is_legal(result, &state));
    // Between two checks of the clock there are milliseconds; the machine may be busy.
    assert!(started.elapsed() < Duration::from_secs(30));
}

#[test]
fn whoever_waits_ends_the_first_depth_too() {
    let state = queens("chess");
    let asked = Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() == 3
    };
    let result = search(&state, &NONE, &stop).unwrap();
    assert_eq!(asked.get(), 3);
    assert!(is_legal(result, &state));
}

#[test]
fn without_a_node_the_action_is_the_best_one_at_a_glance() {
    let rules = Rules::of(Variant::named("chess").unwrap());
    let state = notation::parse_state("4k3/8/8/q2p4/4P3/8/8/R3K3 w - - 0 1", rules).unwrap();
    let result = search(&state, &Limits { nodes: 1, ..NONE }, &|| false).unwrap();
    assert_eq!(result.action, state.action(notation::parse_move("a1a5", &state).unwrap()));
}

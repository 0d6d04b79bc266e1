//! Random games of every variant keep the promises of states, policy maps and compact positions.

use moemcts_chess::policy::POLICY_MAPS;
use moemcts_chess::variant::{Rules, VARIANTS};
use moemcts_chess::{notation, start, Chess, Compact};
use moemcts_tree::{Rng, State};
use shakmaty::Position;

fn games(rules: Rules, count: usize, mut visit: impl FnMut(&Chess)) {
    let mut rng = Rng::new(u64::from(rules.variant.id));
    let mut actions = Vec::new();
    for _ in 0..count {
        let mut state = match rules.variant.is_960() {
            true => Chess::from_position(start::chess960(rng.below(960) as u32), rules),
            false => Chess::new(rules),
        };
        loop {
            visit(&state);
            actions.clear();
            for player in state.active_players().unwrap().iter() {
                state.legal_actions(player, &mut actions).unwrap();
            }
            if actions.is_empty() {
                break;
            }
            state.play(&[actions[rng.below(actions.len())]]).unwrap();
        }
    }
}

#[test]
fn every_legal_move_has_exactly_one_index() {
    for variant in &VARIANTS {
        for policy in POLICY_MAPS.into_iter().filter(|map| map.covers(variant.policy)) {
            games(Rules { policy, ..Rules::of(variant) }, 10, |state| {
                let mut actions = Vec::new();
                for player in state.active_players().unwrap().iter() {
                    state.legal_actions(player, &mut actions).unwrap();
                }
                assert!(actions.windows(2).all(|pair| pair[0] < pair[1]), "{actions:?}");
                let moves = notation::legal_moves(state);
                assert_eq!(moves.len(), actions.len(), "{}", notation::format_state(state));
                for m in moves {
                    let action = state.action(m);
                    assert!((action as usize) < policy.num_actions());
                    assert_eq!(state.legal_move(action), Some(m), "{}", notation::format_state(state));
                }
            });
        }
    }
}

#[test]
fn states_survive_text_and_bytes() {
    for variant in &VARIANTS {
        games(Rules::of(variant), 10, |state| {
            let text = notation::format_state(state);
            let read = notation::parse_state(&text, *state.rules()).unwrap();
            assert_eq!(read.key(), state.key(), "{text}");
            assert_eq!(Compact::of(&read), Compact::of(state), "{text}");
            let unpacked = notation::unpack(&notation::pack(state), *state.rules()).unwrap();
            assert_eq!(unpacked.key(), state.key(), "{text}");
            assert_eq!(notation::format_state(&unpacked), text);
        });
    }
}

#[test]
fn hashes_do_not_depend_on_the_way() {
    for variant in &VARIANTS {
        games(Rules::of(variant), 10, |state| {
            let fresh = Chess::with_past(
                state.position().clone(),
                *state.rules(),
                state.last_moves(),
                state.seen().clone(),
                state.repetitions(),
            );
            assert_eq!(fresh.key(), state.key());
        });
    }
}

#[test]
fn a_game_is_over_exactly_when_nobody_can_move() {
    for variant in &VARIANTS {
        games(Rules::of(variant), 20, |state| {
            let position = state.position();
            let rules_end = position.is_game_over() || position.is_variant_end();
            assert!(!rules_end || state.is_over());
            assert!(state.is_over() || !position.legal_moves().is_empty());
        });
    }
}

#[test]
fn foreign_actions_change_nothing_or_play_no_nonsense() {
    let state = Chess::new(Rules::of(&VARIANTS[0]));
    for action in 0..100_000 {
        let legal = state.legal_move(action).is_some();
        assert_eq!(legal, notation::legal_moves(&state).iter().any(|&m| state.action(m) == action));
    }
}

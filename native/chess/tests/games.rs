//! Invariants of states, policy maps and compact positions on random games of every variant.

use moemcts_chess::compact::NONE;
use moemcts_chess::policy::POLICY_MAPS;
use moemcts_chess::variant::{Rules, Variant, VARIANTS};
use moemcts_chess::{notation, start, Chess, Compact};
use moemcts_tree::{Rng, State};
use shakmaty::{Position, Role, Square};

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
fn counters_of_any_size_survive_text_and_bytes() {
    let longest = Rules { max_plies: Rules::MAX_PLIES_LIMIT, ..Rules::of(Variant::named("crazyhouse").unwrap()) };
    for counters in ["0 1", "48575 1", "65535 65536", "70000 70000", "548575 250001", "1048575 500001", "0 524287"] {
        let text = format!("4k3/8/8/8/8/8/8/4K2R[] w K - {counters}");
        let mut state = notation::parse_state(&text, longest).unwrap();
        while !state.is_over() && state.seen().len() < 2 {
            let m =
                notation::legal_moves(&state).into_iter().find(|m| m.role() == Role::Rook || m.role() == Role::King);
            state.play_move(m.unwrap());
            let unpacked = notation::unpack(&notation::pack(&state), longest).unwrap();
            let read = notation::parse_state(&notation::format_state(&state), longest).unwrap();
            assert_eq!((unpacked.key(), read.key()), (state.key(), state.key()), "{text}");
        }
    }
}

#[test]
fn how_often_a_position_occurred_survives_text_where_nothing_else_is_known_of_its_past() {
    let rules = Rules::of(&VARIANTS[0]);
    let position = notation::parse_state("4k3/8/8/8/8/8/8/4K2R w K - 9 40", rules).unwrap().position().clone();
    for repetitions in 0..3 {
        let state = Chess::with_history(position.clone(), rules, [NONE; 16], Default::default(), repetitions);
        let read = notation::parse_state(&notation::format_state(&state), rules).unwrap();
        assert_eq!((read.key(), read.repetitions()), (state.key(), repetitions));
        assert_eq!(read.termination(), state.termination());
    }
}

#[test]
fn a_past_that_no_game_can_have_is_refused() {
    for (variant, fen, most) in
        [("chess", "4k3/8/8/8/8/8/8/4K2R w - - 9 40", 9), ("crazyhouse", "4k3/8/8/8/8/8/8/4K2R[] b - - 9 40", 79)]
    {
        let rules = Rules::of(Variant::named(variant).unwrap());
        let bytes = notation::pack(&notation::parse_state(fen, rules).unwrap());
        let with = |num: usize| [bytes.clone(), vec![7; 8 * num]].concat();
        assert!(notation::unpack(&with(most), rules).is_ok());
        assert!(notation::unpack(&with(most + 1), rules).unwrap_err().contains("got"));
        assert!(notation::unpack(&[bytes.as_slice(), b"abc"].concat(), rules).unwrap_err().contains("got 83"));
    }
}

#[test]
fn perft_asks_whether_to_end_at_every_depth_above_one() {
    let state = Chess::new(Rules::of(&VARIANTS[0]));
    assert_eq!(notation::perft(&state, 2, &|| true), None);
    let asked = std::cell::Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        false
    };
    assert_eq!(notation::perft(&state, 3, &stop), Some(8902));
    assert_eq!(asked.get(), 21);
}

#[test]
fn hashes_do_not_depend_on_the_way() {
    for variant in &VARIANTS {
        games(Rules::of(variant), 10, |state| {
            let fresh = Chess::with_history(
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

#[test]
fn castling_rights_that_cannot_be_are_left_out_of_text_and_refused_in_bytes() {
    let rules = Rules::of(Variant::named("chess").unwrap());
    let state = notation::parse_state("4k3/8/8/8/8/8/8/R3K3 w KQkq - 0 1", rules).unwrap();
    assert_eq!(notation::fen(&state), "4k3/8/8/8/8/8/8/R3K3 w Q - 0 1");
    let mut bytes = notation::pack(&state);
    assert_eq!(bytes[40..44], [64, Square::A1.into(), 64, 64]);
    bytes[40] = Square::H1.into();
    assert!(notation::unpack(&bytes, rules).unwrap_err().contains("invalid castling rights"));
}

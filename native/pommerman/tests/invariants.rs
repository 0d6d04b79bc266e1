//! Invariants of every game, tested on games of random and scripted players on every variant.

use std::collections::HashMap;

use moemcts_pommerman::symmetry::{self, NUM_SYMMETRIES};
use moemcts_pommerman::{
    planes::NUM_PLANES, state::Parts, Agent, Bomb, Corners, Ending, Outcome, Rules, Scripted, State, VARIANTS,
};
use moemcts_tree::{Players, Rng, State as _};

fn play(rules: Rules, seed: u64, agents: [&str; 4], look: impl FnMut(&State, [u8; 4])) -> State {
    play_to_outcome(rules, seed, agents, look).0
}

fn play_to_outcome(
    rules: Rules,
    seed: u64,
    agents: [&str; 4],
    mut look: impl FnMut(&State, [u8; 4]),
) -> (State, Outcome) {
    let mut rng = Rng::new(seed);
    let mut state = State::new(rules, Corners::Shuffled, &mut rng);
    let mut agents = agents.map(|name| Scripted::from_name(name).unwrap());
    let mut outcome = state.outcome();
    while !state.is_over() {
        let mut actions = [0; 4];
        for (player, action) in actions.iter_mut().enumerate().take(rules.num_players()) {
            *action = agents[player].choose(&state, player, &mut rng);
        }
        look(&state, actions);
        outcome = state.step(actions);
    }
    look(&state, [0; 4]);
    (state, outcome)
}

fn over_all_variants(mut look: impl FnMut(&State, [u8; 4])) {
    for (seed, variant) in VARIANTS.iter().enumerate() {
        play(variant.rules, seed as u64, ["simple"; 4], &mut look);
        play(variant.rules, seed as u64, ["random", "simple", "random", "simple"], &mut look);
        // Rings collapse while many players are alive.
        let quick = Rules { first_collapse: 8, max_steps: 40, ..variant.rules };
        play(quick, seed as u64, ["simple", "stop", "random", "stop"], &mut look);
    }
}

#[test]
fn records_hold_states_exactly() {
    over_all_variants(|state, _| {
        let bytes = state.pack();
        let longest = 130 + 3 * state.bombs().len() + 2 * state.flame_cells().count_ones() as usize;
        assert!(bytes.len() <= longest, "{} bytes", bytes.len());
        assert_eq!(&State::unpack(&bytes).unwrap(), state);
        assert!(State::unpack(&bytes[..bytes.len() - 1]).is_err());
    });
}

#[test]
fn damaged_records_are_errors_and_never_panic() {
    let mut rng = Rng::new(7);
    over_all_variants(|state, actions| {
        let mut bytes = state.pack();
        let place = rng.below(bytes.len());
        bytes[place] ^= 1 << rng.below(8);
        if let Ok(mut damaged) = State::unpack(&bytes) {
            for _ in 0..12 {
                damaged.step(actions);
            }
            damaged.to_text();
            assert_eq!(State::unpack(&damaged.pack()).as_ref(), Ok(&damaged));
        }
    });
}

#[test]
fn the_board_is_played_alike_from_all_sides() {
    over_all_variants(|state, actions| {
        let mut next = state.clone();
        next.step(actions);
        for side in 0..NUM_SYMMETRIES {
            let mut image = state.transformed(side);
            assert_eq!(&image.transformed(symmetry::inverse(side)), state);
            image.step(actions.map(|action| symmetry::action(side, action)));
            assert_eq!(image, next.transformed(side));
        }
    });
}

#[test]
fn planes_of_an_image_are_the_image_of_the_planes() {
    over_all_variants(|state, _| {
        if !state.step_count().is_multiple_of(16) {
            return;
        }
        let cells = NUM_PLANES * state.board_size().pow(2);
        let size = state.board_size() as u8;
        for player in 0..state.num_players() {
            let [mut planes, mut expected, mut got] = [(); 3].map(|()| vec![0.0; cells]);
            state.planes(player, &mut planes);
            for side in 0..NUM_SYMMETRIES {
                expected.fill(0.0);
                state.transformed(side).planes(player, &mut expected);
                symmetry::planes(side, size, &planes, &mut got);
                assert_eq!(got, expected);
            }
        }
    });
}

#[test]
fn keys_tell_states_apart() {
    let mut keys: HashMap<u64, Vec<u8>> = HashMap::new();
    over_all_variants(|state, _| {
        let bytes = state.pack();
        let known = keys.entry(state.hash()).or_insert_with(|| bytes.clone());
        assert_eq!(*known, bytes);
    });
    assert!(keys.len() > 1000);
}

#[test]
fn a_decided_return_is_final_and_its_player_gone() {
    for (seed, variant) in VARIANTS.iter().enumerate() {
        for collapse in [0, 20] {
            let timeout_is_loss = collapse > 0 && !variant.rules.game_type.has_teams();
            let rules = Rules { first_collapse: collapse, max_steps: 120, timeout_is_loss, ..variant.rules };
            let mut decided = [0; 4];
            let mut gone = Players::NONE;
            let last = play(rules, seed as u64, ["random", "simple", "random", "stop"], |state, _| {
                let active = state.active_players().unwrap();
                assert_eq!(active.is_empty(), state.is_over());
                assert!(active.and(gone).is_empty());
                for (player, now) in state.decided_returns().into_iter().enumerate().take(rules.num_players()) {
                    let before = std::mem::replace(&mut decided[player], now);
                    assert!(before == 0 || before == now);
                    if now != 0 {
                        gone = gone.with(player);
                    }
                    let (mut legal, mut worth) = (Vec::new(), Vec::new());
                    state.legal_actions(player, &mut legal).unwrap();
                    state.search_actions(player, &mut worth).unwrap();
                    assert!(!worth.is_empty() && worth.iter().all(|action| legal.contains(action)));
                    assert!(worth.windows(2).all(|pair| pair[0] < pair[1]));
                }
            });
            assert!(last.is_over());
        }
    }
}

/// Checks that the state's returns match the step that led to it, and those of its record, image and perceived state.
fn check_agreement(state: &State, outcome: Outcome) {
    let decided = state.decided_returns();
    assert!(outcome.done && state.is_over());
    match outcome.ending {
        Ending::Win => assert_eq!(decided, outcome.rewards, "{}", state.to_text()),
        // Without a winner, the reference's rewards do not distinguish survivors from the dead.
        _ => assert!(decided.iter().all(|&value| value <= 0)),
    }
    let returns = decided.map(f32::from);
    let num_players = state.num_players();
    for same in [state.clone(), State::unpack(&state.pack()).unwrap(), state.transformed(5), state.perceived(0)] {
        let mut out = vec![0.0; num_players];
        same.returns(&mut out).unwrap();
        assert_eq!(out, returns[..num_players]);
    }
}

#[test]
fn returns_say_what_the_last_step_said_whenever_walls_close_in() {
    let mut ended_by_walls = 0;
    for variant in &VARIANTS {
        let rules = Rules { first_collapse: 10, max_steps: 18, ..variant.rules };
        for seed in 0..400 {
            let (last, outcome) = play_to_outcome(rules, seed, ["random", "simple", "stop", "random"], |_, _| ());
            // If walls killed all remaining players, there was no `done`.
            if outcome.done {
                check_agreement(&last, outcome);
                ended_by_walls += usize::from(last.survivors() != last.living());
            }
        }
    }
    assert!(ended_by_walls > 10, "{ended_by_walls} games");
}

#[test]
fn a_winner_whom_walls_bury_with_the_last_step_has_won() {
    let mut seen = 0;
    for variant in VARIANTS.iter().filter(|variant| variant.rules.board_size == 11) {
        let rules = Rules { first_collapse: 500, max_steps: 800, ..variant.rules };
        // Player 0 is in the outermost ring; the bomb next to player 1 explodes.
        let agent = |cell, alive| Agent { cell, ammo: 1, blast: 2, can_kick: false, alive };
        let agents = [agent(0, true), agent(60, true), agent(70, false), agent(80, false)];
        let bombs = [Bomb { cell: 61, owner: 0, life: 1, blast: 2, direction: 0 }];
        let mut board = [0; 121];
        (board[0], board[60]) = (10, 11);
        let parts =
            Parts { rules, step: 499, board: &board, hidden: &[0; 121], agents: &agents, bombs: &bombs, flames: &[] };
        let mut state = State::from_parts(&parts).unwrap();
        let outcome = state.step([0; 4]);
        assert_eq!((outcome.ending, state.living(), state.survivors()), (Ending::Win, 0, 1));
        check_agreement(&state, outcome);
        let bytes = state.pack();
        assert_eq!(State::unpack(&bytes).unwrap(), state);
        let mut not_over = bytes;
        not_over[1] &= 0x7f;
        assert!(State::unpack(&not_over).unwrap_err().contains("where a game is over"));
        seen += 1;
    }
    assert!(seen > 5);
}

#[test]
fn searched_moves_are_moves_or_kicks() {
    over_all_variants(|state, _| {
        for player in (0..state.num_players()).filter(|&player| state.agents()[player].alive && !state.is_over()) {
            let mut actions = Vec::new();
            state.search_actions(player, &mut actions).unwrap();
            for action in actions.into_iter().filter(|action| (1..5).contains(action)) {
                let mut next = state.clone();
                let mut joint = [0; 4];
                joint[player] = action as u8;
                next.step(joint);
                let target = state.geometry().neighbour(state.agents()[player].cell, action as u8);
                let flew = state.bombs().iter().any(|bomb| bomb.direction != 0 || bomb.cell == target);
                assert!(flew || next.agents()[player].cell == target);
            }
        }
    });
}

#[test]
fn a_perceived_state_looks_the_same_to_its_player_and_hides_the_rest() {
    over_all_variants(|state, _| {
        for player in 0..state.num_players() {
            let known = state.perceived(player);
            assert!(known.hidden_items().iter().all(|&item| item == 0));
            assert_eq!(known.observation(player), state.observation(player));
            let cells = NUM_PLANES * state.board_size().pow(2);
            let [mut seen, mut true_planes] = [(); 2].map(|()| vec![0.0; cells]);
            known.planes(player, &mut seen);
            state.planes(player, &mut true_planes);
            assert_eq!(seen, true_planes);
            assert_eq!(known.is_over(), state.is_over());
            assert!(State::unpack(&known.pack()).is_ok());
        }
    });
}

#[test]
fn equal_seeds_give_equal_games() {
    for variant in &VARIANTS {
        let games = [3, 3, 4].map(|seed| play(variant.rules, seed, ["simple"; 4], |_, _| ()));
        assert_eq!(games[0], games[1]);
        assert_ne!(games[0], games[2]);
    }
}

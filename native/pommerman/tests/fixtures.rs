//! Crowded states and their successors, recorded after the rules had replayed every trace of the reference.
//!
//! `tests/games/pommerman/make_fixtures.py` writes the file: per game the first record, the joint actions and the last
//! record, each preceded by its length.

use moemcts_pommerman::State;

const GAMES: &[u8] = include_bytes!("steps.bin");

#[test]
fn crowded_states_come_out_as_recorded() {
    let mut rest = GAMES;
    let mut part = || {
        let length = u16::from_le_bytes([*rest.first()?, *rest.get(1)?]) as usize;
        let (part, left) = rest[2..].split_at(length);
        rest = left;
        Some(part)
    };
    let mut games = 0;
    while let (Some(first), Some(actions), Some(last)) = (part(), part(), part()) {
        let mut state = State::unpack(first).expect("a record");
        for joint in actions.chunks_exact(4) {
            state.step(joint.try_into().expect("four actions"));
        }
        let expected = State::unpack(last).expect("a record");
        assert_eq!(state, expected, "game {games}\n{}{}", state.to_text(), expected.to_text());
        games += 1;
    }
    assert!(games > 100, "{games} games");
}

//! Measures of gates on positions counted by hand or by the original code.

use moemcts_chess::gates::{division, Measure};
use moemcts_chess::variant::{Rules, Variant};
use moemcts_chess::{notation, Compact};

fn compact(fen: &str) -> Compact {
    Compact::of(&notation::parse_state(fen, Rules::of(Variant::named("chess").unwrap())).unwrap())
}

#[test]
fn the_start_position_is_not_mixed_but_for_crazyara() {
    let start = compact("startpos");
    assert_eq!(Measure::Mixedness.of(&start), 0);
    assert_eq!(Measure::MixednessCrazyara.of(&start), 70);
    assert_eq!(Measure::Lichess.of(&start), 0);
    assert_eq!(Measure::MajorsAndMinors.of(&start), 14);
    assert_eq!(Measure::LostMaterial.of(&start), 0);
    assert_eq!(Measure::LostPieces.of(&start), 0);
    assert_eq!(Measure::MovesCompleted.of(&start), 0);
}

#[test]
fn few_pieces_are_an_endgame_and_an_empty_back_rank_a_middlegame() {
    assert_eq!(Measure::Lichess.of(&compact("4k2r/8/8/8/8/8/8/4K2R w - - 0 40")), 2);
    assert_eq!(Measure::Lichess.of(&compact("rnbqkbnr/pppppppp/8/8/8/3QBN2/PPPPPPPP/R3K2R w - - 0 10")), 1);
    assert_eq!(Measure::BackRankWhite.of(&compact("rnbqkbnr/pppppppp/8/8/8/3QBN2/PPPPPPPP/R3K2R w - - 0 10")), 3);
}

#[test]
fn a_game_is_divided_as_lichess_does() {
    let opening = compact("startpos");
    let middle = compact("rnbqkbnr/pppppppp/8/8/8/3QBN2/PPPPPPPP/R3K2R w - - 0 10");
    let end = compact("4k2r/8/8/8/8/8/8/4K2R w - - 0 40");
    assert_eq!(division([&opening, &opening]), (None, None));
    assert_eq!(division([&opening, &middle, &opening, &end, &middle]), (Some(1), Some(3)));
    assert_eq!(division([&opening, &end, &middle]), (None, Some(1)));
}

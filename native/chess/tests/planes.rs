//! Golden statistics of the planes, taken from CrazyAra's tests (engine/tests/tests.cpp) and reproduced with its Python
//! encoder.

use moemcts_chess::variant::{Rules, Variant};
use moemcts_chess::{notation, planes, Chess, Compact, PlaneSet};

/// Sum, maximum, its index, and the sum of value times index over the flattened planes.
fn statistics(state: &Chess, set: &PlaneSet, raw: bool) -> (f64, f64, usize, f64) {
    let planes = set.encode(&Compact::of(state), state.turn());
    let mut flat = vec![0f32; 64 * planes.len()];
    planes.write(&mut flat);
    if raw {
        let mut rest = flat.as_mut_slice();
        for feature in set.features {
            let (own, others) = rest.split_at_mut(64 * feature.num_planes());
            own.iter_mut().for_each(|value| *value *= feature.unit());
            rest = others;
        }
    }
    let best = (0..flat.len()).rev().max_by(|&a, &b| flat[a].total_cmp(&flat[b])).unwrap();
    let sum = flat.iter().map(|&x| f64::from(x)).sum();
    let key = flat.iter().enumerate().map(|(i, &x)| i as f64 * f64::from(x)).sum();
    (sum, f64::from(flat[best]), best, key)
}

fn check(game: &str, text: &str, set: &PlaneSet, raw: bool, expected: (f64, f64, usize, f64)) {
    let state = notation::parse_state(text, Rules::of(Variant::named(game).unwrap())).unwrap();
    let got = statistics(&state, set, raw);
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-5 * b.abs();
    assert!(
        close(got.0, expected.0) && close(got.1, expected.1) && got.2 == expected.2 && close(got.3, expected.3),
        "{text}: {got:?} instead of {expected:?}"
    );
}

#[test]
fn v2_planes_have_the_golden_statistics() {
    let v2 = &planes::V2;
    let start = "startpos";
    check("chess", start, v2, true, (1312.0, 8.0, 3008, 3430384.0));
    check("chess", start, v2, false, (472.0, 1.0, 8, 819860.0));
    check(
        "chess",
        "rnbqk1nr/pppp1ppp/8/4p3/1b1PP3/8/PPP2PPP/RNBQKBNR w KQkq - 1 3",
        v2,
        true,
        (1377.0, 8.0, 3008, 3513153.0),
    );
    check("chess", "startpos; moves e2e4 c7c5", v2, true, (1316.0, 8.0, 3008, 3436012.0));
    check(
        "chess",
        "r1br2k1/p4ppp/2p2n2/Q1b1p3/8/NP3N1P/P1P1BPP1/R1B1K2R b KQ - 0 12",
        v2,
        false,
        (284.0, 1.0, 8, 529254.0),
    );
    check("chess", "startpos; moves e2e4 c7c5 d2d3 a7a6 e4e5 d7d5", v2, true, (1325.0, 8.0, 3008, 3451283.0));
    check("chess", "startpos; moves e2e4 c7c5 e4e5 d7d5", v2, true, (1321.0, 8.0, 3008, 3443613.0));
    check(
        "chess",
        "r3k1nr/pbp4p/p2p2pb/4P3/3P4/N2q1n2/PPP2PPP/5K1R w kq - 0 14",
        v2,
        true,
        (659.0, 8.0, 3008, 1715209.0),
    );
    check(
        "chess",
        "2kr3r/pbqp1ppp/2n2n2/4b3/4P3/2NPB3/PPP1QPPP/R4RK1 b - - 4 11",
        v2,
        false,
        (179.12, 1.0, 8, 442487.2),
    );
}

#[test]
fn v2_planes_of_chess960_have_the_golden_statistics() {
    let fen = "b1qnrnkr/p2ppppp/1p6/2p1b3/2P5/4N1P1/PP1PPP1P/BBQNRK1R b he - 1 4";
    check("chess960", fen, &planes::V2, true, (1312.0, 8.0, 3008, 3512322.0));
    check("chess960", fen, &planes::V2, false, (409.28, 1.0, 8, 823554.8));
}

#[test]
fn v1_planes_have_the_golden_statistics() {
    check("chess", "startpos", &planes::V1, true, (416.0, 1.0, 8, 452016.0));
    let mate = "startpos; moves e2e4 e7e5 d1h5 b8c6 f1c4 g8f6 h5f7";
    check("chess", mate, &planes::V1, true, (557.0, 4.0, 1024, 617997.0));
}

#[test]
fn plane_sets_have_their_sizes() {
    let sets = [&planes::V1, &planes::V2, &planes::MULTI, &planes::ATTACKS, &planes::MULTI_ATTACKS];
    assert_eq!(sets.map(|set| set.num_planes()), [39, 52, 79, 74, 101]);
}

#[test]
fn the_second_repetition_plane_is_set() {
    let moves = ["g1f3 g8f6 f3g1 f6g8"; 2].join(" ");
    let rules = Rules::of(Variant::named("chess").unwrap());
    let once = notation::parse_state(&format!("startpos; moves {}", &moves[..19]), rules).unwrap();
    let twice = notation::parse_state(&format!("startpos; moves {moves}"), rules).unwrap();
    for (state, planes) in [(once, [64.0, 0.0]), (twice, [64.0, 64.0])] {
        let mut flat = vec![0f32; 64 * 52];
        planes::V2.encode(&Compact::of(&state), state.turn()).write(&mut flat);
        assert_eq!([12, 13].map(|plane| flat[64 * plane..][..64].iter().sum::<f32>()), planes);
    }
}

#[test]
fn castling_in_the_last_moves_is_written_as_in_the_policy() {
    for (game, target) in [("chess", 6), ("chess960", 7)] {
        let rules = Rules::of(Variant::named(game).unwrap());
        let state = notation::parse_state("4k3/8/8/8/8/8/8/4K2R w K - 0 1; moves O-O", rules).unwrap();
        assert_eq!(&state.last_moves()[..2], &[4, target], "{game}");
    }
}

"""Gates agree with an independent computation from python-chess boards, and stay what they are documented to be."""

from __future__ import annotations

import os

import chess
import numpy as np
import pytest
from chess_oracle import crazyara_score, lichess_score, measures, random_games

from moemcts.errors import UsageError
from moemcts.learn.fingerprint import gate_fingerprint
from moemcts.native import core
from moemcts.plugins import plugins
from moemcts_chess import gates
from moemcts_chess.game import VARIANTS, ChessGame

NUM_POSITIONS = int(os.environ.get("MOEMCTS_CHESS_GATE_POSITIONS", "900"))
"""Per variant; 100,000 in all were compared once, see benchmarks/results/chess_data.jsonl."""
START_PIECES = {"horde": 52, "racingkings": 16}
FINGERPRINTS = {
    "lichess": "ae9a357aa6fe9d16c2800160e60fc820c34163c59673b3208945d139373fd13e",
    "lichess-crazyara": "46e079044cea6c335ba7ca44fcec88519f41751c7edf0ccb6f01aab200244418",
    "conjunctive": "fd0b09e9a17a9937c8907883093f529f682993dd0a6872523153552f5cb12478",
    "movecount": "49132cf1e92fbd474bf5543103941ad8fa556798bb330a79b3db58dfd4f9d5a9",
    "material": "b48131b8436b4d124084ae6a691b1d4859c85295b4227608c1eb093e5302bd73",
    "material?cuts=3": "3050b111fa846215ca626eac2b93532ae252899c4c68511ab687354dacf0cee8",
    "pieces": "fcb607acb84c9d32a136f2c77a82c23a120e98276ee02101644a2fbbf278aff5",
    "pieces?cuts=1,2,3": "0797f8f31f12ff7f4079ef1f1a22348dace7114742575c0b5433bfdcf1f6d6cc",
}
"""Of the gates that experts were trained with, whose checkpoints hold them."""


@pytest.mark.parametrize("variant", VARIANTS)
def test_all_measures_agree_with_python_chess(variant: str) -> None:
    game = ChessGame(variant)
    for state, board in random_games(game, NUM_POSITIONS, seed=4):
        expected = measures(board, START_PIECES.get(variant, 32))
        assert {name: state.measure(name) for name in core.chess_measures()} == expected, state


def test_crazyaras_table_differs_in_the_start_position() -> None:
    start = ChessGame("chess").initial_state()
    assert (start.measure("mixedness"), start.measure("mixedness-crazyara")) == (0, 70)
    assert lichess_score(1, 2, 0) == 0
    assert crazyara_score(1, 2, 0) == 2


def test_views_bytes_and_states_are_measured_alike() -> None:
    game = ChessGame("chess")
    states = [state for state, _ in random_games(game, 300, seed=5)]
    packed = game.pack(states)
    views = game.views([(state, 0) for state in states])
    for name in core.chess_measures():
        expected = [state.measure(name) for state in states]
        assert views.measure(name).tolist() == expected
        assert core.chess_measure(packed.data, packed.offsets, name).tolist() == expected
    with pytest.raises(ValueError, match="expected one of lichess"):
        views.measure("lichesss")


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_gate_serves_every_variant(variant: str) -> None:
    game = plugins().game(variant)
    names = set(plugins().gates.for_game(variant))
    assert names >= {"lichess", "lichess-crazyara", "conjunctive", "movecount", "material", "pieces"}
    views = game.views([(state, 0) for state, _ in random_games(game, 50)])
    for name in names - {"kmeans", "learned"}:
        # Those two are made from data.
        gate = plugins().gate(name, game)
        assert gate.weights(views).shape == (50, gate.num_phases)


@pytest.mark.parametrize("name", FINGERPRINTS)
def test_experts_of_before_have_the_gate_they_were_trained_with(name: str) -> None:
    game = plugins().game("chess")
    assert gate_fingerprint(plugins().gate(name, game), game) == FINGERPRINTS[name]


@pytest.mark.parametrize(("num_phases", "length"), [(2, 21), (3, 14), (4, 11), (5, 9)])
def test_movecount_cuts_equal_parts_of_an_average_game(num_phases: int, length: int) -> None:
    gate = gates.MoveCountGate(num_phases)
    game = ChessGame("chess")
    moves = [1, length, length + 1, 300]
    views = game.views([(game.parse_state(f"4k3/8/8/8/8/8/8/R3K3 w - - 0 {move}"), 0) for move in moves])
    assert gate.phases(views).tolist() == [0, 0, 1, num_phases - 1]
    with pytest.raises(ValueError, match="expected 2, 3, 4 or 5 phases, got 6"):
        gates.MoveCountGate(6)


def test_movecount_cuts_where_it_is_asked_to() -> None:
    game = plugins().game("chess")
    gate = plugins().gate("movecount?cuts=12,26", game)
    views = game.views([(game.parse_state(f"4k3/8/8/8/8/8/8/R3K3 w - - 0 {move}"), 0) for move in (12, 13, 26, 27)])
    assert gate.phases(views).tolist() == [0, 1, 1, 2]
    as_learned = [plugins().gate(name, game) for name in ("movecount", "movecount?phases=3", "movecount?cuts=14,28")]
    assert len({gate_fingerprint(one, game) for one in as_learned}) == 1
    with pytest.raises(UsageError, match="expected phases or cuts, got phases 2 and cuts"):
        plugins().gate("movecount?phases=2&cuts=12,26", game)


def test_a_promotion_leads_back() -> None:
    game = ChessGame("chess")
    before = game.parse_state("3rk2r/P7/8/8/8/8/8/R2QK2R w - - 0 40")
    after = before.play([before.action("a8=Q")])
    assert [state.measure("majors and minors") for state in (before, after)] == [5, 6]
    queens = game.parse_state("1qqrk2r/P7/8/8/8/8/8/R2QK2R w - - 0 40")
    phases = [queens.measure("lichess"), queens.play([queens.action("a8=Q")]).measure("lichess")]
    assert phases == [1, 1]
    six = game.parse_state("3rk2r/P2q4/8/8/8/8/8/R2QK2R w - - 0 40")
    assert [six.measure("lichess"), six.play([six.action("a8=Q")]).measure("lichess")] == [2, 1]


def test_lichess_divides_a_game_once() -> None:
    game = ChessGame("chess")
    fens = [
        chess.STARTING_FEN,
        "rnbqkbnr/pppppppp/8/8/8/3QBN2/PPPPPPPP/R3K2R w KQkq - 0 10",
        chess.STARTING_FEN,
        "4k2r/8/8/8/8/8/8/4K2R w - - 0 40",
    ]
    packed = game.pack([game.parse_state(fen) for fen in fens])
    divided = core.chess_divisions(packed.data, packed.offsets, np.array([0, 4]))
    assert [rows.tolist() for rows in divided] == [[1], [3]]
    divided = core.chess_divisions(packed.data, packed.offsets, np.array([0, 1, 3]))
    assert [rows.tolist() for rows in divided] == [[-1, 1], [-1, -1]]

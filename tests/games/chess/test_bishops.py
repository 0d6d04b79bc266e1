"""The 20 endgames with bishops of opposite colours are those of the paper."""

from __future__ import annotations

import chess
import numpy as np
import pytest

from moemcts.evaluation import Evaluation
from moemcts.game import Views
from moemcts.plugins import plugins
from moemcts_chess.bishops import BLACK, DRAW, ENDGAMES, PAPER, WHITE, assess, summary


def test_the_papers_means_are_those_of_its_rows() -> None:
    assert PAPER["39 planes"]["draws"] == pytest.approx(0.4472, abs=5e-5)  # printed with four digits
    assert PAPER["52 planes"]["draws"] == pytest.approx(0.3988, abs=5e-5)
    assert PAPER["39 planes"]["wins"] == pytest.approx(0.5192, abs=1e-4)  # of rounded rows
    assert PAPER["52 planes"]["wins"] == pytest.approx(0.5186, abs=5e-5)


def test_every_endgame_has_one_bishop_each_on_squares_of_different_colours() -> None:
    for endgame in ENDGAMES:
        board = chess.Board(endgame.fen)
        assert board.is_valid()
        light = [bool(board.pieces(chess.BISHOP, side) & chess.BB_LIGHT_SQUARES) for side in chess.COLORS]
        assert [len(board.pieces(chess.BISHOP, side)) for side in chess.COLORS] == [1, 1]
        assert light[0] != light[1]
    assert [endgame.truth for endgame in ENDGAMES].count(DRAW) == 15


def test_a_network_that_knows_the_truth_is_perfect_and_its_opposite_is_not() -> None:
    class Knows:
        def __init__(self, sign: int) -> None:
            self.sign = sign

        def evaluate(self, views: Views) -> Evaluation:
            players = views.players()
            winner = [{DRAW: -1, WHITE: 0, BLACK: 1}[endgame.truth] for endgame in ENDGAMES]
            value = [0 if w < 0 else 1 if w == p else -1 for w, p in zip(winner, players, strict=True)]
            return Evaluation(np.zeros((len(views), 4864), dtype=np.float32), self.sign * np.array(value, np.float32))

    game = plugins().game("chess")
    assert summary(assess(Knows(1), game)) == {"draws": 0, "wins": 1}
    assert summary(assess(Knows(-1), game)) == {"draws": 0, "wins": -1}

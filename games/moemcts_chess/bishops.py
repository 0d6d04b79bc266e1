"""Evaluations of endgames with opposite-coloured bishops, which extra pawns often do not win.

The positions, outcomes and numbers are those of Czech, Bluml, Kersting and Steingrimsson, "Representation Matters for
Mastering Chess" (2024, AlphaVile), Table 11, who took them from Wikipedia's "Opposite-coloured bishops endgame".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from moemcts.evaluation import Evaluator
from moemcts.experts import ExpertSet
from moemcts.game import Game
from moemcts.native import core


class Endgame(NamedTuple):
    """A position, its outcome, and its evaluations by the paper's networks."""

    fen: str
    truth: str
    """draw, White wins or Black wins."""
    default: float
    """The paper's network with the 39 planes of `v1`, from the point of view of the player to move."""
    extended: float
    """The paper's network with the 52 planes of `v2`."""


DRAW, WHITE, BLACK = "draw", "White wins", "Black wins"

ENDGAMES = (
    Endgame("8/2k1b3/2P5/3KP2B/8/8/8/8 w - - 0 56", DRAW, 0.3332, 0.2025),
    Endgame("8/3k4/8/2pK4/8/4b1p1/8/5B2 w - - 0 56", DRAW, -0.4940, -0.2304),
    Endgame("5k2/8/8/7p/1b1p4/8/B7/5K2 b - - 0 56", DRAW, 0.4385, 0.2500),
    Endgame("8/2b1k3/8/1B1PP3/3K4/8/8/8 w - - 0 56", DRAW, 0.4313, 0.4561),
    Endgame("8/2k5/4Bp2/2b1p1p1/4K2p/7P/8/8 b - - 0 56", DRAW, 0.1648, 0.2121),
    Endgame("8/8/8/5B2/1p3b2/2k1p3/8/5K2 w - - 0 56", DRAW, -0.6412, -0.4157),
    Endgame("8/3k4/p2P4/2P4p/2bB4/P6P/5K2/8 w - - 0 56", DRAW, 0.3874, 0.4465),
    Endgame("7b/4k2P/6K1/2p2P2/7P/1B6/8/8 b - - 0 56", DRAW, -0.6286, -0.6233),
    Endgame("4k2b/7P/5PK1/7P/8/1B6/8/8 w - - 0 56", DRAW, 0.7649, 0.8562),
    Endgame("8/5pK1/4k3/6B1/5PbP/6P1/8/8 b - - 0 56", DRAW, -0.4810, -0.4294),
    Endgame("2r3k1/5ppp/p7/5q2/3P4/b2B2P1/P1R2P1P/5QK1 b - - 0 56", DRAW, -0.5099, -0.5594),
    Endgame("5k2/5pp1/p6p/5B2/3P4/6P1/P3KP1P/2b5 w - - 0 56", DRAW, 0.3222, 0.4718),
    Endgame("3b4/p4B1p/8/6k1/6P1/8/1P3PK1/8 w - - 0 56", DRAW, 0.2920, 0.0783),
    Endgame("6B1/4b3/7p/3Pk2P/6PP/7K/8/8 w - - 0 56", DRAW, 0.4867, 0.5590),
    Endgame("8/8/8/7p/2p5/5K1k/2Bb4/8 w - - 0 56", DRAW, -0.3318, -0.1916),
    Endgame("3R4/4BK1k/r5p1/2P2bP1/8/8/8/8 w - - 0 56", WHITE, 0.8304, 0.8714),
    Endgame("8/2k1b3/2P5/3K1P1B/8/8/8/8 w - - 0 56", WHITE, 0.4072, 0.3321),
    Endgame("3k1b2/8/3PP3/1B1K4/8/8/8/8 w - - 0 56", WHITE, 0.7121, 0.8229),
    Endgame("8/2k5/2P1K3/6p1/5p2/2b2B1P/6P1/8 b - - 0 56", WHITE, -0.2412, -0.1441),
    Endgame("8/8/4b1p1/2Bp3p/5P1P/1pK1Pk2/8/8 b - - 0 56", BLACK, 0.4053, 0.4225),
)


def assess(evaluator: Evaluator, game: Game[core.ChessState]) -> list[dict[str, Any]]:
    """Returns the value of every endgame for the player to move, with its phase, as JSON values."""
    states = [game.parse_state(endgame.fen) for endgame in ENDGAMES]
    views = game.views([(state, state.active_players[0]) for state in states])
    value = evaluator.evaluate(views).value
    values = value if value.ndim == 1 else value[:, 0]
    phases = [""] * len(ENDGAMES)
    if isinstance(evaluator, ExpertSet):
        names = evaluator.gate.phase_names
        phases = [names[phase] for phase in evaluator.gate.weights(views).argmax(axis=1)]
    return [
        {"fen": endgame.fen, "truth": endgame.truth, "value": round(float(value), 6), "phase": phase}
        for endgame, value, phase in zip(ENDGAMES, values, phases, strict=True)
    ]


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Returns the mean of |value| over the draws, best at 0, and of the value for the winner over the wins, best at 1.

    The paper uses |value| for the wins too, which rewards a network that is confident in the wrong side; its networks
    never are, so its numbers are the same either way.
    """
    draws = [abs(row["value"]) for row in rows if row["truth"] == DRAW]
    wins = [row["value"] * _sign_for_winner(row) for row in rows if row["truth"] != DRAW]
    return {"draws": float(np.mean(draws)), "wins": float(np.mean(wins))}


def _sign_for_winner(row: Mapping[str, Any]) -> int:
    """Returns 1 if the player to move wins, else -1."""
    side = row["fen"].split()[1]
    winner = "w" if row["truth"] == WHITE else "b"
    return 1 if side == winner else -1


def _summarize_paper(values: Sequence[float]) -> dict[str, float]:
    """Returns the summary of a network's values of `ENDGAMES`."""
    return summary(
        [
            {"fen": endgame.fen, "truth": endgame.truth, "value": value}
            for endgame, value in zip(ENDGAMES, values, strict=True)
        ]
    )


PAPER = {
    "39 planes": _summarize_paper([endgame.default for endgame in ENDGAMES]),
    "52 planes": _summarize_paper([endgame.extended for endgame in ENDGAMES]),
}
"""The summaries of the paper's two networks. Its own means are 0.4472 and 0.3988 for draws, 0.5192 and 0.5186 for wins.
"""

"""Static evaluation of positions, for use without a network."""

from __future__ import annotations

from typing import Protocol, cast

import numpy as np

from moemcts.evaluation import Evaluation
from moemcts.game import FloatArray, IntArray, Views
from moemcts_chess.game import ChessGame
from moemcts_chess.score import value_of_centipawns


class _EvaluatedViews(Protocol):
    """Views with a static evaluation."""

    def glance(self) -> IntArray: ...


class StaticEvaluator:
    """Evaluates views by material, piece placement and the goal of the variant, as alpha-beta does, with a uniform
    policy.

    (native/chess/src/evaluation.rs.)
    """

    def __init__(self, game: ChessGame) -> None:
        self._variant = game.variant
        self._num_actions = game.spec.num_actions

    def evaluate(self, views: Views) -> Evaluation:
        scores = cast(_EvaluatedViews, views).glance()
        value: FloatArray = np.array([value_of_centipawns(score, self._variant) for score in scores], dtype=np.float32)
        logits = np.broadcast_to(np.zeros(1, dtype=np.float32), (len(views), self._num_actions))
        return Evaluation(logits, value)

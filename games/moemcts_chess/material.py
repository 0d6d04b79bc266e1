"""What to think of a position when there is no network: count the pieces."""

from __future__ import annotations

import numpy as np

from moemcts.evaluation import Evaluation
from moemcts.game import FloatArray, Views
from moemcts_chess.game import ChessGame

WORTH = {
    "antichess": (-1.0, -1.0, -1.0, -1.0, -1.0, -1.0),
    "horde": (1.0, 3.0, 3.0, 5.0, 9.0, 0.0),
    "racingkings": (0.0, 3.0, 3.0, 5.0, 9.0, 0.0),
}
"""Pawn, knight, bishop, rook, queen and king in pawns; antichess is won by losing them."""
USUAL_WORTH = (1.0, 3.0, 3.25, 5.0, 9.0, 0.0)
UNIT = 8.0
"""Pawns that make a position three quarters won (tanh 1 = 0.76)."""


class MaterialEvaluator:
    """Values a view by the pieces on the board and thinks every move equally good."""

    def __init__(self, game: ChessGame) -> None:
        worth = np.array(WORTH.get(game.variant, USUAL_WORTH), dtype=np.float32)
        # Every plane set begins with the viewer's six kinds of pieces and then the other side's.
        self._worth = np.concatenate([worth, -worth])
        self._num_actions = game.spec.num_actions

    def evaluate(self, views: Views) -> Evaluation:
        counts: FloatArray = views.observations()[:, :12].sum(axis=(2, 3))
        logits = np.broadcast_to(np.zeros(1, dtype=np.float32), (len(views), self._num_actions))
        return Evaluation(logits, np.tanh(counts @ self._worth / UNIT))

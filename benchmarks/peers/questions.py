"""Positions and sizes shared by ours and the peers."""

from __future__ import annotations

import re
from typing import NamedTuple

from measuring.positions import CHESS

NUM_PLAYOUTS = {"tic-tac-toe": 800, "connect four": 800, "chess": 100}
UCT_C = 2.0


class Question(NamedTuple):
    """A search of chess, named `puct, chess POSITION, N[, batch B][, URGENCY][, encoded]`."""

    fen: str
    simulations: int
    batch: int = 8
    urgency: str = "reduction"
    """Our first-play urgency, by default lc0's. The other searches have no such setting."""
    encodes: bool = False
    """Whether ours encodes its planes for every leaf, as lc0 always does."""


def question(name: str) -> Question:
    """Returns the question with that name."""
    match = re.fullmatch(r"puct, chess (\w+), (\d+)(?:, batch (\d+))?(?:, (loss|reduction))?(, encoded)?", name)
    if match is None or match[1] not in CHESS:
        raise SystemExit(f"expected a question about chess, got {name!r}")
    fen, batch, urgency = CHESS[match[1]], int(match[3] or 8), match[4] or "reduction"
    return Question(fen, int(match[2]), batch, urgency, encodes=bool(match[5]))

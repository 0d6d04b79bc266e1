"""What ours and the peers have in common: positions and sizes."""

from __future__ import annotations

import re
from typing import NamedTuple

from measuring.positions import CHESS

NUM_PLAYOUTS = {"tic-tac-toe": 800, "connect four": 800, "chess": 100}
UCT_C = 2.0


class Question(NamedTuple):
    """A search of chess: what `puct, chess POSITION, N[, batch B][, URGENCY][, encoded]` asks."""

    fen: str
    simulations: int
    batch: int = 8
    urgency: str = "reduction"
    """What our untried actions are worth; if not given what lc0's are. The other searches have no such notion."""
    encodes: bool = False
    """Whether ours encodes its planes for every leaf, as lc0 always does."""


def question(name: str) -> Question:
    """Returns the question of a name."""
    found = re.fullmatch(r"puct, chess (\w+), (\d+)(?:, batch (\d+))?(?:, (loss|reduction))?(, encoded)?", name)
    if found is None or found[1] not in CHESS:
        raise SystemExit(f"expected a question about chess, got {name!r}")
    fen, batch, urgency = CHESS[found[1]], int(found[3] or 8), found[4] or "reduction"
    return Question(fen, int(found[2]), batch, urgency, encodes=bool(found[5]))

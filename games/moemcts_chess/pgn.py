"""Games of a match as PGN, with evaluation, phase and expert as comments."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from moemcts.agents import Decision
from moemcts.arena.replays import Replay
from moemcts.store import write_text
from moemcts_chess.board import python_chess
from moemcts_chess.score import centipawns

if TYPE_CHECKING:
    import chess.pgn

RESULTS = {1: "1-0", 0: "1/2-1/2", -1: "0-1"}
TERMINATIONS = {
    "rules": "normal",
    "length": "adjudication",
    "draw": "adjudication",
    "resignation": "adjudication",
    "crash": "abandoned",
    "timeout": "time forfeit",
    "illegal move": "rules infraction",
}
"""The tag's values in the PGN standard, by ours."""


def write_pgn(path: Path, replays: Sequence[Replay]) -> None:
    """Writes the games, each with the day of writing as its date."""
    exporter = python_chess().pgn.StringExporter
    write_text(path, "".join(f"{_pgn(replay).accept(exporter(columns=80))}\n\n" for replay in replays))


def _pgn(replay: Replay) -> chess.pgn.Game:
    library = python_chess()
    record = replay.record
    game: chess.pgn.Game = library.pgn.Game()
    board = replay.start.board()  # type: ignore[attr-defined]
    game.headers.update(
        {
            "Event": replay.event or "?",
            "Site": "?",
            "Date": time.strftime("%Y.%m.%d"),
            "Round": str(record.index + 1),
            "White": record.agents[0],
            "Black": record.agents[1],
        }
    )
    game.setup(board)
    game.headers["Result"] = _result(record.returns)
    game.headers["PlyCount"] = str(record.plies)
    game.headers["Termination"] = TERMINATIONS.get(record.termination, "normal")
    game.headers["Opening"] = record.opening
    node: chess.pgn.GameNode = game
    for _, moves in replay.positions():
        for move in moves:
            played = board.parse_uci(move.text)
            node = node.add_variation(played)
            if move.decision.value is not None:
                _annotate(node, move.decision, move.decision.value, replay.game.spec.name)
            board.push(played)
    if record.termination != "rules":
        node.comment = f"{node.comment} {_ending(replay)}".strip()
    return game


def _annotate(node: chess.pgn.GameNode, decision: Decision, value: float, variant: str) -> None:
    """Comments on a move; the evaluation stands from White's side, as Lichess writes it."""
    library = python_chess()
    words = [
        f"phase={decision.phase.replace(' ', '_')}" if decision.phase else "",
        f"expert={decision.expert}" if decision.expert is not None else "",
        f"nodes={decision.nodes}" if decision.nodes else "",
        f"simulations={decision.simulations}" if decision.simulations else "",
    ]
    node.comment = " ".join(filter(None, words))
    score = library.engine.PovScore(
        library.engine.Cp(centipawns(value, variant)), not cast("chess.pgn.ChildNode", node).turn()
    )
    node.set_eval(score, decision.depth or None)


def _ending(replay: Replay) -> str:
    record = replay.record
    return {"draw": "drawn by adjudication", "resignation": "resigned", "length": "longest length reached"}.get(
        record.termination, f"{record.termination}: {record.failure}"
    )


def _result(returns: Sequence[float]) -> str:
    return RESULTS[(returns[0] > returns[1]) - (returns[0] < returns[1])]

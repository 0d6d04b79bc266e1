"""Games of a match as PGN, with evaluation, phase and expert as comments."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from moemcts.agents import Decision
from moemcts.arena.replays import Replay
from moemcts.store import write_text
from moemcts_chess.board import python_chess
from moemcts_chess.score import centipawns

if TYPE_CHECKING:
    import chess.pgn

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
_ANNOTATIONS = re.compile(r"(?<!\S)(phase|expert|nodes|simulations|judged)=\S+\s*")
_JUDGEMENT = re.compile(r"(?<!\S)judged=(\w+)")


def write_pgn(path: Path, replays: Sequence[Replay]) -> None:
    """Writes the games, each dated with the current day."""
    write_text(path, format_pgn(map(_to_pgn_game, replays)))


def format_pgn(games: Iterable[chess.pgn.Game]) -> str:
    """Returns games as PGN."""
    exporter = python_chess().pgn.StringExporter
    return "".join(f"{game.accept(exporter(columns=80))}\n\n" for game in games)


def add_comment(node: chess.pgn.GameNode, decision: Decision, *, judgement: str = "") -> None:
    """Adds an agent's statistics and judgement of a move to the move's comment, replacing another agent's."""
    words = [
        _ANNOTATIONS.sub("", node.comment).strip(),
        f"phase={decision.phase.replace(' ', '_')}" if decision.phase else "",
        f"expert={decision.expert}" if decision.expert is not None else "",
        f"nodes={decision.nodes}" if decision.nodes else "",
        f"simulations={decision.simulations}" if decision.simulations else "",
        f"judged={judgement}" if judgement else "",
    ]
    node.comment = " ".join(filter(None, words))


def is_annotated_by_agent(node: chess.pgn.GameNode) -> bool:
    """Returns whether an agent has annotated a move."""
    return _ANNOTATIONS.search(node.comment) is not None


def parse_judgement(node: chess.pgn.GameNode) -> str:
    """Returns an agent's judgement of a move from its comment, or an empty string."""
    match = _JUDGEMENT.search(node.comment)
    return match[1] if match else ""


def set_evaluation(
    node: chess.pgn.GameNode, value: float, variant: str, *, is_white: bool, depth: int | None = None
) -> None:
    """Annotates a move with its value, in [-1, 1] for one side, written from White's point of view as on Lichess."""
    engine = python_chess().engine
    node.set_eval(engine.PovScore(engine.Cp(centipawns(value, variant)), is_white), depth)


def _to_pgn_game(replay: Replay) -> chess.pgn.Game:
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
    game.headers["Result"] = _format_result(record.returns)
    game.headers["PlyCount"] = str(record.plies)
    game.headers["Termination"] = TERMINATIONS.get(record.termination, "normal")
    game.headers["Opening"] = record.opening
    node: chess.pgn.GameNode = game
    for _, moves in replay.positions():
        for move in moves:
            pgn_move = board.parse_uci(move.text)
            node = node.add_variation(pgn_move)
            if (value := move.decision.value) is not None:
                add_comment(node, move.decision)
                depth = move.decision.depth or None
                set_evaluation(node, value, replay.game.spec.name, is_white=board.turn, depth=depth)
            board.push(pgn_move)
    if record.termination != "rules":
        node.comment = f"{node.comment} {_describe_termination(replay)}".strip()
    return game


def _describe_termination(replay: Replay) -> str:
    record = replay.record
    descriptions = {"draw": "drawn by adjudication", "resignation": "resigned", "length": "longest length reached"}
    return descriptions.get(record.termination, f"{record.termination}: {record.failure}")


def _format_result(returns: Sequence[float]) -> str:
    """Returns the result tag of the returns of White and Black."""
    white, black = returns
    if white > black:
        return "1-0"
    return "0-1" if white < black else "1/2-1/2"

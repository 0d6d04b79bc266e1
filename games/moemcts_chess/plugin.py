"""What the chess family registers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from moemcts.game import Game
from moemcts.gates import PhaseGate
from moemcts.hookspecs import Registration, hookimpl
from moemcts_chess import gates
from moemcts_chess.game import VARIANTS, ChessGame

if TYPE_CHECKING:
    import typer

    from moemcts_chess.engine import UciAgent

SUMMARIES = {
    "chess": "chess",
    "chess960": "chess from 960 start positions",
    "antichess": "lose all pieces, captures are compulsory",
    "atomic": "captures explode",
    "crazyhouse": "captured pieces are dropped back",
    "kingofthehill": "a king in the centre wins",
    "threecheck": "three checks win",
    "horde": "36 pawns against an army",
    "racingkings": "the first king on rank 8 wins",
}


STOCKFISH = ("chess", "chess960")
FAIRY = tuple(name for name in VARIANTS if name != "atomic")
"""What Debian's Fairy-Stockfish 11.1 plays."""


@hookimpl
def register_games() -> Sequence[Registration]:
    # Without search noise two programs play one game over and over from one start position.
    settings = {"match.random_plies": 6}
    return [
        Registration(name, partial(ChessGame, name), SUMMARIES[name], (name,), settings=settings) for name in VARIANTS
    ]


@hookimpl
def register_gates() -> Sequence[Registration]:
    return [
        Registration("lichess", _lichess, "opening, middlegame, endgame as Lichess has them", VARIANTS, default=True),
        Registration("lichess-crazyara", _lichess_crazyara, "the same, as CrazyAra's engine got it wrong", VARIANTS),
        Registration("conjunctive", _conjunctive, "the same with a longer opening", VARIANTS),
        Registration("movecount", _movecount, "2 to 5 equal parts by the move number", VARIANTS),
        Registration("material", _material, "three parts by lost majors and minors", VARIANTS),
        Registration("pieces", _pieces, "three parts by captured pieces", VARIANTS),
    ]


@hookimpl
def register_agents() -> Sequence[Registration]:
    return [
        Registration("uci", _uci, "a UCI engine: uci?path=fairy-stockfish&nodes=1000", VARIANTS),
        Registration("uci:stockfish", partial(_uci, path="stockfish"), "Stockfish", STOCKFISH),
        Registration("uci:fairy-stockfish", partial(_uci, path="fairy-stockfish"), "Fairy-Stockfish", FAIRY),
    ]


@hookimpl
def register_commands(app: typer.Typer) -> None:
    from moemcts_chess import commands

    commands.register(app)


def _lichess(game: Game) -> PhaseGate:
    return gates.LichessGate()


def _lichess_crazyara(game: Game) -> PhaseGate:
    return gates.LichessCrazyaraGate()


def _conjunctive(game: Game) -> PhaseGate:
    return gates.ConjunctiveGate()


def _movecount(game: Game, *, phases: int = 3) -> PhaseGate:
    return gates.MoveCountGate(phases)


def _material(game: Game, *, cuts: Sequence[int] = (2, 11)) -> PhaseGate:
    return gates.MaterialGate(cuts)


def _pieces(game: Game, *, cuts: Sequence[int] = (5, 13)) -> PhaseGate:
    return gates.PiecesGate(cuts)


def _uci(
    game: Game,
    *,
    path: str | None = None,
    nodes: int = 1000,
    depth: int | None = None,
    seconds: float | None = None,
    skill: int | None = None,
    hash_mib: int = 1,
) -> UciAgent:
    from moemcts_chess.engine import UciAgent

    path = path or ("stockfish" if game.spec.name in STOCKFISH else "fairy-stockfish")
    return UciAgent(game, path, nodes=nodes, depth=depth, seconds=seconds, skill=skill, hash_mib=hash_mib)

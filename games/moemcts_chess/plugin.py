"""Plugin of the chess family."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache, partial
from importlib import resources
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from moemcts.errors import UsageError, unknown_name
from moemcts.game import Game
from moemcts.gates import PhaseGate
from moemcts.hookspecs import Registration, hookimpl
from moemcts_chess import gates
from moemcts_chess.agents import AlphaBetaAgent
from moemcts_chess.game import VARIANTS, ChessGame
from moemcts_chess.import_options import PgnReader, game_filter, make_split

if TYPE_CHECKING:
    import typer

    from moemcts.arena.replays import WriteReplays
    from moemcts.drawing import Board
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


SEARCH = {name: {"first_play_urgency": "draw"} for name in ("chess", "chess960")}
"""Default search settings by variant: measured in chess, much worse in antichess (docs/results.md)."""
STOCKFISH = ("chess", "chess960")
FAIRY = tuple(name for name in VARIANTS if name != "atomic")
"""The variants supported by Debian's Fairy-Stockfish 11.1."""
OPTION = "option."
"""Prefix of an engine's own options."""


@hookimpl
def register_games() -> Sequence[Registration]:
    return [
        Registration(
            name,
            partial(ChessGame, name),
            SUMMARIES[name],
            (name,),
            search=SEARCH.get(name, {}),
            presets=_presets(name),
        )
        for name in VARIANTS
    ]


@hookimpl
def register_papers() -> Sequence[Mapping[str, Any]]:
    return [tomllib.loads(resources.files("moemcts_chess").joinpath("papers.toml").read_text())]


@hookimpl
def register_gates() -> Sequence[Registration]:
    return [
        Registration("lichess", _lichess, "opening, middlegame, endgame as Lichess has them", VARIANTS, default=True),
        Registration("lichess-crazyara", _lichess_crazyara, "the same, as CrazyAra's engine got it wrong", VARIANTS),
        Registration("conjunctive", _conjunctive, "the same with a longer opening", VARIANTS),
        Registration("movecount", _movecount, "2 to 5 equal parts by the move number, or cuts of it", VARIANTS),
        Registration("material", _material, "three parts by lost majors and minors", VARIANTS),
        Registration("pieces", _pieces, "three parts by captured pieces", VARIANTS),
    ]


@hookimpl
def register_agents() -> Sequence[Registration]:
    return [
        Registration("alpha-beta", _alpha_beta, "alpha-beta with a simple evaluation: alpha-beta?depth=3", VARIANTS),
        _engine_registration(
            "uci", _uci, "a UCI engine: uci?path=fairy-stockfish&nodes=1000&option.Contempt=0", VARIANTS
        ),
        _engine_registration("uci:stockfish", partial(_uci, path="stockfish"), "Stockfish", STOCKFISH),
        _engine_registration("uci:fairy-stockfish", partial(_uci, path="fairy-stockfish"), "Fairy-Stockfish", FAIRY),
    ]


@hookimpl
def register_replay_formats() -> Sequence[Registration]:
    return [Registration("pgn", _pgn, "PGN with evaluation, phase and expert as comments", VARIANTS)]


@hookimpl
def register_readers() -> Sequence[Registration]:
    return [Registration("pgn", _read_pgn, "PGN, plain or packed: pgn?min_elo=2200&validation=2012-09", VARIANTS)]


@hookimpl
def register_boards() -> Sequence[Registration]:
    return [Registration("chess", _board, "pieces on eight by eight squares", VARIANTS)]


@hookimpl
def register_commands(app: typer.Typer, data: typer.Typer) -> None:
    from moemcts_chess import commands

    commands.register(app, data)


_engine_registration = partial(Registration, runs_programs=True)


@hookimpl
def register_weights() -> Sequence[Registration]:
    summaries = {
        "chess": "three small experts, trained on 21.8 million positions of masters",
        "antichess": "three small experts, trained on 60,000 positions of alpha-beta at depth 3",
    }
    return [
        Registration(name, partial(_weights, name), summary, (name,), default=True)
        for name, summary in summaries.items()
    ]


def _weights(name: str) -> Path:
    return Path(str(resources.files("moemcts_chess").joinpath("weights", name)))


def _board(game: Game) -> Board:
    from moemcts_chess.pageboard import ChessBoard

    assert isinstance(game, ChessGame)
    return ChessBoard(game)


def _pgn(game: Game) -> WriteReplays:
    from moemcts_chess.pgn import write_pgn

    return write_pgn


def _read_pgn(
    game: Game,
    *,
    min_elo: int = 0,
    min_plies: int = 0,
    max_plies: int | None = None,
    result: Sequence[str] = (),
    since: str = "",
    until: str = "",
    validation: str = "",
    test: str = "",
    seed: int = 0,
) -> PgnReader:
    wanted = game_filter(
        min_elo=min_elo, min_plies=min_plies, max_plies=max_plies, result=result, since=since, until=until
    )
    return PgnReader(cast(ChessGame, game), wanted, make_split(validation, test, seed))


@cache
def _preset_tables() -> dict[str, Any]:
    return tomllib.loads(resources.files("moemcts_chess").joinpath("presets.toml").read_text())


def _presets(variant: str) -> Mapping[str, Mapping[str, Any]]:
    """Returns the presets of a variant: those of all variants, overridden by its own."""
    return _merge(_preset_tables()["all"], _preset_tables().get(variant, {}))


def _merge(defaults: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Returns two nested tables as one; values of the second take precedence."""
    merged = {**defaults, **overrides}
    for key in defaults.keys() & overrides.keys():
        if isinstance(overrides[key], Mapping):
            merged[key] = _merge(defaults[key], overrides[key])
    return merged


def _lichess(game: Game) -> PhaseGate:
    return gates.LichessGate()


def _lichess_crazyara(game: Game) -> PhaseGate:
    return gates.LichessCrazyaraGate()


def _conjunctive(game: Game) -> PhaseGate:
    return gates.ConjunctiveGate()


def _movecount(game: Game, *, phases: int | None = None, cuts: Sequence[int] | None = None) -> PhaseGate:
    if phases is not None and cuts is not None:
        raise ValueError(f"expected phases or cuts, got phases {phases} and cuts {list(cuts)}")
    return gates.MoveCountGate(3 if phases is None else phases, cuts=cuts)


def _material(game: Game, *, cuts: Sequence[int] = gates.MaterialGate.thirds) -> PhaseGate:
    return gates.MaterialGate(cuts)


def _pieces(game: Game, *, cuts: Sequence[int] = gates.PiecesGate.thirds) -> PhaseGate:
    return gates.PiecesGate(cuts)


def _alpha_beta(
    game: Game, *, depth: int | None = None, nodes: int | None = None, seconds: float | None = None
) -> AlphaBetaAgent:
    return AlphaBetaAgent(game, depth=depth, nodes=nodes, seconds=seconds)


def _uci(
    game: Game,
    *,
    path: str | None = None,
    variant: str | None = None,
    nodes: int | None = None,
    depth: int | None = None,
    seconds: float | None = None,
    movetime: int | None = None,
    skill: int | None = None,
    elo: int | None = None,
    threads: int = 1,
    hash_mib: int = 1,
    processes: int = 1,
    timeout: float | None = None,
    **options: Any,
) -> UciAgent:
    from moemcts_chess.engine import UciAgent

    if variant is not None and variant != game.spec.name:
        raise UsageError(f"expected variant={game.spec.name}, the game being played, got {variant!r}")
    if movetime is not None:
        if seconds is not None:
            raise UsageError("expected seconds or movetime, which is in milliseconds, got both")
        seconds = movetime / 1000
    unknown = [option for option in options if not option.startswith(OPTION)]
    if unknown:
        parameters = signature(_uci).parameters.values()
        known = [parameter.name for parameter in parameters if parameter.kind == parameter.KEYWORD_ONLY]
        raise unknown_name("option of a UCI engine", unknown[0], [*known, f"{OPTION}NAME"])
    return UciAgent(
        game,
        path or ("stockfish" if game.spec.name in STOCKFISH else "fairy-stockfish"),
        nodes=nodes,
        depth=depth,
        seconds=seconds,
        skill=skill,
        elo=elo,
        threads=threads,
        hash_mib=hash_mib,
        processes=processes,
        timeout=timeout,
        options={option.removeprefix(OPTION): value for option, value in options.items()},
    )

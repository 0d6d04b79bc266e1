"""`moemcts check GAME`: checks the laws of a game and of everything that belongs to it."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from moemcts.errors import MissingExtra, MoemctsError, UsageError, one_line

if TYPE_CHECKING:
    import torch

    from moemcts.game import Game
    from moemcts.gates import PhaseGate
    from moemcts.learn.schemes.scheme import Scheme
    from moemcts.runs.settings import RunConfig
    from moemcts.testing import Law

Found = TypeVar("Found")

QUICK = {"simulations": 32, "playouts": 32}
"""Small limits for the agents that are checked: they break laws with small searches just as with large ones."""


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Extend")(check)


def check(
    game: Annotated[str, typer.Argument(help="A registered game; see `moemcts games`.")],
    num_games: Annotated[
        int, typer.Option("--games", min=1, help="Random games that the laws of the game are checked in.")
    ] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random games.")] = 0,
    saved: Annotated[
        list[str] | None, typer.Option("--gate", help="Also check this gate, such as a saved one.")
    ] = None,
    networks: Annotated[
        list[str] | None, typer.Option("--network", help="Also check this network, untrained, at this game.")
    ] = None,
    schemes: Annotated[
        list[str] | None, typer.Option("--scheme", help="Also check this learning scheme, with the game's gates.")
    ] = None,
) -> None:
    """Check that a game and its gates, agents and board keep the laws that search, training and pages rely on."""
    from moemcts.naming import resolve_agent
    from moemcts.plugins import plugins
    from moemcts.testing import check_agent, check_game

    made = plugins().game(game)
    # Whatever the user names must be checked, so an error in creating it ends the command.
    gate_of = functools.cache(lambda reference: plugins().gate(reference, made))
    for gate in saved or ():
        gate_of(gate)
    learning = {scheme: plugins().scheme(scheme) for scheme in schemes or ()}
    name = _guarded("game", game, lambda: made.spec.name)
    network_of = functools.cache(lambda reference: _network(reference, made, seed))
    for network in networks or ():
        network_of(network)
    gates = dict.fromkeys([*plugins().gates.for_game(name), *(saved or ())])
    checks: list[tuple[str, str, Callable[[], list[Law]]]] = [
        ("game", name, functools.partial(check_game, made, num_games=num_games, seed=seed)),
        *(("gate", gate, lambda gate=gate: _check_gate(gate, gate_of(gate), made, seed)) for gate in gates),
        *(
            ("agent", agent, lambda agent=agent: check_agent(resolve_agent(agent, made, QUICK), made, seed=seed))
            for agent in plugins().agents.for_game(name)
        ),
        ("registration", game, functools.partial(_check_registration, game)),
        *(("board", board, functools.partial(_check_board, made, seed)) for board in plugins().boards.for_game(name)),
        *(
            ("network", network, lambda network=network: _check_network(network_of(network), made, seed))
            for network in networks or ()
        ),
        *(
            ("scheme", name, functools.partial(_check_scheme, scheme, gates, gate_of))
            for name, scheme in learning.items()
        ),
    ]
    problems, is_broken = list[str](), False
    for kind, what, do in checks:
        # Printed right away, as the check may take a while.
        typer.echo(f"{kind} {what}")
        if is_broken and kind != "registration":
            # These checks play the game; they would blame the wrong part, or never end.
            typer.echo("  not checked: fix the game first")
            continue
        try:
            _report(kind, what, do)
        except (UsageError, MissingExtra) as error:
            if kind in ("game", "network", "scheme"):
                raise
            # It cannot be made as it is: it needs options, or a package that is not installed.
            typer.echo(f"  not checked: {error}")
        except MoemctsError as error:
            problems.append(str(error))
            is_broken |= kind == "game"
    if problems:
        raise MoemctsError("; ".join(problems))


def _check_gate(reference: str, gate: PhaseGate, game: Game, seed: int) -> list[Law]:
    """Checks a gate; raises MoemctsError also if its name differs from the one it is registered under."""
    from moemcts.plugins import plugins
    from moemcts.references import parse_reference
    from moemcts.testing import check_gate

    registered, _ = parse_reference(reference)
    if plugins().gates.knows(registered) and gate.name != registered:
        raise MoemctsError(
            f"gate {registered!r} calls itself {gate.name!r}; expected the name that it is registered under"
        )
    return check_gate(gate, game, seed=seed)


def _check_registration(reference: str) -> list[Law]:
    """Checks the settings that a plugin registers with a game; raises MoemctsError for the first unknown one.

    Also notes what the plugin registers for games that do not exist.
    """
    from moemcts.dotted import flat, merge
    from moemcts.errors import unknown_name
    from moemcts.plugins import plugins
    from moemcts.references import parse_reference
    from moemcts.runs.presets import preset_names
    from moemcts.runs.selfplay.settings import GAME_PRESETS, SelfPlayConfig
    from moemcts.runs.settings import ExperimentConfig, validate
    from moemcts.testing import Law

    entry = plugins().games.entry(parse_reference(reference)[0])
    presets = {name: table for name, table in entry.presets.items() if name != GAME_PRESETS}
    whole = entry.presets.get(GAME_PRESETS, {})
    tables: list[tuple[str, Mapping[str, Any], type[RunConfig]]] = [
        ("settings", entry.settings, ExperimentConfig),
        ("search", {"search": entry.search}, ExperimentConfig),
        *((f"presets.{name}", table, ExperimentConfig) for name, table in presets.items()),
        *((f"presets.{GAME_PRESETS}.{name}", table, SelfPlayConfig) for name, table in whole.items()),
    ]
    known = [*preset_names(), GAME_PRESETS]
    try:
        for name in presets:
            if name not in known:
                raise unknown_name("preset", name, known)
        for what, table, kind in tables:
            # `needs` holds reasons by setting; it is not a setting itself.
            said = {path: value for path, value in flat(table).items() if path.partition(".")[0] != "needs"}
            try:
                validate({**merge({}, said), "game": reference}, kind)
            except UsageError as error:
                raise UsageError(f"{what}: {error}") from error
    except UsageError as error:
        raise MoemctsError(f"game {reference} is registered with something that does not exist: {error}") from error
    laws = [Law("settings, search and presets name only what exists", len(tables))]
    strays = [stray for lines in plugins().strays(entry.name).values() for stray in lines]
    return [
        *laws,
        *(Law("what its plugin registers is for games that exist", 0, stray) for stray in strays),
    ]


def _check_board(game: Game, seed: int) -> list[Law]:
    from moemcts.plugins import plugins
    from moemcts.testing import check_board

    board = plugins().board(game)
    return [] if board is None else check_board(board, game, seed=seed)


def _network(reference: str, game: Game, seed: int) -> torch.nn.Module:
    import torch

    from moemcts.plugins import plugins

    torch.manual_seed(seed)
    complete = plugins().complete_network(reference, game)
    network: torch.nn.Module = plugins().network(complete, game.spec.observation_shape, game.spec.num_actions)
    return network


def _check_network(network: torch.nn.Module, game: Game, seed: int) -> list[Law]:
    from moemcts.learn.inference.torch_evaluator import TorchEvaluator
    from moemcts.learn.networks.contract import check_network
    from moemcts.testing import check_evaluator

    check_network(network, game.spec)
    return check_evaluator(TorchEvaluator(network), game, seed=seed)


def _check_scheme(scheme: Scheme, gates: Iterable[str], gate_of: Callable[[str], PhaseGate]) -> list[Law]:
    """Checks a scheme with all gates that can be created; errors of the others are reported with these."""
    from moemcts.testing import check_scheme

    made: list[PhaseGate] = []
    for gate in gates:
        with contextlib.suppress(MoemctsError):
            made.append(gate_of(gate))
    return check_scheme(scheme, made)


def _report(kind: str, name: str, check: Callable[[], list[Law]]) -> None:
    for law in _guarded(kind, name, check):
        if law.not_checked:
            typer.echo(f"  not checked: {law.name}: {law.not_checked}")
        else:
            typer.echo(f"  ok  {law.name} ({law.num_cases} cases)")


def _guarded(kind: str, name: str, do: Callable[[], Found]) -> Found:
    """Returns the result of `do`; raises MoemctsError for broken laws and for any exception of the game's methods."""
    from moemcts.testing import BrokenLaw

    try:
        return do()
    except BrokenLaw as broken:
        raise MoemctsError(f"{kind} {name} breaks a law: {broken}") from None
    except (MoemctsError, KeyboardInterrupt):
        raise
    except BaseException as error:
        where = "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
        raise MoemctsError(f"{kind} {name} raised {one_line(error)}{where}") from error

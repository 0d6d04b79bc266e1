"""`moemcts check GAME`: checks the laws of a game and of everything that belongs to it."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import typer

from moemcts.errors import MissingExtra, MoemctsError, UsageError, one_line

if TYPE_CHECKING:
    import torch

    from moemcts.game import Game
    from moemcts.gates import PhaseGate
    from moemcts.learn.schemes.scheme import Scheme
    from moemcts.runs.settings import RunConfig
    from moemcts.testing import Law

Result = TypeVar("Result")

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

    loaded_game = plugins().game(game)
    # Whatever the user names must be checked, so an error in creating it ends the command.
    gate_of = functools.cache(lambda reference: plugins().gate(reference, loaded_game))
    for gate in saved or ():
        gate_of(gate)
    schemes_by_name = {scheme: plugins().scheme(scheme) for scheme in schemes or ()}
    name = _guarded("game", game, lambda: loaded_game.spec.name)
    network_of = functools.cache(lambda reference: _network(reference, loaded_game, seed))
    for network in networks or ():
        network_of(network)
    gates = dict.fromkeys([*plugins().gates.for_game(name), *(saved or ())])
    checks = [_Check("game", name, lambda: check_game(loaded_game, num_games=num_games, seed=seed))]

    def add_checks(kind: str, names: Iterable[str], run: Callable[[str], list[Law]]) -> None:
        checks.extend(_Check(kind, name, functools.partial(run, name)) for name in names)

    add_checks("gate", gates, lambda gate: _check_gate(gate, gate_of(gate), loaded_game, seed))
    add_checks(
        "agent",
        plugins().agents.for_game(name),
        lambda agent: check_agent(resolve_agent(agent, loaded_game, QUICK), loaded_game, seed=seed),
    )
    add_checks("registration", [game], _check_registration)
    add_checks("board", plugins().boards.for_game(name), lambda board: _check_board(loaded_game, seed))
    add_checks("network", networks or (), lambda network: _check_network(network_of(network), loaded_game, seed))
    add_checks("scheme", schemes_by_name, lambda scheme: _check_scheme(schemes_by_name[scheme], gates, gate_of))
    _run_checks(checks)


class _Check(NamedTuple):
    kind: str
    name: str
    run: Callable[[], list[Law]]


def _run_checks(checks: Sequence[_Check]) -> None:
    """Prints the result of each check; raises MoemctsError with all problems at the end."""
    problems, is_broken = list[str](), False
    for check in checks:
        # Printed right away, as the check may take a while.
        typer.echo(f"{check.kind} {check.name}")
        if is_broken and check.kind != "registration":
            # These checks play the game; they would blame the wrong part, or never end.
            typer.echo("  not checked: fix the game first")
            continue
        try:
            _print_laws(check)
        except (UsageError, MissingExtra) as error:
            if check.kind in ("game", "network", "scheme"):
                raise
            # It cannot be made as it is: it needs options, or a package that is not installed.
            typer.echo(f"  not checked: {error}")
        except MoemctsError as error:
            problems.append(str(error))
            is_broken |= check.kind == "game"
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
    selfplay_presets = entry.presets.get(GAME_PRESETS, {})
    tables: list[tuple[str, Mapping[str, Any], type[RunConfig]]] = [
        ("settings", entry.settings, ExperimentConfig),
        ("search", {"search": entry.search}, ExperimentConfig),
        *((f"presets.{name}", table, ExperimentConfig) for name, table in presets.items()),
        *((f"presets.{GAME_PRESETS}.{name}", table, SelfPlayConfig) for name, table in selfplay_presets.items()),
    ]
    known = [*preset_names(), GAME_PRESETS]
    try:
        for name in presets:
            if name not in known:
                raise unknown_name("preset", name, known)
        for section, table, config_type in tables:
            # `needs` holds reasons by setting; it is not a setting itself.
            settings = {path: value for path, value in flat(table).items() if path.partition(".")[0] != "needs"}
            try:
                validate({**merge({}, settings), "game": reference}, config_type)
            except UsageError as error:
                raise UsageError(f"{section}: {error}") from error
    except UsageError as error:
        raise MoemctsError(f"game {reference} is registered with something that does not exist: {error}") from error
    strays = [stray for lines in plugins().unknown_games(entry.name).values() for stray in lines]
    return [
        Law("settings, search and presets name only what exists", len(tables)),
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

    loaded_gates: list[PhaseGate] = []
    for gate in gates:
        with contextlib.suppress(MoemctsError):
            loaded_gates.append(gate_of(gate))
    return check_scheme(scheme, loaded_gates)


def _print_laws(check: _Check) -> None:
    from moemcts.arena.verdict import format_count

    for law in _guarded(check.kind, check.name, check.run):
        if law.not_checked:
            typer.echo(f"  not checked: {law.name}: {law.not_checked}")
        else:
            typer.echo(f"  ok  {law.name} ({format_count(law.num_cases, 'case')})")


def _guarded(kind: str, name: str, run: Callable[[], Result]) -> Result:
    """Returns the result of `run`; raises MoemctsError for broken laws and for any exception of the game's methods."""
    from moemcts.testing import BrokenLaw

    try:
        return run()
    except BrokenLaw as broken:
        raise MoemctsError(f"{kind} {name} breaks a law: {broken}") from None
    except (MoemctsError, KeyboardInterrupt):
        raise
    except BaseException as error:
        notes = "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
        raise MoemctsError(f"{kind} {name} raised {one_line(error)}{notes}") from error

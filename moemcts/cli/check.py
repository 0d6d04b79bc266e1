"""`moemcts check GAME`: asserts the laws of a game and of all that belongs to it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from moemcts.errors import MissingExtra, MoemctsError, UsageError, place_of

if TYPE_CHECKING:
    from moemcts.game import Game
    from moemcts.testing import Law

Found = TypeVar("Found")


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Extend")(check)


def check(
    game: Annotated[str, typer.Argument(help="A registered game; see `moemcts games`.")],
    num_games: Annotated[int, typer.Option("--games", min=1, help="Random games to play.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random games.")] = 0,
    saved: Annotated[
        list[str] | None, typer.Option("--gate", help="Also check this gate, such as a saved one.")
    ] = None,
    networks: Annotated[
        list[str] | None, typer.Option("--network", help="Also check this network, untrained, at this game.")
    ] = None,
) -> None:
    """Check that a game, its gates and its agents keep the laws that search and training rely on."""
    from moemcts.plugins import Plugins, plugins
    from moemcts.testing import check_agent, check_game, check_gate

    made = plugins().game(game)
    # Whoever names a gate or a network wants it checked: what cannot be made ends the command.
    gate_of = functools.cache(lambda reference: plugins().gate(reference, made))
    for gate in saved or ():
        gate_of(gate)
    name = _guarded("game", game, lambda: made.spec.name)
    _report("game", name, lambda: check_game(made, num_games=num_games, seed=seed))
    gates = dict.fromkeys([*Plugins.for_game(plugins().gates, name), *(saved or ())])
    checks: list[tuple[str, str, Callable[[], list[Law]]]] = [
        *(("gate", gate, lambda gate=gate: check_gate(gate_of(gate), made, seed=seed)) for gate in gates),
        *(
            ("agent", agent, lambda agent=agent: check_agent(plugins().agent(agent, made), made, seed=seed))
            for agent in Plugins.for_game(plugins().agents, name)
        ),
        *(("network", network, functools.partial(_check_network, network, made, seed)) for network in networks or ()),
    ]
    problems = []
    for kind, what, do in checks:
        try:
            _report(kind, what, do)
        except (UsageError, MissingExtra) as error:
            # It is not for everybody: it needs options, or what is not installed here.
            typer.echo(f"{kind} {what}\n  not checked: {error}")
        except MoemctsError as error:
            problems.append(str(error))
    if problems:
        raise MoemctsError("; ".join(problems))


def _check_network(reference: str, game: Game, seed: int) -> list[Law]:
    import torch

    from moemcts.learn.inference.torch_evaluator import TorchEvaluator
    from moemcts.learn.networks.contract import check_network
    from moemcts.plugins import plugins
    from moemcts.testing import check_evaluator

    torch.manual_seed(seed)
    complete = plugins().complete_network(reference, game)
    network = plugins().network(complete, game.spec.observation_shape, game.spec.num_actions)
    check_network(network, game.spec)
    return check_evaluator(TorchEvaluator(network), game, seed=seed)


def _report(kind: str, name: str, check: Callable[[], list[Law]]) -> None:
    laws = _guarded(kind, name, check)
    typer.echo(f"{kind} {name}")
    for law in laws:
        typer.echo(f"  ok  {law.name} ({law.num_cases} cases)")


def _guarded(kind: str, name: str, do: Callable[[], Found]) -> Found:
    """Returns what `do` returns; raises MoemctsError for broken laws, and for whatever a method of the game raises."""
    from moemcts.testing import BrokenLaw

    try:
        return do()
    except BrokenLaw as broken:
        raise MoemctsError(f"{kind} {name} breaks a law: {broken}") from None
    except (MoemctsError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise MoemctsError(f"{kind} {name} raised {type(error).__name__}{place_of(error)}: {error}") from error

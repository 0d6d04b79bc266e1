"""`moemcts check GAME`: asserts the laws of a game and of all that belongs to it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer

from moemcts.errors import MoemctsError


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Extend")(check)


def check(
    game: Annotated[str, typer.Argument(help="A registered game; see `moemcts games`.")],
    num_games: Annotated[int, typer.Option("--games", min=1, help="Random games to play.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random games.")] = 0,
    saved: Annotated[
        list[str] | None, typer.Option("--gate", help="Also check this gate, such as a saved one.")
    ] = None,
) -> None:
    """Check that a game, its gates and its agents keep the laws that search and training rely on."""
    from moemcts.plugins import Plugins, plugins
    from moemcts.testing import BrokenLaw, Law, check_agent, check_game, check_gate

    made = plugins().game(game)
    name = made.spec.name
    checks: list[tuple[str, str, Callable[[], list[Law]]]] = [
        ("game", name, partial(check_game, made, num_games=num_games, seed=seed))
    ]
    for gate in [*Plugins.for_game(plugins().gates, name), *(saved or [])]:
        try:
            weighs = plugins().gate(gate, made)
        except MoemctsError as error:
            typer.echo(f"gate {gate}\n  not checked: {error}")
        else:
            checks.append(("gate", gate, partial(check_gate, weighs, made, seed=seed)))
    for agent in Plugins.for_game(plugins().agents, name):
        try:
            player = plugins().agent(agent, made)
        except MoemctsError as error:
            typer.echo(f"agent {agent}\n  not checked: {error}")
        else:
            checks.append(("agent", agent, partial(check_agent, player, made, seed=seed)))
    for kind, what, run in checks:
        try:
            laws = run()
        except BrokenLaw as broken:
            raise MoemctsError(f"{kind} {what} breaks a law: {broken}") from None
        except MoemctsError:
            raise
        except Exception as error:
            raise MoemctsError(f"{kind} {what} raised {type(error).__name__}: {error}") from error
        typer.echo(f"{kind} {what}")
        for law in laws:
            typer.echo(f"  ok  {law.name} ({law.num_cases} cases)")

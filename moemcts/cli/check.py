"""`moemcts check GAME`: asserts the laws of a game and of all that belongs to it."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

import moemcts
from moemcts.errors import MoemctsError

if TYPE_CHECKING:
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
) -> None:
    """Check that a game, its gates and its agents keep the laws that search and training rely on."""
    from moemcts.plugins import Plugins, plugins
    from moemcts.testing import check_agent, check_game, check_gate

    made = plugins().game(game)
    # Whoever names a gate wants it checked: what cannot be made ends the command.
    named = {gate: plugins().gate(gate, made) for gate in saved or ()}
    name = _guarded("game", game, lambda: made.spec.name)
    _report("game", name, lambda: check_game(made, num_games=num_games, seed=seed))
    registered = Plugins.for_game(plugins().gates, name)
    gates = {gate: _made("gate", gate, partial(plugins().gate, gate, made)) for gate in registered}
    for gate, weighs in (gates | named).items():
        if weighs is not None:
            _report("gate", gate, partial(check_gate, weighs, made, seed=seed))
    for agent in Plugins.for_game(plugins().agents, name):
        player = _made("agent", agent, partial(plugins().agent, agent, made))
        if player is not None:
            _report("agent", agent, partial(check_agent, player, made, seed=seed))


def _made(kind: str, name: str, make: Callable[[], Found]) -> Found | None:
    """Returns what is to be checked; says why there is nothing where it cannot be made."""
    try:
        return make()
    except MoemctsError as error:
        typer.echo(f"{kind} {name}\n  not checked: {error}")
        return None


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
        raise MoemctsError(f"{kind} {name} raised {type(error).__name__}{_place(error)}: {error}") from error


def _place(error: BaseException) -> str:
    """Returns where the code of the game was when it raised."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not Path(frame.filename).is_relative_to(Path(moemcts.__file__).parent)]
    return f" in {own[-1].name} ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else ""

"""`moemcts play`: lets a person play against agents, in the terminal or in the browser."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from moemcts.errors import MoemctsError, UsageError

if TYPE_CHECKING:
    from moemcts.agents import Agent, Decision, Seat
    from moemcts.game import Action, Game, Player, State, Views
    from moemcts.play import Table

QUIT = ("quit", "exit")
LIST = "?"
"""The input that lists the moves."""
_MAX_LISTED = 12
"""Up to this many moves are listed with the prompt."""


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Start here")(play)


def play(
    game: Annotated[str | None, typer.Option(help="A registered game; the page of --web has all of them.")] = None,
    against: Annotated[
        str | None,
        typer.Option(
            help="An agent, a folder of experts or `weights:NAME`; by default the game's own experts, else its "
            "default agent."
        ),
    ] = None,
    simulations: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=100_000,
            help="Simulations per move of agents that name no limit, such as experts; 100 by default.",
        ),
    ] = None,
    seat: Annotated[int, typer.Option(min=0, help="Your seat; the number of players or more: you only watch.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    web: Annotated[bool, typer.Option("--web", help="Play in the browser: a page on this machine alone.")] = False,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port of the page; 8642, or any that is free, by default.")
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the page's address, open nothing.")] = False,
) -> None:
    """Play against agents in the terminal or the browser, or watch them; `?` lists moves, `quit` leaves the game."""
    if web:
        _serve(game, against, simulations, seat, seed, port, no_browser)
        return
    if port is not None or no_browser:
        raise UsageError("--port and --no-browser go with --web")
    from moemcts.game import first_state
    from moemcts.naming import best_available_agent, check_limits, resolve_agent
    from moemcts.play import Table, chance_of, seats_of
    from moemcts.plugins import plugins

    if game is None:
        raise UsageError(f"expected --game; one of {', '.join(plugins().games)}")
    loaded_game = plugins().game(game)
    limits = {} if simulations is None else {"simulations": simulations}
    name = best_available_agent(loaded_game) if against is None else against
    agent = resolve_agent(name, loaded_game, limits)
    check_limits([name], loaded_game, limits)
    players = range(loaded_game.spec.num_players)
    person = Person(loaded_game)
    table = Table(
        state=first_state(loaded_game, seed),
        agents=[person if player == seat else agent for player in players],
        seats=seats_of(len(players), seed),
        chance=chance_of(len(players), seed),
    )
    _show(loaded_game, table.state)
    try:
        _play_out(loaded_game, table, agent, person)
    except _PersonLeft as left:
        if left.reason:
            raise UsageError(left.reason) from None
        return
    names = ["you" if player == seat else agent.name for player in players]
    results = (f"player {player} ({names[player]}) {value:+g}" for player, value in enumerate(table.returns()))
    typer.echo(f"\n{loaded_game.render(table.state)}\n\nresult: {', '.join(results)}")


def _serve(
    game: str | None,
    against: str | None,
    simulations: int | None,
    seat: int,
    seed: int,
    port: int | None,
    no_browser: bool,
) -> None:
    from moemcts.naming import check_limits, resolve_agent
    from moemcts.plugins import plugins
    from moemcts.web.app import serve
    from moemcts.web.offers import Offers

    if against is not None:
        if game is None:
            raise UsageError("expected --game with --against: an agent plays one game")
        # Errors are reported here instead of on a page.
        loaded_game = plugins().game(game)
        resolve_agent(against, loaded_game)
        check_limits([against], loaded_game, {} if simulations is None else {"simulations": simulations})
    elif game is not None:
        plugins().game(game)

    def ready(address: str) -> None:
        typer.echo(address)
        typer.echo("the page is served to this machine only; Ctrl-C stops it", err=True)
        if not no_browser:
            import webbrowser

            # A thread, because opening a terminal browser blocks until it exits, and it needs the server meanwhile.
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    agents = [] if against is None else [against]
    serve(Offers(game=game, agents=agents, seat=seat, seed=seed, simulations=simulations), port, ready)


def _play_out(game: Game, table: Table, agent: Agent, person: Person) -> None:
    from moemcts.game import CHANCE
    from moemcts.play import play as rounds

    for (step,) in rounds(game, [table]):
        for player, failure in step.failures.items():
            name = table.agents[player].name
            raise MoemctsError(f"player {player} ({name}), {failure.kind}: {failure.reason}")
        for player, decision in zip(step.players, step.decisions, strict=True):
            mover = "chance" if player == CHANCE else f"player {player} ({agent.name})"
            if player == CHANCE or table.agents[player] is not person:
                typer.echo(f"{mover}: {game.format_action(step.state, player, decision.action)}")
        if table.players:
            _show(game, table.state)


class _PersonLeft(BaseException):
    """The person has left the game; a BaseException, as it is not an error of an agent."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


class Person:
    """The person at the terminal, as an agent."""

    name = "you"

    def __init__(self, game: Game) -> None:
        self._game = game

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        from moemcts.agents import Decision

        return [Decision(action=self._read_move(*views[row])) for row in range(len(seats))]

    def _read_move(self, state: State, player: Player) -> Action:
        names = [self._game.format_action(state, player, action) for action in state.legal_actions(player)]
        all_moves = " ".join(names)
        hint = (
            f"or {QUIT[0]} ({all_moves})" if len(names) <= _MAX_LISTED else f"{LIST} for all {len(names)}, or {QUIT[0]}"
        )
        while True:
            try:
                text = input(f"player {player}, your move, {hint}: ").strip()
            except (EOFError, RuntimeError):
                # A missing standard input raises RuntimeError. The newline ends the line of the prompt.
                typer.echo()
                raise _PersonLeft("expected a move, but the input has ended") from None
            if text.lower() in QUIT and text not in names:
                raise _PersonLeft
            if text == LIST and text not in names:
                typer.echo(all_moves)
                continue
            try:
                return self._game.parse_action(state, player, text)
            except ValueError:
                # The game's own message lists all moves.
                typer.echo(f"expected one of the moves that {LIST} lists, or {QUIT[0]}, got {text!r}", err=True)


def _show(game: Game, state: State) -> None:
    typer.echo(f"\nply {state.ply}\n{game.render(state)}")

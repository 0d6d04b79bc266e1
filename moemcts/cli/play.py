"""`moemcts play`: a person against agents, in the terminal."""

from __future__ import annotations

from typing import Annotated

import typer

from moemcts.errors import UsageError
from moemcts.game import Action, Game, Player, State


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Start here")(play)


def play(
    game: Annotated[str, typer.Option(help="A registered game.")],
    against: Annotated[
        str | None, typer.Option(help="An agent or a folder of experts; the game's default agent otherwise.")
    ] = None,
    seat: Annotated[int, typer.Option(min=0, help="Where you sit; the number of players or more only watches.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Decides everything that is random.")] = 0,
) -> None:
    """Play against agents in the terminal, or watch them."""
    import numpy as np

    from moemcts.agents import Seat
    from moemcts.naming import resolve_agent
    from moemcts.plugins import plugins

    made = plugins().game(game)
    agent = resolve_agent(against or plugins().default_agent(made), made)
    seats = [Seat(player, np.random.default_rng([seed, player])) for player in range(made.spec.num_players)]
    state = made.initial_state(seed)
    while players := state.active_players:
        typer.echo(f"\nply {state.ply}\n{made.render(state)}")
        actions = []
        for player in players:
            if player == seat:
                actions.append(_ask(made, state, player))
            else:
                (decision,) = agent.act(made.views([(state, player)]), [seats[player]])
                actions.append(decision.action)
                typer.echo(f"player {player} ({agent.name}): {made.format_action(state, player, decision.action)}")
        state = state.play(actions)
    typer.echo(f"\n{made.render(state)}\n\nresult: {', '.join(f'{value:+g}' for value in state.returns())}")


def _ask(game: Game, state: State, player: Player) -> Action:
    names = [game.format_action(state, player, action) for action in state.legal_actions(player)]
    while True:
        try:
            text = input(f"player {player}, your move ({' '.join(names)}): ").strip()
        except EOFError:
            raise UsageError("expected a move, the input has ended") from None
        try:
            return game.parse_action(state, player, text)
        except ValueError as error:
            typer.echo(str(error), err=True)

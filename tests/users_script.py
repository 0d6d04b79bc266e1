"""What a user writes in a notebook: games and agents by name, a few plies of five games. Is run and type-checked."""

from __future__ import annotations

import moemcts


def first_plies(agent: moemcts.LoadedAgent, num_plies: int = 3) -> list[str]:
    """Returns the moves of an agent against itself, by name."""
    game: moemcts.Game = agent.game
    state: moemcts.State = game.initial_state(seed=1)
    played: list[str] = []
    while state.active_players and state.ply < num_plies:
        decisions: list[moemcts.Decision] = [agent.play(state, player) for player in state.active_players]
        played += [
            game.format_action(state, player, decision.action)
            for player, decision in zip(state.active_players, decisions, strict=True)
        ]
        expected: list[float | None] = [decision.value for decision in decisions]
        assert all(value is None or -1 <= value <= 1 for value in expected)
        state = state.play([decision.action for decision in decisions])
    return played


PLAYED: dict[str, list[str]] = {
    name: first_plies(moemcts.load(f"weights:{name}?simulations=4&backend=torch"))
    for name in ("chess", "antichess", "connect-four", "pommerman")
}
PLAYED["hex"] = first_plies(moemcts.load("uct?simulations=20", moemcts.make("hex?size=5")))

"""Loads games and agents by name, for use from Python."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from moemcts import naming
from moemcts.agents import Agent, Decision, Seat
from moemcts.errors import UsageError
from moemcts.game import CHANCE, Game, Player, State, Views
from moemcts.play import seats_of
from moemcts.plugins import plugins
from moemcts.references import EXPERTS, parse_reference
from moemcts.weights import is_reference


def make(reference: str) -> Game[Any]:
    """Returns the game that a reference names, such as `tictactoe`; `moemcts games` lists them.

    Raises UsageError, with the closest match, for an unknown game, and TypeError if `reference` is not a string.
    """
    if not isinstance(reference, str):
        raise TypeError(f"expected the name of a game, got {reference!r:.80}")
    return plugins().game(reference)


def load(agent: str | Path, game: str | Game[Any] | None = None, *, seed: int = 0) -> LoadedAgent:
    """Returns the agent that a reference names, with its game, ready to play.

    `agent` names trained experts, as a folder, `weights:NAME`, `hf:OWNER/NAME` or a URL, or a registered agent; options
    configure it: `weights:NAME?simulations=400`, `uct?simulations=1000`. Experts know their game, registered agents
    need `game`. Raises UsageError for unknown names, MoemctsError for experts that cannot be loaded, TypeError if
    `agent` is neither a name nor a path or `game` neither a game nor a name.
    """
    if not isinstance(agent, str | Path):
        raise TypeError(f"expected the name of an agent or a folder of experts, got {agent!r:.80}")
    reference = str(agent)
    if not isinstance(game, str | Game | None):
        raise TypeError(f"expected a game or the name of one, got {game!r:.80}")
    made = plugins().game(game) if isinstance(game, str) else game or _game_of(reference)
    return LoadedAgent(naming.resolve_agent(reference, made), made, seed=seed)


def _game_of(reference: str) -> Game[Any]:
    name, _ = parse_reference(reference)
    if not is_reference(name) and not name.startswith(EXPERTS) and not Path(name).exists():
        raise UsageError(
            f"expected a folder of experts, got {reference!r}; to load an agent, name its game too: load(AGENT, GAME)"
        )
    return naming.game_of(reference)


class LoadedAgent:
    """An agent and its game: takes single positions and returns single decisions.

    Each player's seat keeps the agent's memory and its random state between decisions and between games; call `reset`
    before a new game to play it like a fresh agent.
    """

    def __init__(self, agent: Agent, game: Game[Any], *, seed: int = 0) -> None:
        self.agent = agent
        self.game = game
        self.reset(seed)

    def reset(self, seed: int = 0) -> None:
        """Clears the memory and restarts the random generators from a seed."""
        self._seats = seats_of(self.game.spec.num_players, seed)

    @property
    def name(self) -> str:
        return self.agent.name

    def play(self, state: State, player: Player | None = None) -> Decision:
        """Returns the agent's decision for `player`, who moves in `state`; `state` is not modified.

        In turn-based games, `state.play([decision.action])` is the next position. If several players move at once,
        `player` is required. Raises ValueError for a player who is not to move, and at chance nodes.
        """
        active = state.active_players
        if CHANCE in active:
            raise ValueError(
                "expected a position in which a player moves, got one in which chance moves; draw its outcome: "
                "state.play([moemcts.game.random_action(state, CHANCE, rng)])"
            )
        if player is None and len(active) != 1:
            raise ValueError(f"expected player to be one of {list(active)}, who all move here, got none")
        if player is not None and player not in active:
            raise ValueError(f"expected player to be one of {list(active)}, who move here, got {player!r}")
        mover = active[0] if player is None else player
        return self.act(self.game.views([(state, mover)]), [self._seats[mover]])[0]

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        """Returns a decision for each view, as `Agent.act` does."""
        return self.agent.act(views, seats)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of {self.game.spec.name}>"

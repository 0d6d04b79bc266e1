"""Games and agents for a few lines of Python: what a user names, made ready to be asked."""

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
from moemcts.references import parse_reference
from moemcts.weights import is_reference


def make(reference: str) -> Game[Any]:
    """Returns the game that a reference names, such as `tictactoe`; `moemcts games` lists them.

    Raises UsageError, naming the nearest, for a game that there is none of, TypeError for what is no name.
    """
    if not isinstance(reference, str):
        raise TypeError(f"expected the name of a game, got {reference!r:.80}")
    return plugins().game(reference)


def load(agent: str | Path, game: str | Game[Any] | None = None, *, seed: int = 0) -> LoadedAgent:
    """Returns the agent that a reference names, with its game, ready to be asked about positions.

    `agent` names trained experts, as a folder, `weights:NAME`, `hf:OWNER/NAME` or a URL, or a registered agent;
    options say how they play: `weights:NAME?simulations=400`, `uct?simulations=1000`. Experts know their game,
    an agent's is to be given. Raises UsageError for names that there are none of, MoemctsError for experts that
    cannot be loaded, TypeError for what is neither a game nor the name of one.
    """
    reference = str(agent)
    if not isinstance(game, str | Game | None):
        raise TypeError(f"expected a game or the name of one, got {game!r:.80}")
    made = plugins().game(game) if isinstance(game, str) else game or _game_of(reference)
    return LoadedAgent(naming.resolve_agent(reference, made), made, seed=seed)


def _game_of(reference: str) -> Game[Any]:
    name, _ = parse_reference(reference)
    if not is_reference(name) and not name.startswith(naming.EXPERTS) and not Path(name).exists():
        raise UsageError(
            f"expected a folder of experts, got {reference!r}; an agent's game is named, too: load(AGENT, GAME)"
        )
    return naming.game_of(reference)


class LoadedAgent:
    """An agent and its game: one position in, one decision out.

    Each player's seat keeps what the agent remembers and where its randomness is, from one decision to the next and
    from one game to the next: `reset` before a new game makes it play like a fresh one.
    """

    def __init__(self, agent: Agent, game: Game[Any], *, seed: int = 0) -> None:
        self.agent = agent
        self.game = game
        self.reset(seed)

    def reset(self, seed: int = 0) -> None:
        """Forgets what was remembered, and draws from a seed anew."""
        self._seats = seats_of(self.game.spec.num_players, seed)

    @property
    def name(self) -> str:
        return self.agent.name

    def play(self, state: State, player: Player | None = None) -> Decision:
        """Returns what the agent decides for `player`, who moves in `state`, which it does not change.

        `state.play([decision.action])` is the position that follows in a game of turns. Where several players move
        at once `player` says for whom. Raises ValueError for who does not move, and where chance does.
        """
        active = state.active_players
        if CHANCE in active:
            raise ValueError(
                "expected a position in which a player moves, got one of chance; draw what happens: "
                "state.play([moemcts.game.random_action(state, CHANCE, rng)])"
            )
        if player is None and len(active) != 1:
            raise ValueError(f"expected a player, one of {list(active)} who move, got none")
        if player is not None and player not in active:
            raise ValueError(f"expected a player of {list(active)}, who move, got {player}")
        mover = active[0] if player is None else player
        return self.act(self.game.views([(state, mover)]), [self._seats[mover]])[0]

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        """Returns a decision for each view, as agents do."""
        return self.agent.act(views, seats)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of {self.game.spec.name}>"

"""A running game for the environments: the state, the messages, and agents in other seats."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping
from typing import Any, Self

import gymnasium
import numpy as np

from moemcts.agents import Agent, Seat
from moemcts.errors import UsageError, unknown_name
from moemcts_pommerman import native
from moemcts_pommerman.agents import ScriptedAgent
from moemcts_pommerman.game import Pommerman
from moemcts_pommerman.spaces import SILENCE, ObservationForm, observe, random_words, split_action

SCRIPTS = ("simple", "random", "stop")
RENDER_MODES = ("ansi", "rgb_array")


class Opponent:
    """An agent in other seats. Copies of an environment share it, as its memory is in its seats."""

    def __init__(self, agent: Agent, *, sends_random_words: bool = False) -> None:
        """With `sends_random_words`, random words go out on the radio, if there is one; else the agent is silent."""
        self.agent = agent
        self.sends_random_words = sends_random_words

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Raises TypeError if the agent cannot be pickled."""
        try:
            return _unpickle, (pickle.dumps(self.agent), self.sends_random_words)
        except (TypeError, AttributeError, pickle.PicklingError) as error:
            raise TypeError(
                f"expected opponents that can be pickled, got {self.agent.name!r}: {error}; pickle the "
                "environment before its first step, or create it in the process that uses it"
            ) from error


def _unpickle(agent: bytes, sends_random_words: bool) -> Opponent:
    return Opponent(pickle.loads(agent), sends_random_words=sends_random_words)


class RunningGame:
    """A game in progress, with agents of the framework in some seats."""

    def __init__(self, game: Pommerman, opponents: Mapping[int, Opponent], seed: int) -> None:
        self.state: Any = game.initial_state(seed)
        self.rewards: list[float] = [0.0] * game.spec.num_players
        self.done = False
        self.messages = [SILENCE] * game.spec.num_players
        self._opponents = opponents
        self._has_radio = game.rules.has_radio
        self._seats = {player: Seat(player, np.random.default_rng([seed, player])) for player in opponents}

    def __getstate__(self) -> dict[str, Any]:
        """Returns the state for copies; raises TypeError if the memory of an opponent cannot be copied."""
        for player, seat in self._seats.items():
            try:
                copy.deepcopy(seat.memory)
            except TypeError as error:
                name = self._opponents[player].agent.name
                raise TypeError(
                    f"expected opponents whose memory can be copied, got {name!r}: {error}; "
                    "copy the environment before its first step, or let them search without `reuse`"
                ) from error
        return self.__dict__

    @property
    def winners(self) -> tuple[int, ...]:
        """Returns the winners of a finished game, including dead members of a winning team."""
        if not self.done:
            return ()
        return tuple(player for player, reward in enumerate(self.rewards) if reward > 0)

    def is_over_for(self, player: int) -> bool:
        """Returns whether a player has received its last reward: the game is over, or its death has been penalised.

        Deaths by collapsing walls count from the next step on. Only in a free-for-all do the dead get -1 before the
        end.
        """
        return self.done or self.rewards[player] < 0

    def observation(self, player: int, form: ObservationForm = "dictionary") -> Any:
        """Returns the observation of `player`: planes `[23, n, n]`, or the reference's dictionary."""
        if form == "planes":
            return self.state.observation(player)
        return observe(self.state, player, self.messages[(player + 2) % len(self.messages)])

    def message_info(self, player: int) -> dict[str, Any]:
        """Returns the entries of a player's `info`: with radio, the words sent by its teammate."""
        return {"message": self.messages[(player + 2) % len(self.messages)]} if self._has_radio else {}

    def step(self, actions: Mapping[int, Any]) -> None:
        """Plays the given actions, those of agents in their seats, and Stop for the others.

        Raises ValueError for an invalid action. Dead players stop and are silent, as are agents except `random`, which
        sends random words.
        """
        living = self.state.living
        moves = [0] * len(self.rewards)
        messages = [SILENCE] * len(self.rewards)
        for player, action in actions.items():
            move, message = split_action(action)
            if player in living:
                moves[player], messages[player] = move, message
        for player, move in self._opponent_moves(living).items():
            moves[player] = move
            if self._has_radio and self._opponents[player].sends_random_words:
                messages[player] = random_words(self._seats[player].rng)
        self.state, rewards, self.done, _ = self.state.step(moves)
        self.rewards = [float(reward) for reward in rewards]
        self.messages = messages

    def _opponent_moves(self, living: tuple[int, ...]) -> dict[int, int]:
        """Returns the moves of the living opponents by player; the seats of one agent are asked in one batch."""
        players_of_opponent: dict[int, list[int]] = {}
        for player, opponent in self._opponents.items():
            if player in living:
                players_of_opponent.setdefault(id(opponent), []).append(player)
        moves: dict[int, int] = {}
        for players in players_of_opponent.values():
            views = native.Views([(self.state, player) for player in players])
            agent = self._opponents[players[0]].agent
            decisions = agent.act(views, [self._seats[player] for player in players])
            moves |= {player: decision.action for player, decision in zip(players, decisions, strict=True)}
        return moves


class RunningGameMixin:
    """Base of the environments for one or all seats: a game in progress that can be rendered."""

    def __init__(self, render_mode: str | None) -> None:
        """Raises ValueError if the mode is neither None nor in `RENDER_MODES`."""
        if render_mode not in (None, *RENDER_MODES):
            raise ValueError(f"expected render_mode 'ansi', 'rgb_array' or None, got {render_mode!r}")
        self.render_mode = render_mode
        self._running: RunningGame | None = None

    def render(self) -> Any:
        """Returns the state as text (`ansi`) or as pixels `[height, width, 3]` (`rgb_array`)."""
        if self.render_mode is None:
            return None
        state = self._current().state
        if self.render_mode == "ansi":
            return state.to_text()
        from moemcts_pommerman.drawing import to_array

        return to_array(state)

    def _current(self) -> RunningGame:
        if self._running is None:
            raise gymnasium.error.ResetNeeded("expected reset() before step() and render()")
        return self._running


def make_opponent(agent: str | Agent, game: Pommerman) -> Opponent:
    """Returns the scripted agent with this name, or wraps a given agent.

    Raises UsageError for an unknown name, or an agent known to be made for another board or number of players.
    """
    name = game.spec.name
    if not isinstance(agent, str):
        if not callable(getattr(agent, "act", None)):
            raise UsageError(f"expected opponents to be agents or one of {', '.join(SCRIPTS)}, got {agent!r}")
        own = getattr(agent, "game", game).spec
        if (own.num_players, own.observation_shape) != (game.spec.num_players, game.spec.observation_shape):
            raise UsageError(f"expected opponents for {name}, got {agent.name!r} for {own.name}")
        return Opponent(agent)
    if agent not in SCRIPTS:
        unknown = unknown_name("scripted agent", agent, SCRIPTS)
        raise UsageError(f"{unknown}; other agents are given as objects, such as moemcts.load('planner', {name!r})")
    return Opponent(ScriptedAgent(agent), sends_random_words=agent == "random")

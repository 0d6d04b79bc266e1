"""Pommerman as a PettingZoo environment with simultaneous moves."""

from __future__ import annotations

from typing import Any, ClassVar, Unpack

import gymnasium
import numpy as np

from moemcts.errors import MissingExtra
from moemcts_pommerman.game import Corners, RuleOptions, variant
from moemcts_pommerman.running import RENDER_MODES, RunningGame, RunningGameMixin
from moemcts_pommerman.spaces import ObservationForm, action_space, space_of

try:
    from pettingzoo import ParallelEnv
except ModuleNotFoundError as error:
    raise MissingExtra("pettingzoo", "pettingzoo") from error


class PommermanParallelEnv(RunningGameMixin, ParallelEnv):  # type: ignore[misc]
    """All seats of a game of Pommerman, `agent_0` to `agent_3`.

    Observations are the 23 planes `[23, n, n]` or, with `observation="dictionary"`, the reference's dictionaries;
    rewards are the reference's; with radio, `info["message"]` has the words of the teammate. In a free-for-all, dead
    agents leave with a reward of -1; in a team they stay until the game is over, and their actions are ignored.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "render_modes": list(RENDER_MODES),
        "name": "moemcts_pommerman",
        "is_parallelizable": True,
        "render_fps": 8,
    }

    def __init__(
        self,
        env: str = "PommeFFACompetition-v0",
        *,
        observation: ObservationForm = "planes",
        corners: Corners = "standard",
        render_mode: str | None = None,
        **rules: Unpack[RuleOptions],
    ) -> None:
        """Creates an environment; `rules` are `first_collapse` and `max_steps`.

        Raises ValueError or UsageError for an unknown observation, mode or environment.
        """
        super().__init__(render_mode)
        self.game = variant(env, corners=corners, **rules)
        self.possible_agents = [f"agent_{player}" for player in range(self.game.spec.num_players)]
        self.agents: list[str] = []
        self._observation: ObservationForm = observation
        self._spaces = {name: space_of(observation, self.game.rules) for name in self.possible_agents}
        self._actions = {name: action_space(self.game.rules) for name in self.possible_agents}
        self._rng = np.random.default_rng()

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        return self._spaces[agent]

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        return self._actions[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Starts a game; equal seeds give equal boards."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self._running = RunningGame(self.game, {}, int(self._rng.integers(2**63)))
        self.agents = list(self.possible_agents)
        infos = {name: self._running.message_info(self._player(name)) for name in self.agents}
        return self._observations(self._running), infos

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Plays a step; agents without an action play Stop.

        Raises Gymnasium's ResetNeeded after the last step of a game, ValueError for an invalid action or unknown agent.
        """
        running = self._current()
        if not self.agents:
            raise gymnasium.error.ResetNeeded("expected reset() after the last step of a game")
        running.step({self._player(name): action for name, action in actions.items()})
        observations = self._observations(running)
        rewards = {name: running.rewards[self._player(name)] for name in self.agents}
        terminations = {name: running.is_over_for(self._player(name)) for name in self.agents}
        truncations = dict.fromkeys(self.agents, False)
        infos: dict[str, dict[str, Any]] = {
            name: {"winners": running.winners, **running.message_info(self._player(name))} for name in self.agents
        }
        self.agents = [name for name in self.agents if not terminations[name]]
        return observations, rewards, terminations, truncations, infos

    @property
    def position(self) -> Any:
        """The state of the game, for rendering or saving; PettingZoo's `state()` would be a global observation."""
        return self._current().state

    def close(self) -> None:
        self._running = None

    def _observations(self, running: RunningGame) -> dict[str, Any]:
        return {name: running.observation(self._player(name), self._observation) for name in self.agents}

    def _player(self, name: str) -> int:
        if name not in self.possible_agents:
            raise ValueError(f"expected one of {', '.join(self.possible_agents)}, got {name!r}")
        return self.possible_agents.index(name)

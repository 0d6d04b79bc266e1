"""Pommerman as a Gymnasium environment: one learning agent, with agents as the other players."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Unpack

import gymnasium
import numpy as np

from moemcts.agents import Agent
from moemcts_pommerman.game import Corners, Pommerman, RuleOptions, variant
from moemcts_pommerman.running import RENDER_MODES, Opponent, RunningGame, RunningGameMixin, make_opponent
from moemcts_pommerman.spaces import ObservationForm, action_space, space_of

IDS = {
    "moemcts/PommermanFFA-v0": "PommeFFACompetition-v0",
    "moemcts/PommermanTeam-v0": "PommeTeamCompetition-v0",
    "moemcts/PommermanRadio-v0": "PommeRadioCompetition-v2",
    "moemcts/PommermanOneVsOne-v0": "OneVsOne-v0",
}


class PommermanEnv(RunningGameMixin, gymnasium.Env[Any, Any]):
    """One seat of a game of Pommerman.

    Observations are the 23 planes `[23, n, n]` that networks see, or the reference's dictionaries with
    `observation="dictionary"`, which RL libraries do not accept directly; rewards are the reference's. With radio,
    `info["message"]` has the words of the teammate. An episode ends with the game or, in a free-for-all, with the
    learning agent's death; in a team its actions are ignored from then on. The step limit is a rule of the game, so
    episodes are never truncated. Copies behave like the original; they share the opponents, whose memory is in their
    seats.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 8}  # noqa: RUF012

    def __init__(
        self,
        env: str = "PommeFFACompetition-v0",
        *,
        opponents: str | Agent | Sequence[str | Agent] = "simple",
        seat: int | Literal["rotate"] = "rotate",
        observation: ObservationForm = "planes",
        corners: Corners = "standard",
        render_mode: str | None = None,
        **rules: Unpack[RuleOptions],
    ) -> None:
        """Creates an environment; `rules` are `first_collapse` and `max_steps`.

        `opponents` is one agent or script (`simple`, `random`, `stop`) for all other seats, or one for each of them, in
        order. By default the seat rotates between episodes: seats are not equal, 0 and 2 win more often. Raises
        ValueError or UsageError for an unknown seat, script, mode or environment.
        """
        super().__init__(render_mode)
        self.game = variant(env, corners=corners, **rules)
        self.observation_space = space_of(observation, self.game.rules)
        num_players = self.game.spec.num_players
        self._default_seat = self._parse_seat(seat)
        agents = _as_list(opponents, num_players - 1)
        if len(agents) != num_players - 1:
            raise ValueError(f"expected one agent for each of {num_players - 1} other seats, got {len(agents)}")
        self._opponents = _make_opponents(agents, self.game)
        self._rotation: int | None = None
        """A counter of episodes, modulo the number of players the seat; None before the first one."""
        self.seat = 0
        self._observation: ObservationForm = observation
        self.action_space = action_space(self.game.rules)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Starts a game; equal seeds give equal games and seats, the first seat being the seed modulo the number of
        players.

        `options={"seat": 2}` selects that seat. Raises ValueError for other options or an unknown seat.
        """
        super().reset(seed=seed)
        num_players = self.game.spec.num_players
        if unknown := sorted(set(options or {}) - {"seat"}):
            raise ValueError(f"expected no option but 'seat', got {', '.join(map(repr, unknown))}")
        if seed is not None:
            self._rotation = seed % num_players
        elif self._rotation is None:
            # Unseeded environments should not all begin in the same seat.
            self._rotation = int(self.np_random.integers(num_players))
        seat = self._parse_seat((options or {}).get("seat", self._default_seat))
        self.seat = self._rotation % num_players if seat == "rotate" else seat
        self._rotation += 1
        players = [player for player in range(num_players) if player != self.seat]
        opponents = dict(zip(players, self._opponents, strict=True))
        self._running = RunningGame(self.game, opponents, int(self.np_random.integers(2**63)))
        return self._observe(self._running), {"seat": self.seat, **self._running.message_info(self.seat)}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Plays a step; `info` has the winners and all players' rewards.

        Raises Gymnasium's ResetNeeded after the last step of an episode, ValueError for an invalid action.
        """
        running = self._current()
        if running.is_over_for(self.seat):
            raise gymnasium.error.ResetNeeded("expected reset() after the last step of an episode")
        running.step({self.seat: action})
        info = {"seat": self.seat, "winners": running.winners, "rewards": tuple(running.rewards)}
        info |= running.message_info(self.seat)
        is_over = running.is_over_for(self.seat)
        return self._observe(running), running.rewards[self.seat], is_over, False, info

    @property
    def state(self) -> Any:
        """The state of the game, for rendering or saving."""
        return self._current().state

    def _parse_seat(self, seat: Any) -> Any:
        """Returns `"rotate"` or the number of a seat; raises ValueError for anything else."""
        num_players = self.game.spec.num_players
        if seat == "rotate":
            return seat
        if isinstance(seat, int | np.integer) and not isinstance(seat, bool) and seat in range(num_players):
            return int(seat)
        raise ValueError(f"expected seat 'rotate' or a number below {num_players}, got {seat!r}")

    def _observe(self, running: RunningGame) -> Any:
        return running.observation(self.seat, self._observation)


def _as_list(opponents: str | Agent | Sequence[str | Agent], count: int) -> list[str | Agent]:
    if isinstance(opponents, Sequence) and not isinstance(opponents, str):
        return list(opponents)
    return [opponents] * count


def _make_opponents(agents: Sequence[str | Agent], game: Pommerman) -> list[Opponent]:
    """Returns an opponent per seat, one object per distinct script or agent, so that its seats are batched."""
    # Agents are distinguished by identity, as they need not be hashable.
    keys = [agent if isinstance(agent, str) else id(agent) for agent in agents]
    opponents: dict[str | int, Opponent] = {}
    for key, agent in zip(keys, agents, strict=True):
        if key not in opponents:
            opponents[key] = make_opponent(agent, game)
    return [opponents[key] for key in keys]


def register() -> None:
    """Registers the environments with Gymnasium; called when the package is imported."""
    for name, env in IDS.items():
        if name not in gymnasium.registry:
            gymnasium.register(name, entry_point=f"{__name__}:PommermanEnv", kwargs={"env": env})

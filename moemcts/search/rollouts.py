"""Truncated rollouts: a position is evaluated where play by agents leads (Tesauro and Galperin 1996)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from moemcts.agents import Agent, RandomAgent, Seat
from moemcts.evaluation import Evaluation, Evaluator, EvaluatorWrapper
from moemcts.game import (
    CHANCE,
    Action,
    Game,
    Player,
    State,
    Views,
    after_step,
    discounts,
    from_own_seats,
    random_action,
)
from moemcts.native import Ends, can_roll_out
from moemcts.search.config import LARGEST_U32
from moemcts.search.opponents import Opponents, opponent_of, replies
from moemcts.validation import check_length, check_players, per_player, returns_of, unsigned_key


class TruncatedRollouts(EvaluatorWrapper):
    """Evaluates a view by the evaluator's value of the position that a rollout by agents reaches.

    The rollout takes the given number of plies and continues until the viewing player moves or its return is decided; a
    decided return is used as the value. The policy is the evaluator's for the view itself. A rollout depends only on
    the position, the player and the seed; agents start with empty memories.
    """

    def __init__(
        self,
        game: Game,
        evaluator: Evaluator,
        plies: int,
        *,
        agents: Opponents = None,
        uses_policy: bool = True,
        seed: int = 0,
    ) -> None:
        """Takes the agents that play, for all seats or by seat; other seats play at random.

        Without `uses_policy`, the evaluator is not asked about the view itself, and the policy is uniform. Raises
        ValueError unless `plies` is from 1 to `LARGEST_U32`.
        """
        if plies < 1:
            raise ValueError(f"expected at least one ply of a rollout, got {plies}")
        if plies > LARGEST_U32:
            raise ValueError(f"expected at most {LARGEST_U32} plies of a rollout, got {plies}")
        self._game = game
        super().__init__(evaluator)
        self._plies = plies
        by_seat = [opponent_of(agents, player) for player in range(game.spec.num_players)]
        random_agent = RandomAgent()
        self._agents: list[Agent] = [random_agent if agent is None else agent for agent in by_seat]
        self._hears_policy = uses_policy
        self._seed = seed
        self._num_axes: int | None = None
        """Axes of the evaluator's values, for results in which no rollout needs one; None before its first
        evaluation."""

    def evaluate(self, views: Views) -> Evaluation:
        if not len(views):
            return self._evaluator.evaluate(views)
        spec = self._game.spec
        ends = self.roll_out(views)
        value, scales = (from_own_seats(table, views.players()) for table in (ends.paid, ends.scales))
        undecided = np.flatnonzero(scales[:, 0])
        if len(undecided) or self._num_axes is None:
            end_views = ends.views.take(undecided) if len(undecided) else views.take([0])
            end_value = self._evaluator.evaluate(end_views).value
            self._num_axes = end_value.ndim
        if self._num_axes == 1:
            value, scales = value[:, 0], scales[:, 0]
        if len(undecided):
            value[undecided] += scales[undecided] * end_value
        if self._hears_policy:
            logits = self._evaluator.evaluate(views).logits
        else:
            logits = np.broadcast_to(np.zeros(1, dtype=np.float32), (len(views), spec.num_actions))
        return Evaluation(logits, np.clip(value, -1, 1))

    def roll_out(self, views: Views) -> Ends:
        """Returns the end points of rollouts from each view."""
        agents = [None if isinstance(agent, RandomAgent) else agent for agent in self._agents]
        natives = [getattr(agent, "native", None) for agent in agents]
        if can_roll_out(views) and all(native or not agent for agent, native in zip(agents, natives, strict=True)):
            return Ends(*views.roll_out(self._plies, natives, self._seed, discount=self._game.spec.discount))
        return self._roll_out_in_batches(views)

    def _roll_out_in_batches(self, views: Views) -> Ends:
        """Does what `roll_out` of native views does, asking agents about all positions in batches."""
        rollouts = [_Rollout(self._game, state, viewer, self._plies, self._seed) for state, viewer in views]
        while running := [rollout for rollout in rollouts if not rollout.is_over]:
            movers = [(rollout, player) for rollout in running for player in rollout.players]
            actions = iter(self._choose_actions(movers))
            for rollout in running:
                rollout.play({player: next(actions) for player in rollout.players})
        paid = np.array([rollout.paid for rollout in rollouts], dtype=np.float32).reshape(len(rollouts), -1)
        scales = np.array([rollout.scales for rollout in rollouts], dtype=np.float32).reshape(paid.shape)
        return Ends(self._game.views([(rollout.state, rollout.viewer) for rollout in rollouts]), paid, scales)

    def _choose_actions(self, movers: Sequence[tuple[_Rollout, Player]]) -> list[Action]:
        """Returns the actions that agents choose for players of rollouts."""
        if not movers:
            return []
        views = self._game.views([(rollout.state, player) for rollout, player in movers])
        seats = [rollout.seats[player] for rollout, player in movers]
        return replies([self._agents[player] for _, player in movers], views, seats)


class _Rollout:
    """A rollout in progress."""

    def __init__(self, game: Game, state: State, viewer: Player, plies: int, seed: int) -> None:
        self.state = state
        self.viewer = viewer
        self.scales = np.ones(game.spec.num_players)
        self.paid = np.zeros(game.spec.num_players)
        self._spec = game.spec
        self._plies_left = plies
        key = unsigned_key(state.key(), game.spec.name)
        chance_seed, *seeds = np.random.SeedSequence([seed, key, viewer]).spawn(game.spec.num_players + 1)
        self.seats = [Seat(player, np.random.default_rng(seed)) for player, seed in enumerate(seeds)]
        self._chance = np.random.default_rng(chance_seed)
        self.is_over = False
        self._check_end()

    @property
    def players(self) -> Sequence[Player]:
        """The players whose actions the next step needs, ascending."""
        return [player for player in self.state.active_players if player != CHANCE]

    def play(self, actions: Mapping[Player, int]) -> None:
        """Plays a step, a random one at a chance node."""
        joint = [actions[player] for player in self.players]
        if self.state.active_players == (CHANCE,):
            joint = [random_action(self.state, CHANCE, self._chance)]
        before, self.state = self.state, after_step(self._spec, self.state, joint)
        self._plies_left -= 1
        self.paid += self.scales * per_player(self._spec, "rewards", self.state.rewards())
        self.scales *= discounts(before, self.state, self._spec.discount, len(self.scales))
        self._check_end()

    def _check_end(self) -> None:
        """Ends the rollout if the viewing player's return is decided, or if it is to move after the last ply."""
        active = self.state.active_players
        check_players(self._spec, active)
        is_decided = not active or (self.viewer not in active and self.state.is_decided(self.viewer))
        self.is_over = is_decided or (self._plies_left <= 0 and self.viewer in active)
        if not self.is_over:
            check_length(self._spec, self.state)
            return
        players = range(len(self.paid))
        decided = [player for player in players if is_decided or self.state.is_decided(player)]
        self.paid[decided] += (self.scales * returns_of(self._spec, self.state))[decided]
        self.scales[decided] = 0

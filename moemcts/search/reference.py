"""The reference implementation of the search, in NumPy: slow and short; the native tree must match it visit for visit.

It handles one tree and one player's seat after the other, with the same order of floating-point operations as in
`native/tree`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from moemcts.evaluation import Evaluation
from moemcts.game import CHANCE, Action, GameSpec, Player, State, discounts
from moemcts.search import config as constants
from moemcts.search import nodes
from moemcts.search.config import SearchConfig
from moemcts.search.forced import behind
from moemcts.search.foresight import foreseen_visits, virtual_policy
from moemcts.search.gumbel import GumbelRoot, considered_visits, logits, planned
from moemcts.search.nodes import Float64s, Node, Path, SeatStatistics
from moemcts.search.proofs import nearest_win, proof_of, prove, renumber
from moemcts.splitmix import SplitMix64

Reply = Callable[[State, Player], Action]


class ReferenceSearch:
    """One tree of the search that `moemcts.search.Search` runs natively.

    `opponents` are functions from a position and a player to a reply; `root_actions` restricts a player's actions at
    the root.
    """

    def __init__(
        self,
        spec: GameSpec,
        config: SearchConfig,
        root: State,
        *,
        seed: int = 0,
        opponents: Mapping[Player, Reply] | None = None,
        root_actions: Mapping[Player, Sequence[Action]] | None = None,
    ) -> None:
        self.spec = spec
        self.config = config
        self.gumbel, self.width, self.early_end = config.gumbel, config.width, config.early_end
        self.opponents = opponents or {}
        self.rng = SplitMix64(seed)
        self.num_nodes = 0
        self.num_simulations = 0
        self.num_scouts = 0
        self.pending: list[tuple[Node, Path | None]] = []
        self.plans: dict[Player, tuple[list[float], list[int]]] = {}
        """Noise by action and scheduled visits by simulation, of the Gumbel root."""
        self.foreseen: list[list[float]] = []
        """Virtual policies of all seats of the root, one list per check."""
        if root.active_players == (CHANCE,):
            raise ValueError(
                "expected a root in which a player moves, got one in which chance moves; play an outcome first"
            )
        if config.simulations is None and config.nodes is None:
            raise ValueError("expected a limit of simulations or nodes: the definition keeps no time")
        self.root = self._node(root, root_actions or {})

    def select(self) -> list[tuple[State, Player]]:
        """Returns the views of this tree's next leaves; empty when a limit is reached."""
        while len(self.pending) < self.config.leaves_per_tree and not self._is_done():
            before = self.rng.state
            if not self._descend():
                # The outcome is drawn again next time; otherwise, outcomes with pending leaves would be undersampled.
                self.rng.state = before
                break
        return [(leaf.state, seat.player) for leaf, _ in self.pending for seat in leaf.seats]

    def backup(self, evaluation: Evaluation) -> None:
        """Expands the leaves and updates their paths."""
        row = 0
        for leaf, path in self.pending:
            for seat in leaf.seats:
                seat.priors = nodes.priors_of(evaluation.logits[row], seat.actions, self.config)
                self._add_value(leaf, seat.player, np.atleast_1d(evaluation.value[row]))
                row += 1
            if leaf is self.root:
                self._add_noise(leaf)
                self._plan(leaf)
            leaf.is_pending = False
            if path is not None:
                self._finish(leaf, path, held=1)
        self.pending = []

    def continue_from(self, node: Node, *, seed: int) -> None:
        """Begins a new search at an evaluated node of the tree, and keeps what is below it, as `reuse` does.

        Noise is mixed into the priors that the node has.
        """
        self.rng, self.root = SplitMix64(seed), node
        self.num_simulations = self.num_scouts = self.num_nodes = 0
        self.foreseen = []
        subtree = [node]
        for descendant in subtree:
            subtree += descendant.children.values()
            descendant.scouts = 0
        self.num_nodes = len(subtree)
        self._add_noise(node)

    def visits(self, player: Player) -> dict[Action, int]:
        """Returns the visit counts of a player's actions at the root."""
        seat = next(seat for seat in self.root.seats if seat.player == player)
        return dict(zip(seat.actions, seat.visits, strict=True))

    def _is_done(self) -> bool:
        if self.root.plies_left is not None:
            return True
        if self.root.visits == 0 and not self.pending:
            return False
        if self._is_foreseen() or (self.config.nodes is not None and self.num_nodes >= self.config.nodes):
            return True
        if self.config.max_simulations is None:
            return False
        left = self.config.max_simulations - self.num_simulations
        return left <= self._num_held() or (self.config.smart_pruning and self._is_move_certain(left))

    def _num_held(self) -> int:
        return sum(path is not None for _, path in self.pending)

    def _descend(self) -> bool:
        """Descends to a leaf or to an end of the game; returns False if it reaches a leaf that is already pending."""
        node, path = self.root, Path()
        if node.visits == 0:
            if node.is_pending and node.in_flight:
                return False
            self._hold(node, path)
            return True
        if self._is_scout_due():
            self._scout()
            return True
        while True:
            chosen = tuple(self._choose(node, seat) for seat in node.seats)
            outcome = (nodes.sample_outcome(node.chances, self.rng.uniform()),) if node.chances else ()
            replies = self._replies(node.state) if self.config.replies == "drawn" else node.replies
            edge = chosen + outcome + (tuple(replies.values()) if self.config.replies == "drawn" else ())
            is_known = edge in node.children
            if not is_known:
                node.children[edge] = self._make_child(node, chosen, outcome, replies)
            path.append((node, chosen))
            node = node.children[edge]
            if not is_known and self._solves():
                renumber(node, path)
            if node.plies_left is not None:
                self._finish(node, path, held=0)
                if not is_known and self._solves():
                    prove(node, path)
                return True
            if node.is_pending:
                if is_known and node.in_flight:
                    return False
                self._hold(node, path)
                return True
            if node.seats and node.visits == 0:
                self._finish(node, path, held=0)
                return True

    def _choose(self, node: Node, seat: SeatStatistics) -> int:
        """Returns the index of the best action by PUCT; ties go to the largest prior, then to the first."""
        config = self.config
        if node is self.root and self.gumbel is not None:
            return self._consider(seat, self.gumbel)
        if node is self.root and (forced := self._forced(seat)) is not None:
            return forced
        visits = node.visits + node.in_flight
        scale = config.exploration(float(visits))
        untried = nodes.untried_value(node, seat, config)
        lost = self._lost(node, seat)
        ranked = sorted(range(len(seat.actions)), key=lambda i: -float(seat.priors[i]))
        best, best_score = 0, -math.inf
        for i in [i for i in ranked if not lost[i]][: self.width(visits)]:
            n, waiting = seat.visits[i], float(seat.in_flight[i])
            weight = n + config.virtual_loss * waiting
            q = (seat.value_sums[i] - config.virtual_loss * waiting) / weight if weight else untried
            u = scale * float(seat.priors[i]) / (1.0 + (n + seat.in_flight[i]))
            if q + u > best_score:
                best, best_score = i, q + u
        return best

    def _is_move_certain(self, num_left: int) -> bool:
        """Returns whether, for each seat of the root, one action leads all others by more visits than remain."""
        if self.root.is_pending:
            return False
        leads = [np.diff(sorted(seat.visits)[-2:]) for seat in self.root.seats]
        return all(len(lead) == 0 or lead[0] > num_left for lead in leads)

    def _is_foreseen(self) -> bool:
        """Returns whether the rest of the search is predicted to change little, after a check if one is due."""
        rule = self.early_end
        return rule is not None and rule.look(self.num_simulations, self.foreseen, self._foresee)

    def _foresee(self, num_more: int) -> list[float]:
        """Returns the predicted visit shares of the root's actions after `num_more` simulations that change no mean
        value.
        """
        config, policy = self.config, []
        for seat in self.root.seats:
            untried = nodes.untried_value(self.root, seat, config)
            known = (seat.visits, seat.value_sums, seat.priors.tolist(), self._lost(self.root, seat))
            visits = foreseen_visits(num_more, config.exploration, untried, *known, self.width)
            policy += virtual_policy(visits, seat.priors.tolist())
        return policy

    def _plan(self, root: Node) -> None:
        """Samples the noise of the Gumbel root, and schedules its simulations."""
        gumbel = self.gumbel
        if gumbel is None:
            return
        for seat in root.seats:
            noise = [gumbel.noise * self.rng.gumbel() for _ in seat.actions]
            num_considered = min(gumbel.considered, len(seat.actions))
            schedule = considered_visits(num_considered, self.config.simulations or 0)
            self.plans[seat.player] = (noise, schedule)

    def _forced(self, seat: SeatStatistics) -> int | None:
        """Returns the index of the action with the largest prior among those below their forced visits."""
        tried = [n + waiting for n, waiting in zip(seat.visits, seat.in_flight, strict=True)]
        num_simulations = float(self.root.visits + self.root.in_flight - 1)
        return behind(
            self.config.forced_playouts, num_simulations, seat.priors.tolist(), tried, self._lost(self.root, seat)
        )

    def _consider(self, seat: SeatStatistics, gumbel: GumbelRoot) -> int:
        """Returns the index of the action that the schedule of the Gumbel root tries next."""
        noise, schedule = self.plans[seat.player]
        evaluation = float(self.root.values[seat.player])
        improved_logits = logits(gumbel, seat.visits, seat.value_sums, seat.priors.tolist(), evaluation)
        tried = [n + waiting for n, waiting in zip(seat.visits, seat.in_flight, strict=True)]
        return planned(
            schedule,
            self.num_simulations + self._num_held(),
            noise,
            improved_logits,
            tried,
            self._lost(self.root, seat),
        )

    def _lost(self, node: Node, seat: SeatStatistics) -> list[bool]:
        """Returns which actions are proven losses."""
        is_proving = self._solves() and len(node.seats) == 1
        return [is_proving and proof_of(node, i) == -1 for i in range(len(seat.actions))]

    def _is_scout_due(self) -> bool:
        interval, begun = constants.PROOF_INTERVAL, self.num_simulations + self._num_held()
        return self._solves() and interval > 0 and begun // interval > self.num_scouts

    def _scout(self) -> None:
        """Descends to the leaf nearest to a proven win, and has it evaluated.

        It does not change the statistics that PUCT uses. If PUCT reaches such a leaf later, its evaluation is reused.
        """
        self.num_scouts += 1
        node, path = self.root, Path()
        while chosen := nearest_win(node, is_sorted=node is not self.root or self.gumbel is None):
            if chosen not in node.children:
                node.children[chosen] = self._make_child(node, chosen, (), {})
                renumber(node.children[chosen], [*path, (node, chosen)])
            path.append((node, chosen))
            node = node.children[chosen]
            node.scouts += 1
            if node.plies_left is not None:
                prove(node, path)
                return
            if node.is_pending:
                self.pending.append((node, None))
                return

    def _replies(self, state: State) -> dict[Player, Action]:
        return {
            player: self.opponents[player](state, player) for player in state.active_players if player in self.opponents
        }

    def _solves(self) -> bool:
        """Returns whether the solver applies: two-player zero-sum games in which both players are searched."""
        return self.config.solver and self.spec.num_players == 2 and self.spec.utility_sum == 0 and not self.opponents

    def _make_child(
        self, node: Node, chosen: Sequence[int], outcome: Sequence[int], replies: Mapping[Player, Action]
    ) -> Node:
        actions = dict(replies)
        for i in outcome:
            actions[CHANCE] = node.state.legal_actions(CHANCE)[i]
        for seat, i in zip(node.seats, chosen, strict=True):
            actions[seat.player] = seat.actions[i]
        state = node.state.play([actions[player] for player in node.state.active_players])
        return self._node(state, steps=self._steps(node.state, state))

    def _steps(self, before: State, state: State) -> list[tuple[Float64s, Float64s]]:
        """Returns the rewards and discount factors of a step, unless it changes no value."""
        rewards = np.asarray(state.rewards(), dtype=np.float32).astype(np.float64)
        factors = discounts(before, state, self.spec.discount, self.spec.num_players)
        return [(rewards, factors)] if rewards.any() or (factors != 1).any() else []

    def _node(
        self,
        state: State,
        root_actions: Mapping[Player, Sequence[Action]] = MappingProxyType({}),
        steps: Sequence[tuple[Float64s, Float64s]] = (),
    ) -> Node:
        """Returns a new node, after playing through positions where only opponents with stored replies move."""
        self.num_nodes += 1
        steps = list(steps)
        nothing = np.zeros(self.spec.num_players, dtype=np.float32)
        while True:
            active = state.active_players
            searched = [player for player in active if player not in self.opponents and player != CHANCE]
            if not searched and self._is_decided(state):
                values = np.asarray(state.returns(), dtype=np.float32)
                return Node(state, values, steps=steps, plies_left=0)
            if active == (CHANCE,):
                chances = [float(np.float32(chance)) for chance in state.chances()]
                return Node(state, nothing, steps=steps, chances=chances)
            replies = {} if self.config.replies == "drawn" else self._replies(state)
            if searched or self.config.replies == "drawn":
                break
            before, state = state, state.play([replies[player] for player in active])
            steps += self._steps(before, state)
        node = Node(state, nothing, replies=replies, steps=steps, is_pending=bool(searched))
        for player in searched:
            actions = (
                sorted(root_actions[player]) if player in root_actions else list(map(int, state.search_actions(player)))
            )
            n = len(actions)
            node.seats.append(
                SeatStatistics(player, actions, np.zeros(n, dtype=np.float32), [0] * n, [0] * n, [0.0] * n)
            )
        return node

    def _is_decided(self, state: State) -> bool:
        searched = [player for player in range(self.spec.num_players) if player not in self.opponents]
        return not state.active_players or all(state.is_decided(player) for player in searched)

    def _add_value(self, leaf: Node, viewer: Player, value: NDArray[np.float32]) -> None:
        """Sets a player's value from its own view; values of other players are means over all views, unless decided."""
        viewers = {seat.player for seat in leaf.seats}
        others = [player for player in range(self.spec.num_players) if player not in viewers]
        out = [player for player in others if self._is_out(leaf.state, player)]
        leaf.values[viewer] = value[0]
        for player in out:
            leaf.values[player] = leaf.state.returns()[player]
        known = {player: float(leaf.values[player]) for player in out}
        estimates = nodes.estimates(self.spec, viewer, value.tolist(), viewers, known)
        for player in others:
            if player not in known:
                leaf.values[player] += np.float32(estimates[player])

    def _is_out(self, state: State, player: Player) -> bool:
        """Returns whether a player's return is decided while others play on.

        Always False if only one player is searched, or in two-player games with a fixed sum.
        """
        num_players = self.spec.num_players
        can_be = num_players - len(self.opponents) > 1 and (num_players != 2 or self.spec.utility_sum is None)
        return can_be and state.is_decided(player)

    def _add_noise(self, root: Node) -> None:
        for seat in root.seats if self.config.noise_fraction > 0 else ():
            noise = [self.rng.gamma(self.config.noise_alpha) for _ in seat.actions]
            seat.priors = nodes.with_noise(seat.priors, noise, self.config.noise_fraction)

    def _hold(self, leaf: Node, path: Path) -> None:
        places = [i for i, (node, _) in enumerate(self.pending) if node is leaf]
        if places:
            # Its evaluation was requested by a proof search, and now serves this descent too.
            self.pending[places[0]] = (leaf, path)
        else:
            self.pending.append((leaf, path))
        leaf.in_flight += 1
        for node, chosen in path:
            node.in_flight += 1
            for seat, i in zip(node.seats, chosen, strict=True):
                seat.in_flight[i] += 1

    def _finish(self, leaf: Node, path: Path, held: int) -> None:
        self.num_simulations += leaf is not self.root
        values, child = leaf.values.astype(np.float64), leaf
        self._visit(leaf, values, held)
        for node, chosen in reversed(path):
            for rewards, factors in reversed(child.steps):
                values = rewards + factors * values
            child = node
            self._visit(node, values, held)
            for seat, i in zip(node.seats, chosen, strict=True):
                if seat.visits[i] == 0:
                    seat.visited_prior += float(seat.priors[i])
                seat.visits[i] += 1
                seat.in_flight[i] -= held
                seat.value_sums[i] += float(values[seat.player])

    @staticmethod
    def _visit(node: Node, values: Float64s, held: int) -> None:
        node.visits += 1
        node.in_flight -= held
        for seat in node.seats:
            seat.value_sum += float(values[seat.player])

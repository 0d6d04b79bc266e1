"""The interface of the native search: trees, batches of views, results."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from moemcts.agents import Agent, Seat
from moemcts.coroutines import Coroutine, run_to_completion
from moemcts.evaluation import Evaluation, Evaluator
from moemcts.experts import ExpertQueue, ExpertSet
from moemcts.game import Action, Game, IntArray, Player, Views
from moemcts.native import Lawful
from moemcts.search.config import LARGEST_U32, SearchConfig
from moemcts.search.opponents import Opponents, opponent_of, replies
from moemcts.search.result import SearchResult


class Search:
    """Decoupled PUCT: every searched player that is active at a node selects by its own statistics.

    The joint action determines the child, and values are vectors over players; with one active player it is PUCT. A
    player with an opponent agent acts by that agent: its reply is stored in the node (single-player search, Weil et al.
    2023) or sampled in every descent, see `SearchConfig.replies`. A single agent instead of a mapping plays all seats
    except the one that each root is viewed from. Native agents keep their memory along the path to a node; others reply
    with an empty memory, with a warning if they store something in `Seat.memory`. Chance is sampled in every descent.

    >>> search.reset(roots, seeds)
    >>> while views := search.select():                    # descend to leaves of all trees; one batch
    ...     search.backup(evaluator.evaluate(views))       # expand them, update their paths
    """

    def __init__(self, game: Game, config: SearchConfig, *, opponents: Opponents = None) -> None:
        self.game = game
        self.config = config
        self._opponents = opponents
        self._native = game.search_type()(game, config.options(game.spec))
        self._lawful = Lawful(game.spec)
        self._rngs: dict[tuple[int, Player], np.random.Generator] = {}
        self._seeds: Sequence[int] = ()
        self._has_python_opponents = False

    def reset(
        self,
        roots: Views,
        seeds: Sequence[int],
        kept: Sequence[Any] | None = None,
        *,
        root_actions: Sequence[Sequence[Action] | None] | None = None,
    ) -> None:
        """Starts a search from each root for its viewing player; limits count from here.

        Results are reproducible for equal seeds and equal kept trees, which continue with their new seed. `kept` has
        trees that `keep` of an earlier search returned, or None. A tree is reused if it contains the root and was grown
        with the same opponents and the same solver setting. Kept trees are consumed, reused or not; `copy.copy` makes a
        copy. `root_actions` are the only actions that the viewing player searches at a root (UCI's searchmoves), or
        None for all worth searching; such a root neither reuses a tree nor can be reused. Raises ValueError if the
        viewing player is not active, or if root actions are empty or illegal, and UnlawfulGame as `select` does.
        """
        restricted = root_actions and [
            None if actions is None else _checked_actions(actions) for actions in root_actions
        ]
        self._rngs = {}
        self._seeds = seeds
        opponents = [self._opponents_against(int(player)) for player in roots.players()]
        self._has_python_opponents = any(in_python for _, in_python in opponents)
        with self._lawful:
            self._native.reset(roots, seeds, opponents, kept, restricted)

    def limit(self, simulations: int) -> None:
        """Sets the number of simulations per tree, until the next reset, in place of the configured one.

        A caller can raise it in steps to check the time in between: if the best lines end in final positions, a search
        may make any number of simulations before it returns from `select`.
        """
        self._native.limit(simulations)

    def select(self) -> Views:
        """Returns the views of new leaves of all trees; empty when every tree has reached a limit.

        Propagates exceptions of the game, an opponent or a signal handler; raises Cancelled if this thread's work has
        been cancelled, and UnlawfulGame if the game returns invalid values, such as returns out of range. After any of
        these, or after a rejected evaluation, it raises ValueError until the next `reset`, since leaves may have been
        selected that were never returned.
        """
        while True:
            with self._lawful:
                views: Views = self._native.select()
            try:
                must_select_again = self._has_python_opponents and self._reply() and not len(views)
            except BaseException:
                self._native.fail()
                raise
            if not must_select_again:
                return views

    def backup(self, evaluation: Evaluation, rows: IntArray | None = None) -> None:
        """Expands the leaves selected last and updates their paths.

        With `rows`, it expands any pending leaves by the row numbers of their views, which are numbered consecutively
        in the order of selection.
        """
        self._native.backup(evaluation.logits, evaluation.value, rows)

    def run(self, evaluator: Evaluator) -> list[SearchResult]:
        """Searches until every tree has reached a limit."""
        return run_to_completion(self.run_coroutine(evaluator))

    def run_coroutine(self, evaluator: Evaluator) -> Coroutine[list[SearchResult]]:
        """Returns a coroutine that searches like `run`, so that other searches can proceed during its evaluations."""
        while len(views := self.select()):
            self.backup((yield evaluator, views))
        return self.results()

    def run_queued(self, experts: ExpertSet, *, batch_size: int) -> list[SearchResult]:
        """Searches like `run`, but queues leaves until there is a full batch for their expert."""
        return run_to_completion(self.run_queued_coroutine(experts, batch_size=batch_size))

    def run_queued_coroutine(self, experts: ExpertSet, *, batch_size: int) -> Coroutine[list[SearchResult]]:
        """Returns a coroutine that searches like `run_queued`."""
        queue = ExpertQueue(experts, self.game, batch_size=batch_size)
        while True:
            views = self.select()
            is_idle = not len(views)
            full = queue.push(views, np.arange(*self._native.rows)) if not is_idle else queue.drain()
            for rows, request in full:
                self.backup((yield request), rows)
                is_idle = False
            if is_idle:
                return self.results()

    def results(self) -> list[SearchResult]:
        """Returns the statistics of each root.

        May be called at any time, also while leaves are pending, to watch a search between batches or to stop it after
        any of them. Before the first `backup`, there are no priors and no visits.
        """
        return [SearchResult.of(raw, self.config) for raw in self._native.results()]

    def lines(self, tree: int = 0) -> list[list[list[Action]]]:
        """Returns the most visited line after each action of a root, in the order of its result's `actions`.

        A line has the actions of the searched players per node, like `SearchResult.principal_variation`; it is empty
        for an untried action. Raises IndexError if there is no such tree.
        """
        lines: list[list[list[Action]]] = self._native.lines(tree)
        return lines

    def keep(self) -> list[Any]:
        """Returns the trees for a later `reset`; the search is empty afterwards.

        Pending leaves are discarded.
        """
        return list(self._native.keep())

    @property
    def counts(self) -> tuple[int, int]:
        """Numbers of batches and of views selected since the last reset."""
        return tuple(self._native.counts)

    def _opponents_against(self, viewer: Player) -> tuple[list[tuple[Player, Any]], list[tuple[Player, Agent]]]:
        """Returns the opponents of a player: native agents, which the tree asks itself, and those in Python."""
        native_agents, python_agents = [], []
        for player in range(self.game.spec.num_players):
            agent = opponent_of(self._opponents, player)
            if agent is None or player == viewer:
                continue
            native = getattr(agent, "native", None)
            if native is None:
                python_agents.append((player, agent))
            else:
                native_agents.append((player, native))
        return native_agents, python_agents

    def _reply(self) -> bool:
        """Passes replies of opponents in Python to the trees that wait for them; returns whether there were any."""
        views, trees = self._native.awaiting()
        if not len(views):
            return False
        players = [int(player) for player in views.players()]
        seats = [Seat(player, self._rng(tree, player)) for tree, player in zip(trees, players, strict=True)]
        agents = [agent for player in players if (agent := opponent_of(self._opponents, player)) is not None]
        actions = replies(agents, views, seats)
        for agent, seat in zip(agents, seats, strict=True):
            if seat.memory is not None:
                _warn_of_memory(agent)
        self._native.reply(actions)
        return True

    def _rng(self, tree: int, player: Player) -> np.random.Generator:
        if (tree, player) not in self._rngs:
            self._rngs[tree, player] = np.random.default_rng([int(self._seeds[tree]), player])
        return self._rngs[tree, player]


def _checked_actions(actions: Sequence[Action]) -> list[Action]:
    """Returns the actions as Python integers; raises ValueError unless they fit in 32 bits."""
    for action in actions:
        if not isinstance(action, Integral) or not 0 <= action <= LARGEST_U32:
            raise ValueError(f"expected root actions to be 32-bit whole numbers, got {action}")
    return [int(action) for action in actions]


def _warn_of_memory(agent: Agent) -> None:
    # Memory of one branch must not influence another.
    warnings.warn(
        f"{agent.name}, believed to be the opponent, remembers something: in a search it replies without, and may play "
        "otherwise than at a table",
        RuntimeWarning,
        stacklevel=2,
    )

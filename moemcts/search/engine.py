"""The search as the rest of the framework sees it: native trees, batches of views, results."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from moemcts.agents import Agent, Seat
from moemcts.evaluation import Evaluation, Evaluator
from moemcts.experts import ExpertQueue, ExpertSet
from moemcts.game import Action, Game, IntArray, Player, Views
from moemcts.native import lawful
from moemcts.search.config import LARGEST_U32, SearchConfig
from moemcts.search.opponents import Opponents, opponent_of, replies
from moemcts.search.result import SearchResult
from moemcts.thoughts import Thought


class Search:
    """Decoupled PUCT: every searched player that is active at a node selects from its own statistics.

    The joint action names the child and values are vectors over players, so with one active player it is PUCT.
    A player given an agent acts by that agent: its reply is kept per node (single-player search, Weil et al. 2023) or
    drawn at every descent, as `SearchConfig.replies` says. An agent in place of a mapping plays every seat but the one
    that each root is viewed from. Native agents remember what they did on the way to a node; others reply as if they
    had just sat down, and one that leaves something in `Seat.memory` is warned of. Chance draws at every descent.

    >>> search.reset(roots, seeds)
    >>> while views := search.select():                    # descend to leaves of all trees; one batch
    ...     search.backup(evaluator.evaluate(views))       # expand them, update their paths
    """

    def __init__(self, game: Game, config: SearchConfig, *, opponents: Opponents = None) -> None:
        self.game = game
        self.config = config
        self._opponents = opponents
        self._native = game.search_type()(game, config.options(game.spec))
        self._randomness: dict[tuple[int, Player], np.random.Generator] = {}
        self._seeds: Sequence[int] = ()
        self._asks_outside = False

    def reset(
        self,
        roots: Views,
        seeds: Sequence[int],
        kept: Sequence[Any] | None = None,
        *,
        root_actions: Sequence[Sequence[Action] | None] | None = None,
    ) -> None:
        """Starts a search from each root for the player who views it; limits count from here.

        Equal seeds give equal results, from equal trees where kept ones are gone on with: these draw by their new seed,
        too. `kept` are trees of an earlier search that `keep` returned, or None; one that holds a root, and was grown
        against the same opponents, with a solver or without one as it is now, is gone on with. What is tried is used
        up: `copy.copy` makes another. `root_actions` are the only actions that the viewing player searches at a root
        (UCI's searchmoves), or None for all worth searching; such a root goes on with no kept tree, and no later search
        with it. Raises ValueError where the viewing player is not active, or is given an action that is not legal, or
        none, UnlawfulGame as `select` does.
        """
        restricted = root_actions and [None if given is None else _actions(given) for given in root_actions]
        self._randomness = {}
        self._seeds = seeds
        others = [self._others(int(player)) for player in roots.players()]
        self._asks_outside = any(outside for _, outside in others)
        with lawful(self.game.spec):
            self._native.reset(roots, seeds, others, kept, restricted)

    def limit(self, simulations: int) -> None:
        """Sets how many descents each tree may make since the last reset, and until the next one, in place of the
        configuration's number.

        A caller that raises it in steps is never far from its next look at the clock: where the best lines end in
        results, a search makes any number of descents before there is something to evaluate.
        """
        self._native.limit(simulations)

    def select(self) -> Views:
        """Returns the views of new leaves of all trees; none when every tree has met a limit.

        Raises what the game, an opponent or a signal's handler raises, UnlawfulGame where the game gives what games
        must not, such as returns out of range, and after that, or after an evaluation was refused, ValueError until
        the next `reset`: leaves were found that nobody was told of.
        """
        while True:
            with lawful(self.game.spec):
                views: Views = self._native.select()
            try:
                goes_on = self._asks_outside and self._reply() and not len(views)
            except BaseException:
                self._native.fail()
                raise
            if not goes_on:
                return views

    def backup(self, evaluation: Evaluation, rows: IntArray | None = None) -> None:
        """Expands the leaves selected last and updates their paths.

        With `rows`, any leaves that still wait, by the numbers of their views: views are numbered in the order in
        which they were selected.
        """
        self._native.backup(evaluation.logits, evaluation.value, rows)

    def run(self, evaluator: Evaluator) -> list[SearchResult]:
        """Searches until every tree has met a limit."""
        while len(views := self.select()):
            self.backup(evaluator.evaluate(views))
        return self.results()

    def thought(self, evaluator: Evaluator) -> Thought[list[SearchResult]]:
        """Returns what searches like `run`, and may wait for its evaluations beside other searches."""
        while len(views := self.select()):
            self.backup((yield evaluator, views))
        return self.results()

    def run_queued(self, experts: ExpertSet, *, batch_size: int) -> list[SearchResult]:
        """Searches like `run`, while leaves wait until the batch of their expert is full."""
        queue = ExpertQueue(experts, self.game, batch_size=batch_size)
        while True:
            views = self.select()
            is_idle = not len(views)
            done = queue.push(views, np.arange(*self._native.rows)) if not is_idle else queue.drain()
            for rows, evaluation in done:
                self.backup(evaluation, rows)
                is_idle = False
            if is_idle:
                return self.results()

    def results(self) -> list[SearchResult]:
        """Returns the statistics of each root.

        They may be asked for at any moment, also while leaves wait for evaluations: a search can be watched between
        its batches and stopped after any of them. Before the first `backup` there are no priors and no visits.
        """
        return [SearchResult.of(raw, self.config) for raw in self._native.results()]

    def lines(self, tree: int = 0) -> list[list[list[Action]]]:
        """Returns the most visited line of each action of a root, in the order of its result's `actions`.

        A line has the actions of the searched players per node, like `SearchResult.principal_variation`; it is empty
        where its action was not tried. Raises IndexError where there is no such tree.
        """
        lines: list[list[list[Action]]] = self._native.lines(tree)
        return lines

    def keep(self) -> list[Any]:
        """Hands out the trees, for a later `reset`; the search is empty afterwards.

        Leaves that still wait for evaluations are forgotten.
        """
        return list(self._native.keep())

    @property
    def counts(self) -> tuple[int, int]:
        """Batches and views selected since the last reset."""
        return tuple(self._native.counts)

    def _others(self, viewer: Player) -> tuple[list[tuple[Player, Any]], list[tuple[Player, Agent]]]:
        modelled, outside = [], []
        for player in range(self.game.spec.num_players):
            agent = opponent_of(self._opponents, player)
            if agent is None or player == viewer:
                continue
            native = getattr(agent, "native", None)
            if native is None:
                outside.append((player, agent))
            else:
                modelled.append((player, native))
        return modelled, outside

    def _reply(self) -> bool:
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
        if (tree, player) not in self._randomness:
            self._randomness[tree, player] = np.random.default_rng([int(self._seeds[tree]), player])
        return self._randomness[tree, player]


def _actions(given: Sequence[Action]) -> list[Action]:
    """Returns actions as the native search reads them; raises ValueError for what is none in any game."""
    for action in given:
        if not isinstance(action, Integral) or not 0 <= action <= LARGEST_U32:
            raise ValueError(f"expected root actions, whole numbers of 32 bits, got {action}")
    return [int(action) for action in given]


def _warn_of_memory(agent: Agent) -> None:
    # What it did in one branch is nothing that another may know.
    warnings.warn(
        f"{agent.name}, believed to be the opponent, remembers something: in a search it replies without, and may play "
        "otherwise than at a table",
        RuntimeWarning,
        stacklevel=2,
    )

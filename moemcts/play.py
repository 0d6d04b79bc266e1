"""The game loop, the only place where games advance: tables in lockstep, with one call per agent and round.

With two groups of tables, one group's agents search while positions of the other are being evaluated.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from moemcts.agent_calls import Answer, call_agent, call_agent_coroutine, check_interruptible, check_time_limit
from moemcts.agents import Agent, Decision, Seat, act_coroutine
from moemcts.coroutines import CoroutineRunner
from moemcts.errors import AgentFailure, Failure
from moemcts.game import CHANCE, NO_REWARDS, FloatArray, Game, GameSpec, Player, State, after_step, random_action
from moemcts.validation import check_final, check_length, check_players, legal_actions, per_player


@dataclass(eq=False, kw_only=True)
class Table:
    """A game in progress: its position and its agents."""

    state: State
    agents: Sequence[Agent]
    """By player."""
    seats: Sequence[Seat]
    """By player; holds the random state of the agents."""
    chance: np.random.Generator
    """Random generator for chance outcomes."""
    players: tuple[Player, ...] = field(init=False)
    """The players to move."""
    is_open: bool = field(default=True, init=False)
    """Whether it is still played; consumers of the rounds may end a game early with `close`."""

    paid: FloatArray | None = field(default=None, init=False)
    """The sum of all rewards, `[P]`; None in games without rewards."""

    def __post_init__(self) -> None:
        if len(self.agents) != len(self.seats):
            raise ValueError(f"expected an agent for each of {len(self.seats)} players, got {len(self.agents)}")
        self.players = self.state.active_players

    def returns(self) -> FloatArray:
        """Returns the players' total so far, `[P]`: rewards of past steps and decided returns."""
        returns = self.state.returns()
        return returns if self.paid is None else returns + self.paid

    def close(self) -> None:
        """Ends the game here: its position is kept, and it takes part in no further round."""
        self.is_open = False


T = TypeVar("T", bound=Table)


class Step(NamedTuple, Generic[T]):
    """One step of one table; `table.state` is the resulting position."""

    table: T
    state: State
    """The position before the step."""
    players: tuple[Player, ...]
    """The players who moved, possibly `CHANCE`."""
    decisions: tuple[Decision, ...]
    """By `players`; empty if an agent failed."""
    num_legal: tuple[int, ...]
    """The number of legal actions of each player; 1 means a forced move."""
    failures: dict[Player, Failure]
    """Failures of agents without a decision: the table is closed and its position unchanged."""

    def check(self) -> None:
        """Raises AgentFailure, with the agent's name, if an agent failed."""
        if self.failures:
            player = next(iter(self.failures))
            raise AgentFailure({0: self.failures[player]}, [], self.table.agents[player].name)


def seats_of(num_players: int, *seed: int) -> list[Seat]:
    """Returns a game's seats, each with its own random generator, seeded by `seed` and the player."""
    return [
        Seat(player, np.random.default_rng(np.random.SeedSequence((*seed, player)))) for player in range(num_players)
    ]


def chance_of(num_players: int, *seed: int) -> np.random.Generator:
    """Returns the random generator of a game's chance nodes, independent of those of its seats."""
    return np.random.default_rng(np.random.SeedSequence((*seed, num_players)))


def play(
    game: Game,
    tables: Iterable[T],
    *,
    max_parallel: int = 256,
    time_limit: float | None = None,
    in_flight: int = 1,
) -> Iterator[list[Step[T]]]:
    """Yields the steps of each round, one per table in play; up to `max_parallel` tables are played in parallel.

    In a round every agent is called once, for all views that wait for it, and chance is drawn for tables at chance
    nodes. A finished or closed table is replaced by the next one, which is taken from `tables` no earlier than that, so
    that it may depend on earlier results. Tables that are finished from the start yield no step.

    An agent that raises, returns too few decisions or an illegal action fails only at the tables concerned: it is
    called again for one view at a time. `time_limit` is the time limit per decision in seconds. Raises UsageError for a
    `time_limit` that is not in (0, MAX_TIME_LIMIT].

    With `in_flight` above 1, tables are divided into that many groups, which share the `max_parallel` places and have
    their own rounds: while the positions of one group are being evaluated, another proceeds. The assignment of tables
    to groups does not depend on timing. With a `time_limit`, there is one group.
    """
    if time_limit is not None:
        check_time_limit(time_limit)
        check_interruptible()
    if max_parallel < 1:
        raise ValueError(f"expected max_parallel of at least 1, got {max_parallel}")
    if in_flight < 1:
        raise ValueError(f"expected in_flight of at least 1, got {in_flight}")
    waiting = iter(tables)
    num_groups = 1 if time_limit is not None else min(in_flight, max_parallel)
    if num_groups > 1:
        yield from _play_groups(game, waiting, max_parallel, num_groups)
        return
    running: list[T] = []
    while running := _refilled(game.spec, running, waiting, max_parallel):
        current = _Round(game, running)
        for batch in current.batches:
            views = game.views(batch.pairs)
            answers = call_agent(batch.agent, views, batch.seats, time_limit=time_limit, game=game.spec.name)
            current.store(batch, answers)
        yield current.steps()


def _play_groups(game: Game, waiting: Iterator[T], max_parallel: int, num_groups: int) -> Iterator[list[Step[T]]]:
    """Plays in several groups of tables: while the agents of one wait for evaluations, those of another search."""
    # With fewer tables than places, every group still gets its share.
    tables = _refilled(game.spec, (), waiting, max_parallel)
    bounds = [len(tables) * group // num_groups for group in range(num_groups + 1)]
    ready = deque(_Group[T](tables[start:stop], stop - start) for start, stop in itertools.pairwise(bounds))
    with CoroutineRunner[tuple[_Group[T], _Batch], list[Answer]]() as runner:
        while True:
            while ready:
                group = ready.popleft()
                if group.round is not None:
                    yield group.round.steps()
                group.tables = _refilled(game.spec, group.tables, waiting, group.num_places)
                if not group.tables:
                    continue
                group.round = _Round(game, group.tables)
                for batch in group.round.batches:
                    views = game.views(batch.pairs)
                    act = act_coroutine(batch.agent, views, batch.seats)
                    call = call_agent_coroutine(batch.agent, views, batch.seats, act, game=game.spec.name)
                    runner.start((group, batch), call)
                if not group.round.batches:
                    ready.append(group)
            if not len(runner):
                return
            (group, batch), answers = runner.next_result()
            assert group.round is not None
            group.round.store(batch, answers)
            if group.round.is_complete:
                ready.append(group)


@dataclass(eq=False)
class _Batch:
    """The views that one agent is called for in one round."""

    agent: Agent
    pairs: list[tuple[State, Player]] = field(default_factory=list)
    seats: list[Seat] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)
    """For each answer: the index of the table in the round, and that of the player among the active ones."""


class _Round(Generic[T]):
    """One step at some tables: a decision of every active player, or an outcome of chance."""

    def __init__(self, game: Game, tables: Sequence[T]) -> None:
        self._game = game
        self.tables = tables
        self._legal = [[legal_actions(game.spec, table.state, player) for player in table.players] for table in tables]
        self._answers: list[list[Answer]] = []
        batches: dict[int, _Batch] = {}
        for number, table in enumerate(tables):
            answers: list[Answer] = [_MISSING] * len(table.players)
            for place, player in enumerate(table.players):
                if player == CHANCE:
                    answers[place] = Decision(action=random_action(table.state, CHANCE, table.chance))
                else:
                    agent = table.agents[player]
                    batch = batches.setdefault(id(agent), _Batch(agent))
                    batch.pairs.append((table.state, player))
                    batch.seats.append(table.seats[player])
                    batch.places.append((number, place))
            self._answers.append(answers)
        self.batches = list(batches.values())
        self._num_missing = len(self.batches)

    @property
    def is_complete(self) -> bool:
        """Whether the answers to all batches are stored."""
        return self._num_missing == 0

    def store(self, batch: _Batch, answers: Sequence[Answer]) -> None:
        """Stores the answers to one of `batches`."""
        for (number, place), answer in zip(batch.places, answers, strict=True):
            state, legal = self.tables[number].state, self._legal[number][place]
            self._answers[number][place] = _checked_legal(answer, state, legal)
        self._num_missing -= 1

    def steps(self) -> list[Step[T]]:
        """Applies the decisions; raises UnlawfulGame if a game ends with invalid returns or exceeds `max_plies`."""
        steps = [
            _play_step(self._game.spec, table, answers, legal)
            for table, answers, legal in zip(self.tables, self._answers, self._legal, strict=True)
        ]
        for table in self.tables:
            if table.is_open:
                self._check(table)
        return steps

    def _check(self, table: Table) -> None:
        spec, state = self._game.spec, table.state
        check_players(spec, table.players)
        if table.players:
            check_length(spec, state)
        else:
            check_final(spec, state)


@dataclass(eq=False)
class _Group(Generic[T]):
    """Tables whose rounds are played together."""

    tables: Sequence[T]
    num_places: int
    """The largest number of tables."""
    round: _Round[T] | None = None


def _refilled(spec: GameSpec, tables: Sequence[T], waiting: Iterator[T], num_places: int) -> list[T]:
    """Returns the tables still in play, plus new ones in place of the others."""
    running = [table for table in tables if table.is_open and table.players]
    while len(running) < num_places and (table := next(waiting, None)) is not None:
        check_players(spec, table.players)
        if table.is_open and table.players:
            running.append(table)
    return running


def add_rewards(spec: GameSpec, state: State, total: FloatArray | None = None) -> FloatArray | None:
    """Returns the total of the rewards so far plus those of the step into a position, `[P]`.

    None in games without rewards. Raises UnlawfulGame unless rewards are one number per player.
    """
    if getattr(type(state), "rewards", NO_REWARDS) is NO_REWARDS:
        return total
    rewards = per_player(spec, "rewards", state.rewards())
    return rewards if total is None else total + rewards


def _play_step(spec: GameSpec, table: T, answers: Sequence[Answer], legal: Sequence[Sequence[int]]) -> Step[T]:
    """Plays a joint action at a table, or closes the table if an agent has no answer."""
    state, players = table.state, table.players
    num_legal = tuple(map(len, legal))
    decisions = tuple(answer for answer in answers if isinstance(answer, Decision))
    if len(decisions) < len(answers):
        table.close()
        failures = {
            player: answer for player, answer in zip(players, answers, strict=True) if isinstance(answer, Failure)
        }
        return Step(table, state, players, (), num_legal, failures)
    table.state = after_step(spec, state, [decision.action for decision in decisions])
    table.players = table.state.active_players
    table.paid = add_rewards(spec, table.state, table.paid)
    return Step(table, state, players, decisions, num_legal, {})


def _checked_legal(answer: Answer, state: State, legal: Sequence[int]) -> Answer:
    """Returns the answer, or a Failure if its action is illegal."""
    if isinstance(answer, Decision) and answer.action not in legal:
        return Failure("illegal move", f"action {answer.action} is illegal at ply {state.ply}")
    return answer


_MISSING = Decision(action=-1)
"""Placeholder for an answer that is still missing."""

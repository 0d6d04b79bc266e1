"""The one place where games advance: tables in lock-step, whose agents are asked once per round.

With two groups of tables one is thought about while the positions of the other are evaluated.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import signal
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from copy import deepcopy
from dataclasses import dataclass, field, replace
from operator import index
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from moemcts.agents import Agent, Decision, Policy, Seat, at_once, thought_of
from moemcts.errors import AgentFailure, Failure, GameFailure, UnlawfulGame, UsageError, one_line, outside
from moemcts.game import CHANCE, NO_REWARDS, FloatArray, Game, Player, State, Views, random_action
from moemcts.thoughts import Flight, Thought, think

LONGEST = 86_400.0
"""Seconds that a decision may be limited to: a day, so that a timer takes them for any number of views."""
_CONTAINERS = (list, dict, set, bytearray, deque, np.ndarray)
"""What memories are that agents may change in place; anything else they replace."""


@dataclass(eq=False, kw_only=True)
class Table:
    """A game in progress: its position and who sits there."""

    state: State
    agents: Sequence[Agent]
    """By player."""
    seats: Sequence[Seat]
    """By player; their randomness is that of the agents."""
    chance: np.random.Generator
    """What dice and cards are drawn from."""
    players: tuple[Player, ...] = field(init=False)
    """Who moves now."""
    is_open: bool = field(default=True, init=False)
    """Whether it is played on; whoever follows the rounds may end a game early by `close`."""

    paid: FloatArray | None = field(default=None, init=False)
    """The sum of all rewards, `[P]`; None in games without."""

    def __post_init__(self) -> None:
        if len(self.agents) != len(self.seats):
            raise ValueError(f"expected an agent for each of {len(self.seats)} players, got {len(self.agents)}")
        self.players = self.state.active_players

    def returns(self) -> FloatArray:
        """Returns what the players have got so far, `[P]`: what steps have paid them, and what is decided."""
        returns = self.state.returns()
        return returns if self.paid is None else returns + self.paid

    def close(self) -> None:
        """Ends the game here: its position stays, and it takes part in no further round."""
        self.is_open = False


T = TypeVar("T", bound=Table)


class Step(NamedTuple, Generic[T]):
    """What was done at one table in one round; `table.state` is the position that it led to."""

    table: T
    state: State
    """The position that was decided in."""
    players: tuple[Player, ...]
    """Who moved in it, perhaps `CHANCE`."""
    decisions: tuple[Decision, ...]
    """By `players`; empty where an agent failed."""
    num_legal: tuple[int, ...]
    """Out of how many actions each was chosen; 1 is a forced move."""
    failures: dict[Player, Failure]
    """Of the agents that have no answer: the table is closed, its position that before."""

    def check(self) -> None:
        """Raises AgentFailure, which names the agent, where one has no answer."""
        if self.failures:
            player = next(iter(self.failures))
            raise AgentFailure({0: self.failures[player]}, [], self.table.agents[player].name)


def seats_of(num_players: int, *seed: int) -> list[Seat]:
    """Returns a game's seats, each with randomness of its own that depends on the seed and the player."""
    return [
        Seat(player, np.random.default_rng(np.random.SeedSequence((*seed, player)))) for player in range(num_players)
    ]


def play(
    game: Game,
    tables: Iterable[T],
    *,
    max_parallel: int = 256,
    patience: float | None = None,
    in_flight: int = 1,
) -> Iterator[list[Step[T]]]:
    """Yields what happened in each round, one step per table that is played, up to `max_parallel` side by side.

    In a round every agent is asked once, for all views that wait for it, and chance draws at the tables where it
    moves. A table that is over or closed gives its place to the next, which is taken from `tables` no earlier, so
    that what it depends on may be known by then. Tables that are over when they come have no step.

    An agent that raises an error, answers too little or something that is not legal fails where it does, and at no
    other table: it is asked again for one view at a time. `patience` is how many seconds a decision may take.
    Raises UsageError for a `patience` that is not in (0, LONGEST].

    With `in_flight` the tables are in so many groups that share the places and have rounds of their own: while what one
    group asks is evaluated, another goes on. Which group a table is in depends on no clock. Decisions that are limited
    in time are made in one group.
    """
    if patience is not None:
        check_patience(patience)
        _check_interruptible()
    if max_parallel < 1:
        raise ValueError(f"expected room for at least one game, got max_parallel={max_parallel}")
    if in_flight < 1:
        raise ValueError(f"expected at least one group of games, got in_flight={in_flight}")
    waiting = iter(tables)
    num_groups = 1 if patience is not None else min(in_flight, max_parallel)
    if num_groups > 1:
        yield from _in_flight(game, waiting, max_parallel, num_groups)
        return
    running: list[T] = []
    while running := _seated(running, waiting, max_parallel):
        done = _Round(running)
        for batch in done.batches:
            done.take(batch, ask(batch.agent, game.views(batch.pairs), batch.seats, patience=patience))
        yield done.steps()


def check_patience(seconds: float) -> None:
    """Raises UsageError for a limit per decision that no timer can keep."""
    if not 0 < seconds <= LONGEST:
        raise UsageError(
            f"expected more than 0 and at most {LONGEST:.0f} seconds per decision, got {seconds:g}; leave it out "
            "for no limit"
        )


Answer = Decision | Failure


def _in_flight(game: Game, waiting: Iterator[T], max_parallel: int, num_groups: int) -> Iterator[list[Step[T]]]:
    # Of fewer tables than there are places, each group has its share too.
    first = _seated((), waiting, max_parallel)
    bounds = [len(first) * group // num_groups for group in range(num_groups + 1)]
    ready = deque(_Group[T](first[start:stop], stop - start) for start, stop in itertools.pairwise(bounds))
    with Flight[tuple[_Group[T], _Batch], list[Answer]]() as flight:
        while True:
            while ready:
                group = ready.popleft()
                if group.round is not None:
                    yield group.round.steps()
                group.tables = _seated(group.tables, waiting, group.room)
                if not group.tables:
                    continue
                group.round = _Round(group.tables)
                for batch in group.round.batches:
                    views = game.views(batch.pairs)
                    thought = thought_of(batch.agent, views, batch.seats)
                    flight.start((group, batch), _asking(batch.agent, views, batch.seats, thought))
                if not group.round.batches:
                    ready.append(group)
            if not len(flight):
                return
            (group, batch), answers = flight.land()
            assert group.round is not None
            group.round.take(batch, answers)
            if not group.round.num_missing:
                ready.append(group)


def ask(agent: Agent, views: Views, seats: Sequence[Seat], *, patience: float | None = None) -> list[Answer]:
    """Returns what an agent decides in each view, or why it has not; it never raises what the agent raises.

    Raises GameFailure where the game raised when the framework's own agents asked it, or gave them what no game may.

    Where it raises an error, it is asked for one view at a time with the randomness and the memories it began with, so
    that only those views fail to which it has no answer. A memory of a class of the agent's own that it has changed in
    place, and not replaced, stays changed (`Seat`). Legality is not checked.
    """
    return think(_asking(agent, views, seats, at_once(agent, views, seats), patience))


def _asking(
    agent: Agent,
    views: Views,
    seats: Sequence[Seat],
    thought: Thought[Sequence[Decision]],
    patience: float | None = None,
) -> Thought[list[Answer]]:
    """Returns what comes to the answers of `ask`, by a thought of the agent about these views."""
    # One alone is not asked again.
    before = [(seat.rng.bit_generator.state, _kept(seat.memory)) for seat in seats] if len(seats) > 1 else []
    try:
        with _time_limit(None if patience is None else patience * len(seats)):
            decisions, failures = yield from _heard(thought)
        return _checked(decisions, failures, len(seats))
    except _TooSlow:
        failure = Failure("timeout", f"no decision within {patience:g} s")
    except Exception as error:
        if _is_of_the_game(error):
            if isinstance(error, UnlawfulGame):
                raise
            raise GameFailure(f"the game raised {one_line(error)}") from error
        failure = Failure("crash", one_line(error))
    if len(seats) == 1:
        return [failure]
    answers: list[Answer] = []
    for row, (seat, (state, memory)) in enumerate(zip(seats, before, strict=True)):
        seat.rng.bit_generator.state, seat.memory = state, memory
        answers += ask(agent, views.take([row]), [seat], patience=patience)
    return answers


def _kept(memory: Any) -> Any:
    """Returns a memory as it is now, whatever an agent that keeps to `Seat` does with it."""
    return deepcopy(memory) if isinstance(memory, _CONTAINERS) else memory


def _is_of_the_game(error: Exception) -> bool:
    """Returns whether a game raised, or gave what no game may, where the framework asked it.

    Then no code of the agent's own was under way.
    """
    calls = outside(error)
    if not calls:
        return isinstance(error, UnlawfulGame)
    return isinstance(calls[0][0].f_locals.get("self"), Game | State)


def _heard(thought: Thought[Sequence[Decision]]) -> Thought[tuple[Sequence[Decision], Mapping[int, Failure]]]:
    try:
        return (yield from thought), {}
    except AgentFailure as failure:
        return failure.decisions, failure.failures


def _checked(decisions: Sequence[Decision], failures: Mapping[int, Failure], num_views: int) -> list[Answer]:
    found = len(decisions) if isinstance(decisions, Sized) else type(decisions).__name__
    if found != num_views:
        raise ValueError(f"expected {num_views} decisions, one per view, got {found}")
    answers = [failures.get(row, decision) for row, decision in enumerate(decisions)]
    for answer in answers:
        if not isinstance(answer, Decision | Failure):
            raise TypeError(f"expected a Decision, got {answer!r}")
    return [_plain(answer) if isinstance(answer, Decision) else answer for answer in answers]


def _plain(decision: Decision) -> Answer:
    """Returns a decision in numbers of Python's own, as files keep them, or what is wrong with its numbers."""
    value, expert, policy = decision.value, decision.expert, decision.policy
    if policy is not None and not (isinstance(policy, Policy) and len(policy.actions) == len(policy.shares)):
        return Failure("crash", f"expected a Policy, with a share for each of its actions, got {policy!r:.80}")
    numbers = (decision.action, decision.simulations, decision.nodes, decision.depth, 0 if expert is None else expert)
    if {*map(type, numbers)} == {int} and (value is None or (type(value) is float and math.isfinite(value))):
        # Most are plain already and need not be made anew.
        return decision
    try:
        plain = replace(
            decision,
            action=index(decision.action),
            value=None if value is None else float(value),
            simulations=index(decision.simulations),
            nodes=index(decision.nodes),
            depth=index(decision.depth),
            expert=None if expert is None else index(expert),
        )
    except (TypeError, ValueError, OverflowError) as error:
        return Failure("crash", one_line(error))
    if plain.value is not None and not math.isfinite(plain.value):
        return Failure("crash", f"expected a finite value, got {plain.value}")
    return plain


@dataclass(eq=False)
class _Batch:
    """What one agent is asked in one round."""

    agent: Agent
    pairs: list[tuple[State, Player]] = field(default_factory=list)
    seats: list[Seat] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)
    """Of each answer: the table's number in the round and that of the player among those who move."""


class _Round(Generic[T]):
    """One decision of every player who moves at some tables."""

    def __init__(self, tables: Sequence[T]) -> None:
        self.tables = tables
        self._legal = [[table.state.legal_actions(player) for player in table.players] for table in tables]
        self._answers: list[list[Answer]] = []
        batches: dict[int, _Batch] = {}
        for number, table in enumerate(tables):
            given: list[Answer] = [_NOBODY] * len(table.players)
            for place, player in enumerate(table.players):
                if player == CHANCE:
                    given[place] = Decision(action=random_action(table.state, CHANCE, table.chance))
                else:
                    agent = table.agents[player]
                    batch = batches.setdefault(id(agent), _Batch(agent))
                    batch.pairs.append((table.state, player))
                    batch.seats.append(table.seats[player])
                    batch.places.append((number, place))
            self._answers.append(given)
        self.batches = list(batches.values())
        self.num_missing = len(self.batches)

    def take(self, batch: _Batch, answers: Sequence[Answer]) -> None:
        """Takes in the answers to one of `batches`."""
        for (number, place), answer in zip(batch.places, answers, strict=True):
            state, legal = self.tables[number].state, self._legal[number][place]
            self._answers[number][place] = _legal(answer, state, legal)
        self.num_missing -= 1

    def steps(self) -> list[Step[T]]:
        """Does what was decided."""
        return [_step(*row) for row in zip(self.tables, self._answers, self._legal, strict=True)]


@dataclass(eq=False)
class _Group(Generic[T]):
    """Tables that have their rounds together."""

    tables: Sequence[T]
    room: int
    round: _Round[T] | None = None


def _seated(before: Sequence[T], waiting: Iterator[T], room: int) -> list[T]:
    """Returns the tables that are played on, and those that take the places of the others."""
    running = [table for table in before if table.is_open and table.players]
    while len(running) < room and (following := next(waiting, None)) is not None:
        if following.is_open and following.players:
            running.append(following)
    return running


def paid_by(state: State, before: FloatArray | None = None) -> FloatArray | None:
    """Returns what the step into a position has paid the players, beside what they were paid before, `[P]`.

    None in games without rewards.
    """
    if getattr(type(state), "rewards", NO_REWARDS) is NO_REWARDS:
        return before
    rewards = np.asarray(state.rewards())
    return rewards if before is None else before + rewards


def _step(table: T, answers: Sequence[Answer], legal: Sequence[Sequence[int]]) -> Step[T]:
    state, players = table.state, table.players
    num_legal = tuple(map(len, legal))
    decisions = tuple(answer for answer in answers if isinstance(answer, Decision))
    if len(decisions) < len(answers):
        table.close()
        failures = {
            player: answer for player, answer in zip(players, answers, strict=True) if isinstance(answer, Failure)
        }
        return Step(table, state, players, (), num_legal, failures)
    table.state = state.play([decision.action for decision in decisions])
    table.players = table.state.active_players
    table.paid = paid_by(table.state, table.paid)
    return Step(table, state, players, decisions, num_legal, {})


def _legal(answer: Answer, state: State, legal: Sequence[int]) -> Answer:
    if isinstance(answer, Decision) and answer.action not in legal:
        return Failure("illegal move", f"action {answer.action} is not legal at ply {state.ply}")
    return answer


def _check_interruptible() -> None:
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        raise UsageError("expected no limit per decision: an agent cannot be interrupted here")


class _TooSlow(BaseException):
    """Not an Exception, or an agent that catches its own errors would go on."""


@contextlib.contextmanager
def _time_limit(seconds: float | None) -> Iterator[None]:
    """Raises _TooSlow in whatever runs for longer; native code that looks for signals is interrupted as well."""
    if seconds is None:
        yield
        return

    def ring(*_: object) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


_NOBODY = Decision(action=-1)
"""Stands where an answer is awaited."""

"""Calls agents for decisions and turns their errors into failures."""

from __future__ import annotations

import contextlib
import inspect
import math
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from copy import deepcopy
from dataclasses import replace
from operator import index
from typing import Any

import numpy as np

from moemcts.agents import Agent, Decision, Policy, Seat, act_blocking
from moemcts.coroutines import Coroutine, run_to_completion
from moemcts.errors import (
    AgentFailure,
    Failure,
    GameFailure,
    UnlawfulGame,
    UsageError,
    foreign_frames,
    one_line,
    shortened,
)
from moemcts.game import Game, State, Views

MAX_TIME_LIMIT = 86_400.0
"""The largest time limit per decision, in seconds: a day, so that a timer can be set for any number of views."""
_MUTABLE_TYPES = (list, dict, set, bytearray, deque, np.ndarray)
"""Types of memories that agents may change in place; others they have to replace."""
_NUMERIC_FIELDS: Mapping[str, Callable[[Any], int | float]] = {
    "action": index,
    "value": float,
    "simulations": index,
    "nodes": index,
    "depth": index,
    "expert": index,
}
"""The numeric fields of a decision, and what converts them to Python's own numbers."""
_OPTIONAL_FIELDS = ("value", "expert")
"""The numeric fields that may be None."""

Answer = Decision | Failure


def check_time_limit(seconds: float) -> None:
    """Raises UsageError for a time limit per decision that a timer cannot be set to."""
    if not 0 < seconds <= MAX_TIME_LIMIT:
        raise UsageError(
            f"expected more than 0 and at most {MAX_TIME_LIMIT:.0f} seconds per decision, got {seconds:g}; leave it "
            "out for no limit"
        )


def check_interruptible() -> None:
    """Raises UsageError where agents cannot be interrupted when a time limit expires."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        raise UsageError(
            "expected no time limit per decision: agents cannot be interrupted in this thread or on this system"
        )


def call_agent(
    agent: Agent, views: Views, seats: Sequence[Seat], *, time_limit: float | None = None, game: str = "the game"
) -> list[Answer]:
    """Returns an agent's decision for each view, or why there is none; errors of the agent are not propagated.

    `time_limit` is in seconds per view. Raises GameFailure if the game raised when the framework's own agents called
    it, or returned something that no game may; `game` is the name of the game for error messages.

    If the agent raises, it is called again, one view at a time, with the random state and the memories it started from,
    so that only the views it cannot answer fail. A memory of the agent's own class that it mutated instead of replacing
    stays mutated (see `Seat`). Legality is not checked.
    """
    coroutine = act_blocking(agent, views, seats)
    return run_to_completion(call_agent_coroutine(agent, views, seats, coroutine, time_limit, game))


def call_agent_coroutine(
    agent: Agent,
    views: Views,
    seats: Sequence[Seat],
    coroutine: Coroutine[Sequence[Decision]],
    time_limit: float | None = None,
    game: str = "the game",
) -> Coroutine[list[Answer]]:
    """Returns a coroutine with the result of `call_agent`, given the agent's coroutine for these views."""
    # With a single view there is no second call.
    before = [(seat.rng.bit_generator.state, _snapshot(seat.memory)) for seat in seats] if len(seats) > 1 else []
    try:
        with _interrupted_after(None if time_limit is None else time_limit * len(seats)):
            decisions, failures = yield from _with_failures(coroutine)
        return _checked_answers(decisions, failures, len(seats))
    except _TimeLimitExceeded:
        failure = Failure("timeout", f"no decision within {time_limit:g} s")
    except (Exception, SystemExit) as error:
        if _is_raised_by_game(error):
            if isinstance(error, UnlawfulGame):
                raise
            raise GameFailure(f"{game} raised {one_line(error)}") from error
        failure = Failure("crash", one_line(error))
    if len(seats) == 1:
        return [failure]
    answers: list[Answer] = []
    for row, (seat, (rng_state, memory)) in enumerate(zip(seats, before, strict=True)):
        seat.rng.bit_generator.state, seat.memory = rng_state, memory
        answers += call_agent(agent, views.take([row]), [seat], time_limit=time_limit, game=game)
    return answers


def _snapshot(memory: Any) -> Any:
    """Returns a snapshot of a memory that an agent following the rules of `Seat` cannot change."""
    return deepcopy(memory) if isinstance(memory, _MUTABLE_TYPES) else memory


def _is_raised_by_game(error: Exception | SystemExit) -> bool:
    """Returns whether the error came from the game, with none of the agent's own code on the stack.

    The game raised, or returned something that no game may, when the framework called it.
    """
    calls = foreign_frames(error)
    if not calls:
        return isinstance(error, UnlawfulGame)
    frame = calls[0][0]
    code = frame.f_code
    # The arguments of the outermost foreign call: `self` of a method, perhaps passed through a decorator.
    num_named = code.co_argcount + code.co_kwonlyargcount
    arguments = [frame.f_locals.get(name) for name in code.co_varnames[:num_named]]
    if code.co_flags & inspect.CO_VARARGS:
        arguments += frame.f_locals.get(code.co_varnames[num_named], ())
    return any(isinstance(argument, Game | State) for argument in arguments)


def _with_failures(
    coroutine: Coroutine[Sequence[Decision]],
) -> Coroutine[tuple[Sequence[Decision], Mapping[int, Failure]]]:
    """Returns a coroutine with the decisions and, by row, the failures of an AgentFailure."""
    try:
        return (yield from coroutine), {}
    except AgentFailure as failure:
        return failure.decisions, failure.failures


def _checked_answers(decisions: Sequence[Decision], failures: Mapping[int, Failure], num_views: int) -> list[Answer]:
    """Returns one answer per view, with plain numbers; raises ValueError or TypeError for anything else."""
    num_decisions = len(decisions) if isinstance(decisions, Sized) else type(decisions).__name__
    if num_decisions != num_views:
        raise ValueError(f"expected one decision per view ({num_views}), got {num_decisions}")
    answers = [failures.get(row, decision) for row, decision in enumerate(decisions)]
    for answer in answers:
        if not isinstance(answer, Decision | Failure):
            raise TypeError(f"expected a Decision, got {answer!r}")
    return [_with_plain_numbers(answer) if isinstance(answer, Decision) else answer for answer in answers]


def _with_plain_numbers(decision: Decision) -> Answer:
    """Returns the decision with plain Python numbers, as files need them, or a Failure if one of them is invalid."""
    value, expert, policy = decision.value, decision.expert, decision.policy
    if policy is not None and not (isinstance(policy, Policy) and len(policy.actions) == len(policy.shares)):
        return Failure("crash", f"expected a Policy with one share per action, got {policy!r:.80}")
    integers = (decision.action, decision.simulations, decision.nodes, decision.depth, 0 if expert is None else expert)
    if {*map(type, integers)} == {int} and (value is None or (type(value) is float and math.isfinite(value))):
        # Fast path: most are plain already.
        return decision
    numbers: dict[str, Any] = {}
    for name, convert in _NUMERIC_FIELDS.items():
        number = getattr(decision, name)
        try:
            numbers[name] = None if number is None and name in _OPTIONAL_FIELDS else convert(number)
        except (TypeError, ValueError, OverflowError):
            expected = "a number" if convert is float else "a whole number"
            shown = " ".join(shortened(number).split())
            return Failure("crash", f"expected the Decision's {name} to be {expected}, got {shown}")
    if numbers["value"] is not None and not math.isfinite(numbers["value"]):
        return Failure("crash", f"expected a finite value, got {numbers['value']}")
    return replace(decision, **numbers)


class _TimeLimitExceeded(BaseException):
    """Derives from BaseException so that an agent which catches its own errors does not swallow it."""


@contextlib.contextmanager
def _interrupted_after(seconds: float | None) -> Iterator[None]:
    """Raises _TimeLimitExceeded in the block if it takes longer; native code that checks for signals is interrupted,
    too.
    """
    if seconds is None:
        yield
        return

    def expire(*_: object) -> None:
        raise _TimeLimitExceeded

    previous_handler = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous_handler)

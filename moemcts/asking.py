"""Asks agents for decisions and turns their errors into failures."""

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
from moemcts.errors import AgentFailure, Failure, GameFailure, UnlawfulGame, UsageError, one_line, outside, shortened
from moemcts.game import Game, State, Views

LONGEST = 86_400.0
"""The largest time limit per decision, in seconds: a day, so that a timer can be set for any number of views."""
_CONTAINERS = (list, dict, set, bytearray, deque, np.ndarray)
"""Types of memories that agents may change in place; others they have to replace."""
_NUMBERS: Mapping[str, Callable[[Any], int | float]] = {
    "action": index,
    "value": float,
    "simulations": index,
    "nodes": index,
    "depth": index,
    "expert": index,
}
"""The numeric fields of a decision, and what converts them to Python's own numbers."""
_OPTIONAL = ("value", "expert")
"""Those that may be None."""

Answer = Decision | Failure


def check_patience(seconds: float) -> None:
    """Raises UsageError for a time limit per decision that a timer cannot be set to."""
    if not 0 < seconds <= LONGEST:
        raise UsageError(
            f"expected more than 0 and at most {LONGEST:.0f} seconds per decision, got {seconds:g}; leave it out "
            "for no limit"
        )


def check_interruptible() -> None:
    """Raises UsageError where agents cannot be interrupted when a time limit expires."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        raise UsageError(
            "expected no time limit per decision: agents cannot be interrupted in this thread or on this system"
        )


def ask(
    agent: Agent, views: Views, seats: Sequence[Seat], *, patience: float | None = None, game: str = "the game"
) -> list[Answer]:
    """Returns an agent's decision for each view, or why there is none; errors of the agent are not propagated.

    Raises GameFailure if the game raised when the framework's own agents called it, or returned something that no game
    may; `game` is the name of the game for error messages.

    If the agent raises, it is asked again, one view at a time, with the random state and the memories it started from,
    so that only the views it cannot answer fail. A memory of the agent's own class that it mutated instead of replacing
    stays mutated (see `Seat`). Legality is not checked.
    """
    return run_to_completion(asking(agent, views, seats, act_blocking(agent, views, seats), patience, game))


def asking(
    agent: Agent,
    views: Views,
    seats: Sequence[Seat],
    coroutine: Coroutine[Sequence[Decision]],
    patience: float | None = None,
    game: str = "the game",
) -> Coroutine[list[Answer]]:
    """Returns a coroutine with the result of `ask`, given the agent's coroutine for these views."""
    # A single view is not asked about again.
    before = [(seat.rng.bit_generator.state, _kept(seat.memory)) for seat in seats] if len(seats) > 1 else []
    try:
        with _time_limit(None if patience is None else patience * len(seats)):
            decisions, failures = yield from _heard(coroutine)
        return _checked(decisions, failures, len(seats))
    except _TooSlow:
        failure = Failure("timeout", f"no decision within {patience:g} s")
    except (Exception, SystemExit) as error:
        if _is_of_the_game(error):
            if isinstance(error, UnlawfulGame):
                raise
            raise GameFailure(f"{game} raised {one_line(error)}") from error
        failure = Failure("crash", one_line(error))
    if len(seats) == 1:
        return [failure]
    answers: list[Answer] = []
    for row, (seat, (state, memory)) in enumerate(zip(seats, before, strict=True)):
        seat.rng.bit_generator.state, seat.memory = state, memory
        answers += ask(agent, views.take([row]), [seat], patience=patience, game=game)
    return answers


def _kept(memory: Any) -> Any:
    """Returns a snapshot of a memory that an agent following the rules of `Seat` cannot change."""
    return deepcopy(memory) if isinstance(memory, _CONTAINERS) else memory


def _is_of_the_game(error: Exception | SystemExit) -> bool:
    """Returns whether the error came from the game, with none of the agent's own code on the stack.

    The game raised, or returned something that no game may, when the framework called it.
    """
    calls = outside(error)
    if not calls:
        return isinstance(error, UnlawfulGame)
    frame = calls[0][0]
    code = frame.f_code
    # The arguments of the outermost foreign call: `self` of a method, perhaps passed through a decorator.
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    rest = code.co_varnames[len(names)] if code.co_flags & inspect.CO_VARARGS else None
    given = [frame.f_locals.get(name) for name in names] + list(frame.f_locals.get(rest, ()) if rest else ())
    return any(isinstance(value, Game | State) for value in given)


def _heard(coroutine: Coroutine[Sequence[Decision]]) -> Coroutine[tuple[Sequence[Decision], Mapping[int, Failure]]]:
    try:
        return (yield from coroutine), {}
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
    """Returns the decision with plain Python numbers, as files need them, or a Failure if one of them is invalid."""
    value, expert, policy = decision.value, decision.expert, decision.policy
    if policy is not None and not (isinstance(policy, Policy) and len(policy.actions) == len(policy.shares)):
        return Failure("crash", f"expected a Policy with one share per action, got {policy!r:.80}")
    numbers = (decision.action, decision.simulations, decision.nodes, decision.depth, 0 if expert is None else expert)
    if {*map(type, numbers)} == {int} and (value is None or (type(value) is float and math.isfinite(value))):
        # Fast path: most are plain already.
        return decision
    plain: dict[str, Any] = {}
    for name, number in _NUMBERS.items():
        given = getattr(decision, name)
        try:
            plain[name] = None if given is None and name in _OPTIONAL else number(given)
        except (TypeError, ValueError, OverflowError):
            wanted = "a number" if number is float else "a whole number"
            got = " ".join(shortened(given).split())
            return Failure("crash", f"expected the Decision's {name} to be {wanted}, got {got}")
    if plain["value"] is not None and not math.isfinite(plain["value"]):
        return Failure("crash", f"expected a finite value, got {plain['value']}")
    return replace(decision, **plain)


class _TooSlow(BaseException):
    """Derives from BaseException so that an agent which catches its own errors does not swallow it."""


@contextlib.contextmanager
def _time_limit(seconds: float | None) -> Iterator[None]:
    """Raises _TooSlow in the block if it takes longer; native code that checks for signals is interrupted as well."""
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

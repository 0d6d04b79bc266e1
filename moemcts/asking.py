"""What agents answer when they are asked, or why they have no answer."""

from __future__ import annotations

import contextlib
import inspect
import math
import signal
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence, Sized
from copy import deepcopy
from dataclasses import replace
from operator import index
from typing import Any

import numpy as np

from moemcts.agents import Agent, Decision, Policy, Seat, at_once
from moemcts.errors import AgentFailure, Failure, GameFailure, UnlawfulGame, UsageError, one_line, outside
from moemcts.game import Game, State, Views
from moemcts.thoughts import Thought, think

LONGEST = 86_400.0
"""Seconds that a decision may be limited to: a day, so that a timer takes them for any number of views."""
_CONTAINERS = (list, dict, set, bytearray, deque, np.ndarray)
"""What memories are that agents may change in place; anything else they replace."""

Answer = Decision | Failure


def check_patience(seconds: float) -> None:
    """Raises UsageError for a limit per decision that no timer can keep."""
    if not 0 < seconds <= LONGEST:
        raise UsageError(
            f"expected more than 0 and at most {LONGEST:.0f} seconds per decision, got {seconds:g}; leave it out "
            "for no limit"
        )


def check_interruptible() -> None:
    """Raises UsageError where nothing can be interrupted for a limit per decision."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        raise UsageError("expected no limit per decision: an agent cannot be interrupted here")


def ask(
    agent: Agent, views: Views, seats: Sequence[Seat], *, patience: float | None = None, game: str = "the game"
) -> list[Answer]:
    """Returns what an agent decides in each view, or why it has not; it never raises what the agent raises.

    Raises GameFailure, with the name of the game where that is known, where it raised when the framework's own agents
    asked it, or gave them what no game may.

    Where it raises an error, it is asked for one view at a time with the randomness and the memories it began with, so
    that only those views fail to which it has no answer. A memory of a class of the agent's own that it has changed in
    place, and not replaced, stays changed (`Seat`). Legality is not checked.
    """
    return think(asking(agent, views, seats, at_once(agent, views, seats), patience, game))


def asking(
    agent: Agent,
    views: Views,
    seats: Sequence[Seat],
    thought: Thought[Sequence[Decision]],
    patience: float | None = None,
    game: str = "the game",
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
    """Returns a memory as it is now, whatever an agent that keeps to `Seat` does with it."""
    return deepcopy(memory) if isinstance(memory, _CONTAINERS) else memory


def _is_of_the_game(error: Exception | SystemExit) -> bool:
    """Returns whether a game raised, or gave what no game may, where the framework asked it.

    Then no code of the agent's own was under way.
    """
    calls = outside(error)
    if not calls:
        return isinstance(error, UnlawfulGame)
    frame = calls[0][0]
    code = frame.f_code
    # What it was called with: a method's own position, perhaps behind a decorator.
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    rest = code.co_varnames[len(names)] if code.co_flags & inspect.CO_VARARGS else None
    given = [frame.f_locals.get(name) for name in names] + list(frame.f_locals.get(rest, ()) if rest else ())
    return any(isinstance(value, Game | State) for value in given)


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

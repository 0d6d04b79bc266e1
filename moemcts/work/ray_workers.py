"""Workers that are Ray actors, local or on a cluster; if one dies, it is replaced and its item repeated."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pickle
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from moemcts.cancellation import POLL_SECONDS, check_cancelled
from moemcts.errors import MissingExtra, MoemctsError
from moemcts.garbage import raise_gc_threshold
from moemcts.work.processes import ONE_THREAD

LOCAL_RAY = "ray"
"""The address of a local Ray instance that this process starts."""
HEAD = "node:__internal_head__"
"""The Ray resource that only the head of a cluster has."""
TOKEN = "one that asks for a token is found with RAY_AUTH_MODE=token and its head's ~/.ray/auth_token on this machine"
"""Why an existing cluster may not respond: it does not report a missing token."""
MAX_DEATHS = 3
"""How many times an item may kill its actor before the error is raised."""


class RayWorkers:
    """Maps items in Ray actors, each with one core; see `Workers`.

    Tasks, items and results are sent between machines, which need the same packages but no shared folder.
    """

    def __init__(self, address: str = LOCAL_RAY, *, count: int | None = None, hint: str = "") -> None:
        """`address` is `ray` or `ray://HEAD:PORT`; `count` is the number of actors, by default one per core of the
        cluster.

        Raises MissingExtra if Ray is not installed, MoemctsError if it does not start, or if there is no cluster at the
        address.
        """
        if importlib.util.find_spec("ray") is None:
            raise MissingExtra("ray", "ray")
        self._hint = hint
        self._ray = _connect(address, count)
        self.count = count or max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def map(
        self,
        task: Callable[[Any, Callable[[Any], None]], Any],
        items: Sequence[Any],
        *,
        on_report: Callable[[int, Any], None] = lambda number, value: None,
        on_done: Callable[[int, Any], None] = lambda number, value: None,
    ) -> list[Any]:
        """Maps as `Workers.map` does; raises MoemctsError if an item repeatedly kills its actor or a task raises
        otherwise.
        """
        ray, results = self._ray, dict[int, Any]()
        deaths: dict[int, int] = {}
        waiting = list(enumerate(items))[::-1]
        busy: dict[Any, tuple[Any, int]] = {}
        reports = _start_mailbox(ray)
        # Stored by Ray once per machine for all of its actors: with experts, it is large.
        stored_task = ray.put(pickle.dumps(task))
        try:
            for _ in range(min(self.count, len(items))):
                self._send(_start_actor(ray, stored_task, reports), waiting.pop(), busy)
            while busy:
                check_cancelled()
                ready, _ = ray.wait(list(busy), num_returns=1, timeout=POLL_SECONDS)
                for number, message in ray.get(reports.take.remote()):
                    on_report(number, message)
                for reference in ready:
                    actor, number = busy.pop(reference)
                    try:
                        results[number] = _unwrapped(ray.get(reference))
                    except ray.exceptions.RayError as error:
                        # Exceptions of the task are returned as values, so this one is from its actor or from Ray.
                        deaths[number] = deaths.get(number, 0) + 1
                        if deaths[number] >= MAX_DEATHS:
                            raise self._death_error(deaths[number], error) from error
                        _kill(ray, actor)
                        self._send(_start_actor(ray, stored_task, reports), (number, items[number]), busy)
                        continue
                    on_done(number, results[number])
                    if waiting:
                        self._send(actor, waiting.pop(), busy)
                    else:
                        # A replacement for an actor whose machine has left the cluster may be waiting for this core.
                        _kill(ray, actor)
            for number, message in ray.get(reports.take.remote()):
                on_report(number, message)
        finally:
            for actor, _ in busy.values():
                _kill(ray, actor)
            ray.kill(reports)
        return [results[number] for number in range(len(items))]

    @staticmethod
    def _send(actor: Any, item: tuple[int, Any], busy: dict[Any, tuple[Any, int]]) -> None:
        number, value = item
        busy[actor.do.remote(number, value)] = actor, number

    def _death_error(self, times: int, error: Exception) -> MoemctsError:
        reason, hint = _reason(error), f"; {self._hint}" if self._hint else ""
        return MoemctsError(
            f"an actor of Ray died {times} times with the same item, perhaps of too little memory: {reason}{hint}"
        )


class _Mailbox:
    """Stores reports of tasks until they are fetched."""

    def __init__(self) -> None:
        self._messages: list[tuple[int, Any]] = []

    def put(self, number: int, message: Any) -> None:
        self._messages.append((number, message))

    def take(self) -> list[tuple[int, Any]]:
        messages, self._messages = self._messages, []
        return messages


class _Actor:
    """Processes items one after the other with a fixed task."""

    def __init__(self, pickled: bytes, reports: Any) -> None:
        # Must be set before numerical libraries are imported.
        os.environ.update(ONE_THREAD)
        raise_gc_threshold()
        self._task = pickle.loads(pickled)
        self._reports = reports

    def do(self, number: int, item: Any) -> tuple[bool, Any]:
        """Returns whether the item succeeded, and its result or the error."""
        report = partial(_send_report, self._reports, number)
        try:
            return True, self._task(item, report)
        except MoemctsError as error:
            return False, error
        except Exception as error:
            return False, MoemctsError(f"a worker failed: {type(error).__name__}: {error}")


def _send_report(reports: Any, number: int, message: Any) -> None:
    import ray

    # Blocks, so that a report arrives before the result of its item.
    ray.get(reports.put.remote(number, message))


def _unwrapped(outcome: tuple[bool, Any]) -> Any:
    """Returns the result that `_Actor.do` returned, or raises its error."""
    has_succeeded, value = outcome
    if not has_succeeded:
        raise value
    return value


def _start_actor(ray: Any, stored_task: Any, reports: Any) -> Any:
    """Starts an actor for the pickled task that Ray stores."""
    return ray.remote(num_cpus=1)(_Actor).remote(stored_task, reports)


def _kill(ray: Any, actor: Any) -> None:
    with contextlib.suppress(Exception):
        ray.kill(actor)


def _start_mailbox(ray: Any) -> Any:
    # On the head, without which there is no cluster: if another machine hosted it, its loss would end all work.
    return ray.remote(num_cpus=0, resources={HEAD: 0.001})(_Mailbox).remote()


def _connect(address: str, count: int | None) -> Any:
    """Returns the ray module, connected to a cluster or to a local instance that ends with this process."""
    import logging

    # Under `uv run`, Ray would send its working folder to every worker, which would build this package anew.
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    # Disables Ray's usage statistics.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    if ray.is_initialized():
        return ray
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    try:
        if address == LOCAL_RAY:
            ray.init(address="local", num_cpus=count, include_dashboard=False, **quiet)
        else:
            with warnings.catch_warnings():
                # Its warnings are also raised as errors.
                warnings.simplefilter("ignore")
                ray.init(address=address, **quiet)
    except Exception as error:
        # Ray also raises plain exceptions, for example if it starts too slowly on a busy machine.
        reason = _reason(error)
        if address == LOCAL_RAY:
            raise MoemctsError(f"Ray failed to start here: {reason}") from error
        raise MoemctsError(f"expected a Ray cluster at {address}, found none: {reason}; {TOKEN}") from error
    return ray


def _reason(error: Exception) -> str:
    """Returns a Ray error on one line: its first line, plus the last if the first only introduces a remote error."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return f"{lines[0]} {lines[-1]}" if lines[0].endswith(":") and len(lines) > 1 else lines[0]

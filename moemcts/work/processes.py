"""Worker processes, which end with the process that started them."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from multiprocessing import connection
from typing import Any

from moemcts.cancellation import POLL_SECONDS, check_cancelled
from moemcts.errors import MoemctsError
from moemcts.garbage import raise_gc_threshold

SECONDS_TO_STOP = 20.0
"""Time for interrupted workers to finish, since trainings save their state."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Small networks gain nothing from a second thread and lose much when another process needs the same core."""
_INTERRUPTED = 130
_PR_SET_PDEATHSIG = 1
"""linux/prctl.h"""


def num_cores() -> int:
    """Returns the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Processes:
    """Maps items in child processes, each with one thread; see `Workers`."""

    def __init__(self, count: int, *, hint: str = "") -> None:
        """`hint` is appended to the error message when a process dies."""
        self.count = count
        self._hint = hint
        self._is_kept = False
        self._idle: list[_Member] = []

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Within the block, idle processes are kept for the next `map`, which then starts at once.

        All calls must be made from one thread: on Linux, a process ends with the thread that started it.
        """
        self._is_kept = True
        try:
            yield
        finally:
            self._is_kept = False
            _stop(self._idle, ())
            self._idle = []

    def map(
        self,
        task: Callable[[Any, Callable[[Any], None]], Any],
        items: Sequence[Any],
        *,
        on_report: Callable[[int, Any], None] = lambda number, message: None,
        on_done: Callable[[int, Any], None] = lambda number, result: None,
    ) -> list[Any]:
        """Maps as `Workers.map` does; raises MoemctsError if a process dies or a task raises any other error."""
        results: dict[int, Any] = {}
        waiting = iter(enumerate(items))
        pickled = pickle.dumps(task)
        crew = self._gather(min(self.count, len(items)))
        busy = {member.pipe: member for member in crew}
        try:
            for member in crew:
                member.prepare(pickled)
                member.give(next(waiting))
            while busy:
                check_cancelled()
                for ready in connection.wait(list(busy), POLL_SECONDS):
                    member = busy[ready]
                    kind, number, value = self._hear(member)
                    if kind == "report":
                        on_report(number, value)
                        continue
                    if kind == "failed":
                        del busy[ready]
                        raise value
                    results[number] = value
                    on_done(number, value)
                    if not member.give(next(waiting, None)):
                        del busy[ready]
                        if not self._is_kept:
                            member.leave()
        finally:
            # After a failure, processes are about to exit and cannot be kept.
            if self._is_kept and not busy and len(results) == len(items):
                self._idle += crew
            else:
                _stop(crew, list(busy.values()))
        return [results[number] for number in range(len(items))]

    def _gather(self, count: int) -> list[_Member]:
        """Returns `count` processes: idle ones that are still alive, and new ones."""
        alive = [member for member in self._idle if member.process.is_alive()]
        waiting, self._idle = alive[:count], alive[count:]
        return [*waiting, *_start(count - len(waiting))]

    def _hear(self, member: _Member) -> tuple[str, int, Any]:
        try:
            message: tuple[str, int, Any] = member.pipe.recv()
        except (EOFError, OSError):
            member.process.join()
            raise MoemctsError(
                f"a worker process died ({_ending(member.process.exitcode)}), perhaps of too little memory"
                f"{'; ' * bool(self._hint)}{self._hint}"
            ) from None
        return message


class _Member:
    def __init__(self, process: Any, pipe: Any, lifeline: Any) -> None:
        self.process = process
        self.pipe = pipe
        self._lifeline = lifeline

    def prepare(self, pickled: bytes) -> None:
        """Sends the pickled task for all items; blocks until the process reads it if it is large."""
        # A dead process is detected when its pipe is read.
        with contextlib.suppress(OSError):
            self.pipe.send(pickled)

    def give(self, item: tuple[int, Any] | None) -> bool:
        """Sends a numbered item, or None for no more items; returns whether there was one."""
        with contextlib.suppress(OSError):
            self.pipe.send(item)
        return item is not None

    def leave(self) -> None:
        """Ends the process, which has no items left."""
        with contextlib.suppress(OSError):
            self.pipe.send(None)

    def close(self) -> None:
        self.pipe.close()
        self._lifeline.close()


def _start(count: int) -> list[_Member]:
    """Starts processes without waiting for them, so that they import their modules at the same time."""
    context = multiprocessing.get_context("spawn")
    crew = []
    with _environment(ONE_THREAD), _interrupts_held():
        for _ in range(count):
            ours, theirs = context.Pipe()
            # Nothing is ever sent through it: it breaks when this process exits, for whatever reason.
            alive, lifeline = context.Pipe(duplex=False)
            process = context.Process(target=_work, args=(os.getpid(), theirs, alive), daemon=True)
            process.start()
            theirs.close()
            alive.close()
            crew.append(_Member(process, ours, lifeline))
    return crew


def _stop(crew: Sequence[_Member], busy: Sequence[_Member]) -> None:
    """Ends the processes: busy ones are interrupted, idle ones told to exit; those that take too long are killed."""
    for member in crew:
        if member not in busy:
            member.leave()
        elif member.process.is_alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(member.process.pid, signal.SIGINT)
    deadline = time.monotonic() + SECONDS_TO_STOP
    for member in crew:
        member.process.join(max(0.0, deadline - time.monotonic()))
        if member.process.is_alive():
            member.process.kill()
            member.process.join()
        member.close()


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Blocks SIGINT; child processes inherit the mask, and unblock the signal once they handle it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ending(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        return signal.Signals(-exitcode).name
    return f"exit code {exitcode}"


def _work(parent: int, pipe: Any, alive: Any) -> None:
    # Code that must save its state first, such as a training, replaces this handler meanwhile.
    signal.signal(signal.SIGINT, lambda *_: os._exit(_INTERRUPTED))
    # Schedulers send SIGTERM to every process of a job; the main process decides what to end, and how.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if hasattr(os, "setpgrp"):
        # Ctrl-C is sent to the whole process group. In its own group, this process is interrupted only by the main
        # process, which also reports it.
        os.setpgrp()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    _end_with(parent, alive)
    raise_gc_threshold()
    try:
        while (pickled := pipe.recv()) is not None:
            _do_items(pickle.loads(pickled), pipe)
    except KeyboardInterrupt:
        os._exit(_INTERRUPTED)
    except (EOFError, BrokenPipeError):
        os._exit(1)
    except Exception as error:
        pipe.send(("failed", -1, _sendable(error)))
    pipe.close()


def _do_items(task: Any, pipe: Any) -> None:
    # The task is released after its last item, to free its memory while this process waits.
    while (given := pipe.recv()) is not None:
        number, item = given
        pipe.send(("done", number, task(item, partial(_report, pipe, number))))


def _report(pipe: Any, number: int, message: Any) -> None:
    pipe.send(("report", number, message))


def _sendable(error: Exception) -> MoemctsError:
    if isinstance(error, MoemctsError):
        return error
    failure = MoemctsError(f"a worker failed: {type(error).__name__}: {error}")
    failure.add_note(traceback.format_exc())
    return failure


def _end_with(parent: int, alive: Any) -> None:
    """Ends this process when its parent ends."""
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)

    def watch() -> None:
        with contextlib.suppress(EOFError, OSError):
            alive.recv()
        os._exit(1)

    threading.Thread(target=watch, name="lifeline", daemon=True).start()

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
        self._keeps_idle = False
        self._idle: list[_Worker] = []

    @contextlib.contextmanager
    def keep_idle(self) -> Iterator[None]:
        """Within the block, idle processes are kept for the next `map`, which then starts at once.

        All calls must be made from one thread: on Linux, a process ends with the thread that started it.
        """
        self._keeps_idle = True
        try:
            yield
        finally:
            self._keeps_idle = False
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
        workers = self._acquire(min(self.count, len(items)))
        busy = {worker.pipe: worker for worker in workers}
        try:
            for worker in workers:
                worker.send_task(pickled)
                worker.send_item(next(waiting))
            while busy:
                check_cancelled()
                for ready in connection.wait(list(busy), POLL_SECONDS):
                    worker = busy[ready]
                    kind, number, value = self._receive(worker)
                    if kind == "report":
                        on_report(number, value)
                        continue
                    if kind == "failed":
                        del busy[ready]
                        raise value
                    results[number] = value
                    on_done(number, value)
                    if not worker.send_item(next(waiting, None)):
                        del busy[ready]
                        if not self._keeps_idle:
                            worker.send_exit()
        finally:
            # After a failure, processes are about to exit and cannot be kept.
            if self._keeps_idle and not busy and len(results) == len(items):
                self._idle += workers
            else:
                _stop(workers, list(busy.values()))
        return [results[number] for number in range(len(items))]

    def _acquire(self, count: int) -> list[_Worker]:
        """Returns `count` processes: idle ones that are still alive, and new ones."""
        alive = [worker for worker in self._idle if worker.process.is_alive()]
        reused, self._idle = alive[:count], alive[count:]
        return [*reused, *_start(count - len(reused))]

    def _receive(self, worker: _Worker) -> tuple[str, int, Any]:
        """Returns a message: its kind (`report`, `done` or `failed`), the item's number, and the value.

        Raises MoemctsError if the process died.
        """
        try:
            message: tuple[str, int, Any] = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join()
            raise MoemctsError(
                f"a worker process died ({_describe_exit(worker.process.exitcode)}), perhaps of too little memory"
                f"{'; ' * bool(self._hint)}{self._hint}"
            ) from None
        return message


class _Worker:
    """A worker process, as its parent sees it."""

    def __init__(self, process: Any, pipe: Any, lifeline: Any) -> None:
        self.process = process
        self.pipe = pipe
        self._lifeline = lifeline

    def send_task(self, pickled: bytes) -> None:
        """Sends the pickled task for all items; blocks until the process reads it if it is large."""
        # A dead process is detected when its pipe is read.
        with contextlib.suppress(OSError):
            self.pipe.send(pickled)

    def send_item(self, item: tuple[int, Any] | None) -> bool:
        """Sends a numbered item, or None for no more items; returns whether there was one."""
        with contextlib.suppress(OSError):
            self.pipe.send(item)
        return item is not None

    def send_exit(self) -> None:
        """Ends the process, which has no items left."""
        with contextlib.suppress(OSError):
            self.pipe.send(None)

    def close(self) -> None:
        self.pipe.close()
        self._lifeline.close()


def _start(count: int) -> list[_Worker]:
    """Starts processes without waiting for them, so that they import their modules at the same time."""
    context = multiprocessing.get_context("spawn")
    workers = []
    with _environment_variables(ONE_THREAD), _interrupts_blocked():
        for _ in range(count):
            ours, theirs = context.Pipe()
            # Nothing is ever sent through it: it breaks when this process exits, for whatever reason.
            alive, lifeline = context.Pipe(duplex=False)
            process = context.Process(target=_run_worker, args=(os.getpid(), theirs, alive), daemon=True)
            process.start()
            theirs.close()
            alive.close()
            workers.append(_Worker(process, ours, lifeline))
    return workers


def _stop(workers: Sequence[_Worker], busy: Sequence[_Worker]) -> None:
    """Ends the processes: busy ones are interrupted, idle ones told to exit; those that take too long are killed."""
    for worker in workers:
        if worker not in busy:
            worker.send_exit()
        elif worker.process.is_alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.process.pid, signal.SIGINT)
    deadline = time.monotonic() + SECONDS_TO_STOP
    for worker in workers:
        worker.process.join(max(0.0, deadline - time.monotonic()))
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
        worker.close()


@contextlib.contextmanager
def _environment_variables(values: dict[str, str]) -> Iterator[None]:
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
def _interrupts_blocked() -> Iterator[None]:
    """Blocks SIGINT; child processes inherit the mask, and unblock the signal once they handle it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _describe_exit(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        return signal.Signals(-exitcode).name
    return f"exit code {exitcode}"


def _run_worker(parent: int, pipe: Any, alive: Any) -> None:
    # Code that must save its state first, such as a training, replaces this handler meanwhile.
    signal.signal(signal.SIGINT, lambda *_: os._exit(_INTERRUPTED))
    # Schedulers send SIGTERM to every process of a job; the main process decides what to end, and how.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if hasattr(os, "setpgrp"):
        # Ctrl-C is sent to the whole process group. In its own group, this process is interrupted only by the main
        # process, which also reports it.
        os.setpgrp()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    _end_with_parent(parent, alive)
    raise_gc_threshold()
    try:
        while (pickled := pipe.recv()) is not None:
            _process_items(pickle.loads(pickled), pipe)
    except KeyboardInterrupt:
        os._exit(_INTERRUPTED)
    except (EOFError, BrokenPipeError):
        os._exit(1)
    except Exception as error:
        pipe.send(("failed", -1, _picklable_error(error)))
    pipe.close()


def _process_items(task: Any, pipe: Any) -> None:
    # The task is released after its last item, to free its memory while this process waits.
    while (numbered := pipe.recv()) is not None:
        number, item = numbered
        pipe.send(("done", number, task(item, partial(_report, pipe, number))))


def _report(pipe: Any, number: int, message: Any) -> None:
    pipe.send(("report", number, message))


def _picklable_error(error: Exception) -> MoemctsError:
    if isinstance(error, MoemctsError):
        return error
    failure = MoemctsError(f"a worker failed: {type(error).__name__}: {error}")
    failure.add_note(traceback.format_exc())
    return failure


def _end_with_parent(parent: int, alive: Any) -> None:
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

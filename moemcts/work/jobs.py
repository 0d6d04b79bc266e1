"""Parts of an experiment on all cores: one process each, one thread in each process.

Small networks gain nothing from a second thread and lose much where another process wants the same core.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import signal
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from moemcts.errors import MoemctsError
from moemcts.work.progress import Advance


def num_cores() -> int:
    """Returns how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_parts(
    folder: Path, jobs: Sequence[str], do: Callable[[str, Advance], None], num_workers: int, advance: Advance
) -> None:
    """Does parts of the experiment in `folder`, in this process with one worker, else in `num_workers` of their own.

    `do` does one job here. Raises what the first job that failed raised, after the others that run have stopped.
    """
    tally = _Tally(len(jobs), advance)
    if min(num_workers, len(jobs)) <= 1:
        for i, job in enumerate(jobs):
            do(job, lambda done, total, i=i: tally.note(i, done, total))  # type: ignore[misc]
            tally.finish(i)
        return
    context = multiprocessing.get_context("spawn")
    reports: Any = context.Queue()
    pool = ProcessPoolExecutor(min(num_workers, len(jobs)), context, initializer=_begin, initargs=(reports,))
    try:
        waiting = {pool.submit(_work, str(folder), i, job): i for i, job in enumerate(jobs)}
        _follow(waiting, reports, tally)
    except BrokenProcessPool:
        raise MoemctsError(
            f"a worker process died, perhaps of too little memory; go on with moemcts run --resume {folder}, "
            "or set workers=1"
        ) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _follow(waiting: Mapping[Future[None], int], reports: Any, tally: _Tally) -> None:
    left = dict(waiting)
    while left:
        with contextlib.suppress(queue.Empty):
            tally.note(*reports.get(timeout=0.1))
        for future in [future for future in left if future.done()]:
            tally.finish(left.pop(future))
            future.result()


class _Tally:
    """Adds up the progress of jobs; one that has not said how long it is counts as long as the others."""

    def __init__(self, num_jobs: int, advance: Advance) -> None:
        self._num_jobs = num_jobs
        self._advance = advance
        self._done: dict[int, tuple[int, int]] = {}

    def note(self, job: int, done: int, total: int) -> None:
        self._done[job] = (done, total)
        known = [total for _, total in self._done.values()]
        expected = round(sum(known) * self._num_jobs / len(known))
        self._advance(sum(done for done, _ in self._done.values()), expected)

    def finish(self, job: int) -> None:
        _, total = self._done.get(job, (0, 0))
        self.note(job, total, total)


_reports: Any = None


def _begin(reports: Any) -> None:
    global _reports
    _reports = reports
    # Ctrl-C reaches every process; the one that was started says what there is to say. A training saves its state
    # before it lets the interrupt through, and a match's file is whole after every line.
    signal.signal(signal.SIGINT, lambda *_: _leave())
    import torch

    torch.set_num_threads(1)


def _work(folder: str, number: int, job: str) -> None:
    from moemcts.runs.experiment import Experiment

    try:
        Experiment.load(Path(folder), allow_programs=True).do(
            job, lambda done, total: _reports.put((number, done, total))
        )
    except KeyboardInterrupt:
        _leave()


def _leave() -> None:
    os._exit(130)

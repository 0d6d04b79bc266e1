"""Tasks that worker processes can import."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from moemcts.errors import UsageError
from moemcts.learn.training.interrupts import deferred_interrupts
from moemcts.work import Report

_HOMES: list[tempfile.TemporaryDirectory[str]] = []


def square(item: int, report: Report) -> int:
    report(("seen", item))
    return item * item


class Heavy:
    """A task too large for a pipe's buffer; returns the times when the process started and got the task."""

    def __init__(self, path: str, content: bytes = bytes(1_000_000)) -> None:
        self.path = path
        self._content = content
        self._loaded = time.clock_gettime(time.CLOCK_BOOTTIME)

    def __call__(self, item: int, report: Report) -> tuple[float, float]:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        return ticks / os.sysconf("SC_CLK_TCK"), self._loaded

    def __reduce__(self) -> tuple[Any, ...]:
        with open(self.path, "a") as file:
            file.write("pickled\n")
        return Heavy, (self.path, self._content)


def process(item: int, report: Report) -> int:
    time.sleep(0.2)
    return os.getpid()


def terminated(item: int, report: Report) -> int:
    """Receives a termination signal, as a scheduler sends to every process of a job."""
    os.kill(os.getpid(), signal.SIGTERM)
    return item


def threads(item: int, report: Report) -> str | None:
    return os.environ.get("OMP_NUM_THREADS")


def threshold(item: int, report: Report) -> int:
    return gc.get_threshold()[0]


def furnishes(folder: str, report: Report) -> None:
    """Keeps files for the lifetime of the process."""
    _HOMES.append(tempfile.TemporaryDirectory(dir=folder))


def furnishes_and_fails(folder: str, report: Report) -> None:
    furnishes(folder, report)
    raise UsageError("expected another folder")


def fails(item: int, report: Report) -> None:
    if item == 1:
        raise UsageError("expected another item, got 1")
    if item == 2:
        raise KeyError("nothing")
    time.sleep(600)


def dies(how: str, report: Report) -> None:
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "leaves":
        os._exit(0)
    time.sleep(600)


def dies_once(mark: str, report: Report) -> str:
    """Kills its process on the first call."""
    if not Path(mark).exists():
        Path(mark).write_text("")
        os.kill(os.getpid(), signal.SIGKILL)
    return mark


def waits(folder: str, report: Report) -> None:
    """Writes its process id and runs forever; saves its work when interrupted."""
    with deferred_interrupts() as is_interrupted:
        (Path(folder) / f"{os.getpid()}.pid").write_text("")
        while not is_interrupted():
            time.sleep(0.01)
        time.sleep(0.3)
        (Path(folder) / f"{os.getpid()}.saved").write_text("")
    raise KeyboardInterrupt


if __name__ == "__main__":
    from moemcts.work import Processes

    Processes(2).map(waits, [sys.argv[1]] * 2)

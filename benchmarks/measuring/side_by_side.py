"""Two programs measured in turns, A B A B: on a busy machine the ratios within one run are what counts."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self


class Worker:
    """A process that does named work when it is asked to, and says how fast that was.

    It reads `{"name": ..., "seconds": ...}` line by line, and answers each with a number or null.
    """

    def __init__(self, command: Sequence[str], *, environment: Mapping[str, str] | None = None) -> None:
        self._command = list(command)
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()

    def rate(self, name: str, seconds: float) -> float | None:
        """Returns how much of the work is done per second; None where there is no such work."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"name": name, "seconds": seconds}) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"expected an answer about {name!r} of {' '.join(self._command)}: it ended")
        found: float | None = json.loads(answer)
        return found


def serve(measured: Callable[[str, float], float | None]) -> None:
    """Answers a parent's questions until there are no more."""
    for line in sys.stdin:
        question = json.loads(line)
        print(json.dumps(measured(question["name"], question["seconds"])), flush=True)


def rate(work: Callable[[], int], seconds: float) -> float:
    """Returns how much of the work is done per second of this process's processor time, once it was done before."""
    work()
    amount, started = 0, time.process_time()
    while time.process_time() - started < seconds:
        amount += work()
    return amount / (time.process_time() - started)


def paths_of(folder: Path) -> dict[str, str]:
    """Returns the environment in which everything is imported from a checkout whose core is built."""
    if not any((folder / "moemcts").glob("_core*.so")):
        raise SystemExit(f"expected a checkout with a built core, got {folder}: see CONTRIBUTING.md")
    places = [folder, folder / "games", *sorted((folder / "plugins").glob("*"))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places))}


def compare(ours: Worker, theirs: Worker, name: str, *, seconds: float, rounds: int) -> dict[str, object] | None:
    """Returns the medians of both rates, and the ratio of ours to theirs with its spread; None where one has none."""
    pairs = []
    for _ in range(rounds):
        pair = ours.rate(name, seconds), theirs.rate(name, seconds)
        if pair[0] is None or pair[1] is None:
            return None
        pairs.append((pair[0], pair[1]))
    ratios = [mine / other for mine, other in pairs]
    return {
        "name": name,
        "value": round(statistics.median(ratios), 3),
        "unit": "ratio",
        "seed": 0,
        "lowest": round(min(ratios), 3),
        "highest": round(max(ratios), 3),
        "runs": rounds,
        "ours": round(statistics.median(mine for mine, _ in pairs)),
        "theirs": round(statistics.median(other for _, other in pairs)),
    }

"""Two programs measured alternately, A B A B: on a busy machine only ratios within one run are meaningful."""

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
    """A child process that runs named work on request and reports its speed.

    It reads lines of `{"name": ..., "seconds": ...}`, and answers each with a number or null.
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
        """Returns the amount of work done per second; None if there is no such work."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"name": name, "seconds": seconds}) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"expected an answer about {name!r} of {' '.join(self._command)}: it ended")
        rate: float | None = json.loads(answer)
        return rate


def serve(measured: Callable[[str, float], float | None]) -> None:
    """Answers a parent's requests until the end of input."""
    for line in sys.stdin:
        question = json.loads(line)
        print(json.dumps(measured(question["name"], question["seconds"])), flush=True)


def rate(work: Callable[[], int], seconds: float) -> float:
    """Returns the amount of work per second of this process's processor time, after one warm-up run."""
    work()
    amount, started = 0, time.process_time()
    while time.process_time() - started < seconds:
        amount += work()
    return amount / (time.process_time() - started)


def paths_of(folder: Path) -> dict[str, str]:
    """Returns an environment that imports everything from a checkout with a built core."""
    if not any((folder / "moemcts").glob("_core*.so")):
        raise SystemExit(f"expected a checkout with a built core, got {folder}: see CONTRIBUTING.md")
    places = [folder, folder / "games", *sorted((folder / "plugins").glob("*"))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places))}


def compare(ours: Worker, theirs: Worker, name: str, *, seconds: float, rounds: int) -> dict[str, object] | None:
    """Returns the median rates, and the ratio of ours to theirs with its spread; None if either has no rate."""
    pairs = []
    for _ in range(rounds):
        pair = ours.rate(name, seconds), theirs.rate(name, seconds)
        if pair[0] is None or pair[1] is None:
            return None
        pairs.append((pair[0], pair[1]))
    ratios = [our_rate / their_rate for our_rate, their_rate in pairs]
    return {
        "name": name,
        "value": round(statistics.median(ratios), 3),
        "unit": "ratio",
        "seed": 0,
        "lowest": round(min(ratios), 3),
        "highest": round(max(ratios), 3),
        "runs": rounds,
        "ours": round(statistics.median(our_rate for our_rate, _ in pairs)),
        "theirs": round(statistics.median(their_rate for _, their_rate in pairs)),
    }

"""Profiles of workloads that miss their speed goals: samples of `perf` by component, as rows of results.

    python benchmarks/profiles.py [--record] [--seconds 10] [NAME ...]

Each workload runs in its own process on one thread; after a warm-up, Linux' `perf` samples it 999 times a second, and
every sample is attributed to its library and function. Values are shares of the samples.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))

from measuring.record import add_option, append

PARTS = {
    "network": r"onnxruntime|openvino|torch|dnnl|mkl|tbb|libiomp|libgomp",
    "search": r"_core\..*moemcts_tree",
    "rules and planes": r"_core\..*(moemcts_pommerman|moemcts_chess|moemcts_classics|shakmaty)",
    "bindings": r"_core\.",
    "Python and NumPy": r"python|_multiarray|_umath|_ctypes",
}
"""Patterns of library and function for each component; the first match counts."""
REST = "memory and system"
WARM = 3.0
"""Duration of the warm-up in seconds."""


def self_play(name: str) -> Callable[[], object]:
    """Returns work that plays games with a network of `in_flight.NETWORKS`, in batches of 128 views, in one group."""
    import in_flight
    import torch

    torch.set_num_threads(1)
    subject = in_flight.Subject.of(name)
    return partial(subject.play, 1, subject.evaluator)


def experts(name: str, number: int) -> Callable[[], object]:
    """Returns work that evaluates 64 views, divided equally among `number` experts of ONNX Runtime."""
    import inference
    import numpy as np
    import torch

    from moemcts.learn.inference.evaluators import make_evaluator

    torch.set_num_threads(1)
    subject = inference.random_subject(name)
    planes = subject.positions.planes
    shape = planes.shape[1:]
    evaluators = [make_evaluator(subject.network, shape, backend="onnxruntime") for _ in range(number)]
    parts = [np.ascontiguousarray(part) for part in np.array_split(planes[:64], number)]

    def work() -> None:
        for evaluator, part in zip(evaluators, parts, strict=True):
            evaluator.evaluate_planes(part)

    return work


def searches(name: str) -> Callable[[], object]:
    """Returns the work of `speed.py` with this name."""
    import speed

    return speed.benchmarks()[name][1]()


def playouts(name: str) -> Callable[[], object]:
    """Returns our side's work of `peers/compare.py`."""
    import ours

    return ours.uct(name)


WORK: dict[str, Callable[[], Callable[[], object]]] = {
    "self-play, rise-tiny on pommerman": partial(self_play, "rise-tiny"),
    "self-play, resnet?channels=16&blocks=2 on tictactoe": partial(self_play, "resnet?channels=16&blocks=2"),
    "64 views by one rise-tiny": partial(experts, "rise-tiny", 1),
    "64 views by three rise-tiny": partial(experts, "rise-tiny", 3),
    "chess, middlegame, loss, 100,000 simulations": partial(
        searches, "search, chess, middlegame, loss, 1 tree x 8 leaves, 100,000"
    ),
    "chess, middlegame, reduction, 100,000 simulations": partial(
        searches, "search, chess, middlegame, reduction, 1 tree x 8 leaves, 100,000"
    ),
    "playouts of tic-tac-toe": partial(playouts, "tic-tac-toe"),
    "52 planes, batches of 64": partial(searches, "52 planes of chess, batches of 64"),
    "52 planes, batches of 16,384": partial(searches, "52 planes of chess, batches of 16,384"),
}


def main() -> None:
    """Measures and prints; appends to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of names of what to look at; all without any")
    parser.add_argument("--seconds", type=float, default=10.0, help="that each is looked at")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    add_option(parser)
    options = parser.parse_args()
    if options.work:
        serve(WORK[options.work]())
        return
    rows = []
    for name in WORK:
        if not options.names or any(part in name for part in options.names):
            rows += profile(name, options.seconds)
    if options.record:
        append("profiles", rows)


def serve(work: Callable[[], object]) -> None:
    """Repeats the work until it is killed, and reports when it is warmed up."""
    timer = threading.Timer(WARM, print, ["warm"], {"flush": True})
    timer.daemon = True
    timer.start()
    while True:
        work()


def profile(name: str, seconds: float) -> list[dict[str, object]]:
    """Returns the row of one workload."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        command = [sys.executable, __file__, "--work", name]
        child = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        stack.callback(child.kill)
        assert child.stdout is not None
        if "warm" not in child.stdout.readline():
            raise SystemExit(f"expected {name!r} to begin, it ended")
        data = Path(folder) / "samples"
        recording = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "999", "-o", str(data), "-p", str(child.pid)]
        with subprocess.Popen(recording) as recorder:
            time.sleep(seconds)
            recorder.send_signal(2)
        report = ["perf", "report", "-i", str(data), "--stdio", "--no-children", "-n", "-F", "sample,dso,symbol"]
        printed = subprocess.run(report, capture_output=True, text=True, check=True).stdout
    shares, functions = summed(printed)
    total = sum(shares.values())
    if total == 0:
        raise SystemExit(f"expected samples of {name!r}, got none: {printed[:500]}")
    row: dict[str, object] = {
        "name": name,
        "value": round(100 * shares["network"] / total, 1),
        "unit": "% in the network",
    }
    row |= {part: round(100 * shares[part] / total, 1) for part in [*PARTS, REST]}
    row |= {"functions": {function: round(100 * num / total, 1) for function, num in functions.most_common(6)}}
    row |= {"samples": total, "seed": 0}
    print(row, flush=True)
    return [row]


def summed(report: str) -> tuple[Counter[str], Counter[str]]:
    """Returns the samples by component and by function from the output of `perf report`."""
    shares: Counter[str] = Counter()
    functions: Counter[str] = Counter()
    for line in report.splitlines():
        match = re.match(r"\s*(\d+)\s+(\S+)\s+\[[.k]\]\s+(.*\S)", line)
        if match:
            number, place = int(match[1]), f"{match[2]} {match[3]}"
            shares[next((part for part, pattern in PARTS.items() if re.search(pattern, place)), REST)] += number
            functions[f"{match[3]} ({match[2].split('.')[0]})"] += number
    return shares, functions


if __name__ == "__main__":
    main()

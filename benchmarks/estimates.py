"""Estimated duration of the unfinished experiments in hours of processor time, each from a second of real work.

    python benchmarks/estimates.py [--record]
    python benchmarks/estimates.py runs [--record]

The estimates are those of `moemcts run ... --dry-run`, but in processor time, which does not depend on the load of the
machine. With `runs`, small experiments are executed, each by one process, and their processor times are compared with
the estimates.
"""

from __future__ import annotations

import argparse
import multiprocessing
import shlex
import tempfile
from pathlib import Path
from time import process_time
from types import SimpleNamespace
from typing import Any

from measuring.record import add_option, append

from moemcts.cli.settings import RunArguments, read_settings
from moemcts.runs import Experiment, ExperimentConfig
from moemcts.runs.experiment import estimate as estimates
from moemcts.runs.finishing import finish
from moemcts.work.progress import NoProgress

STRONG = "resnet?channels=16&blocks=3&policy_channels=32&value_channels=8&value_hidden=64&pooled=true"
EXPERIMENTS = {
    "Pommerman at the paper's size": {"network": "rise-tiny", "changes": []},
    "Pommerman at the paper's size, a stronger network": {
        "network": STRONG,
        "changes": [
            "data.keep=0.05",
            "training.policy_weight=0.5",
            "training.value_weight=0.5",
            "training.epochs=2",
            "training.batch_size=256",
            "training.schedule=one_cycle",
            "training.learning_rate=0.004",
            "search.uniform_share=1",
        ],
    },
}
RUNS = {"tictactoe": "plies", "chess": "lichess", "pommerman": "steps", "connect-four": "stones"}
"""Games and gates of the small experiments."""
CLOCK: Any = SimpleNamespace(perf_counter=process_time)
PARTS = ("data", "training", "matches", "report")
GATES = ["steps", "mixedness", "opponents"]


def command(network: str, changes: list[str]) -> str:
    """Returns the user's command."""
    words = ["moemcts", "run", "--game", "pommerman", *(word for gate in GATES for word in ("--gate", gate))]
    words += ["--preset", "paper", "--network", network]
    return shlex.join([*words, *(word for change in changes for word in ("--set", change))])


def row(name: str, network: str, changes: list[str]) -> dict[str, Any]:
    """Returns the estimated hours of one experiment, and of its parts."""
    named = {"game": "pommerman", "gates": GATES, "schemes": None, "network": network, "seed": None}
    settings = read_settings(RunArguments.of(named, "paper", None, changes, allow_programs=False), ExperimentConfig)
    settings = settings.model_copy(update={"workers": 1})
    with tempfile.TemporaryDirectory() as folder:
        estimate = estimates.estimate(Experiment.prepare(Path(folder) / "run", settings))
    parts = {part: round(getattr(estimate, part) / 3600, 2) for part in PARTS}
    values: dict[str, Any] = {"name": name, "value": round(sum(parts.values()), 1), "unit": "hours of one core"}
    return values | parts | {"run_command": command(network, changes), "seed": 0}


def done(run: tuple[str, str]) -> dict[str, Any]:
    """Returns the estimated and the actual seconds of a small experiment, given by a game and a gate."""
    game, gate = run
    estimates.time = CLOCK
    named = {"game": game, "gates": [gate], "schemes": None, "network": None, "seed": None}
    settings = read_settings(
        RunArguments.of(named, "smoke", None, ["workers=1"], allow_programs=False), ExperimentConfig
    )
    with tempfile.TemporaryDirectory() as folder:
        experiment = Experiment.prepare(Path(folder) / "run", settings)
        expected = estimates.estimate(experiment)
        expected_parts = {part: getattr(expected, part) for part in PARTS}
        experiment.write()
        started = process_time()
        finish(experiment, NoProgress())
        seconds = process_time() - started
    total = sum(expected_parts.values())
    return {
        "name": f"moemcts run --game {game} --gate {gate} --preset smoke --set workers=1",
        "value": round(total, 1),
        "took": round(seconds, 1),
        "ratio": round(seconds / total, 2),
        "unit": "s",
        **{part: round(seconds, 1) for part, seconds in expected_parts.items()},
        "seed": 0,
    }


def main() -> None:
    """Measures and prints; appends to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("hours", "runs"), default="hours")
    add_option(parser)
    options = parser.parse_args()
    if options.what == "runs":
        with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as alone:
            for values in alone.imap(done, RUNS.items(), chunksize=1):
                print(values, flush=True)
                if options.record:
                    append("estimated_runs", [values])
        return
    estimates.time = CLOCK
    rows = [row(name, **experiment) for name, experiment in EXPERIMENTS.items()]
    for values in rows:
        print(values["value"], values["unit"], values["run_command"])
    if options.record:
        append("estimates", rows)


if __name__ == "__main__":
    main()

"""How fast networks are evaluated on a CPU, one thread, by every backend and precision, and how exact each is.

    python benchmarks/inference.py [--record] [--seconds 0.3] [--experts FOLDER] [--each] [NAME ...]

Rates are medians of five rounds in which all backends take turns, per second of processor time; ratios are to eager
PyTorch, the network as it was trained, in the same round. Networks have random weights, with batch norms fitted to
positions of their game, unless `--experts` names trained ones, of which the first is measured. With `--each`, three
experts with a third of a batch of 64 each are compared with one network for all 64, including encoding: the cost of
splitting batches.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import torch
from measuring.positions import random_positions
from measuring.record import add_option, append

from moemcts.errors import MoemctsError
from moemcts.evaluation import Evaluation
from moemcts.experts import route_each
from moemcts.game import FloatArray
from moemcts.gates import SinglePhase
from moemcts.learn.checkpoint import load_networks
from moemcts.learn.inference.backends import BACKENDS, PlanesEvaluator, installed_version
from moemcts.learn.inference.factory import build_evaluator
from moemcts.learn.inference.measurement import candidates
from moemcts.learn.inference.positions import Positions, positions_of_play
from moemcts.learn.inference.quantise import agreements, quantised
from moemcts.plugins import plugins
from moemcts.store import MANIFEST, read_toml

NUM_ROUNDS = 5
BATCHES = (1, 8, 64)
EACH = 64
EAGER = "torch eager"
NETWORKS = {"rise-tiny": "pommerman", "rise-small": "chess", "rise-v3.3": "chess", "resnet": "chess"}
"""The game whose planes each network is measured on."""


@dataclass(frozen=True)
class Subject:
    """A network to measure, and positions of its game."""

    name: str
    weights: str
    """The origin of its weights."""
    network: torch.nn.Module
    positions: Positions


class Eager:
    """The network in eager mode, called as in PyTorch's tutorials."""

    def __init__(self, network: torch.nn.Module) -> None:
        self._network = network.eval()

    def evaluate_planes(self, planes: FloatArray) -> Evaluation:
        with torch.no_grad():
            output = self._network(torch.from_numpy(planes))
            return Evaluation(output[0].numpy(), output[1].numpy())


def random_subject(name: str) -> Subject:
    """Returns a network with random weights, and batch norms fitted to positions of its game."""
    game = plugins().game(NETWORKS[name])
    agent = plugins().agent(plugins().player(game), game)
    positions = positions_of_play(game, SinglePhase(), [agent], per_phase=512)
    torch.manual_seed(0)
    network = plugins().network(name, game.spec.observation_shape, game.spec.num_actions).train()
    with torch.no_grad():
        for start in range(0, 512, 64):
            network(torch.from_numpy(positions.planes[start : start + 64]))
    shape = " x ".join(map(str, game.spec.observation_shape))
    return Subject(f"{name} on {shape} planes of {game.spec.name}", "random", network.eval(), positions)


def trained_subject(folder: Path) -> Subject:
    """Returns the first expert of a folder, and positions of every phase of its gate."""
    manifest = read_toml(folder / MANIFEST)
    game = plugins().game(manifest["game"])
    loaded = load_networks(folder, game, plugins())
    agent = plugins().agent(plugins().player(game), game)
    positions = positions_of_play(game, loaded.gate, [agent], per_phase=512 // loaded.gate.num_phases)
    return Subject(f"{manifest['network']} of {folder}", "trained", loaded.networks[0], positions)


def contenders(subject: Subject) -> tuple[dict[str, Any], dict[str, dict[str, float]]]:
    """Returns the evaluators by backend and precision, and how exact each is relative to eager PyTorch."""
    calibration, comparison = subject.positions.halves()
    shape = subject.positions.planes.shape[1:]
    model = quantised(subject.network, calibration.planes)
    evaluators: dict[str, Any] = {EAGER: Eager(subject.network)}
    for pair in candidates(has_int8=True):
        with contextlib.suppress(MoemctsError):
            content = model if pair.precision == "int8" else None
            evaluators[f"{pair.backend} {pair.precision}"] = build_evaluator(
                subject.network, shape, pair, model=content
            )
    everything = Positions(comparison.planes, comparison.legal, np.zeros(len(comparison), dtype=np.int64))
    exact = {
        name: agreements(evaluators[EAGER], evaluator, everything, ("all",))["all"].to_toml()
        for name, evaluator in evaluators.items()
        if name != EAGER
    }
    return evaluators, exact


def rates(evaluators: Mapping[str, PlanesEvaluator], planes: FloatArray, seconds: float) -> dict[str, list[float]]:
    """Returns positions per second of processor time for every evaluator and round."""
    rates_by_name: dict[str, list[float]] = {name: [] for name in evaluators}
    for evaluator in evaluators.values():
        evaluator.evaluate_planes(planes)
    for _ in range(NUM_ROUNDS):
        for name, evaluator in evaluators.items():
            amount, started = 0, time.process_time()
            while (spent := time.process_time() - started) < seconds:
                evaluator.evaluate_planes(planes)
                amount += len(planes)
            rates_by_name[name].append(amount / spent)
    return rates_by_name


def rows(subject: Subject, seconds: float) -> list[dict[str, object]]:
    """Measures a network with every evaluator and batch size; prints and returns the rows."""
    evaluators, exact = contenders(subject)
    new_rows: list[dict[str, object]] = []
    for batch in BATCHES:
        measured = rates(evaluators, subject.positions.planes[:batch], seconds)
        for name, values in measured.items():
            ratio = statistics.median(a / b for a, b in zip(values, measured[EAGER], strict=True))
            row: dict[str, object] = {
                "name": f"{subject.name}, {name}, batch {batch}",
                "value": round(statistics.median(values)),
                "unit": "positions/s",
                "ratio": round(ratio, 2),
                "lowest": round(min(values)),
                "highest": round(max(values)),
                "runs": NUM_ROUNDS,
                "batch": batch,
                "contender": name,
                "weights": subject.weights,
                "seed": 0,
                "versions": {library: installed_version(library) for library in BACKENDS},
            }
            agrees = exact.get(name)
            words = ""
            if agrees:
                row["agreement"] = agrees
                words = f"   top-1 {100 * agrees['top1']:5.1f} %, KL {agrees['kl']:.5f}, value {agrees['value']:.5f}"
            print(f"{row['name']:<75} {row['value']:>9,} positions/s  {ratio:5.1f} x{words}", flush=True)
            new_rows.append(row)
    return new_rows


def each_rows(name: str, seconds: float) -> list[dict[str, object]]:
    """Measures three experts against one network with every backend; prints and returns the rows."""
    subject = random_subject(name)
    game = plugins().game(NETWORKS[name])
    views = game.views([(state, state.active_players[0]) for state in random_positions(game, EACH)])
    shares = np.eye(3, dtype=np.float32)[np.random.default_rng(0).permutation(np.arange(EACH) % 3)]
    new_rows: list[dict[str, object]] = []
    for pair in candidates():
        with contextlib.suppress(MoemctsError):
            experts = [build_evaluator(subject.network, subject.positions.planes.shape[1:], pair) for _ in range(3)]
            ways = {
                "one": lambda experts=experts: experts[0].evaluate(views),
                "each": lambda experts=experts: route_each(views, shares, experts),
            }
            ratio = statistics.median(_turns(ways, seconds))
            row: dict[str, object] = {
                "name": f"{subject.name}, three experts against one network, {pair.backend} {pair.precision}",
                "value": round(ratio, 3),
                "unit": "times as long",
                "batch": EACH,
                "seed": 0,
            }
            print(row["name"], row["value"], flush=True)
            new_rows.append(row)
    return new_rows


def _turns(ways: Mapping[str, Callable[[], object]], seconds: float) -> list[float]:
    """Returns the ratios of the second function's processor time to the first's, per round."""
    for way in ways.values():
        way()
    orders = []
    first, second = ways.values()
    began = time.process_time()
    while time.process_time() - began < NUM_ROUNDS * seconds or len(orders) < NUM_ROUNDS:
        marks = [time.process_time()]
        for way in (first, second, second, first):
            way()
            marks.append(time.process_time())
        spent = np.diff(marks)
        orders.append(float((spent[1] + spent[2]) / (spent[0] + spent[3])))
    return orders


def main() -> None:
    """Measures and prints; appends to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NETWORKS)}; all without any")
    parser.add_argument("--seconds", type=float, default=0.3, help="length of one contender's turn")
    parser.add_argument("--experts", type=Path, help="a folder of experts to measure instead")
    parser.add_argument("--each", action="store_true", help="measure three experts against one network")
    add_option(parser)
    options = parser.parse_args()
    for name in options.names:
        if name not in NETWORKS:
            parser.error(f"expected one of {', '.join(NETWORKS)}, got {name!r}")
    torch.set_num_threads(1)
    all_rows: list[dict[str, object]] = []
    if options.each:
        for name in options.names or NETWORKS:
            all_rows += each_rows(name, options.seconds)
    elif options.experts is not None:
        all_rows += rows(trained_subject(options.experts), options.seconds)
    else:
        for name in options.names or NETWORKS:
            all_rows += rows(random_subject(name), options.seconds)
    if options.record:
        append("inference", all_rows)


if __name__ == "__main__":
    main()

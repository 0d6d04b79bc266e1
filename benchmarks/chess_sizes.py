"""Which network size learns most from master games in a given number of core minutes: size against data.

python benchmarks/chess_sizes.py DATA [--minutes 4] [--network 'resnet?channels=32&blocks=4'] ... [--record]

DATA and the training settings are those of `chess_comparison.py`. Each network is trained by one process on as many
samples as it can process in the time, which is measured first, and then tested on the positions of May 2017.
"""

from __future__ import annotations

import argparse
import functools
import tempfile
from pathlib import Path

from chess_comparison import GAME, settings, training_rate
from measuring.published import VALUE_WEIGHT
from measuring.record import add_option, append
from measuring.trainings import trained

from moemcts.learn.networks.layers import count_parameters
from moemcts.plugins import plugins
from moemcts.runs.settings import ExperimentConfig, validate
from moemcts.runs.sources import open_sources
from moemcts.work import Report, num_cores, workers

SIZES = ((16, 3), (24, 4), (32, 4), (48, 4))
"""Channels and blocks of the default networks."""


def learned(options: argparse.Namespace, network: str, report: Report) -> dict[str, object]:
    """Trains a network for the given time and returns its row."""
    game = plugins().game("chess")
    network = plugins().complete_network(network, game)
    config = validate(settings(argparse.Namespace(**vars(options) | {"network": network})), ExperimentConfig)
    rate = training_rate(config, options.data)
    with tempfile.TemporaryDirectory() as folder:
        sources = open_sources(config.data, Path(folder), game)
        num_samples = round(rate * 60 * options.minutes)
        training = config.training.model_copy(update={"epochs": num_samples / len(sources.training)})
        gate = plugins().gate("none", game)
        _, losses = trained(training, game, network, "single", gate, sources, Path(folder) / "t")
    return {
        "name": f"chess, one network, {options.minutes:g} minutes of a core, {network}",
        "network": network,
        "minutes": options.minutes,
        "samples": num_samples,
        "parameters": count_parameters(plugins().network(network, game.spec.observation_shape, game.spec.num_actions)),
        "value_weight": config.training.value_weight,
        "policy loss": round(losses.policy["all"] or 0.0, 4),
        "value loss": round(losses.value["all"] or 0.0, 4),
        "accuracy": round(losses.accuracy["all"] or 0.0, 4),
        "test_samples": round(losses.counts["all"]),
        "seed": options.seed,
    }


def main() -> None:
    """Runs as many trainings in parallel as there are cores, and prints; appends to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of an import with train, validation and test")
    parser.add_argument("--minutes", type=float, default=4, help="of a core that each network learns for")
    parser.add_argument("--network", action="append", dest="networks", help="one of several; four sizes by default")
    parser.add_argument(
        "--value-weight", type=float, default=VALUE_WEIGHT, help="of the loss; the rest is the policy's"
    )
    parser.add_argument("--seed", type=int, default=0)
    add_option(parser)
    # Options of a comparison's arms and matches that are not used here.
    parser.set_defaults(
        other_networks=[], single_networks=[], start=None, precision="float32", workers=None, encoders=None
    )
    parser.set_defaults(
        game=GAME, device="cpu", scheme=["separated"], gate=None, seeds=1, simulations=100, games=2, openings=""
    )
    options = parser.parse_args()
    heads = "value_channels=4&value_hidden=64"
    networks = options.networks or [f"resnet?channels={channels}&blocks={blocks}&{heads}" for channels, blocks in SIZES]
    rows = workers(num_cores()).map(functools.partial(learned, options), networks)
    for row in rows:
        print(*row.values())
    if options.record:
        append("chess_sizes", rows)


if __name__ == "__main__":
    main()

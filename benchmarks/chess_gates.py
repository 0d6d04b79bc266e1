"""What experts behind each gate of chess answer to the positions of May 2017, trained alike on master games.

python benchmarks/chess_gates.py DATA [--samples 300000] [--seeds 2] [--gate lichess] ... [--out OUT] [--record]

DATA is that of `chess_comparison.py`, whose settings the trainings have: a single network, and experts trained apart by
each gate, all of them together on as many samples as the single network. Experts of the gate `learned` are trained
together, each on all samples, and so take as long as all of them. What is finished is kept in OUT, and called again
with it the script goes on.
"""

from __future__ import annotations

import argparse
import functools
import statistics
from pathlib import Path
from typing import Any

from chess_comparison import SMALL, VALUE_WEIGHT, settings
from record import add_option, append
from trainings import trained

from moemcts.game import Game
from moemcts.gates import PhaseGate
from moemcts.learn.data.phase_statistics import phase_statistics
from moemcts.learn.gates.fitting import fit_clusters
from moemcts.plugins import plugins
from moemcts.runs.arms import file_label
from moemcts.runs.settings import ExperimentConfig, validate
from moemcts.runs.sources import Sources, open_sources
from moemcts.store import read_json, write_json
from moemcts.work import Report, num_cores, workers

SINGLE, CLUSTERS, LEARNED = "none", "kmeans", "learned"
"""The gates that are no expert's by phase, that are found in the games first, and that learn with their experts."""
GATES = (
    "lichess",
    "lichess-crazyara",
    *(f"movecount?phases={number}" for number in (2, 3, 4, 5)),
    "material",
    "pieces",
    "plies",
    CLUSTERS,
    LEARNED,
)


def learned(options: argparse.Namespace, task: tuple[str, int], report: Report) -> dict[str, Any]:
    """Trains behind a gate from a seed, unless that was done, and returns the row."""
    name, seed = task
    folder = options.out / f"{file_label(name)}-{seed}"
    if (kept := folder / "row.json").exists():
        found: dict[str, Any] = read_json(kept)
        return found
    game = plugins().game("chess")
    config = validate(settings(options), ExperimentConfig)
    sources = open_sources(config.data, folder, game)
    training = config.training.model_copy(update={"epochs": options.samples / len(sources.training), "seed": seed})
    scheme = {SINGLE: "single", LEARNED: "mixture"}.get(name, "separated")
    gate = gate_of(name, game, sources)
    network = plugins().complete_network(config.network, game)
    team, losses = trained(training, game, network, scheme, gate, sources, folder / "training")
    counted = phase_statistics(sources.held_out(training.validation_fraction, seed), team.gate)
    row = {
        "name": f"chess, {scheme} by {name}, seed {seed}",
        "gate": name,
        "scheme": scheme,
        "network": network,
        "samples": options.samples,
        "value_weight": training.value_weight,
        "policy loss": round(losses.policy["all"] or 0.0, 4),
        "value loss": round(losses.value["all"] or 0.0, 4),
        "accuracy": round(losses.accuracy["all"] or 0.0, 4),
        "test_samples": round(losses.counts["all"]),
        "shares": [round(phase.share, 3) for phase in counted.phases],
        "mean plies": [round(phase.mean_ply, 1) for phase in counted.phases],
        "seed": seed,
    }
    write_json(kept, row)
    return row


def gate_of(name: str, game: Game, sources: Sources) -> PhaseGate:
    """Returns a gate by its name; clusters are found in the games that are learned from."""
    if name == CLUSTERS:
        return fit_clusters(sources.training, 3, seed=0).gate
    return plugins().gate(plugins().complete_gate(name, game), game)


def main() -> None:
    """Trains as many at once as there are cores, prints; appends to the results where asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of an import with train, validation and test")
    parser.add_argument("--samples", type=int, default=300_000, help="that a training sees, of all phases together")
    parser.add_argument("--seeds", type=int, default=2, help="trainings of everything from different weights")
    parser.add_argument("--gate", action="append", dest="gates", help="one of several; all by default")
    parser.add_argument("--network", default=SMALL)
    parser.add_argument(
        "--value-weight", type=float, default=VALUE_WEIGHT, help="of the loss; the rest is the policy's"
    )
    parser.add_argument("--out", type=Path, default=Path("runs/chess-gates"), help="folder of what is finished")
    add_option(parser)
    # What a comparison says of arms and matches does not matter here.
    parser.set_defaults(other_networks=[], precision="float32")
    parser.set_defaults(device="cpu", scheme=["separated"], seed=0, simulations=100, games=2, openings="")
    options = parser.parse_args()
    tasks = [(name, seed) for seed in range(options.seeds) for name in (SINGLE, *(options.gates or GATES))]
    rows = workers(num_cores()).map(functools.partial(learned, options), tasks)
    for name in dict.fromkeys(name for name, _ in tasks):
        of = [row for row in rows if row["gate"] == name]
        means = (statistics.fmean(row[key] for row in of) for key in ("policy loss", "value loss", "accuracy"))
        print(name, *(f"{mean:.4f}" for mean in means))
    if options.record:
        append("chess_gates", rows)


if __name__ == "__main__":
    main()

"""Losses on the positions of May 2017 of experts behind each chess gate, trained alike on master games.

python benchmarks/chess_gates.py DATA [--samples 300000] [--seeds 2] [--seed 0] [--gate lichess] ... [--games 200]
                                 [--play lichess] ... [--out OUT] [--record]

DATA and the training settings are those of `chess_comparison.py`: a single network, and experts trained separately for
each gate, all of them together on as many samples as the single network. Experts of the gate `learned` are trained
jointly, each on all samples, and so take as long as all of them together; `none?epochs=3` is a single network trained
for as long. With `--games`, experts play that many games per seed against the single network: those of the gates given
by `--play`, or of the three with the lowest loss; those of `learned` also play the longer trained network. Finished
parts are kept in OUT, where the script resumes; trainings started with other settings are refused.
"""

from __future__ import annotations

import argparse
import functools
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from chess_comparison import GAME, SMALL, seeds_of, settings
from expert_duels import finished, summary
from measuring.published import VALUE_WEIGHT, chess_loss
from measuring.record import add_option, append
from measuring.trainings import trained

from moemcts.errors import ForeignData
from moemcts.game import Game
from moemcts.gates import PhaseGate
from moemcts.learn.checkpoint import save_experts
from moemcts.learn.data.phase_statistics import phase_statistics
from moemcts.learn.gates.fitting import fit_clusters
from moemcts.learn.training.config import TrainerConfig
from moemcts.learn.training.trainer import read_identity
from moemcts.plugins import plugins
from moemcts.runs.arms import file_label
from moemcts.runs.match import MatchPlan
from moemcts.runs.run import changes
from moemcts.runs.settings import ExperimentConfig, validate
from moemcts.runs.sources import Sources, open_sources
from moemcts.store import read_json, write_json
from moemcts.work import Report, num_cores, workers

SINGLE, LONG, CLUSTERS, LEARNED = "none", "none?epochs=3", "kmeans", "learned"
"""No gate; no gate, with three times the training; one fitted by clustering before training; one trained jointly with
its experts.
"""
SCHEMES = {SINGLE: "single", LONG: "single?epochs=3", LEARNED: "mixture"}
"""The training schemes of these gates; experts of the others are trained separately."""
RIVALS = {SINGLE: "one network", LONG: "one network trained three times as long"}
"""The opponents of experts."""
GATES = (
    "lichess",
    "lichess-crazyara",
    *(f"movecount?phases={number}" for number in (2, 3, 4, 5)),
    "material",
    "pieces",
    "plies",
    CLUSTERS,
    LEARNED,
    LONG,
)
NUM_BEST = 3
"""Number of gates whose experts play."""
ASKED = ("gate", "samples", "network", "value_weight", "seed")
"""The settings of its training that a row contains."""
BEGUN = "begun.json"
"""The file with these settings for an unfinished training."""


def check(options: argparse.Namespace, tasks: Sequence[tuple[str, int]]) -> None:
    """Raises SystemExit with the differences if a training in OUT was started with other settings or data."""
    game = plugins().game("chess")
    config = config_of(options)
    sources = open_sources(config.data, options.out, game)
    network = plugins().complete_network(config.network, game)
    for name, seed in tasks:
        training = training_of(options, config, sources, seed)
        row = {"gate": name, "samples": options.samples, "network": network, "seed": seed}
        requested = row | training.identity() | {"data": sources.training.id}
        folder = folder_of(options.out, name, seed)
        existing = {key: value for key, value in begun_with(folder).items() if key in requested}
        if difference := changes(existing, {key: requested[key] for key in existing}):
            raise SystemExit(
                f"{folder} was begun with other settings: {difference}; give the same ones, or another --out"
            )


def begun_with(folder: Path) -> dict[str, Any]:
    """Returns the settings of the training in a folder, as far as its files contain them; empty without a training."""
    begun = read_identity(folder / "training") or {}
    # The file of planned settings is ignored if the training never started.
    said_in = next((path for name in ("row.json", BEGUN if begun else "") if (path := folder / name).is_file()), None)
    row: dict[str, Any] = {} if said_in is None else read_json(said_in)
    settings = {key: row[key] for key in ASKED if key in row} | begun.get("config", {})
    return settings | ({"data": begun["data"]} if "data" in begun else {})


def config_of(options: argparse.Namespace) -> ExperimentConfig:
    """Returns the settings of a comparison, except those of matches, which differ here."""
    return validate({key: value for key, value in settings(options).items() if key != "match"}, ExperimentConfig)


def training_of(options: argparse.Namespace, config: ExperimentConfig, sources: Sources, seed: int) -> TrainerConfig:
    """Returns the settings of a training on the requested number of samples."""
    return config.training.model_copy(update={"epochs": options.samples / len(sources.training), "seed": seed})


def learned(options: argparse.Namespace, task: tuple[str, int], report: Report) -> dict[str, Any]:
    """Trains experts behind a gate with a seed, unless that has been done, and returns the row."""
    name, seed = task
    folder = folder_of(options.out, name, seed)
    if (row_file := folder / "row.json").exists():
        recorded: dict[str, Any] = read_json(row_file)
        return recorded
    game = plugins().game("chess")
    config = config_of(options)
    sources = open_sources(config.data, folder, game)
    training = training_of(options, config, sources, seed)
    scheme = SCHEMES.get(name, "separated")
    gate = gate_of(name, game, sources)
    network = plugins().complete_network(config.network, game)
    if read_identity(folder / "training") is None:
        requested = {"gate": name, "samples": options.samples, "network": network}
        write_json(folder / BEGUN, requested | {"value_weight": training.value_weight, "seed": seed})
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
    save_experts(
        folder / "experts",
        [expert.network for expert in team.trained],
        game=game,
        game_reference="chess",
        gate=team.gate,
        gate_reference=gateless(name),
        network_reference=network,
        scheme=scheme,
        seed=seed,
        data=sources.training.id,
        measurements=[expert.measurement for expert in team.trained],
    )
    write_json(row_file, row)
    return row


def folder_of(out: Path, name: str, seed: int) -> Path:
    """Returns the folder of the training behind a gate with a seed."""
    return out / f"{file_label(name)}-{seed}"


def best(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Returns the gates whose experts have the lowest mean loss over seeds, lowest first."""

    def loss(gate: str) -> float:
        return statistics.fmean(
            chess_loss(row["policy loss"], row["value loss"]) for row in rows if row["gate"] == gate
        )

    return sorted({row["gate"] for row in rows} - RIVALS.keys(), key=loss)[:NUM_BEST]


def played(options: argparse.Namespace, name: str, rival: str, network: str) -> dict[str, object]:
    """Plays experts behind a gate against a network of the same seed, for each seed; returns the row."""
    results = []
    for seed in seeds(options):
        experts, other = (str(folder_of(options.out, arm, seed) / "experts") for arm in (name, rival))
        plan = MatchPlan(
            game="chess",
            agents=(f"{experts}?leaves=8", f"{other}?leaves=8"),
            num_games=options.games,
            seed=seed,
            openings=Path(options.openings) if options.openings else None,
            limits={"simulations": options.simulations},
            num_workers=num_cores(),
        )
        against = "" if rival == SINGLE else f"-{file_label(rival)}"
        path = options.out / "games" / f"{file_label(name)}{against}-{seed}.jsonl"
        results.append(finished(plan, path, f"{name}, {seed}"))
    which = f", {seeds_of(options.seed, options.seeds)}" if options.seed else ""
    result = summary(f"chess, experts by {name} against {RIVALS[rival]}, {options.samples:,} positions{which}", results)
    result |= {"gate": name, "network": network, "samples": options.samples}
    return result | {"simulations": options.simulations, "seed": options.seed}


def gateless(name: str) -> str:
    """Returns the reference of a gate; networks without phases have none, however long their training."""
    return SINGLE if name in RIVALS else name


def gate_of(name: str, game: Game, sources: Sources) -> PhaseGate:
    """Returns a gate by name; clusters are fitted to the training games."""
    if name == CLUSTERS:
        return fit_clusters(sources.training, 3, seed=0).gate
    return plugins().gate(plugins().complete_gate(gateless(name), game), game)


def seeds(options: argparse.Namespace) -> range:
    """Returns the seeds of the trainings."""
    return range(options.seed, options.seed + options.seeds)


def main() -> None:
    """Runs as many trainings in parallel as there are cores, and prints; appends to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of an import with train, validation and test")
    parser.add_argument("--samples", type=int, default=300_000, help="that a training sees, of all phases together")
    parser.add_argument("--seeds", type=int, default=2, help="trainings of everything from different weights")
    parser.add_argument("--seed", type=int, default=0, help="of the first of them")
    parser.add_argument("--gate", action="append", dest="gates", help="one of several; all by default")
    parser.add_argument("--network", default=SMALL)
    parser.add_argument(
        "--precision", choices=["float32", "bf16"], default="float32", help="of training: float32, or bf16"
    )
    parser.add_argument(
        "--value-weight", type=float, default=VALUE_WEIGHT, help="of the loss; the rest is the policy's"
    )
    parser.add_argument("--out", type=Path, default=Path("runs/chess-gates"), help="folder of what is finished")
    parser.add_argument("--games", type=int, default=0, help="of each seed against its single network")
    parser.add_argument(
        "--play", action="append", dest="played", help="a gate whose experts play; the three with the lowest loss"
    )
    parser.add_argument("--simulations", type=int, default=100, help="per move of a game")
    parser.add_argument("--openings", default="", help="file of start positions; random plies where none is named")
    add_option(parser)
    # Options of a comparison's arms that are not used here.
    parser.set_defaults(other_networks=[], single_networks=[], start=None, device="cpu", workers=None, encoders=None)
    parser.set_defaults(game=GAME, scheme=["separated"], gate=None)
    options = parser.parse_args()
    tasks = [(name, seed) for seed in seeds(options) for name in (SINGLE, *(options.gates or GATES))]
    check(options, tasks)
    try:
        rows = workers(num_cores()).map(functools.partial(learned, options), tasks)
    except ForeignData as error:
        # Trainings from before the network was recorded are identified only by their weights.
        raise SystemExit(str(error)) from None
    for name in dict.fromkeys(name for name, _ in tasks):
        of = [row for row in rows if row["gate"] == name]
        means = (statistics.fmean(row[key] for row in of) for key in ("policy loss", "value loss", "accuracy"))
        print(name, *(f"{mean:.4f}" for mean in means))
    players = (options.played or best(rows)) if options.games else []
    pairs = [(name, SINGLE) for name in players]
    if LEARNED in players and LONG in {name for name, _ in tasks}:
        pairs.append((LEARNED, LONG))
    duels = [played(options, name, rival, rows[0]["network"]) for name, rival in pairs]
    for duel in duels:
        print(*duel.values())
    if options.record:
        append("chess_gates", rows)
        append("duels", duels)


if __name__ == "__main__":
    main()

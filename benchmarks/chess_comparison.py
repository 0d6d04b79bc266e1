"""Single network against separated, staged and weighted experts on master games: losses per phase, then matches.

python benchmarks/chess_comparison.py DATA OUT --minutes 60 [--seeds 2] [--device cuda] [--record]
                                      [--start EXPERTS --start-samples NUMBER]

DATA is the output of `moemcts data import FILES --out DATA --validation 2012-09 --test 2017-05`. The number of samples
follows from the time: a short measurement determines how many the trainings can process in two thirds of it. With
`--start` all trainings begin with an already trained network: the single one continues on all phases for as long as the
experts do on theirs. With an existing OUT the script resumes, and refuses other settings; rows have the command that
started it. The papers' numbers (Helfenstein et al. 2024, Tables I and XIV), for 91 million positions, are shown next to
ours.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from measuring.probing import probe_training
from measuring.published import CHESS_ELO, CHESS_LOSS, VALUE_WEIGHT, chess_loss
from measuring.record import add_option, append, without_places
from results_page.chess import elo_range

from moemcts.cli.progress import ConsoleProgress
from moemcts.dotted import flat
from moemcts.learn.assessment import ALL, MIXTURE
from moemcts.naming import AUTO
from moemcts.plugins import plugins
from moemcts.runs import Experiment
from moemcts.runs.arms import SINGLE
from moemcts.runs.finishing import finish
from moemcts.runs.run import CONFIG, changes
from moemcts.runs.settings import ExperimentConfig, validate
from moemcts.runs.sources import Sources, open_sources
from moemcts.work import num_cores

SCHEMES = ["separated", "staged", "weighted?a=4", "weighted?a=10"]
GATES = ["lichess"]
GAME = "chess"
LARGE = "rise-v3.3"
SMALL = "resnet?channels=32&blocks=4&value_channels=4&value_hidden=64"


def settings(options: argparse.Namespace) -> dict[str, Any]:
    """Returns the experiment's settings without its size."""
    on_gpu = options.device.startswith("cuda")
    training: dict[str, Any] = {
        "epochs": 1.0,
        "schedule": "one_cycle",
        "validation_interval": 1000,
        "measured_samples": 4000,
        "threads": 1,
    }
    training |= {"policy_weight": 1 - options.value_weight, "value_weight": options.value_weight}
    training |= {"device": options.device, "augment": False}
    training |= (
        {"batch_size": 2048, "optimiser": "nag", "learning_rate": 0.14, "momentum": 0.95, "precision": "bf16"}
        if on_gpu
        else {"batch_size": 256, "optimiser": "adamw", "learning_rate": 0.004, "precision": options.precision}
    )
    if on_gpu or options.precision == "bf16":
        training["channels_last"] = True
    if options.encoders:
        training |= {"encoders": options.encoders, "prefetch": options.encoders + 4}
    return {
        "game": options.game,
        "gates": options.gate or GATES,
        "schemes": options.scheme or SCHEMES,
        "network": options.network or (LARGE if on_gpu else SMALL),
        **({"other_networks": options.other_networks} if options.other_networks else {}),
        **({"single_networks": options.single_networks} if options.single_networks else {}),
        **({"start": str(options.start)} if options.start else {}),
        "seed": options.seed,
        "num_seeds": options.seeds,
        "workers": options.workers or (1 if on_gpu else num_cores()),
        "data": {"folder": str(options.data.absolute())},
        "training": training,
        "search": {"simulations": options.simulations, "leaves_per_tree": 8},
        "match": {
            "games": options.games,
            "raw_games": 4 * options.games,
            "openings": options.openings,
            "backend": "torch" if on_gpu else "auto",
            "device": options.device,
            # By default float32 is computed at full precision, which tensor cores do not support.
            **({"precision": "bf16"} if on_gpu else {}),
        },
    }


def training_rate(config: ExperimentConfig, data: Path) -> float:
    """Returns the samples per second of a single training process, measured for a few seconds after the first steps."""
    game = plugins().game(config.game)
    opened = open_sources(config.data, data, game)
    held_out = None if opened.validation is None else opened.validation.split(0.03, 0)[1]
    # On a CPU the first steps are as fast as the others, and steps are slow.
    steps = (304, 48) if config.training.device.startswith("cuda") else (112, 16)
    sources = Sources(opened.training, validation=held_out)
    return probe_training(config, game, sources, num_steps=steps[0], warm_up=steps[1]).rate


def rows(experiment: Experiment, numbers: dict[str, Any], start_samples: int = 0) -> list[dict[str, object]]:
    """Returns a row per network and phase, and one per match; only one row for a network alone. `start_samples` is the
    number of samples that the starting network has learned from.
    """
    config = experiment.config
    num_seen = config.training.epochs * len(experiment.sources().training)
    common: dict[str, object] = {"seeds": config.num_seeds, "seed": config.seed, "samples_per_pass": round(num_seen)}
    common |= {"value_weight": config.training.value_weight, "precision": config.training.precision}
    if config.start:
        common["start_samples"] = start_samples
    if config.game != GAME:
        common["game"] = config.game
    which = f"{round(num_seen):,} positions, {seeds_of(config.seed, config.num_seeds)}"
    new_rows: list[dict[str, object]] = []
    arms = {arm.name: arm for arm in experiment.arms}

    def of(name: str) -> dict[str, object]:
        """Returns the columns that identify an arm; the first network and Lichess' gate are not part of its name."""
        arm = arms[name]
        further = [] if arm.is_single or arm.gate_name in GATES else ["by", arm.gate_name]
        further += [] if arm.network == config.network else [arm.network]
        return common | {"arm": " ".join([arm.scheme, *further]), "scheme": arm.scheme, "network": arm.network}

    for name, networks in numbers["losses"].items():
        for row in networks:
            for phase in (phase for phase, count in row["counts"].items() if count):
                policy, value = row["policy"][phase], row["value"][phase]
                # The row of the first network is shown with each arm, under that network's name.
                arm = of(name) | ({"network": config.network} if row["name"] == SINGLE else {})
                one = arm | loss_row(policy, value) | {"row": row["name"], "phase": phase}
                one |= {"name": f"{config.game}, {arm['arm']}, {row['name']}, {phase}, {which}"}
                one |= {"accuracy": round(row["accuracy"][phase], 4), "test_samples": row["counts"][phase]}
                new_rows.append(one)
    for name, numbers_of in numbers.get("other_singles", {}).items():
        one = of(name) | loss_row(numbers_of["policy"]["mean"], numbers_of["value"]["mean"])
        one |= {"row": MIXTURE, "phase": ALL, "name": f"{config.game}, {one['arm']}, {MIXTURE}, {ALL}, {which}"}
        new_rows.append(one | {"accuracy": round(numbers_of["accuracy"]["mean"], 4)})
    for kind in ("searched", "raw"):
        for name, tally in numbers[kind].get("arms", {}).items():
            one = of(name) | {"kind": kind, "unit": "Elo"}
            one |= {"name": f"{config.game}, {one['arm']}, {kind}, {which}"}
            one |= {"value": round(tally["elo"]["difference"], 1), "error": tally["elo"]["error"]}
            one |= {"games": tally["num_games"], "wins": tally["wins"], "draws": tally["ties"]}
            one |= {"losses": tally["losses"], "score_interval": tally["score_interval"]}
            if len(tally["elo_by_seed"]) > 1:
                one |= {"score": tally["score"], "own_score_interval": tally["own_score_interval"]}
            one |= {"elo_by_seed": [round(elo["difference"], 1) for elo in tally["elo_by_seed"]]}
            one |= {"scores_by_seed": [score_of(result, name) for result in numbers[kind]["by_seed"]]}
            one |= {"own_score_variance": tally["own_score_variance"]}
            new_rows.append(one | {"simulations": config.search.simulations if kind == "searched" else 0})
    if new_rows:
        return new_rows
    # A single network without experts or matches.
    only = numbers["single"]
    one = common | {"network": config.network} | loss_row(only["policy"]["mean"], only["value"]["mean"])
    one |= {"arm": SINGLE, "row": SINGLE, "phase": ALL, "name": f"{config.game}, one network alone, {which}"}
    return [one | {"accuracy": round(only["accuracy"]["mean"], 4)}]


def seeds_of(first: int, num_seeds: int) -> str:
    """Returns the seeds of trainings in words."""
    return f"seed {first}" if num_seeds == 1 else f"seeds {first} to {first + num_seeds - 1}"


def score_of(result: Mapping[str, Any], arm: str) -> float:
    """Returns the mean score of an arm with the networks of one training seed."""
    return next(float(arm_result["score"]["mean"]) for arm_result in result["arms"] if arm_result["name"] == arm)


def loss_row(policy: float, value: float) -> dict[str, object]:
    """Returns the columns for losses of policy and value, and their sum weighted as in the papers."""
    terms = {"policy": round(policy, 4), "value_loss": round(value, 4)}
    return {"kind": "loss", "value": round(chess_loss(policy, value), 4), "unit": "loss", **terms}


def show(rows: list[dict[str, object]]) -> None:
    """Prints the tables, next to the papers'."""
    losses = {(row["arm"], row["row"], row["phase"]): row for row in rows if row["kind"] == "loss"}
    phases = ["opening", "middlegame", "endgame", "all"]
    arms = list(dict.fromkeys(row["arm"] for row in rows))
    print(f"{'loss':34}", *(f"{phase:>22}" for phase in phases), "\n(the papers' in brackets)")
    for arm in arms:
        for name in dict.fromkeys(row["row"] for row in rows if row["kind"] == "loss" and row["arm"] == arm):
            scheme = SINGLE if name == SINGLE else arm
            published = CHESS_LOSS.get(str(scheme)) if name in (SINGLE, MIXTURE) else None
            cells = []
            for i, phase in enumerate(phases):
                one = losses.get((arm, name, phase))
                if one is None:
                    cells.append("–")
                    continue
                cells.append(f"{one['value']:.4f}" + (f" [{published[i]:.4f}]" if published else " " * 9))
            print(f"{arm if arm == name else f'{arm}, {name}':34}", *(f"{cell:>22}" for cell in cells))
    for row in rows:
        if row["kind"] in ("searched", "raw"):
            published_elo = CHESS_ELO.get(str(row["arm"]))
            beside = f" [{published_elo:+z.1f}]" if published_elo and row["kind"] == "searched" else ""
            print(f"{row['name']}: Elo {elo_range(row)} in {row['games']} games{beside}")


def main() -> None:
    """Trains, plays, prints; appends to the results with `--record`."""
    options = parser().parse_args()
    if options.samples is None and (options.other_networks or options.single_networks):
        parser().error("expected --samples with further networks: --minutes measures how fast the first one learns")
    progress = ConsoleProgress()
    if (options.out / CONFIG).exists():
        experiment = Experiment.load(options.out)
        options.device = options.device or experiment.config.training.device
        if difference := changed(options, experiment):
            raise SystemExit(
                f"{options.out} was begun with other settings: {difference}; give the same ones, or another OUT"
            )
    else:
        options.device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
        experiment = begin(options, progress)
    report = finish(experiment, progress)
    new_rows = rows(experiment, json.loads(json.dumps(report.numbers)), options.start_samples)
    show(new_rows)
    if options.record:
        sys.argv[1:] = recorded_words(words_of(experiment))
        append("chess_alone" if new_rows[0]["arm"] == SINGLE else "chess", new_rows)


def begin(options: argparse.Namespace, progress: ConsoleProgress) -> Experiment:
    """Creates an experiment with the requested number of samples, or as many as fit into the time."""
    config = Experiment.resolved(validate(settings(options), ExperimentConfig))
    probe = Experiment(options.out, config)
    num_samples = options.samples
    if num_samples is None:
        rate = training_rate(config, options.data)
        seconds = options.minutes * 60 * (2 / 3) * (config.workers or 1)
        num_samples = seconds * rate / (config.num_seeds * probe.passes())
        progress.say(f"{rate:,.0f} samples/s per process: {num_samples:,.0f} samples per pass")
    epochs = num_samples / len(probe.sources().training)
    training = config.training.model_copy(update={"epochs": epochs})
    return Experiment.create(options.out, config.model_copy(update={"training": training}))


def changed(options: argparse.Namespace, experiment: Experiment) -> str:
    """Returns the differences between the settings of an experiment and the requested ones; empty if there are none.

    The numbers of processes and threads, and the backend if unspecified, are those of the machine that started it.
    """
    existing, requested = experiment.config, validate(settings(options), ExperimentConfig)
    backend = existing.match.backend if requested.match.backend == AUTO else requested.match.backend
    match = requested.match.model_copy(update={"backend": backend})
    threads = {name: getattr(existing.training, name) for name in ("encoders", "prefetch")}
    training = requested.training.model_copy(update={"epochs": existing.training.epochs, **threads})
    # If a run has been extended, the settings it was started with determine the names of arms.
    same = {"workers": existing.workers, "begun_with": existing.begun_with}
    requested = requested.model_copy(update={"training": training, "match": match, **same})
    begun, _ = parser().parse_known_args(words_of(experiment))
    was, now = ({"start_samples": arguments.start_samples} for arguments in (begun, options))
    if options.samples is None:
        was |= {"samples": begun.samples, "minutes": begun.minutes}
        now |= {"samples": None, "minutes": options.minutes}
    else:
        was |= {"samples": round(existing.training.epochs * len(experiment.sources().training))}
        now |= {"samples": round(options.samples)}
    before, after = (flat(Experiment.resolved(config).resolved_settings()) for config in (existing, requested))
    return changes(was | before, now | after)


def words_of(experiment: Experiment) -> list[str]:
    """Returns the arguments of the call that started an experiment, or those of this call if another program started it
    or it has been extended since.
    """
    command = experiment.environment().get("command") or sys.argv
    is_ours = Path(command[0]).name == Path(__file__).name and experiment.config.begun_with is None
    return list(command if is_ours else sys.argv)[1:]


def recorded_words(words: Sequence[str]) -> list[str]:
    """Returns the arguments of a call in the form used in rows."""
    recorded, _ = parser().parse_known_args(words)
    names = {recorded.data: "DATA", recorded.out: "OUT", recorded.start: "EXPERTS"}
    if recorded.openings:
        names[Path(recorded.openings)] = Path(recorded.openings).name
    return [*without_places([word for word in words if word != "--record"], names), "--record"]


def parser() -> argparse.ArgumentParser:
    """Returns the parser of the arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of an import with train, validation and test")
    parser.add_argument("out", type=Path, help="folder of the experiment")
    parser.add_argument("--minutes", type=float, default=60, help="about how long it may take")
    parser.add_argument("--samples", type=float, help="samples per pass over the data, instead of a time")
    parser.add_argument("--seeds", type=int, default=2, help="trainings of everything from different weights")
    parser.add_argument("--seed", type=int, default=0, help="the first of them")
    parser.add_argument("--game", default=GAME, help="perhaps with other planes, such as 'chess?planes=attacks'")
    parser.add_argument("--network", help=f"{LARGE} on a GPU, a small residual network on a CPU by default")
    parser.add_argument(
        "--other-network",
        action="append",
        default=[],
        dest="other_networks",
        help="one of others, each of which is a single network and experts too, against the first's single network",
    )
    parser.add_argument(
        "--single-network",
        action="append",
        default=[],
        dest="single_networks",
        help="one of others, each of which is a single network alone",
    )
    parser.add_argument(
        "--precision", choices=["float32", "bf16"], default="float32", help="on a CPU: float32, or bf16, channels last"
    )
    parser.add_argument("--start", type=Path, help="a single network that all trainings begin with")
    parser.add_argument("--start-samples", type=int, default=0, help="from how many it has learned, for the rows")
    parser.add_argument("--gate", action="append", help=f"one of several gates; {', '.join(GATES)} by default")
    parser.add_argument("--scheme", action="append", help=f"one of several schemes; {', '.join(SCHEMES)} by default")
    parser.add_argument("--device", help="cpu or cuda; by default the experiment's, of a new one cuda where it is")
    parser.add_argument(
        "--value-weight", type=float, default=VALUE_WEIGHT, help="in training; the rest is the policy's"
    )
    parser.add_argument("--simulations", type=int, default=100, help="per move of a match")
    parser.add_argument("--games", type=int, default=100, help="per scheme and seed; four times as many without search")
    parser.add_argument("--workers", type=int, help="processes; by default one on a GPU, else one per core")
    parser.add_argument("--encoders", type=int, help="threads per training that encode batches")
    parser.add_argument("--openings", default="", help="file of start positions; random plies where none is named")
    add_option(parser)
    return parser


if __name__ == "__main__":
    main()

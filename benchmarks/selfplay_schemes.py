"""Experts from random weights against one network, at equal self-play: Figure 5 of the M2CTS paper, in any game.

    python benchmarks/selfplay_schemes.py OUT --game connect-four --gate "plies?cuts=12,24"
        [--config benchmarks/connect-four.toml] [--seed 0] [--seeds 3] [--arms single separated staged]
        [--games 100] [--simulations 50] [--record]
    python benchmarks/selfplay_schemes.py OUT --game antichess --gate lichess --config benchmarks/antichess.toml
        --games 200 --simulations 50 --seed 100 --seeds 12 [--record]
    python benchmarks/selfplay_schemes.py OUT --game connect-four [--config FILE] --arms single gumbel
        --variant "gumbel search.root=gumbel search.noise_fraction=0 search.simulations=34 games.full_share=1"

An arm is `single`, one network for all phases, or a scheme of `moemcts selfplay`; `staged` is the paper's, in which one
network is trained from generation to generation, and the experts start from it in each (`general_first`). An arm named
by `--variant` is also one network, with other settings. Every arm and seed is a separate self-play in OUT; then the
last experts of each arm play those of `single` of the same seed, with openings by seed. In games of more than two
players, `--against simple` makes both play the same games against these opponents. The same command resumes where it
stopped; settings that differ from those that OUT was started with are refused. One row per arm: the Elo of its mean
score over seeds, or its gain in win rate in points, with the interval over seeds and openings, or for one seed that of
its networks only; the values by seed; and the settings common to all arms.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from expert_duels import result_of, summary
from measuring.record import add_option, append

from moemcts.arena.duel import DuelResult
from moemcts.arena.intervals import seed_interval
from moemcts.arena.match import MatchResult
from moemcts.cli.settings import read_changes
from moemcts.dotted import flat
from moemcts.runs.arms import file_label
from moemcts.runs.match import MatchPlan, Result
from moemcts.runs.run import CONFIG, ENVIRONMENT, changes
from moemcts.store import read_json, read_toml, write_json

BASELINE = "single"
SCHEMES = {"staged": "general_first"}
RANDOM_PLIES = 4
"""Number of random plies before duels."""


def main() -> None:
    """Plays and prints; appends to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--game", required=True)
    parser.add_argument("--gate", help="of the schemes")
    parser.add_argument("--config", type=Path, help="settings of `moemcts selfplay`, the same for all")
    parser.add_argument("--set", action="append", default=[], dest="changes", metavar="KEY=VALUE")
    parser.add_argument(
        "--variant", action="append", default=[], dest="variants", type=variant, metavar='"NAME KEY=VALUE ..."'
    )
    parser.add_argument("--label", default="", help="what its rows are called beside others of the same arms")
    parser.add_argument("--seed", type=int, default=0, help="the first of --seeds")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--arms", nargs="+", default=[BASELINE, "separated", "staged"])
    parser.add_argument("--games", type=int, default=100, help="per arm and seed")
    parser.add_argument("--simulations", type=int, default=50, help="of these games")
    parser.add_argument("--against", help="who sits in the other seats of these games; without it they are duels")
    add_option(parser)
    options = parser.parse_args()
    if BASELINE not in options.arms:
        parser.error(f"expected {BASELINE} among the arms, got {' '.join(options.arms)}")
    options.variants = dict(options.variants)
    if options.gate is None and (schemes := {*options.arms} - {BASELINE, *options.variants}):
        parser.error(f"expected a --gate for {' '.join(sorted(schemes))}")
    # In order of seeds, so that finished games are paired whenever it stops.
    selfplays = [(arm, seed) for seed in seeds_of(options) for arm in options.arms]
    for arm, seed in selfplays:
        check(options, arm, seed)
    for arm, seed in selfplays:
        learn(options, arm, seed)
    rows = [row(options, arm) for arm in options.arms if arm != BASELINE]
    for entry in rows:
        print(entry["name"], entry["value"], entry["interval"], entry["by seed"])
    if options.record:
        append("selfplay_schemes", rows)


def seeds_of(options: argparse.Namespace) -> range:
    """Returns the training seeds."""
    return range(options.seed, options.seed + options.seeds)


def variant(text: str) -> tuple[str, list[str]]:
    """Returns the name of a variant and its settings."""
    name, *changes = text.split()
    return name, changes


def check(options: argparse.Namespace, arm: str, seed: int) -> None:
    """Raises SystemExit with the differences if the self-play of an arm was started with other settings."""
    folder = run_of(options.out, arm, seed)
    if not (folder / CONFIG).exists():
        return
    if difference := changes(begun_with(folder), settings_of(words_of(options, arm, seed))):
        raise SystemExit(f"{folder} was begun with other settings: {difference}; give the same ones, or another OUT")


def learn(options: argparse.Namespace, arm: str, seed: int) -> None:
    """Trains the experts of an arm, unless that has been done."""
    folder = run_of(options.out, arm, seed)
    if (folder / "done.json").exists():
        return
    if (folder / CONFIG).exists():
        command = ["--resume", str(folder)]
    else:
        words = words_of(options, arm, seed)
        write_json(asked_of(folder), settings_of(words))
        command = [*words, "--out", str(folder)]
    subprocess.run([sys.executable, "-m", "moemcts", "selfplay", *command], check=True, stdout=sys.stderr)


def words_of(options: argparse.Namespace, arm: str, seed: int) -> list[str]:
    """Returns the options of `moemcts selfplay` for an arm, each followed by its value."""
    words = ["--game", options.game, "--seed", str(seed)]
    if arm != BASELINE and arm not in options.variants:
        words += ["--gate", options.gate, "--scheme", SCHEMES.get(arm, arm)]
    words += ["--config", str(options.config)] if options.config else []
    return words + [word for change in options.changes + options.variants.get(arm, []) for word in ("--set", change)]


def settings_of(words: Sequence[str]) -> dict[str, Any]:
    """Returns the settings given by options of `moemcts selfplay` as dotted paths, including those of a file."""
    options = list(zip(words[::2], words[1::2], strict=True))
    apart = ("--config", "--set", "--out")
    named: dict[str, Any] = {option.removeprefix("--"): value for option, value in options if option not in apart}
    settings = dict(named)
    for path in (value for option, value in options if option == "--config"):
        settings |= flat(read_toml(Path(path)))
    # Options take precedence over a file, and come first.
    return settings | named | read_changes([value for option, value in options if option == "--set"])


def begun_with(folder: Path) -> dict[str, Any]:
    """Returns the settings that a self-play was started with; if there is no file of them, those of its command."""
    settings: dict[str, Any]
    if asked_of(folder).exists():
        settings = read_json(asked_of(folder))
    else:
        settings = settings_of(read_json(folder / ENVIRONMENT)["command"][2:])
    return settings


def row(options: argparse.Namespace, arm: str) -> dict[str, object]:
    """Returns the row of an arm: its gain over the single network."""
    begun, single = (begun_with(run_of(options.out, one, options.seed)) for one in (arm, BASELINE))
    results = [play(options, arm, seed) for seed in seeds_of(options)]
    config = read_toml(run_of(options.out, arm, options.seed) / CONFIG)
    games = config["games"]
    changes_text = [f"{path}={_text(value)}" for path, value in begun.items() if single.get(path) != value]
    label = f", {options.label}" if options.label else ""
    return {
        **compared(f"{begun['game']}, {arm} over {BASELINE}{label}, from random weights", results),
        **({"against": options.against} if options.against else {}),
        "simulations": options.simulations,
        "generations": config["generations"],
        "games per generation": games.get("games"),
        "samples per generation": games.get("samples"),
        "samples": {one: samples(options, one) for one in (arm, BASELINE)},
        "network": config["network"],
        **({"gate": begun["gate"]} if "scheme" in begun else {"settings": changes_text}),
        "shared": [f"{path}={_text(value)}" for path, value in single.items() if path not in {"game", "seed"}],
        "seed": options.seed,
        "seeds": options.seeds,
    }


def play(options: argparse.Namespace, arm: str, seed: int) -> Result:
    """Returns the result of an arm against the single network of its seed, after playing the games that are missing in
    the file.
    """
    against = f"-{file_label(options.against)}" if options.against else ""
    path = options.out / f"match-{arm}-{seed}-{options.simulations}-{options.games}{against}.jsonl"
    names = [str(experts(run_of(options.out, each, seed))) for each in (arm, BASELINE)]
    plan = MatchPlan(
        game=options.game,
        agents=tuple(f"{name}?simulations={options.simulations}" for name in names),
        against=options.against,
        num_games=options.games,
        seed=seed,
        random_plies=None if options.against else RANDOM_PLIES,
    )
    return result_of(plan, path, f"{arm}, seed {seed}")


def compared(name: str, results: Sequence[Result]) -> dict[str, object]:
    """Returns the gain of the first of two agents over the second, over a match for each training seed.

    In duels this is Elo; in matches against common opponents it is the difference in games won, per 100.
    """
    duels = [one for one in results if isinstance(one, DuelResult)]
    if duels:
        elo_summary = summary(name, duels)
        by_seed = elo_summary.pop("by training")
        counts = [list(reversed(one.counts(one.names[0]))) for one in duels]
        return elo_summary | {"unit": "Elo", "by seed": by_seed, "counts": counts}
    matches = [one for one in results if isinstance(one, MatchResult)]
    pairs = [one.difference(one.arms[0], one.arms[1]) for one in matches]
    estimate = seed_interval([pair.win_differences for pair in pairs], [pair.boards for pair in pairs])
    tallies = [one.summary(one.arms[0]).tally for one in matches]
    return {
        "name": name,
        "value": round(100 * estimate.mean, 1),
        "unit": "points of games won",
        "interval": [round(100 * bound, 1) for bound in estimate.interval],
        "own interval": [round(100 * bound, 1) for bound in estimate.own_interval],
        "by seed": [round(100 * mean, 1) for mean in estimate.seed_means],
        "counts": [[one.wins, one.ties, one.losses] for one in tallies],
        "games": sum(one.num_games for one in tallies),
    }


def samples(options: argparse.Namespace, arm: str) -> int:
    """Returns the number of samples generated by an arm, averaged over its seeds."""
    folders = (run_of(options.out, arm, seed) / "generations" for seed in seeds_of(options))
    num_samples = [
        sum(json.loads(path.read_text())["samples"] for path in folder.glob("*/played.json")) for folder in folders
    ]
    return round(statistics.fmean(num_samples))


def run_of(out: Path, arm: str, seed: int) -> Path:
    """Returns the folder of a self-play."""
    return out / f"{arm}-{seed}"


def asked_of(folder: Path) -> Path:
    """Returns the file next to the folder of a self-play with the settings that it was started with."""
    return folder.with_name(f"{folder.name}.json")


def experts(folder: Path) -> Path:
    """Returns the folder of the last generation's experts."""
    return max((folder / "generations").glob("*/experts"))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


if __name__ == "__main__":
    main()

"""Experts from random weights against one network, at equal self-play: Figure 5 of the M2CTS paper, in any game.

    python benchmarks/selfplay_schemes.py OUT --game connect-four --gate "plies?cuts=12,24" [--config four.toml]
        [--seeds 3] [--arms single separated staged] [--games 100] [--simulations 50] [--record]
    python benchmarks/selfplay_schemes.py OUT --game connect-four [--config four.toml] --arms single gumbel
        --variant "gumbel search.root=gumbel search.simulations=34 games.full_share=1"

An arm is `single`, one network for all phases, or a scheme of `moemcts selfplay`; `staged` is the paper's, in which one
network goes on from generation to generation and the experts go out from it anew (`general_first`). An arm that a
`--variant` names is one network too, that learns with other settings. Every arm and seed
is a self-play of its own in OUT; then the last experts of each arm play those of `single` of the same seed, from the
same openings, or with `--against simple` both play the same games against these others, in games of more than two. The
same command goes on where it stopped. A row per arm: the mean over seeds of its Elo, or of the points of games won that
it has more, with the interval of Student's t over them, and each seed's.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path

from record import add_option, append

# Two-sided 95 % points of Student's t by degrees of freedom.
STUDENT = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}
BASELINE = "single"
SCHEMES = {"staged": "general_first"}


def main() -> None:
    """Plays and prints; appends to the results where asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--game", required=True)
    parser.add_argument("--gate", help="of the schemes")
    parser.add_argument("--config", type=Path, help="settings of `moemcts selfplay`, the same for all")
    parser.add_argument("--set", action="append", default=[], dest="changes", metavar="KEY=VALUE")
    parser.add_argument(
        "--variant", action="append", default=[], dest="variants", type=variant, metavar='"NAME KEY=VALUE ..."'
    )
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
    # Seed by seed: whenever it stops, what is done is paired.
    for seed in range(options.seeds):
        for arm in options.arms:
            learn(options, arm, seed)
    rows = [row(options, arm) for arm in options.arms if arm != BASELINE]
    for one in rows:
        print(one["name"], one["value"], one["interval"], one["by seed"])
    if options.record:
        append("selfplay_schemes", rows)


def variant(text: str) -> tuple[str, list[str]]:
    """Returns the name of a variant and its settings."""
    name, *changes = text.split()
    return name, changes


def learn(options: argparse.Namespace, arm: str, seed: int) -> None:
    """Makes the experts of an arm, as far as they are not made."""
    folder = run_of(options.out, arm, seed)
    if (folder / "done.json").exists():
        return
    if (folder / "config.toml").exists():
        command = ["--resume", str(folder)]
    else:
        command = ["--game", options.game, "--seed", str(seed), "--out", str(folder)]
        if arm != BASELINE and arm not in options.variants:
            command += ["--gate", options.gate, "--scheme", SCHEMES.get(arm, arm)]
        command += ["--config", str(options.config)] if options.config else []
        changes = options.changes + options.variants.get(arm, [])
        command += [word for change in changes for word in ("--set", change)]
    subprocess.run([sys.executable, "-m", "moemcts", "selfplay", *command], check=True, stdout=sys.stderr)


def row(options: argparse.Namespace, arm: str) -> dict[str, object]:
    """Returns the row of an arm: its Elo over the single network's."""
    counts, found = zip(*(play(options, arm, seed) for seed in range(options.seeds)), strict=True)
    mean = statistics.fmean(found)
    half = STUDENT[len(found) - 1] * statistics.stdev(found) / math.sqrt(len(found)) if len(found) > 1 else math.inf
    config = tomllib.loads((run_of(options.out, arm, 0) / "config.toml").read_text())
    games = config["games"]
    return {
        "name": f"{options.game}, {arm} over {BASELINE}, from random weights",
        "value": round(mean, 1),
        "unit": "points of games won" if options.against else "Elo",
        "interval": [round(mean - half, 1), round(mean + half, 1)] if math.isfinite(half) else [None, None],
        "by seed": [round(one, 1) for one in found],
        "counts": counts,
        "games": sum(map(sum, counts)),
        **({"against": options.against} if options.against else {}),
        "simulations": options.simulations,
        "generations": config["generations"],
        "games per generation": games.get("games"),
        "samples per generation": games.get("samples"),
        "samples": {one: samples(options, one) for one in (arm, BASELINE)},
        "network": config["network"],
        **({"settings": options.variants[arm]} if arm in options.variants else {"gate": options.gate}),
        "seed": 0,
        "seeds": options.seeds,
    }


def play(options: argparse.Namespace, arm: str, seed: int) -> tuple[list[int], float]:
    """Returns what an arm won, tied and lost, and how much better than the single network of its seed that is."""
    path = options.out / f"match-{arm}-{seed}-{options.simulations}-{options.games}.jsonl"
    names = [str(experts(run_of(options.out, one, seed))) for one in (arm, BASELINE)]
    command = ["match", "--game", options.game, "--games", str(options.games), "--json", "--out", str(path)]
    command += [word for name in names for word in ("--agent", f"{name}?simulations={options.simulations}")]
    command += ["--against", options.against] if options.against else ["--random-plies", "4", "--seed", str(seed)]
    done = subprocess.run([sys.executable, "-m", "moemcts", *command], check=True, stdout=subprocess.PIPE)
    found = json.loads(done.stdout)
    tallies = found["arms" if options.against else "agents"]
    counts = [int(tallies[0][key]) for key in ("wins", "ties", "losses")]
    if options.against:
        return counts, 100 * (tallies[0]["win_rate"] - tallies[1]["win_rate"])
    return counts, elo(*counts)


def samples(options: argparse.Namespace, arm: str) -> int:
    """Returns how many samples the games of an arm made, the mean over its seeds."""
    folders = (run_of(options.out, arm, seed) / "generations" for seed in range(options.seeds))
    found = [sum(json.loads(path.read_text())["samples"] for path in one.glob("*/played.json")) for one in folders]
    return round(statistics.fmean(found))


def elo(wins: int, ties: int, losses: int) -> float:
    """Returns the difference in logistic Elo of a score, a half game away from nothing and from all."""
    games = wins + ties + losses
    share = min(max((wins + ties / 2) / games, 0.5 / games), 1 - 0.5 / games)
    return 400 * math.log10(share / (1 - share))


def run_of(out: Path, arm: str, seed: int) -> Path:
    """Returns the folder of a self-play."""
    return out / f"{arm}-{seed}"


def experts(folder: Path) -> Path:
    """Returns the folder of the last generation's experts."""
    return max((folder / "generations").glob("*/experts"))


if __name__ == "__main__":
    main()

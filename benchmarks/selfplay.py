"""Learning progress and speed of a self-play, as rows of results.

python benchmarks/selfplay.py FOLDER [--curve | --generations] [--record]

FOLDER is a run of `moemcts selfplay`. One row per measured generation: its score against each fixed opponent, with the
games and samples of all generations up to it. A further row: the positions evaluated per second of processor time by
one self-play process, next to those of the network alone in batches of the same size. With `--generations`, one row per
generation instead: wall time of its games and its training in seconds, and its losses.
"""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path

import numpy as np
from measuring.record import add_option, append

from moemcts.learn.threads import torch_threads
from moemcts.learn.training.metrics_log import read_log
from moemcts.runs.selfplay.games import Speed
from moemcts.runs.selfplay.run import SelfPlay

LOSSES = tuple(itertools.product(("training", "validation"), ("policy", "value")))
"""Kinds of samples, and of losses."""


def main() -> None:
    """Reads and prints; appends to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--curve", action="store_true", help="leave the speed out")
    parser.add_argument("--generations", action="store_true", help="seconds and losses of every generation instead")
    add_option(parser)
    options = parser.parse_args()
    run = SelfPlay.load(options.folder)
    if options.generations:
        table, rows = "generations", generations(run)
    else:
        table, rows = "selfplay", [*curve(run), *([] if options.curve else [speed(run)])]
    for row in rows:
        print(*row.values())
    if options.record:
        append(table, rows)


def curve(run: SelfPlay) -> list[dict[str, object]]:
    """Returns a row per match against a fixed opponent."""
    rows: list[dict[str, object]] = []
    for match in run.matches.measurements():
        if match["other"].startswith("generation "):
            continue
        generation = int(match["agent"].removeprefix("generation "))
        played = [run.on_disk.read_result(one, "played.json") for one in range(1, generation + 1)]
        losses, draws, wins = match["counts"]
        rows.append(
            {
                "name": f"{run.config.game}, {run.config.search.simulations} simulations: {match['agent']} "
                f"against {match['other']}",
                "value": round(100 * (wins + draws / 2) / (wins + draws + losses), 1),
                "unit": "% score",
                "games": sum(one.get("games", 0) for one in played),
                "samples": sum(one.get("samples", 0) for one in played),
                "wins": wins,
                "draws": draws,
                "losses": losses,
                "network": run.config.network,
                "seed": run.config.seed,
            }
        )
    return rows


def generations(run: SelfPlay) -> list[dict[str, object]]:
    """Returns a row per generation: the duration of its games and its training, and its final losses."""
    # Interrupted parts occur again later.
    seconds = {one["part"]: one["seconds"] for one in run.times.read() if "part" in one}
    rows: list[dict[str, object]] = []
    for number in range(1, run.config.generations + 1):
        last = read_log(run.folder / "generations" / f"{number:04}" / "training" / "metrics.jsonl")[-1]
        played, trained = seconds[f"games-{number:04}"], seconds[f"train-{number:04}"]
        rows.append(
            {
                "name": f"{run.config.game}, {run.config.search.simulations} simulations, {run.config.network}: "
                f"generation {number}",
                "value": round(played + trained, 1),
                "unit": "s",
                "generation": number,
                "samples": run.on_disk.read_result(number, "played.json")["samples"],
                "games": played,
                "training": trained,
                **{f"{where} {part}": round(last[where][part], 3) for where, part in LOSSES},
                "network": run.config.network,
                "seed": run.config.seed,
            }
        )
    return rows


def speed(run: SelfPlay) -> dict[str, object]:
    """Returns the speed at which the newest experts play one chunk of a generation's games."""
    newest = max(one for one in range(run.config.generations + 1) if run.on_disk.experts(one).exists())
    # Loading and compilation are not measured.
    evaluator = run.players.experts(newest)
    speeds: list[Speed] = []
    started = time.process_time()
    run.players.play_chunks(newest + 1, newest, [0], lambda one: speeds.append(one) if isinstance(one, Speed) else None)
    seconds, played = time.process_time() - started, speeds[-1]
    states = [run.game.initial_state(seed) for seed in range(round(played.num_positions / played.num_batches))]
    views = run.game.views([(state, state.active_players[0]) for state in states])
    times = []
    with torch_threads(1):
        while sum(times) < 2:
            before = time.process_time()
            evaluator.evaluate(views)
            times.append(time.process_time() - before)
    alone = len(states) / float(np.median(times))
    groups = ", one group of games" if run.config.games.in_flight == 1 else ""
    return {
        "name": f"{run.config.game}, {run.config.network}{groups}: share of the network's own speed",
        "value": round(100 * played.num_positions / seconds / alone, 1),
        "unit": "%",
        "positions_per_second": round(played.num_positions / seconds),
        "network_alone": round(alone),
        "mean_batch": len(states),
        "backend": run.config.games.backend,
        "seed": run.config.seed,
    }


if __name__ == "__main__":
    main()

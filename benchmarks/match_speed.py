"""The speed-up of a match from playing its games concurrently instead of one by one.

    python benchmarks/match_speed.py [--record] [--games 200] [--nodes 100] [--workers 2] [--sample 6]

Two checkpoints with random weights play chess, three experts behind Lichess' gate against one network, from openings of
eight random plies. One by one, only the first `--sample` games are played; their plies per second are extrapolated to
games per minute of the whole match. Times are from the start of the first process to the end of the last game,
including loading. Plies per second of processor time, summed over processes, separate the effect of batches from that
of cores.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import torch
from measuring.record import add_option, append

from moemcts.game import Game
from moemcts.learn.checkpoint import save_experts
from moemcts.plugins import plugins
from moemcts.runs.match import Match, MatchPlan

RANDOM_PLIES = 8


def save_random(folder: Path, game: Game, gate_name: str, network: str, seed: int) -> Path:
    """Writes experts with random weights, one per phase of a gate, and returns their folder."""
    torch.manual_seed(seed)
    gate = plugins().gate(gate_name, game)
    spec = game.spec
    return save_experts(
        folder,
        [plugins().network(network, spec.observation_shape, spec.num_actions) for _ in range(gate.num_phases)],
        game=game,
        game_reference=spec.name,
        gate=gate,
        gate_reference=gate_name,
        network_reference=network,
        scheme="separated",
        seed=seed,
    )


def measure(plan: MatchPlan) -> tuple[float, float, int]:
    """Plays the match; returns its wall time, its processor time, and its plies."""
    started, worked = time.perf_counter(), processor_seconds()
    result = Match(plan).play()
    seconds = time.perf_counter() - started
    return seconds, processor_seconds() - worked, sum(record.plies for record in result.records)


def processor_seconds() -> float:
    """Returns the processor time of this process and its finished children."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def main() -> None:
    """Measures and prints; appends to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=200, help="games of the match")
    parser.add_argument("--nodes", type=int, default=100, help="nodes per move")
    parser.add_argument("--workers", type=int, default=2, help="processes of the match played at once")
    parser.add_argument("--sample", type=int, default=6, help="games played one by one")
    parser.add_argument("--max-plies", type=int, default=80, help="games are tied after as many plies")
    parser.add_argument("--backend", default="auto", help="what runs the networks, in both matches")
    parser.add_argument("--network", default="resnet?channels=32&blocks=4")
    parser.add_argument("--seed", type=int, default=0)
    add_option(parser)
    options = parser.parse_args()
    game = plugins().game("chess")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_random(folder / "experts", game, "lichess", options.network, options.seed)
        save_random(folder / "single", game, "none", options.network, options.seed + 1)
        plan = MatchPlan(
            game="chess",
            agents=tuple(f"{folder}/{name}?backend={options.backend}" for name in ("experts", "single")),
            num_games=options.games,
            seed=options.seed,
            random_plies=RANDOM_PLIES,
            limits={"nodes": options.nodes},
            max_plies=options.max_plies,
            num_workers=options.workers,
        )
        alone_seconds, alone_work, alone_plies = measure(
            replace(plan, num_games=options.sample, num_workers=1, max_parallel=1)
        )
        seconds, work, plies = measure(plan)
    together = 60 * options.games / seconds
    alone = together * (alone_plies / alone_seconds) / (plies / seconds)
    print(
        f"at once, {options.workers} workers: {together:.1f} games/minute, {plies / seconds:,.1f} plies/s, "
        f"{plies / work:,.1f} per processor"
    )
    print(
        f"one by one: {alone:.1f} games/minute, {alone_plies / alone_seconds:,.1f} plies/s, "
        f"{alone_plies / alone_work:,.1f} per processor ({options.sample} games)"
    )
    print(f"ratio {together / alone:.2f}")
    if options.record:
        how = f"{options.games} games, {options.nodes} nodes, {options.network}, backend {options.backend}"
        rows: list[dict[str, object]] = [
            {"name": f"chess match at once, {options.workers} workers: {how}", "value": round(together, 1)},
            {"name": f"chess match one by one, from {options.sample} games: {how}", "value": round(alone, 2)},
        ]
        units = [row | {"unit": "games/minute", "seed": options.seed} for row in rows]
        ratio = {"name": f"chess match at once against one by one: {how}", "value": round(together / alone, 2)}
        append("match_speed", [*units, ratio | {"unit": "times", "seed": options.seed}])


if __name__ == "__main__":
    main()

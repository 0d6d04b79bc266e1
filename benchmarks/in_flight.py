"""Share of a network's speed achieved by a search and by self-play, with one and with two groups in flight.

    python benchmarks/in_flight.py [--record] [--seconds 30] [NAME ...]

The backend is what `auto` selects here. The network alone evaluates batches of 128 views, including encoding. Searches
have enough trees for that many views with one leaf each, or twice as many trees in two groups in flight. Self-play
plays whole games after some random plies, with finished games replaced by new ones, and 50 simulations per move. In a
game of four simultaneous players, 128 views are 32 leaves. Values are views per second relative to the network alone,
in wall time, medians over rounds. Two groups use two cores.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import torch
from measuring.positions import random_positions
from measuring.record import add_option, append

from moemcts.agents import Seat
from moemcts.coroutines import CoroutineRunner
from moemcts.evaluation import Evaluator
from moemcts.game import Game
from moemcts.learn.inference.backends import Inference
from moemcts.learn.inference.evaluators import make_evaluator, resolve
from moemcts.learn.loop.config import GamesConfig
from moemcts.learn.loop.games import AgentPool, Counts, play_games
from moemcts.learn.loop.players import SelfPlayAgent, TimedEvaluator, Usage
from moemcts.plugins import plugins
from moemcts.search import SearchAgent, SearchConfig

NETWORKS = {
    "resnet": "chess",
    "rise-small": "chess",
    "rise-tiny": "pommerman",
    "resnet?channels=16&blocks=2": "tictactoe",
}
BATCH = 128
SIMULATIONS = 24
TURN = 1.5
"""Seconds of self-play per round; the network alone is measured for half as long."""


def main() -> None:
    """Measures and prints; appends to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NETWORKS)}; all without any")
    parser.add_argument("--seconds", type=float, default=30.0, help="of each network")
    add_option(parser)
    options = parser.parse_args()
    torch.set_num_threads(1)
    all_rows: list[dict[str, object]] = []
    for name in options.names or NETWORKS:
        all_rows += rows(name, options.seconds)
    if options.record:
        append("in_flight", all_rows)


@dataclass(frozen=True)
class Subject:
    """A network with random weights and its game, run by the backend that `auto` selects here."""

    game: Game
    evaluator: Evaluator
    inference: Inference

    @classmethod
    def of(cls, name: str) -> Subject:
        """Returns a network of `NETWORKS`."""
        game = plugins().game(NETWORKS[name])
        torch.manual_seed(0)
        shape = game.spec.observation_shape
        network = plugins().network(name, shape, game.spec.num_actions).eval()
        inference = resolve("auto", "auto", network, shape, batch_size=BATCH).inference
        evaluator = make_evaluator(network, shape, backend=inference.backend, precision=inference.precision)
        return cls(game, evaluator, inference)

    @property
    def num_trees(self) -> int:
        """Number of trees with one leaf each that make a batch: a leaf has a view for each player to move."""
        return BATCH // len(self.game.initial_state(0).active_players)

    def play(
        self, in_flight: int, evaluator: Evaluator, on_progress: Callable[[Counts], None] = lambda counts: None
    ) -> None:
        """Plays games endlessly, in `in_flight` groups, until `on_progress` raises."""
        config = GamesConfig(parallel=in_flight * self.num_trees, in_flight=in_flight, random_plies=20)
        agent = SelfPlayAgent(self.game, evaluator, SearchConfig(simulations=50, leaves_per_tree=1))
        agents = AgentPool(newest=agent)
        play_games(self.game, agents, config, range(10**9), generation=1, seed=0, on_progress=on_progress)


def rows(name: str, seconds: float) -> list[dict[str, object]]:
    """Measures one network; prints and returns the rows."""
    subject = Subject.of(name)
    game, evaluator, num_trees = subject.game, subject.evaluator, subject.num_trees
    views = game.views([(state, state.active_players[0]) for state in random_positions(game, 2 * BATCH)])
    batch = views.take(list(range(BATCH)))
    roots = {number: views.take(list(range(number * num_trees))) for number in (1, 2)}
    config = SearchConfig(simulations=SIMULATIONS, leaves_per_tree=1)
    agents = {number: SearchAgent(game, evaluator, config) for number in (1, 2)}

    def alone() -> int:
        began, number = time.perf_counter(), 0
        while time.perf_counter() - began < TURN / 2:
            evaluator.evaluate(batch)
            number += BATCH
        return number

    def searching(number: int) -> Callable[[], int]:
        def search() -> int:
            agent = agents[number]
            before = agent.num_evaluations
            seats = [Seat(0, np.random.default_rng(row)) for row in range(number * num_trees)]
            if number == 1:
                agent.search(roots[number], seats)
                return agent.num_evaluations - before
            with CoroutineRunner[int, object]() as runner:
                for group in range(number):
                    own = slice(group * num_trees, (group + 1) * num_trees)
                    some = roots[number].take(range(own.start, own.stop))
                    runner.start(group, agent.search_coroutine(some, seats[own]))
                for _ in range(number):
                    runner.next_result()
            return agent.num_evaluations - before

        return search

    def playing(number: int) -> Callable[[], float]:
        """Returns a function that plays for a while and returns positions per second, not counting its first round."""

        def play() -> float:
            usage = Usage()
            marks: list[tuple[float, int]] = []

            def look(counts: Counts) -> None:
                marks.append((time.perf_counter(), usage.num_positions))
                if marks[-1][0] - marks[0][0] >= TURN and len(marks) > 2 * number:
                    raise Enough

            with contextlib.suppress(Enough):
                subject.play(number, TimedEvaluator(evaluator, usage), look)
            (began, before), (ended, after) = marks[0], marks[-1]
            return (after - before) / (ended - began)

        return play

    def rated(work: Callable[[], int]) -> Callable[[], float]:
        def rate() -> float:
            began = time.perf_counter()
            return work() / (time.perf_counter() - began)

        return rate

    ways = {
        "alone": rated(alone),
        "search": rated(searching(1)),
        "search, two groups in flight": rated(searching(2)),
        "self-play": playing(1),
        "self-play, two groups in flight": playing(2),
    }
    rates: dict[str, list[float]] = {way: [] for way in ways}
    started = time.perf_counter()
    while time.perf_counter() - started < seconds or len(rates["self-play"]) < 3:
        for way, do in ways.items():
            rates[way].append(do())
    new_rows: list[dict[str, object]] = []
    for way, ours in rates.items():
        if way == "alone":
            continue
        shares = [rate / raw for rate, raw in zip(ours, rates["alone"], strict=True)]
        row: dict[str, object] = {
            "name": f"{name} on {game.spec.name}, {subject.inference}, {way}",
            "value": round(statistics.median(shares), 3),
            "lowest": round(min(shares), 3),
            "highest": round(max(shares), 3),
            "unit": "of the network's speed",
            "alone": round(statistics.median(rates["alone"])),
            "runs": len(shares),
            "batch": BATCH,
            "seed": 0,
        }
        print(row, flush=True)
        new_rows.append(row)
    return new_rows


class Enough(Exception):
    """Ends games that have been measured for long enough."""


if __name__ == "__main__":
    main()

"""Which parts of a network strengthen its search: the policy, the value, and how they are weighted.

    python benchmarks/ablations.py EXPERTS [EXPERTS ...] [--arm ARM ...] [--simulations 50] [--games 200]
                                   [--also LABEL EXPERTS ...] [--seed SEED] [--out FOLDER] [--record]

An arm is `both`, `policy` (the value of every position is 0), `value` (uniform policy) or `constant` (neither),
optionally with search settings after a question mark: `both?uniform_share=0.5`. All arms play the same boards, seats
and seeds against a table of the game's default agent, which is also the search's opponent model. Several folders of
experts are trainings of the same network, each on its own boards, given by consecutive seeds from SEED on; intervals of
differences are then over trainings. A further network, `--also`, has the same number of trainings, plays the same arms
on the same boards, and is compared with the first one. Games are kept in the folder, a file per training and arm: the
same command resumes there, also with more arms and networks.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from measuring.record import add_option, append, without_places

from moemcts.arena import Conditions, GameRecord, MatchResult, match_schedule, play_match
from moemcts.arena.intervals import seed_interval
from moemcts.arena.openings import first_board, starts
from moemcts.arena.outcomes import Tally
from moemcts.evaluation import Evaluation, Evaluator, UniformEvaluator
from moemcts.game import Game, Views
from moemcts.learn.checkpoint import load_experts
from moemcts.learn.inference.evaluators import Inference, parse_backend
from moemcts.plugins import plugins
from moemcts.references import parse_reference
from moemcts.search import SearchAgent, SearchConfig
from moemcts.store import manifest_digest

ARMS = (
    "constant",
    "both",
    "policy",
    "value",
    "both?policy_temperature=2",
    "both?uniform_share=0.25",
    "both?uniform_share=0.5",
    "both?uniform_share=0.75",
)
PARTS = ("both", "policy", "value", "constant")
BASELINE = "both"
MAX_PARALLEL = 128


class PolicyAlone:
    """Uses a network's policy, with a value of 0 for every position."""

    def __init__(self, network: Evaluator) -> None:
        self._network = network

    def evaluate(self, views: Views) -> Evaluation:
        evaluation = self._network.evaluate(views)
        return Evaluation(evaluation.logits, np.zeros_like(evaluation.value))


@dataclass(frozen=True)
class Ablation:
    """A network in a search, ablated part by part; further networks have a label, the prefix of their arms."""

    game: Game
    experts: Path
    simulations: int
    seed: int = 0
    backend: str = "torch"
    label: str = ""

    def named(self, arm: str) -> str:
        """Returns the name of an arm of this network, with the label if there is one."""
        return f"{self.label}: {arm}" if self.label else arm

    def agent(self, arm: str) -> SearchAgent:
        """Returns the search agent of an arm; raises SystemExit for an unknown part."""
        part, options = parse_reference(arm)
        if part not in PARTS:
            raise SystemExit(f"expected an arm that begins with {', '.join(PARTS)}, got {arm!r}")
        if part == "value":
            options["uniform_share"] = 1.0
        config = SearchConfig.model_validate({"simulations": self.simulations} | options)
        return SearchAgent(self.game, self.evaluator(part), config, opponents=self._field(), name=self.named(arm))

    def play(self, arm: str, num_games: int, folder: Path) -> list[GameRecord]:
        """Plays the games of an arm that are not in the folder yet, and returns all."""
        num_boards, name = -(-num_games // self.game.spec.num_players), self.named(arm)
        schedule = match_schedule(
            self.game,
            {name: self.agent(arm)},
            self._field(),
            num_games=num_games,
            openings=starts(self.game, num_boards, seed=first_board(self.seed)),
            identity={"experts": self.digest(arm), "simulations": self.simulations, "backend": self.backend},
        )
        path = (
            folder / f"{self.game.spec.name}-{self.simulations}-{hashlib.sha256(name.encode()).hexdigest()[:8]}.jsonl"
        )
        return play_match(self.game, schedule, Conditions(seed=self.seed, max_parallel=MAX_PARALLEL), journal=path)

    def result(self, games: dict[str, list[GameRecord]], than: str | None = None) -> MatchResult:
        """Returns the joint result of the games of all arms, by name; differences are relative to `than`."""
        return MatchResult(
            game=self.game.spec.name,
            arms=tuple(games),
            num_seats=self.game.spec.num_players,
            baseline=than or (BASELINE if BASELINE in games else next(iter(games))),
            tie_value=0.5,
            records=tuple(record for records in games.values() for record in records),
        )

    def evaluator(self, part: str) -> Evaluator:
        """Returns the evaluator of an arm; the policy of `value` is ignored by its search."""
        if part == "constant":
            return UniformEvaluator(self.game.spec)
        inference = Inference(parse_backend(self.backend))
        network = load_experts(self.experts, self.game, plugins(), inference=inference)
        return PolicyAlone(network) if part == "policy" else network

    def digest(self, arm: str) -> str:
        """Returns what identifies the experts of an arm."""
        if arm.startswith("constant"):
            return ""
        return manifest_digest(self.experts, length=64)

    def _field(self) -> Any:
        return plugins().agent(plugins().default_agent(self.game) or "random", self.game)


def row_of(ablations: Sequence[Ablation], results: Sequence[MatchResult], arm: str, label: str) -> dict[str, Any]:
    """Returns an arm's win rate, and its difference to the baseline's on the same boards, over trainings; `label` is
    the name of the network without its own label.
    """
    ablation, result = ablations[0], results[0]
    label, baseline, name = ablation.label or label, f"{label}: {result.baseline}", ablation.named(arm)
    tally = Tally.of([game.outcome for one in results for game in one.games(name)])
    row: dict[str, Any] = {"name": f"{result.game}, {label}, {arm}, {ablation.simulations} simulations"}
    row |= {"value": round(tally.win_rate, 4), "unit": "share of games won"}
    row |= {"interval": [round(bound, 4) for bound in tally.win_interval], "games": tally.num_games}
    row |= {"wins": tally.wins, "ties": tally.ties, "losses": tally.losses, "difference": None}
    if name != result.baseline:
        differences = [result.difference(name) for result in results]
        estimate = seed_interval(
            [difference.win_differences for difference in differences],
            [difference.boards for difference in differences],
        )
        row["difference"] = {
            "than": baseline if ablation.label else result.baseline,
            "wins": round(estimate.mean, 4),
            "interval": [round(bound, 4) for bound in estimate.interval],
            "p_value": round(estimate.p_value, 5),
        }
        if len(results) > 1:
            row["difference"]["by training"] = [round(difference.wins.mean, 4) for difference in differences]
    row |= {"game": result.game, "label": label, "arm": arm, "simulations": ablation.simulations}
    digests = [one.digest(arm)[:16] for one in ablations]
    row |= {"experts": digests if len(digests) > 1 else digests[0], "trainings": len(results)}
    return row | {"backend": ablation.backend, "seed": ablation.seed}


def main() -> None:
    """Plays and prints; appends to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experts", type=Path, nargs="+", help="a folder of experts, once per training")
    parser.add_argument("--game", default="pommerman")
    parser.add_argument("--arm", action="append", help="may be repeated; all of the table without")
    parser.add_argument(
        "--also",
        action="append",
        nargs="+",
        default=[],
        metavar=("LABEL", "EXPERTS"),
        help="what another network is called, and its folders of experts; may be repeated",
    )
    parser.add_argument("--simulations", type=int, default=50)
    parser.add_argument("--games", type=int, default=200, help="games of each arm and training")
    parser.add_argument("--backend", default="torch", help="or onnxruntime, or openvino")
    parser.add_argument("--label", default="single network", help="what the rows call the network")
    parser.add_argument(
        "--than", help="the arm that all others are compared with; `both` where it plays, else the first"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="folder that keeps the games; a temporary one without")
    add_option(parser)
    options = parser.parse_args()
    game = plugins().game(options.game)
    networks = [("", options.experts), *((label, [*map(Path, folders)]) for label, *folders in options.also)]
    for label, folders in networks:
        if len(folders) != len(options.experts):
            raise SystemExit(
                f"expected {len(options.experts)} trainings of {label!r}, as the first, got {len(folders)}"
            )
    trainings = [
        [
            Ablation(game, experts, options.simulations, options.seed + number, options.backend, label)
            for number, experts in enumerate(folders)
        ]
        for label, folders in networks
    ]
    arms, results = options.arm or ARMS, []
    with tempfile.TemporaryDirectory() as temporary:
        for number, ablations in enumerate(zip(*trainings, strict=True)):
            folder: Path = (options.out or Path(temporary)) / (str(number) if len(options.experts) > 1 else "")
            folder.mkdir(parents=True, exist_ok=True)
            games: dict[str, list[GameRecord]] = {}
            for ablation, arm in itertools.product(ablations, arms):
                games[ablation.named(arm)] = played = ablation.play(arm, options.games, folder)
                wins = sum(record.outcome == "win" for record in played)
                print(ablation.named(arm), wins, "of", len(played), flush=True)
            results.append(ablations[0].result(games, options.than))
    rows = [row_of(ablations, results, arm, options.label) for ablations in trainings for arm in arms]
    for row in rows:
        print(f"{row['name']:<70} {row['value']:>7} {row['interval']} {row['difference'] or ''}", flush=True)
    if options.record:
        places = {experts: "EXPERTS" for _, folders in networks for experts in folders}
        sys.argv = without_places(sys.argv, {**places, options.out: "OUT"})
        append("ablations", rows)


if __name__ == "__main__":
    main()

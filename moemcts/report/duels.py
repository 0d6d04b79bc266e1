"""What an experiment found where the experts play the single network itself: Elo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from moemcts.arena.games import GameRecord
from moemcts.arena.intervals import SeedEstimate, seed_interval
from moemcts.arena.match import MatchResult, num_duplicates
from moemcts.arena.rating import Elo, elo
from moemcts.arena.verdict import verdict
from moemcts.report.page import Figure, Section
from moemcts.report.plots import Whisker, elo_ratings
from moemcts.report.tables import Table

if TYPE_CHECKING:
    from moemcts.runs.experiment import Experiment, Outcomes

POINTS = {"win": 1.0, "tie": 0.5, "loss": 0.0, None: 0.5}


def scores_over_seeds(results: Sequence[MatchResult], arm: str) -> SeedEstimate:
    """Returns the mean score of an arm less one half, over openings and training seeds."""
    games = [result.games(arm) for result in results]
    return seed_interval(
        [[POINTS[game.outcome] - 0.5 for game in one] for one in games],
        [[game.opening for game in one] for one in games],
        bounds=(-0.5, 0.5),
    )


def duel_summary(experiment: Experiment, outcomes: Outcomes) -> str:
    """Returns one line per set of experts."""
    lines = []
    for arm in experiment.contestants():
        games = _games(outcomes.searched, arm.name)
        found = scores_over_seeds(outcomes.searched, arm.name)
        low, high = (100 * bound for bound in found.interval)
        words = verdict(100 * found.mean, (low, high), found.num_observations, observations="games")
        lines.append(f"{arm.name} against the single network: Elo {_elo(games)}; score over one half, {words}.")
    if len(outcomes.searched) == 1:
        lines.append("With one training seed this holds for these networks alone, not for others trained the same way.")
    return "\n\n".join(lines)


def against_single(title: str, kind: str, results: Sequence[MatchResult], experiment: Experiment) -> Section:
    """Returns tables and plots of the games against the single network."""
    rows: list[list[Any]] = []
    whiskers = []
    for arm in results[0].arms:
        games = _games(results, arm)
        outcomes = [game.outcome for game in games]
        found = scores_over_seeds(results, arm)
        low, high = (100 * (0.5 + bound) for bound in found.interval)
        per_seed = ", ".join(f"{round(_elo(result.games(arm)).difference) + 0:+d}" for result in results)
        rows.append(
            [
                arm,
                len(games),
                *(outcomes.count(kind) for kind in ("win", "tie", "loss")),
                str(_elo(games)),
                f"{50 + 100 * found.mean:.1f} [{low:.1f}, {high:.1f}]",
                per_seed,
                num_duplicates(games),
                f"{np.mean([game.plies for game in games]):.0f}",
            ]
        )
        whiskers.append(_whisker(arm, _elo(games), f"{len(games)} games"))
    config = experiment.config
    searched = f"{config.search.simulations} simulations per move" if kind == "searched" else "the policy's best action"
    caption = (
        f"{searched}; against the single network of the same training seed, every opening from both sides; "
        f"{len(results)} training seed{'s' * (len(results) > 1)}. Elo with the 95 % error that cutechess prints, which "
        "takes games as independent and holds for these networks; the score in percent has a 95 % interval over "
        "training seeds and openings."
    )
    columns = ["experts", "games", "wins", "draws", "losses", "Elo", "score %", "Elo by seed", "repeated", "plies"]
    figure = Figure(
        f"elo-{kind}",
        elo_ratings(whiskers, title=f"Elo against the single network, {title.lower()}"),
        f"{title}: Elo of {rows[0][1]} games per arm with the 95 % error of cutechess.",
    )
    return Section(title, tables=[Table(columns, rows, caption)], figures=[figure])


def duel_numbers(results: Sequence[MatchResult]) -> dict[str, Any]:
    """Returns the results as JSON values."""
    if not results:
        return {}
    return {
        "arms": {
            arm: {
                "num_games": len(games := _games(results, arm)),
                "wins": sum(game.outcome == "win" for game in games),
                "ties": sum(game.outcome == "tie" for game in games),
                "losses": sum(game.outcome == "loss" for game in games),
                "elo": asdict(_elo(games)),
                "elo_by_seed": [asdict(_elo(result.games(arm))) for result in results],
                "score": 0.5 + scores_over_seeds(results, arm).mean,
                "score_interval": [0.5 + bound for bound in scores_over_seeds(results, arm).interval],
            }
            for arm in results[0].arms
        },
        "by_seed": [result.to_json() for result in results],
    }


def _games(results: Sequence[MatchResult], arm: str) -> list[GameRecord]:
    return [game for result in results for game in result.games(arm)]


def _elo(games: Sequence[GameRecord]) -> Elo:
    outcomes = [game.outcome for game in games]
    return elo(outcomes.count("win"), outcomes.count("tie"), outcomes.count("loss"))


def _whisker(name: str, found: Elo, note: str) -> Whisker:
    return Whisker(label=name, value=found.difference, low=found.low, high=found.high, note=note)

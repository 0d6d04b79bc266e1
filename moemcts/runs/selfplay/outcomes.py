"""Collects the outcomes of self-play for its report."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from moemcts.arena.ranking import Ranking, fit_ratings
from moemcts.report.selfplay import Generation, SelfPlayOutcomes, Strength
from moemcts.runs.selfplay.generations import LEARNED, PLAYED, PROMOTED

if TYPE_CHECKING:
    from moemcts.runs.selfplay.run import SelfPlay


def outcomes_of(run: SelfPlay) -> SelfPlayOutcomes:
    """Returns the outcomes so far."""
    generations = [generation_of(run, one) for one in range(1, run.config.generations + 1)]
    matches = run.matches.measurements()
    return SelfPlayOutcomes(
        title=f"{run.config.game}: self-play, {run.config.gate} ({run.config.scheme})",
        making=_making(run),
        settings=run.config.model_dump(mode="json"),
        phase_names=tuple(run.gate.phase_names),
        generations=tuple(one for one in generations if one is not None),
        strengths=_strengths(run, matches),
        matches=tuple(matches),
        measured=tuple(run.measured),
        score_unit=run.game.spec.score_unit,
    )


def generation_of(run: SelfPlay, number: int) -> Generation | None:
    """Returns the results of a generation's games and training; None if it is not trained yet."""
    played, learned = run.on_disk.read_result(number, PLAYED), run.on_disk.read_result(number, LEARNED)
    if not played or not learned:
        return None
    return Generation(
        number=number,
        played=played,
        learned=learned,
        promoted=run.on_disk.read_result(number, PROMOTED),
    )


def _strengths(run: SelfPlay, matches: list[dict[str, Any]]) -> tuple[Strength, ...]:
    """Returns the Elo rating of each measured agent, relative to generation 0 if that was measured."""
    rankings = [
        # Older measurements do not record the opening.
        Ranking(tuple(tuple(group) for group in groups), tuple(unranked), *board)
        for match in matches
        for groups, unranked, *board in match["rankings"]
    ]
    if not rankings:
        return ()
    ratings = fit_ratings(rankings)
    first = f"generation {run.measured[0]}"
    games = Counter(name for match in matches for name in (match["agent"], match["other"]) for _ in match["rankings"])
    found = []
    for name in ratings.names:
        difference, error = ratings.difference(name, first)
        found.append(Strength(name=name, elo=difference, error=error, num_games=games[name]))
    return tuple(found)


def _making(run: SelfPlay) -> str:
    measured = (
        f"- where generations are measured, {run.matches.opening_settings}\n" if run.config.gauntlet.games else ""
    )
    return (
        f"- {run.describe()}\n"
        f"- seed {run.config.seed}, networks run by {run.config.games.backend}\n"
        f"{measured}{run.describe_environment()}\n"
        "- all settings: `config.toml`; each generation: `generations/`; all measured games: `matches/`; "
        "times: `timings.jsonl`"
    )

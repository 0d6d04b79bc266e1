"""The report of self-play tells of games what their results are: who wins, or what a player alone gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from moemcts.report.selfplay import Generation, SelfPlayOutcomes, Strength, selfplay_report
from moemcts.report.tables import Table

SEAT = {"won": 0.5, "tied": 0.25, "lost": 0.25, "mean": 0.25}


def outcomes(
    results: Sequence[Mapping[str, float]], score_unit: float = 1.0, promoted: Mapping[str, Any] | None = None
) -> SelfPlayOutcomes:
    played: dict[str, Any] = {
        "games": 4,
        "samples": 40,
        "plies": {"mean": 10.0},
        "results": results,
        "duplicates": 0.0,
        "resigned": 0.0,
        "would_have_resigned": 0,
        "wrongly": 0,
        "openings": [{"moves": "left right", "games": 2, "player 0": 0.25}],
    }
    learned = {"samples": 40, "window": [1, 1], "phases": {"all": 40.0}, "losses": {}, "learning_rate": 0.1}
    return SelfPlayOutcomes(
        title="self-play",
        making="",
        settings={},
        phase_names=("all",),
        generations=(Generation(number=1, played=played, learned=learned, promoted=promoted or {}),),
        strengths=(),
        matches=(),
        measured=(),
        score_unit=score_unit,
    )


def tables(told: SelfPlayOutcomes) -> tuple[Table, Table]:
    """Returns the tables of generations and of first moves."""
    _, generations, played, *_ = selfplay_report(told).sections
    return generations.tables[0], played.tables[0]


def cell(table: Table, column: str) -> Any:
    return table.rows[0][table.columns.index(column)]


def test_who_plays_alone_gets_something_and_wins_nothing() -> None:
    generations, first_moves = tables(outcomes([{"won": 1.0, "tied": 0.0, "lost": 0.0, "mean": 0.5}], score_unit=200.0))
    assert "seat 0 wins %" not in generations.columns
    assert cell(generations, "mean return") == "100.00"
    assert cell(first_moves, "mean return") == "50.00"
    assert all("in the game's own score" in table.caption for table in (generations, first_moves))
    before_means_were_kept, _ = tables(outcomes([{"won": 1.0, "tied": 0.0, "lost": 0.0}]))
    assert cell(before_means_were_kept, "mean return") is None


def test_who_plays_others_wins_or_ties() -> None:
    generations, first_moves = tables(outcomes([SEAT, SEAT]))
    assert (cell(generations, "seat 0 wins %"), cell(generations, "ties %")) == ("50.0", "25.0")
    assert cell(first_moves, "player 0") == "+0.25"
    assert "own score" not in generations.caption + first_moves.caption


def test_what_was_not_measured_is_said_to_be_so() -> None:
    strength, _, _, losses, *_ = selfplay_report(outcomes([SEAT, SEAT])).sections
    assert strength.text.startswith("No generation was measured")
    assert losses.text.startswith("No losses are known")


def test_a_generation_is_compared_with_no_generation_but_another() -> None:
    told = outcomes([SEAT, SEAT])
    rated = Strength(name="generation 1", elo=50.0, error=20.0, num_games=40)
    several = selfplay_report(replace(told, strengths=(rated,), measured=(0, 1)))
    assert "Generation 1 is +50 ± 20 Elo over generation 0" in several.summary
    # The experts of the first generations were gone before any was measured.
    alone = replace(rated, elo=0.0, error=0.0)
    assert " Elo over " not in selfplay_report(replace(told, strengths=(alone,), measured=(1,))).summary


def test_the_counts_of_a_promotion_are_explained_where_there_are_some() -> None:
    with_match, _ = tables(outcomes([SEAT, SEAT], promoted={"promoted": True, "counts": [1, 2, 3]}))
    assert cell(with_match, "plays on") == "yes (3-2-1)"
    assert "wins, draws and losses" in with_match.caption
    without, _ = tables(outcomes([SEAT, SEAT]))
    assert "Plays on" not in without.caption

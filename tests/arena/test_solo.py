"""Matches of one player: who gets more from the same starts is better, in units of the game's own score."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from games_for_tests import Savings
from matches_for_tests import game_record, match

from moemcts.agents import Decision, Seat
from moemcts.arena import MatchResult, SoloResult
from moemcts.arena.ranking import fit_ratings
from moemcts.game import Views
from moemcts.report.alone import Alone
from moemcts.report.page import Section

UNIT = Savings.spec.score_unit


@dataclass
class Always:
    action: int
    name: str = "always"

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        return [Decision(action=self.action) for _ in seats]


def played(num_games: int = 8, path: Path | None = None) -> SoloResult:
    arms = {"spends": Always(0), "saves": Always(1)}
    return SoloResult(match(Savings(), arms, (), num_games=num_games, path=path), UNIT)


def test_returns_are_in_the_units_of_the_game() -> None:
    result = played()
    assert result.mean_return("spends").mean == pytest.approx(4)
    # Bonuses 0, 1, 2, 3 are paid four times each.
    assert result.mean_return("saves").mean == pytest.approx(4 + 4 * 1.5)
    assert result.bounds == pytest.approx((-16, 16))
    assert result.mean_plies("saves") == 4


def test_a_gain_is_paired_over_boards() -> None:
    gain = played().gain("saves")
    assert gain.differences == pytest.approx([0, 4, 8, 12, 0, 4, 8, 12])
    assert gain.signs == (0, 1, 1, 1) * 2
    assert (gain.more.wins, gain.more.ties, gain.more.losses) == (6, 2, 0)
    # Starts that were drawn twice were played twice alike: that is one observation.
    assert gain.returns.num_clusters == 4
    assert gain.returns.mean == pytest.approx(6)
    assert gain.returns.low < 0 < gain.returns.mean < gain.returns.high
    assert gain.verdict.startswith("no difference shown: +6.00 in return, 95 % interval [")
    assert played().gain("spends", "saves").returns.mean == pytest.approx(-6)


def test_who_gets_the_most_from_every_start_has_a_verdict() -> None:
    returns = {"first": -1.0, "second": 1.0}
    records = [
        game_record(number, [arm], [got], label=arm, opening=f"seed {number // 2}", start_key=number // 2, focus=0)
        for number, (arm, got) in enumerate([*returns.items()] * 3)
    ]
    result = SoloResult(MatchResult("a game", tuple(returns), 1, "first", 0.5, tuple(records)), score_unit=0.1)
    assert result.gain("second").verdict.startswith("no difference shown: +0.20 in return, 95 % interval [")


def test_starts_that_repeat_do_not_narrow_how_often_one_gets_more() -> None:
    # Four starts, each of which comes twice, and is played alike.
    assert played(8).gain("saves").more.win_interval == played(4).gain("saves").more.win_interval
    assert played(8).tally("saves").win_interval == played(4).tally("saves").win_interval
    twice, once = (fit_ratings(played(num_games).rankings()) for num_games in (8, 4))
    assert twice.difference("saves", "spends")[1] > 0.9 * once.difference("saves", "spends")[1]


def test_who_gets_more_from_a_start_is_ranked_before_who_gets_less() -> None:
    result = played(4)
    assert [ranking.groups for ranking in result.rankings()] == [
        (("spends", "saves"),),
        *[(("saves",), ("spends",))] * 3,
    ]
    assert result.scores("saves") == [0.5, 1, 1, 1]
    assert result.counts("spends") == (3, 1, 0)
    assert fit_ratings(result.rankings()).difference("saves", "spends")[0] > 100


def test_numbers_are_json_and_a_match_goes_on(tmp_path: Path) -> None:
    first = played(4, tmp_path / "match.jsonl")
    longer = played(8, tmp_path / "match.jsonl")
    assert longer.records[: len(first.records)] == first.records
    numbers = json.loads(json.dumps(longer.to_json(), allow_nan=False))
    (difference,) = numbers["differences"]
    assert (difference["arm"], difference["returns"]["mean"], numbers["score_unit"]) == ("saves", pytest.approx(6), 20)
    assert [arm["returns"]["mean"] for arm in numbers["arms"]] == pytest.approx([4, 10])


def test_a_report_says_what_each_arm_gets() -> None:
    results = (played().match, played().match)
    one = Alone(results[:1], (0,), limit="4 simulations", score_unit=UNIT)
    assert one.summary()[0].startswith("The single network gets 4.00 [")
    assert "Experts by saves get 10.00" in one.summary()[1]
    assert "no difference shown: +6.00 in return" in one.summary()[1]
    two = Alone(results, (0, 1), limit="4 simulations", score_unit=UNIT)
    section = two.section("With search", "searched")
    assert isinstance(section, Section)
    (table,) = section.tables
    assert len(table.columns) == len(table.rows[0]) == len(table.rows[1])
    assert two.numbers()["differences"]["saves"]["returns"] == pytest.approx(6)
    assert two.numbers()["differences"]["saves"]["more"][0] == pytest.approx(0.75)
    json.dumps(two.numbers(), allow_nan=False)

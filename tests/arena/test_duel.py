"""Two agents meet with both colours, in teams and free-for-alls, and a test may stop them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from games_for_tests import NativeTicTacToe
from games_of_the_arena import Leaver, LeavesAt, StayOrLeave
from matches_for_tests import duel, ended

from moemcts.agents import RandomAgent
from moemcts.arena.duel import DuelResult
from moemcts.arena.intervals import wilson_interval
from moemcts.arena.rating import Sprt
from moemcts.errors import UsageError


def test_a_duel_plays_every_opening_with_both_colours() -> None:
    game = StayOrLeave(2)
    result = duel(game, {"a": Leaver(0.1, "a"), "b": Leaver(0.3, "b")}, num_games=200)
    assert [record.agents for record in result.records] == [("a", "b"), ("b", "a")] * 100
    ours, theirs = result.tally("a"), result.tally("b")
    assert (ours.wins, ours.ties, ours.losses) == (theirs.losses, theirs.ties, theirs.wins)
    assert sum(result.pairs("a")) == 100
    assert result.pairs("a") == result.pairs("b")[::-1]
    losses, draws, wins = result.counts("a")
    assert (wins, draws, losses) == (ours.wins, ours.ties, ours.losses)
    found = result.elo("a")
    assert found.low is not None
    assert found.low > 0
    values = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert values["agents"][0]["by_seat"][1]["num_games"] == 100


def test_partners_in_a_duel_count_as_one() -> None:
    game = StayOrLeave(4)
    result = duel(game, {"a": LeavesAt(9), "b": LeavesAt(3)}, num_games=4)
    assert result.seatings == (("a", "b", "a", "b"), ("b", "a", "b", "a"))
    # Both partners stay longest and leave together: a tie of all.
    assert result.scores("a") == [0.5] * 4


FREE_FOR_ALL = ("abab", "baba")
TWO_BESIDE = ("aabb", "baab", "bbaa", "abba")


def test_a_free_for_all_of_two_agents_is_won_by_the_agent_of_the_winner() -> None:
    # In the last game nobody wins.
    winners = [0, 1, 2, 3, 0, 0, 1, None]
    games = [[1.0 if player == winner else -1.0 for player in range(4)] for winner in winners]
    result = ended(FREE_FOR_ALL, games)
    assert result.scores("a") == [1, 1, 1, 1, 1, 0, 0, 0.5]
    assert result.scores("b") == [1 - score for score in result.scores("a")]
    assert result.counts("a") == result.counts("b")[::-1] == (2, 1, 5)
    assert result.pairs("a") == result.pairs("b")[::-1] == (0, 1, 1, 0, 2)
    assert result.elo("a").difference == pytest.approx(-result.elo("b").difference)
    # Every seat counts in the tally: the two of a have won five times in sixteen.
    assert (result.tally("a").wins, result.tally("a").num_games) == (5, 16)
    agent = result.to_json()["agents"][0]
    assert (agent["num_games"], agent["num_seats"], agent["win_rate"]) == (8, 16, 5 / 16)


def test_games_on_one_opening_are_one_observation_however_many_there_are() -> None:
    # Four seats on each of five openings, of which who is better at them wins all.
    openings = [1.0, 1.0, -1.0, 1.0, 1.0]
    turned = [[sign if name == "a" else -sign for name in seating] for sign in openings for seating in TWO_BESIDE]
    found = ended(TWO_BESIDE, turned).elo_range("a")
    assert found == ended(("ab", "ba"), [[sign, -sign][::way] for sign in openings for way in (1, -1)]).elo_range("a")
    # As of twenty games the interval had left out zero.
    assert found.low is None or found.low < 0
    # Another game, without the one that turns it, changes little.
    again = ended(("ab", "ba"), [[sign, -sign][::way] for sign in [*openings, -1.0] for way in (1, -1)][:-1])
    assert not again.is_in_pairs
    assert again.elo_range("a").low is None or again.elo_range("a").low < 0


def test_joined_duels_keep_their_pairs() -> None:
    one = ended(("ab", "ba"), [[1.0, -1.0]])
    broken_off = replace(one, records=(replace(one.records[0], opening="another", start_key=99),))
    whole = ended(("ab", "ba"), [[1.0, -1.0], [-1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
    assert DuelResult.joined([broken_off, whole]).pairs("a") == whole.pairs("a") == (1, 0, 0, 0, 1)


def test_seats_of_one_game_are_one_observation() -> None:
    """200 matches of 60 games, of which three in ten tie all seats; 95 % +- 4.6 points, three errors."""
    rng = np.random.default_rng(5)
    covered = won = 0
    for _ in range(200):
        winners = np.where(rng.random(60) < 0.3, -1, rng.integers(4, size=60))
        result = ended(FREE_FOR_ALL, [[1.0 if seat == winner else -1.0 for seat in range(4)] for winner in winners])
        low, high = result.tally("a").tie_interval
        covered += low <= 0.3 <= high
        low, high = result.tally("a").win_interval
        won += low <= 0.7 / 4 <= high
    # With both seats as games of their own it was 82 %.
    assert covered / 200 == pytest.approx(0.95, abs=0.046)
    # Of its two seats one at most has won: with both as one that is wins or not it was 100 %.
    assert won / 200 == pytest.approx(0.95, abs=0.046)
    wins = result.tally("a").wins
    assert result.tally("a").win_interval == pytest.approx([end / 2 for end in wilson_interval(wins, 60)])
    ties = result.tally("a").ties
    assert result.tally("a").tie_interval == wilson_interval(ties / 2, 60)
    assert result.tally("a", 0).num_effective == 30


def test_who_has_one_seat_in_a_game_has_as_many_observations_as_games() -> None:
    won = [[1.0, -1.0, -1.0, -1.0]] * 4
    for seatings, returns, names in (
        (("ab", "ba"), [[1.0, -1.0]] * 4, "ab"),
        (("abcd", "dabc", "cdab", "bcda"), won, "abcd"),
        (("abbb", "babb", "bbab", "bbba"), won, "a"),
    ):
        result = ended(seatings, returns)
        for name in names:
            agent = next(one for one in result.to_json()["agents"] if one["name"] == name)
            assert "num_seats" not in agent
            assert json.dumps(agent["num_effective"]) == json.dumps(agent["num_games"]) == "4"
    tally = result.tally("b")
    assert (tally.num_games, tally.num_effective) == (12, 4)


def test_equal_agents_of_a_free_for_all_are_level_and_the_better_is_found() -> None:
    even = ended(FREE_FOR_ALL, [[1.0 if player == game // 2 % 4 else -1.0 for player in range(4)] for game in range(8)])
    assert str(even.elo("a")).startswith("+0.0 ± ")
    assert even.to_json()["agents"][0]["likelihood_of_superiority"] == 0.5
    always = ended(FREE_FOR_ALL, [[1.0 if player == game % 2 else -1.0 for player in range(4)] for game in range(400)])
    assert str(always.elo("a")) == "> +849.6"
    assert always.pairs("a") == (0, 0, 0, 0, 200)
    assert Sprt(elo0=0, elo1=10).decision(always.evidence(Sprt())) == "H1"
    assert always.to_json()["ratings"]["agents"][0]["name"] == "a"


def test_two_players_who_get_the_same_have_drawn() -> None:
    result = ended(("ab", "ba"), [[0.5, 0.5], [0.5, 0.5], [-1.0, -0.5], [3.0, 1.0]])
    assert result.scores("a") == [0.5, 0.5, 0, 0]
    tally = result.tally("a")
    assert (tally.wins, tally.ties, tally.losses) == result.counts("a")[::-1] == (0, 2, 2)


def test_elo_is_told_only_where_equals_score_one_half() -> None:
    won = [[1.0, -1.0, -1.0, -1.0]] * 4
    for seatings, is_even in (
        (FREE_FOR_ALL, True),
        (("aabb", "baab", "bbaa", "abba"), True),
        (("abbb", "babb", "bbab", "bbba"), False),
        (("abcd", "dabc", "cdab", "bcda"), False),
    ):
        result = ended(seatings, won)
        assert result.is_even == is_even
        for agent in result.to_json()["agents"]:
            assert (agent["elo"] is not None) == (agent["likelihood_of_superiority"] is not None) == is_even
    # Ahead of one of the others, or of all of them together.
    assert result.counts("a", "b") == (1, 2, 1)
    assert result.counts("a") == (3, 0, 1)


def test_three_agents_turn_through_three_seats() -> None:
    game = StayOrLeave(3)
    result = duel(game, {"a": LeavesAt(9), "b": LeavesAt(3), "c": LeavesAt(4)}, num_games=6)
    assert result.seatings == (("a", "b", "c"), ("c", "a", "b"), ("b", "c", "a"))
    assert [result.tally(name).wins for name in "abc"] == [6, 0, 0]


def test_a_sequential_test_stops_the_match_and_does_not_depend_on_what_finishes_first(tmp_path: Path) -> None:
    game = StayOrLeave(2)
    players = {"a": Leaver(0.1, "a"), "b": Leaver(0.3, "b")}
    sprt = Sprt(elo0=0, elo1=50)
    results = [duel(game, players, num_games=2000, sprt=sprt, max_parallel=size) for size in (2, 64)]
    assert results[0].records == results[1].records
    assert 10 < len(results[0].records) < 500
    assert results[0].to_json()["sprt"]["decision"] == "H1"
    assert results[0].to_json()["stopped_by_test"]
    assert not duel(game, players, num_games=4, sprt=sprt).to_json()["stopped_by_test"]
    path = tmp_path / "duel.jsonl"
    for _ in range(2):
        assert duel(game, players, num_games=2000, sprt=sprt, path=path).records == results[0].records


def test_a_duel_of_native_states_runs() -> None:
    result = duel(NativeTicTacToe(), {"a": RandomAgent(), "b": RandomAgent()}, num_games=100)
    # The first to move wins 58.5 % of random games, the second 28.8 %; 100 games, four standard errors.
    firsts = result.tally("a", 0).wins + result.tally("b", 0).wins
    assert 38 <= firsts <= 78


def test_a_duel_needs_a_seat_for_everyone() -> None:
    with pytest.raises(ValueError, match="expected each of the 3 agents"):
        duel(StayOrLeave(2), {"a": LeavesAt(1), "b": LeavesAt(2), "c": LeavesAt(3)}, num_games=2)
    with pytest.raises(UsageError, match="no agent named 'x'"):
        duel(StayOrLeave(2), {"a": LeavesAt(1), "b": LeavesAt(2)}, num_games=2, seating=["a", "x"])
    with pytest.raises(ValueError, match="at least two agents"):
        duel(StayOrLeave(2), {"a": LeavesAt(1)}, num_games=2)

"""What `moemcts match` says of its games: how they begin, verdicts, the progress line, and how much they tell."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matches_for_tests import game_record

from moemcts.arena.rating import elo, student_elo
from moemcts.arena.verdict import elo_verdict
from moemcts.cli.main import main
from moemcts.cli.running_score import RunningScore
from moemcts.runs.match import Match, MatchPlan


def test_a_match_says_how_its_games_begin(moemcts, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    command = ("match", "--game", "tictactoe", "--agent", "random", "--agent", "uct?simulations=2", "--games", 2)
    assert "games begin after 4 random plies and are counted from there" in moemcts(*command)[1]
    assert "games begin after 1 random ply and" in moemcts(*command, "--random-plies", 1)[1]
    assert "games begin in the game's own start positions" in moemcts(*command, "--random-plies", 0)[1]
    (tmp_path / "openings.txt").write_text("X...O....\n")
    command = (*command, "--openings", tmp_path / "openings.txt")
    assert f"games begin in positions of {tmp_path / 'openings.txt'}\n" in moemcts(*command)[1]


def test_numbers_of_a_match_say_how_its_games_begin(moemcts, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "openings.pgn").write_text("1. e4 e5 2. Nf3 *\n")
    agents = ("--agent", "random", "--agent", "uct?simulations=2", "--games", 2, "--max-plies", 2, "--json")
    for game, options, told in (
        ("tictactoe", (), {"openings": "seeds", "random_plies": 4}),
        ("pommerman", (), {"openings": "seeds", "random_plies": 0}),
        ("chess", ("--openings", "openings.pgn"), {"openings": "openings.pgn", "random_plies": 0}),
        ("chess", ("--openings", "openings.pgn", "--openings-plies", 2), {"openings_plies": 2}),
    ):
        code, out, error = moemcts("match", "--game", game, *agents, *options)
        assert code == 0, error
        assert told.items() <= json.loads(out).items()


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        ((0, 0, 10), "better: > +"),
        ((10, 0, 0), "worse: < -"),
        ((0, 0, 1), "undecided: > -"),
        ((1, 0, 1), "undecided: +0.0 Elo, without any 95 % bound, 2 games"),
        ((0, 1, 3), "undecided: +338.0 Elo, 95 % interval [-"),
        ((9, 2, 9), "undecided: +0.0 Elo, 95 % interval [-"),
        ((1, 998, 1), "no difference shown: +0.0 Elo, 95 % interval [-"),
        ((0, 0, 0, 1, 9), "better: +636.4 Elo, 95 % interval [+"),
    ],
)
def test_one_bound_is_a_verdict_too(counts: tuple[int, ...], told: str) -> None:
    scores = np.repeat(np.linspace(0, 1, len(counts)), counts).tolist()
    assert elo_verdict(student_elo(scores), sum(counts), "games").startswith(told)


@pytest.mark.parametrize("num_pairs", [2, 4, 6, 8, 12, 20])
def test_equal_agents_are_hardly_ever_called_better_however_few_the_pairs(num_pairs: int) -> None:
    # Pairs are lost, even and won in one of four, two of four and one of four.
    shown = 0.0
    for won in range(num_pairs + 1):
        for lost in range(num_pairs + 1 - won):
            even = num_pairs - won - lost
            found = student_elo([*[0.0] * lost, *[0.5] * even, *[1.0] * won])
            if elo_verdict(found, num_pairs, "pairs").startswith(("better", "worse")):
                ways = math.comb(num_pairs, won) * math.comb(num_pairs - won, lost)
                shown += ways * 0.25 ** (won + lost) * 0.5**even
    assert shown < 0.06


def test_progress_shows_the_elo_that_the_table_will_have() -> None:
    names = ("random", "uct")
    standing = RunningScore(Match(MatchPlan(game="tictactoe", agents=names)), say=pytest.fail)
    won, lost = (game_record(0, names, returns, start_key=0) for returns in ((1.0, -1.0), (-1.0, 1.0)))
    for game in (won, won, replace(lost, start_key=1), won):
        standing.add(game)
    assert f"Elo {elo(1, 0, 1)} (1-0-1)" in standing.describe()
    # Once the same start is played in another way, agents do not repeat themselves: then all games count.
    standing.add(replace(lost, moves=((7,),)))
    assert f"Elo {elo(3, 0, 2)} (3-0-2)" in standing.describe()


def test_progress_shows_nothing_of_an_agent_without_a_finished_game() -> None:
    plan = MatchPlan(game="tictactoe", agents=("random", "uct"), against="flat")
    standing = RunningScore(Match(plan), say=pytest.fail)
    standing.add(game_record(0, ("random", "flat"), (1.0, -1.0), focus=0))
    assert standing.describe() == "wins random 100.0 %, 0 plies"


def test_games_that_a_test_stopped_are_said_to_have_too_narrow_an_interval(moemcts) -> None:  # type: ignore[no-untyped-def]
    command = ("match", "--game", "tictactoe", "--agent", "random", "--agent", "uct?simulations=40", "--games", 200)
    told = "; the test stopped the games, so the interval is too narrow"
    assert told in moemcts(*command, "--sprt", "-500,0")[1]
    assert told not in moemcts(*command[:-1], 4, "--sprt", "0,5")[1]


def test_games_that_repeat_prove_no_more_against_others(moemcts) -> None:  # type: ignore[no-untyped-def]
    arms = ("--agent", "alpha-beta?depth=1", "--agent", "alpha-beta?depth=2", "--against", "alpha-beta?depth=3")
    command = ("match", "--game", "antichess", *arms, "--random-plies", 0, "--max-plies", 12, "--json")
    few, many = (json.loads(moemcts(*command, "--games", number)[1]) for number in (2, 60))
    for one, other in zip(few["arms"], many["arms"], strict=True):
        assert other["num_games"] == 60
        assert (one["num_effective"], one["win_interval"]) == (other["num_effective"], other["win_interval"])
    assert few["differences"][0]["mcnemar_p_value"] == many["differences"][0]["mcnemar_p_value"]
    shown = moemcts(*command[:-1], "--games", 60)[1]
    assert "fewer than 50 games say little" in shown


def test_few_games_are_said_to_tell_little_whatever_they_show(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--game", "tictactoe", "--agent", "random", "--agent", "uct?simulations=200", "--pairs", "1"]
    monkeypatch.setattr(sys, "argv", ["moemcts", "match", *words])
    with pytest.raises(SystemExit):
        main()
    shown = capsys.readouterr().out
    assert "1 pair of games; fewer than 50 games say little" in shown
    assert "normalized" not in shown, "the deviation of one pair is not known"

"""Matches are paired, can be gone on with, and count what they should."""

from __future__ import annotations

import json
import resource
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from games_for_tests import NativeTicTacToe
from games_of_the_arena import Leaver, LeavesAt, StayOrLeave
from matches_for_tests import duel, match

from moemcts.agents import RandomAgent
from moemcts.arena import (
    Conditions,
    GameRecord,
    MatchCallbacks,
    MatchResult,
    Opening,
    duel_schedule,
    match_schedule,
    openings_from_seeds,
    play_match,
    read_openings,
)
from moemcts.arena.adjudication import Adjudication
from moemcts.arena.journal import Journal
from moemcts.arena.match import tally_of
from moemcts.arena.records import boards_of
from moemcts.errors import DamagedFile, ForeignData, MoemctsError, UsageError
from moemcts.evaluation import UniformEvaluator
from moemcts.game import FloatArray, State
from moemcts.runs.match import resolved_references
from moemcts.search import SearchAgent, SearchConfig
from moemcts.work import InProcess
from moemcts.work.workers import Item, Result, Task, ignore

GAME = StayOrLeave(4, length=30)


def arms() -> dict[str, Leaver]:
    return {"single": Leaver(0.2, "single"), "experts": Leaver(0.1, "experts")}


def small_match(path: Path | None = None, **options: object) -> MatchResult:
    return match(GAME, arms(), Leaver(0.2, "field"), path=path, **{"num_games": 40, "seed": 3, **options})  # type: ignore[arg-type]


def test_every_arm_plays_the_same_boards_and_seats() -> None:
    result = small_match()
    places = [[(game.opening, game.focus) for game in result.games(arm)] for arm in result.arms]
    assert places[0] == places[1] == [(f"seed {i // 4}", i % 4) for i in range(40)]
    for game in result.records:
        assert game.agents[game.focus or 0] == game.label
        assert game.agents.count("field") == 3


def test_an_opening_that_was_drawn_twice_and_played_alike_is_one_board() -> None:
    first, second, *_ = small_match(num_games=8).games("single")
    games = [replace(game, opening=name) for name in "abc" for game in (first, second)]
    assert boards_of(games) == ["a"] * 6
    # Whoever plays at random plays it otherwise, which is an observation of its own.
    assert boards_of([*games[:5], replace(second, opening="c", moves=first.moves)]) == ["a"] * 4 + ["c"] * 2
    assert boards_of([replace(first, opening="a"), replace(first, opening="b", start_key=1)]) == ["a", "b"]


def test_equal_arms_play_equal_games() -> None:
    result = match(GAME, {"a": Leaver(0.03, "x"), "b": Leaver(0.03, "x")}, Leaver(0.03, "field"), num_games=40)
    first, second = ([game.moves for game in result.games(arm)] for arm in "ab")
    assert first == second
    difference = result.difference("b")
    assert (difference.wins.mean, difference.p_value, difference.mcnemar_p_value) == (0, 1, 1)
    assert difference.wins.low < 0 < difference.wins.high
    # What one arm repeats of the other is the point of a paired match, not a duplicate.
    assert result.summary("a").num_duplicates == result.summary("b").num_duplicates == 0


def test_the_number_of_games_at_once_changes_nothing() -> None:
    assert small_match().records == small_match(max_parallel=3).records


def test_a_better_arm_is_found_better() -> None:
    """400 paired games; the arm that leaves half as often wins far more; p below 1e-3 by a wide margin."""
    result = small_match(num_games=400)
    difference = result.difference("experts")
    assert difference.wins.low > 0.1
    assert difference.p_value < 0.001
    assert difference.mcnemar_p_value < 0.001
    assert difference.verdict.startswith("better: +")
    assert result.difference("single", "experts").verdict.startswith("worse: -")


def test_the_summary_counts_the_games() -> None:
    result = small_match()
    for arm in result.arms:
        summary = result.summary(arm)
        outcomes = [game.outcome for game in result.games(arm)]
        assert summary.tally.wins == outcomes.count("win")
        assert summary.tally.wins + summary.tally.ties + summary.tally.losses == summary.tally.num_games == 40
        assert [seat.num_games for seat in summary.by_seat] == [10] * 4
        assert sum(seat.wins for seat in summary.by_seat) == summary.tally.wins
        assert summary.score.num_clusters == 10
        expected = (outcomes.count("win") + 0.5 * outcomes.count("tie")) / 40
        assert summary.score.mean == pytest.approx(expected)
    values = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert [arm["name"] for arm in values["arms"]] == ["single", "experts"]
    assert values["differences"][0]["baseline"] == "single"


def test_boards_that_repeat_narrow_no_interval_of_wins() -> None:
    """Two boards of four seats, played 25 times over by who never plays at random."""
    repeated = [Opening(f"board {number}", number % 2) for number in range(50)]

    def played(openings: list[Opening]) -> MatchResult:
        arms = {"single": LeavesAt(9), "experts": LeavesAt(26)}
        field = [LeavesAt(5), LeavesAt(20), LeavesAt(12)]
        return match(GAME, arms, field, num_games=4 * len(openings), openings=openings)

    once, often = played(repeated[:2]), played(repeated)
    for arm in once.arms:
        tally = often.summary(arm).tally
        assert (tally.num_games, tally.num_effective) == (200, 8)
        assert tally.win_interval == pytest.approx(once.summary(arm).tally.win_interval)
        assert once.summary(arm).by_seat[1].num_effective == often.summary(arm).by_seat[1].num_effective == 2
    few, many = once.difference("experts"), often.difference("experts")
    assert many.wins.mean == few.wins.mean == 1
    assert (many.num_only_arm, many.num_only_baseline) == (few.num_only_arm, few.num_only_baseline) == (8, 0)
    assert many.mcnemar_p_value == few.mcnemar_p_value == pytest.approx(2 / 2**8)
    # As training seeds that play the same: their games are pooled.
    assert tally_of(once.games("single"), once.games("single")).num_effective == 8
    assert tally_of(once.games("single"), once.games("single")).num_games == 16


class Twice(InProcess):
    """Workers of which the first dies after half its games, and is replaced, as actors of Ray are."""

    count = 2

    def map(
        self,
        task: Task[Item, Result],
        items: Sequence[Item],
        *,
        on_report: Callable[[int, Any], None] = ignore,
        on_done: Callable[[int, Result], None] = ignore,
    ) -> list[Result]:
        reports: list[Any] = []
        super().map(task, items[:1], on_report=lambda _, message: reports.append(message))
        for message in reports[: len(reports) // 2]:
            on_report(0, message)
        return super().map(task, items, on_report=on_report, on_done=on_done)


def test_a_worker_that_is_replaced_plays_no_game_into_the_match_twice(tmp_path: Path) -> None:
    schedule = match_schedule(GAME, arms(), Leaver(0.2, "field"), num_games=12)
    schedule = replace(schedule, remake=lambda: (GAME, schedule.lineups))
    path, seen, finished = tmp_path / "match.jsonl", list[GameRecord](), list[int]()
    callbacks = MatchCallbacks(on_progress=lambda state: finished.append(state.num_finished), on_game=seen.append)
    conditions = Conditions(max_parallel=2)
    records = play_match(GAME, schedule, conditions, journal=path, workers=Twice(), callbacks=callbacks)
    assert records == play_match(GAME, schedule, conditions)
    assert len(seen) == len(path.read_text().splitlines()) - 1 == 24
    assert finished == sorted(finished)


def test_what_agents_thought_can_be_in_the_file_alone(tmp_path: Path) -> None:
    game, path = NativeTicTacToe(), tmp_path / "duel.jsonl"
    searching = SearchAgent(game, UniformEvaluator(game.spec), SearchConfig(simulations=2))
    schedule = duel_schedule(game, {"a": searching, "b": RandomAgent()}, num_games=4)
    conditions = Conditions(keep_thoughts=True)
    whole = play_match(game, schedule, conditions)
    assert all(record.decisions for record in whole)
    for _ in range(2):
        records = play_match(game, schedule, conditions, journal=path, keep_thoughts=False)
        assert records == tuple(replace(record, decisions=()) for record in whole)
    assert play_match(game, schedule, conditions, journal=path) == whole


def test_a_file_that_was_read_is_not_kept_in_memory(tmp_path: Path) -> None:
    with Journal(tmp_path / "a.jsonl", {}) as file:
        file.append({"game": 1})
    with Journal(tmp_path / "a.jsonl", {}) as file:
        assert file.pop_lines() == [{"game": 1}]
        assert file.pop_lines() == []


def test_a_match_broken_off_and_gone_on_with_equals_an_unbroken_one(tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    unbroken = small_match(tmp_path / "unbroken.jsonl")
    path = tmp_path / "broken.jsonl"
    for limit in (5, 20, 47):

        def stop(progress: object, limit: int = limit) -> None:
            if progress.num_finished >= limit:  # type: ignore[attr-defined]
                raise Stop

        with pytest.raises(Stop):
            small_match(path, max_parallel=4, callbacks=MatchCallbacks(on_progress=stop))
        # A crash in the middle of a line.
        with path.open("ab") as file:
            file.write(b'{"index":39,"label":"exp')
    resumed = small_match(path)
    assert resumed == unbroken
    assert resumed.to_json() == unbroken.to_json() == small_match().to_json()
    lines = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    assert sorted(line["index"] for line in lines) == list(range(80))


def test_a_file_cut_anywhere_is_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "match.jsonl"
    whole = small_match(path, num_games=4)
    data = path.read_bytes()
    for size in range(0, len(data), 37):
        path.write_bytes(data[:size])
        assert small_match(path, num_games=4) == whole


def test_two_matches_do_not_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "match.jsonl"
    with Journal(path, {}), pytest.raises(MoemctsError, match="in use by a match"):
        small_match(path)


def test_finished_games_are_not_played_again(tmp_path: Path) -> None:
    path = tmp_path / "match.jsonl"
    first = small_match(path)
    players = arms()
    again = match(GAME, players, Leaver(0.2, "field"), path=path, num_games=40, seed=3)
    assert again == first
    assert players["single"].num_batches == players["experts"].num_batches == 0


def test_a_match_can_be_made_longer_and_looked_at_shorter(tmp_path: Path) -> None:
    path = tmp_path / "match.jsonl"
    small_match(path, num_games=8)
    assert small_match(path, num_games=16) == small_match(num_games=16)
    assert small_match(path, num_games=8) == small_match(num_games=8)


def test_a_file_of_another_match_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "match.jsonl"
    small_match(path, identity={"experts": "abc"})
    before = path.read_bytes()
    with pytest.raises(ForeignData, match="with seed 3 in place of 4"):
        small_match(path, seed=4, identity={"experts": "abc"})
    with pytest.raises(ForeignData, match="with experts abc in place of def"):
        small_match(path, identity={"experts": "def"})
    with pytest.raises(ForeignData, match=r"line 2: expected game .* from other openings: give another file"):
        small_match(path, identity={"experts": "abc"}, openings=openings_from_seeds(10, first=5))
    assert path.read_bytes() == before


def test_a_damaged_file_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "match.jsonl"
    small_match(path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:3], lines[3][:20] + "\n", *lines[4:]]))
    with pytest.raises(DamagedFile, match="line 4"):
        small_match(path)
    path.write_text("".join([*lines[:3], '{"index": 1}\n', *lines[4:]]))
    with pytest.raises(DamagedFile, match="line 4 is not a game: 'plies' is missing; remove the line"):
        small_match(path)
    for index in (None, "1", -1, 1.0, True):
        path.write_text("".join([*lines[:3], json.dumps(json.loads(lines[3]) | {"index": index}) + "\n", *lines[4:]]))
        with pytest.raises(DamagedFile, match="line 4 is not a game: expected index as a whole number"):
            small_match(path)


@pytest.mark.parametrize(
    "harm",
    [
        {"moves": "0,1 2"},
        {"moves": "0 0"},
        {"moves": "-1,0,0,0"},
        {"moves": "99999999999999999999,0,0,0"},
        {"termination": ["x"]},
        {"failure": 3},
        {"outcome": {}},
        {"moves": "0,0,0,0", "thoughts": [[[float("nan"), 1, 1, 1, "", None], None, None, None]]},
    ],
)
def test_a_game_that_cannot_have_been_played_is_named_with_its_line(harm: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "match.jsonl"
    small_match(path, num_games=4)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:3], json.dumps(json.loads(lines[3]) | harm) + "\n", *lines[4:]]))
    with pytest.raises(DamagedFile, match=r"line 4(: illegal actions| is not a game: ).*; remove the line"):
        small_match(path, num_games=4)


def test_a_file_that_is_nested_too_deeply_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "match.jsonl"
    small_match(path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:3], "[" * 100_000 + "\n", *lines[4:]]))
    with pytest.raises(DamagedFile, match="line 4: it is nested too deeply; remove the line"):
        small_match(path)
    path.write_text("[" * 100_000 + "\n")
    with pytest.raises(ForeignData, match="is not a file of games"):
        small_match(path)
    assert resolved_references(path, ["single"]) == {}
    # Python reads this, but cannot call itself so often.
    path.write_text(f'{{"seed": {"[" * 800 + "]" * 800}}}\n')
    with pytest.raises(ForeignData, match=r"with \w+ \S+ in place of"):
        small_match(path)


def test_a_file_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(MoemctsError, match=r"cannot write .*: expected a file"):
        small_match(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(MoemctsError, match="cannot write"):
        small_match(tmp_path / "file" / "match.jsonl")


def test_a_full_disk_costs_no_finished_game(tmp_path: Path) -> None:
    path = tmp_path / "match.jsonl"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, limits[1]))
    try:
        with pytest.raises(MoemctsError, match=r"cannot write .*File too large"):
            small_match(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.stat().st_size == 5000
    assert small_match(path) == small_match()


def test_games_that_repeat_are_counted() -> None:
    result = match(GAME, {"a": LeavesAt(9)}, LeavesAt(4), num_games=12, openings=openings_from_seeds(3))
    # 30, 29 and 28 plies at most: the moves are the same, the positions are not.
    assert result.summary("a").num_duplicates == 0
    repeated = [Opening("one", 0), Opening("two", 0), Opening("three", 7)]
    assert (
        match(GAME, {"a": LeavesAt(9)}, LeavesAt(4), num_games=12, openings=repeated).summary("a").num_duplicates == 8
    )


def test_unknown_arms_and_too_few_openings_are_refused() -> None:
    with pytest.raises(UsageError, match="did you mean 'experts'"):
        small_match().summary("expert")
    with pytest.raises(UsageError, match="no arm named"):
        small_match(baseline="none")
    with pytest.raises(UsageError, match="expected 10 openings for 40 games in 4 seats, got 3"):
        small_match(openings=openings_from_seeds(3))
    with pytest.raises(ValueError, match="expected 3 agents in the field"):
        match(GAME, arms(), [RandomAgent()], num_games=4)


def test_the_field_goes_round_from_the_seat_after_the_arm() -> None:
    field = [LeavesAt(1), LeavesAt(2), LeavesAt(3)]
    result = match(GAME, {"a": LeavesAt(9)}, field, num_games=4)
    names = ["leaves at 9", "leaves at 1", "leaves at 2", "leaves at 3"]
    assert [list(game.agents) for game in result.records] == [names[-s:] + names[:-s] for s in range(4)]


def test_openings_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "openings.txt"
    path.write_text("# three positions, one of them twice\n9 0 1 2 3\n\n8 0 1 2 3\n9 0 1 2 3\n7 0 1 3\n")
    suite = read_openings(GAME, path)
    assert [opening.name for opening in suite.openings] == ["line 2", "line 4", "line 6"]
    assert suite.warning == f"{path}: 1 position repeated, each taken once"
    result = match(GAME, {"a": LeavesAt(99)}, LeavesAt(98), num_games=8, openings=suite.openings)
    assert [game.plies for game in result.records] == [9] * 4 + [8] * 4


def test_openings_are_taken_in_order_or_drawn_by_a_seed(tmp_path: Path) -> None:
    path = tmp_path / "openings.txt"
    path.write_text("".join(f"{length} 0 1 2 3\n" for length in range(2, 30)))
    suite = read_openings(GAME, path)
    assert [opening.name for opening in suite.choose(3, "sequential", 5)] == ["line 1", "line 2", "line 3"]
    drawn = suite.choose(28, "random", 5)
    assert drawn == suite.choose(28, "random", 5)
    assert drawn != suite.choose(28, "random", 6)
    assert set(drawn) == set(suite.openings)
    assert suite.choose(4, "random", 5) == drawn[:4]
    with pytest.raises(UsageError, match=r"expected 29 openings in .*, got 28; play fewer games"):
        suite.choose(29, "random", 5)


def test_bad_openings_are_named_by_line_and_the_others_played(tmp_path: Path) -> None:
    path = tmp_path / "openings.txt"
    bad = "9 0 7\nx\n9 2\n"
    path.write_text("9 0 1 2 3\n" + bad + "y\n")
    suite = read_openings(GAME, path)
    assert [opening.name for opening in suite.openings] == ["line 1"]
    assert suite.warning.startswith(f"{path} has 4 bad entries: line 2: expected players below 4, got [0, 7]; line 3: ")
    assert suite.warning.endswith("; line 4: the game is over; and 1 more")
    path.write_text(bad)
    with pytest.raises(UsageError, match="3 bad entries: line 1: expected players below 4"):
        read_openings(GAME, path)

    class Careless(StayOrLeave):
        def parse_state(self, text: str) -> State:
            return [][len(text)]

    # Whatever a game raises is told of the line.
    with pytest.raises(UsageError, match="3 bad entries: line 1: IndexError: list index out of range"):
        read_openings(Careless(4, length=30), path)
    path.write_text("# nothing\n")
    with pytest.raises(UsageError, match="got none"):
        read_openings(GAME, path)
    with pytest.raises(MoemctsError, match="cannot read"):
        read_openings(GAME, tmp_path / "missing.txt")


@pytest.mark.parametrize("text", ["one line", "one line\n", '{"a": 1}', '{"a": 1}\n', "two\nlines\n", "\x00\x00"])
def test_a_file_that_is_not_ours_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with pytest.raises((ForeignData, DamagedFile)):
        small_match(path)
    assert path.read_text() == text
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]


def test_a_line_that_contradicts_another_is_named(tmp_path: Path) -> None:
    path = tmp_path / "match.jsonl"
    small_match(path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines, lines[3]]))
    assert small_match(path) == small_match()
    record = json.loads(lines[3])
    path.write_text("".join([*lines, json.dumps(record | {"returns": record["returns"][::-1], "plies": 9999}) + "\n"]))
    with pytest.raises(DamagedFile, match=f"line {len(lines) + 1}: game {record['index']} stands there before"):
        small_match(path)


@pytest.mark.parametrize("returns", [[float("nan")] * 4, [1.0, -1.0], [1.0, -1.0, -1.0, float("inf")], "1234", None])
def test_returns_that_are_none_are_named_by_line(tmp_path: Path, returns: object) -> None:
    path = tmp_path / "match.jsonl"
    small_match(path)
    lines = path.read_text().splitlines(keepends=True)
    lines[3] = json.dumps(json.loads(lines[3]) | {"returns": returns}) + "\n"
    path.write_text("".join(lines))
    with pytest.raises(DamagedFile, match="line 4 is not a game: "):
        small_match(path)


def test_games_on_the_clock_of_decisions_are_other_games(tmp_path: Path) -> None:
    path = tmp_path / "match.jsonl"
    small_match(path)
    with pytest.raises(ForeignData, match="agent_timeout"):
        small_match(path, agent_timeout=5.0)


def test_games_that_are_scored_in_another_way_are_other_games(tmp_path: Path) -> None:
    path = tmp_path / "match.jsonl"
    small_match(path)
    with pytest.raises(ForeignData, match=r"score.*half_for_survivors"):
        small_match(path, score=half_for_survivors)
    small_match(tmp_path / "other.jsonl", score=half_for_survivors)
    assert small_match(tmp_path / "other.jsonl", score=half_for_survivors) == small_match(score=half_for_survivors)


def half_for_survivors(returns: FloatArray, player: int) -> float:
    return 0.5 if returns[player] > -1 else 0.0


def test_adjudication_is_refused_where_players_move_at_once() -> None:
    class Zero(StayOrLeave):
        def __init__(self) -> None:
            super().__init__(2)
            self.spec = replace(self.spec, utility_sum=0.0)

    with pytest.raises(UsageError, match="expected a game in which players take turns to adjudicate"):
        duel(Zero(), {"a": LeavesAt(1), "b": LeavesAt(2)}, num_games=2, adjudication=Adjudication())

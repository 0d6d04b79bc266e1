"""Generations are measured and promoted: in every kind of game, by any number of processes."""

from __future__ import annotations

from pathlib import Path

import pytest
from selfplay_for_tests import assert_same, selfplay, work

from moemcts.arena.journal import sort_journal
from moemcts.arena.pairings import PairedResult
from moemcts.errors import DamagedFile
from moemcts.runs.selfplay import matches
from moemcts.runs.selfplay.duels import Duel
from moemcts.runs.selfplay.run import SelfPlay
from moemcts.store import read_json
from moemcts.work import Processes, Workers
from moemcts.work.progress import Advance, ignore_progress


def test_generations_of_a_team_game_are_measured(tmp_path: Path) -> None:
    gauntlet = {"games": 6, "opponents": ["random"], "simulations": 0}
    run = selfplay(tmp_path, game="pommerman-team?max_steps=10", gate="none", generations=1, gauntlet=gauntlet)
    run.do("start", ignore_progress)
    run.do("measure-0000", ignore_progress)
    (measured,) = read_json(tmp_path / "matches" / "measure-0000.json")
    assert sum(measured["counts"]) == 6


SHARED = {
    "generations": 1,
    "promotion": {"games": 6, "parallel": 2},
    "gauntlet": {"games": 4, "parallel": 2, "every": 1},
    "search": {"cache_size": 1000},
}
"""Matches of two or three shares each."""


def test_processes_share_the_matches_of_generations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crews: dict[str, Workers] = {}

    class Watched(Duel):
        def play(self, workers: Workers, advance: Advance) -> PairedResult:
            crews[self.journal.stem] = workers
            return super().play(workers, advance)

    monkeypatch.setattr(matches, "Duel", Watched)
    alone = work(selfplay(tmp_path / "run", **SHARED))
    assert not any(isinstance(one, Processes) for one in crews.values())
    crews.clear()
    config = alone.config.model_copy(update={"workers": 2})
    shared = SelfPlay.create(tmp_path / "shared", config)
    work(shared)
    assert {name: one.count for name, one in crews.items()} == {
        "measure-0000-0": 2,
        "promote-0001": 2,
        "measure-0001-0": 2,
        "measure-0001-1": 2,
    }
    (tmp_path / "shared" / "config.toml").write_bytes((tmp_path / "run" / "config.toml").read_bytes())
    assert_same(tmp_path / "shared", tmp_path / "run")


@pytest.mark.parametrize("content", ["{}", "[1]", '[{"agent": "generation 0"}]'])
def test_a_measurement_that_is_none_is_named(tmp_path: Path, content: str) -> None:
    run = selfplay(tmp_path, generations=1)
    path = tmp_path / "matches" / "measure-0000.json"
    path.parent.mkdir()
    path.write_text(content)
    with pytest.raises(
        DamagedFile, match=r"measure-0000\.json does not hold the results of the games that measure a generation"
    ):
        run.matches.measurements()


def test_matches_are_played_here_while_games_are_played_ahead_or_by_who_has_not_the_folder(tmp_path: Path) -> None:
    for number, changes in enumerate(({"workers": "ray"}, {"workers": 2, "games": {"ahead": True}})):
        run = selfplay(tmp_path / str(number), **changes)
        if isinstance(run.config.workers, int):
            run.do("start", ignore_progress)
            run.playing.begin(1)
        assert run.playing.match_workers().count == 1
        run.playing.stop()


def test_two_groups_of_a_match_are_in_flight_where_those_of_games_are(tmp_path: Path) -> None:
    run = selfplay(tmp_path, games={"in_flight": 3}, gauntlet={"opponents": ["uct?seconds=0.01", "random"]})
    run.do("start", ignore_progress)
    assert [run.matches.measurement(0, number).in_flight for number in (0, 1)] == [1, 3]


def test_the_file_of_a_match_that_is_over_is_in_order(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    path.write_bytes(b'{"format":1}\n{"index":2,"a":0}\n{"index":0}\n{"index":1}\n')
    sort_journal(path, [0, 1])
    assert path.read_bytes() == b'{"format":1}\n{"index":0}\n{"index":1}\n'


def test_whom_the_clock_limits_is_measured_against_one_game_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parallel = {}

    class Watched(Duel):
        def play(self, workers: Workers, advance: Advance) -> PairedResult:
            parallel[list(self.agents)[1].partition("?")[0]] = self.parallel
            return super().play(workers, advance)

    monkeypatch.setattr(matches, "Duel", Watched)
    gauntlet = {"opponents": ["uct?seconds=0.001", "random"], "games": 2, "parallel": 2}
    run = selfplay(tmp_path / "run", generations=1, gauntlet=gauntlet)
    run.do("start", lambda done, total: None)
    run.do("measure-0000", lambda done, total: None)
    assert parallel == {"uct": 1, "random": 2}


def test_generations_of_different_seeds_have_other_start_positions(tmp_path: Path) -> None:
    run_matches = [selfplay(tmp_path / str(seed), seed=seed).matches for seed in (0, 1)]
    boards = [one._board(generation) for one in run_matches for generation in (0, 1, 99, 100, 101, 250)]
    assert len(set(boards)) == len(boards)

"""Self-play from start positions in files: read before it begins, kept in its folder, the same whoever plays."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from selfplay_for_tests import Deadly, Killed, assert_same, selfplay, work

from moemcts.arena.replays import read_jsonl
from moemcts.errors import ForeignData, MoemctsError, UsageError
from moemcts.runs.copies import GAMES, openings_file
from moemcts.runs.finishing import finish
from moemcts.runs.selfplay.run import SelfPlay
from moemcts.store import read_toml
from moemcts.work.progress import NoProgress

STARTS = ["X...O....", "O...X....", "X...O...X"]
OTHERS = [".X..O....", ".X.....O."]
NOT_MEASURED: dict[str, Any] = {"gauntlet": {"games": 0}, "promotion": {"rule": "none"}}


def write(path: Path, positions: list[str]) -> Path:
    path.write_text("\n".join(positions) + "\n")
    return path


def starts_of(run: SelfPlay, generation: int) -> set[str]:
    """Returns where the games of a generation began, as far as it is said."""
    (replay,) = read_jsonl(run.on_disk.of(generation) / "game.jsonl", run.game)
    numbers = range(run.config.games.games)
    assert run.players.start_position(generation, 0).key() == replay.start.key()
    return {run.game.format_state(run.players.start_position(generation, number)) for number in numbers}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("openings")
    write(folder / "starts.txt", STARTS)
    changes = {"games": {"openings": str(folder / "starts.txt")}, "generations": 2, **NOT_MEASURED}
    work(selfplay(folder / "run", **changes))
    return folder


def test_games_begin_in_the_positions_of_a_file(finished: Path) -> None:
    run = SelfPlay.load(finished / "run")
    assert starts_of(run, 1) == starts_of(run, 2) == set(STARTS)


def test_a_run_goes_on_from_anywhere_with_the_positions_it_was_begun_with(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = write(tmp_path / "starts.txt", STARTS)
    run = selfplay(tmp_path / "run", games={"openings": "starts.txt"}, generations=2, **NOT_MEASURED)
    assert read_toml(tmp_path / "run" / "config.toml")["games"]["openings"] == str(file)
    monkeypatch.chdir("/")
    with pytest.raises(Killed):
        work(run, Deadly("generation 1: games", 2))
    write(file, OTHERS)
    with pytest.raises(Killed):
        work(SelfPlay.load(tmp_path / "run"), Deadly("generation 2: games", 1))
    file.unlink()
    work(SelfPlay.load(tmp_path / "run"))
    assert_same(tmp_path / "run" / "generations", finished / "run" / "generations")


def test_processes_play_from_the_same_positions(finished: Path, tmp_path: Path) -> None:
    changes = {"games": {"openings": str(finished / "starts.txt")}, "generations": 1, "workers": 2, **NOT_MEASURED}
    work(selfplay(tmp_path / "run", **changes))
    manifest = "generations/0001/experts/manifest.toml"
    assert (tmp_path / "run" / manifest).read_bytes() == (finished / "run" / manifest).read_bytes()


@pytest.mark.parametrize("section", ["games", "gauntlet"])
def test_files_that_cannot_be_played_from_are_refused_before_anything_is_written(section: str, tmp_path: Path) -> None:
    missing, bad = tmp_path / "missing.txt", write(tmp_path / "bad.txt", ["XXXOO....", "nonsense"])
    for file, complaint in ((missing, "cannot read the openings .*missing.txt"), (bad, "bad.txt has 2 bad entries")):
        with pytest.raises(MoemctsError, match=complaint):
            selfplay(tmp_path / "run", **{section: {"openings": str(file)}})
    assert not (tmp_path / "run").exists()


def test_a_gauntlet_has_a_position_for_every_pair_of_its_games(tmp_path: Path) -> None:
    few = {"openings": str(write(tmp_path / "few.txt", STARTS[:1])), "games": 4}
    with pytest.raises(UsageError, match=r"expected 2 openings in .*few.txt, got 1; play fewer games"):
        selfplay(tmp_path / "run", gauntlet=few)
    selfplay(tmp_path / "run", gauntlet=few | {"opponents": [], "previous": False})


def test_a_gauntlet_goes_on_with_the_positions_it_was_begun_with(tmp_path: Path) -> None:
    file = write(tmp_path / "starts.txt", STARTS)
    gauntlet = {"openings": str(file), "games": 4, "every": 1, "previous": False}
    run = selfplay(tmp_path / "run", generations=2, gauntlet=gauntlet, promotion={"rule": "none"})
    with pytest.raises(Killed):
        work(run, Deadly("generation 1: measurement", 1))
    write(file, OTHERS)
    work(SelfPlay.load(tmp_path / "run"))
    for path in (tmp_path / "run" / "matches").glob("measure-*.jsonl"):
        assert '"line 1"' in path.read_text() or '"line 2"' in path.read_text()
    edit = next((tmp_path / "run" / "openings").rglob("starts.txt"))
    write(edit, OTHERS)
    with pytest.raises(ForeignData, match=r"part measure-0000 was made with other settings: content of gauntlet\.open"):
        work(SelfPlay.load(tmp_path / "run"))


def test_positions_that_were_edited_since_are_refused(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished / "run", tmp_path / "run")
    run = SelfPlay.load(tmp_path / "run")
    file = openings_file(run.folder, run.config, GAMES)
    assert file is not None
    assert file.path == tmp_path / "run" / "openings" / "games" / "starts.txt"
    write(file.path, OTHERS)
    with pytest.raises(ForeignData, match=r"part start was made with other settings: content of games\.openings was"):
        work(SelfPlay.load(tmp_path / "run"))
    file.path.unlink()
    with pytest.raises(ForeignData, match=r"content of games\.openings was '[0-9a-f]{16}' and is None"):
        work(SelfPlay.load(tmp_path / "run"))


def test_lines_that_are_no_positions_are_told(tmp_path: Path) -> None:
    told: list[str] = []

    class Heard(NoProgress):
        def say(self, text: str) -> None:
            told.append(text)

    file = write(tmp_path / "starts.txt", [*STARTS, "nonsense"])
    finish(selfplay(tmp_path / "run", games={"openings": str(file)}, generations=1, **NOT_MEASURED), Heard())
    copy = tmp_path / "run" / "openings" / "games" / "starts.txt"
    assert told[0].startswith(f"warning: {copy} has 1 bad entry: line 4: ")

"""A run's games from start positions in a file: read before it begins, kept in its folder, those it was begun with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from runs_for_tests import EXPERIMENT, experiment

from moemcts.errors import ForeignData, MoemctsError, UsageError
from moemcts.runs import Experiment
from moemcts.runs.experiment.growth import extend_experiment, save_extension
from moemcts.runs.finishing import finish
from moemcts.store import read_toml
from moemcts.work.progress import NoProgress

STARTS = ["X...O....", "O...X....", "X...O...X"]
OTHERS = [".X..O....", ".X.....O."]


def write(path: Path, positions: list[str]) -> Path:
    path.write_text("\n".join(positions) + "\n")
    return path


def from_file(folder: Path, file: Path | str, **match: Any) -> Experiment:
    return experiment(folder, match={**EXPERIMENT["match"], "openings": str(file), **match})


def keys_of(run: Experiment) -> set[str]:
    """Returns where the games that were played have begun."""
    lines = [line for path in (run.folder / "matches").glob("*.jsonl") for line in path.read_text().splitlines()[1:]]
    return {json.loads(line)["start_key"] for line in lines}


def test_a_run_plays_from_anywhere_the_positions_it_was_begun_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = write(tmp_path / "starts.txt", STARTS)
    run = from_file(tmp_path / "run", "starts.txt")
    assert read_toml(run.folder / "config.toml")["match"]["openings"] == str(file)
    file.unlink()
    monkeypatch.chdir("/")
    report = finish(Experiment.load(run.folder), NoProgress())
    assert f"games begin in positions of {file}" in report.sections[-1].text
    expected = {f"{run.game.parse_state(position).key():016x}" for position in STARTS}
    assert keys_of(run) <= expected
    assert len(keys_of(run)) > 1


def test_positions_that_were_edited_since_are_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "starts.txt", STARTS)
    run = from_file(tmp_path / "run", file)
    finish(run, NoProgress())
    write(file, OTHERS)
    finish(Experiment.load(run.folder), NoProgress())
    write(run.folder / "openings" / "match" / "starts.txt", OTHERS)
    with pytest.raises(ForeignData, match=r"made with other settings: content of match\.openings was"):
        finish(Experiment.load(run.folder), NoProgress())


def test_files_that_cannot_be_played_from_are_refused_before_anything_is_learned(tmp_path: Path) -> None:
    few = write(tmp_path / "few.txt", STARTS[:1])
    for file, complaint in (
        (tmp_path / "missing.txt", "cannot read the openings .*missing.txt"),
        (write(tmp_path / "bad.txt", ["XXXOO....", "nonsense"]), "bad.txt has 2 bad entries"),
        (few, "expected 2 openings in .*few.txt, got 1; play fewer games"),
    ):
        with pytest.raises(MoemctsError, match=complaint):
            from_file(tmp_path / "run", file)
    assert not (tmp_path / "run").exists()
    run = from_file(tmp_path / "run", few, games=2)
    with pytest.raises(UsageError, match=r"expected 3 openings in .*few.txt, got 1"):
        extend_experiment(run, changes={"match.games": 6})


def test_a_run_that_has_not_played_yet_may_gain_openings(tmp_path: Path) -> None:
    run = experiment(tmp_path / "run")
    file = write(tmp_path / "starts.txt", STARTS)
    larger = extend_experiment(run, changes={"match.openings": str(file)})
    save_extension(larger)
    file.unlink()
    finish(Experiment.load(run.folder), NoProgress())
    with pytest.raises(MoemctsError, match=r"cannot read the openings"):
        extend_experiment(Experiment.load(run.folder), changes={"match.openings": str(tmp_path / "others.txt")})
    with pytest.raises(ForeignData, match=r"match\.openings was"):
        extend_experiment(
            Experiment.load(run.folder),
            changes={"match.openings": str(write(tmp_path / "others.txt", STARTS))},
        )


@pytest.mark.parametrize("become", [None, STARTS[:1]], ids=["lost", "edited"])
def test_a_run_that_grows_before_its_first_game_keeps_the_positions_it_has(
    become: list[str] | None, tmp_path: Path
) -> None:
    file = write(tmp_path / "starts.txt", STARTS)
    run = from_file(tmp_path / "run", file)
    file.unlink() if become is None else write(file, become)
    save_extension(extend_experiment(run, gates=["plies?cuts=7"]))
    assert (run.folder / "openings" / "match" / "starts.txt").read_text().split() == STARTS


def test_a_run_from_before_files_were_kept_goes_on_with_the_file_itself(tmp_path: Path) -> None:
    run = from_file(tmp_path / "run", write(tmp_path / "starts.txt", STARTS))
    (run.folder / "openings" / "match" / "starts.txt").unlink()
    finish(Experiment.load(run.folder), NoProgress())
    larger = extend_experiment(Experiment.load(run.folder), changes={"match.games": 6})
    save_extension(larger)
    finish(Experiment.load(run.folder), NoProgress())
    assert not (run.folder / "openings" / "match" / "starts.txt").exists()

"""Copies of what settings name: those that a killed start has left are not taken for what is there now."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from runs_for_tests import EXPERIMENT, SMALL, experiment
from selfplay_for_tests import Killed, selfplay

from moemcts.gates import PhaseGate
from moemcts.learn.fingerprint import gate_fingerprint
from moemcts.learn.gates.fitting import fit_clusters
from moemcts.learn.gates.saved import save_gate
from moemcts.plugins import plugins
from moemcts.runs import Experiment, Training, TrainingConfig
from moemcts.runs.experiment.growth import extend_experiment, save_extension
from moemcts.runs.settings import validate
from moemcts.runs.sources import open_sources


@pytest.fixture
def gates(copy: Path, tmp_path: Path) -> list[Path]:
    """Two saved gates, of two clusters and of three."""
    data = open_sources(Experiment.load(copy).config.data, copy / "data", plugins().game("tictactoe")).training
    files = [tmp_path / f"{number}.safetensors" for number in (2, 3)]
    for number, file in enumerate(files, 2):
        save_gate(file, fit_clusters(data, number, seed=0).gate)
    return files


def killed(path: Path, text: str) -> None:
    """Stands for whoever would write the settings."""
    raise Killed


def _training(folder: Path, gate: str) -> PhaseGate:
    return Training.create(folder, validate({**SMALL, "gate": gate}, TrainingConfig)).gate


def _selfplay(folder: Path, gate: str) -> PhaseGate:
    return selfplay(folder, gate=gate).gate


def _experiment(folder: Path, gate: str) -> PhaseGate:
    return experiment(folder, gates=[gate]).trainings.gate(gate)


def _growth(folder: Path, gate: str) -> PhaseGate:
    save_extension(extend_experiment(Experiment.load(folder), gates=[gate]))
    return Experiment.load(folder).trainings.gate(gate)


@pytest.mark.parametrize("begin", [_training, _selfplay, _experiment, _growth])
def test_a_gate_that_was_made_anew_since_a_start_was_killed_is_the_new_one(
    begin: Callable[[Path, str], PhaseGate],
    copy: Path,
    gates: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = copy if begin is _growth else tmp_path / "run"
    monkeypatch.setattr("moemcts.runs.run.write_text", killed)
    with pytest.raises(Killed):
        begin(folder, str(gates[0]))
    monkeypatch.undo()
    (left,) = (folder / "gates").iterdir()
    assert left.read_bytes() == gates[0].read_bytes()
    shutil.copy(gates[1], gates[0])
    game = plugins().game("tictactoe")
    found = gate_fingerprint(begin(folder, str(gates[0])), game)
    assert left.read_bytes() == gates[1].read_bytes()
    assert found == gate_fingerprint(plugins().gate(str(gates[1]), game), game)


def test_positions_that_were_edited_since_a_start_was_killed_are_the_new_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "starts.txt"
    match: dict[str, Any] = {**EXPERIMENT["match"], "openings": str(file)}
    file.write_text("X...O....\nO...X....\n")
    monkeypatch.setattr("moemcts.runs.run.write_text", killed)
    with pytest.raises(Killed):
        experiment(tmp_path / "run", match=match)
    monkeypatch.undo()
    file.write_text(".X..O....\n.X.....O.\n")
    run = experiment(tmp_path / "run", match=match)
    expected = {run.game.parse_state(line).key() for line in file.read_text().splitlines()}
    found = {opening.start.key() for opening in run.matches.boards.openings(0, 4) if not isinstance(opening.start, int)}
    assert found == expected

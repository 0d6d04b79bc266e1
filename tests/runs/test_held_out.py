"""Losses on held-out samples are measured once, kept, and read from then on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from runs_for_tests import experiment

from moemcts.errors import DamagedFile
from moemcts.learn import assessment
from moemcts.runs import Experiment
from moemcts.runs.experiment import held_out
from moemcts.runs.experiment.held_out import losses_of, num_evaluations, num_processes
from moemcts.runs.finishing import finish
from moemcts.store import read_json, write_text
from moemcts.work.progress import NoProgress

EXPERTS = [f"expert for phase {number}" for number in range(3)]
TEAMS = ("the experts by separated", "single?epochs=2")
COUNTED = assessment.phase_losses


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Returns the rows of every measurement from here on."""
    found: list[list[str]] = []

    def counted(evaluators: Any, *arguments: Any) -> Any:
        found.append(list(evaluators))
        return COUNTED(evaluators, *arguments)

    monkeypatch.setattr(assessment, "phase_losses", counted)
    return found


def test_a_finished_run_is_not_measured_again(copy: Path, measured: list[list[str]]) -> None:
    run = Experiment.load(copy)
    report = json.loads((copy / "report" / "numbers.json").read_text())
    assert json.loads(json.dumps(finish(run, NoProgress()).numbers["losses"])) == report["losses"]
    assert measured == []


def test_losses_of_other_experts_are_measured_again(copy: Path, measured: list[list[str]]) -> None:
    run = Experiment.load(copy)
    single, arm = run.arms
    before = losses_of(run.trainings, arm, 0)
    manifest = copy / "experts" / "single-0" / "manifest.toml"
    write_text(manifest, manifest.read_text() + "\n")
    told: list[tuple[int, int]] = []
    assert losses_of(run.trainings, arm, 0, lambda done, total: told.append((done, total))) == before
    assert losses_of(run.trainings, single, 0)[0].name == "seed 0"
    assert measured == [["single", *EXPERTS, "mixture"], ["seed 0"]]
    size = len(run.sources().held_out(run.config.training.validation_fraction, 0))
    assert told[-1] == (size, size)


def test_a_file_that_holds_something_else_is_named(copy: Path) -> None:
    run = Experiment.load(copy)
    path = copy / "losses" / "plies-0.json"
    write_text(path, json.dumps({**read_json(path), "rows": [{"policy": 1}]}))
    with pytest.raises(DamagedFile, match=r"plies-0\.json holds no losses; delete it to measure them again"):
        losses_of(run.trainings, run.arms[1], 0)
    write_text(path, "{")
    with pytest.raises(DamagedFile, match=r"plies-0\.json is not valid JSON: .*; delete it to measure them again"):
        losses_of(run.trainings, run.arms[1], 0)


def test_one_network_for_all_phases_is_measured_once(tmp_path: Path, measured: list[list[str]]) -> None:
    run = experiment(tmp_path / "run", schemes=["separated", "single?epochs=2"])
    report = finish(run, NoProgress())
    assert measured == [["seed 0"], ["single", *EXPERTS, "mixture"], ["single", "mixture"]]
    assert [row["name"] for row in report.numbers["losses"]["single?epochs=2"]] == ["single", "mixture"]
    page = (run.folder / "report" / "report.md").read_text()
    part, alone = (page.partition(f"## What {who} learned")[2].partition("## ")[0] for who in TEAMS)
    rows = [[line.split(" | ")[0] for line in text.splitlines() if line.startswith("| ")] for text in (part, alone)]
    assert rows[0].count("| mixture") == 2
    assert rows[1].count("| single?epochs=2") == 2
    assert ["The mixture asks" in text for text in (part, alone)] == [True, False]
    assert "mixture" not in alone
    assert [num_evaluations(arm, run.trainings.gate(arm.gate)) for arm in run.arms] == [len(rows) for rows in measured]


def test_processes_are_started_for_many_samples_only(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Experiment.load(copy)
    trainings, losses = ([part for part in run.parts() if part.task == task] for task in ("training", "losses"))
    assert [num_processes(run.trainings, parts, 4) for parts in (trainings, losses, [])] == [2, 1, 0]
    monkeypatch.setattr(held_out, "MANY", 10)
    assert num_processes(run.trainings, losses, 4) == 2

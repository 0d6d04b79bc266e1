"""A phase without samples is found before anything is trained, whoever's turn would come first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from runs_for_tests import EXPERIMENT, command, experiment

from moemcts.errors import MoemctsError
from moemcts.runs import Experiment, ExperimentConfig
from moemcts.runs.experiment.growth import extend_experiment, save_extension
from moemcts.runs.finishing import finish
from moemcts.runs.settings import validate
from moemcts.work.progress import NoProgress

EMPTY = "plies?cuts=0,3"
"""No ply comes before the first."""


def test_an_empty_phase_of_the_last_gate_is_found_before_the_first_training(tmp_path: Path) -> None:
    run = experiment(tmp_path / "run", gates=["plies", EMPTY])
    with pytest.raises(MoemctsError) as raised:
        finish(run, NoProgress())
    said = str(raised.value)
    assert said.startswith(f"no samples to train 'phase 0' on: gate {EMPTY!r} finds 0 of phase 0, ")
    assert said.endswith(
        "; start another run, with another gate or other cuts on the same samples, "
        f"--data {tmp_path}/run/data --out OTHER, or with more samples"
    )
    assert not (run.folder / "training").exists()
    assert [part.name for part in run.parts() if run.is_done(part)] == ["data"]


def test_what_the_message_names_works(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "--game",
        "tictactoe",
        "--network",
        EXPERIMENT["network"],
        "--preset",
        "smoke",
        "--data",
        finished / "data",
    ]
    words += ["--scheme", "staged", "--set", "match.games=2", "--set", "match.raw_games=0", "--workers", 1]
    first, second = (["--gate", gate, "--out", tmp_path / name] for gate, name in ((EMPTY, "one"), ("plies", "two")))
    assert command("run", *words, *first, monkeypatch=monkeypatch) == 1
    assert f"--data {finished}/data --out OTHER" in capsys.readouterr().err
    assert command("run", *words, *second, monkeypatch=monkeypatch) == 0


def test_a_gate_with_an_empty_phase_is_not_gained(copy: Path) -> None:
    before = (copy / "config.toml").read_bytes()
    with pytest.raises(MoemctsError, match="no samples to train 'phase 0' on"):
        save_extension(extend_experiment(Experiment.load(copy), gates=[EMPTY]))
    assert (copy / "config.toml").read_bytes() == before
    # Games are gained without a look at the samples, which may be gone.
    (copy / "data").rename(copy / "gone")
    save_extension(extend_experiment(Experiment.load(copy), changes={"match.games": 6}))


def test_a_phase_that_a_later_seed_holds_out_is_found_before_the_first_training(tmp_path: Path) -> None:
    late: dict[str, Any] = {
        "gates": ["plies?cuts=7"],
        "training": {**EXPERIMENT["training"], "validation_fraction": 0.9},
    }
    run = experiment(tmp_path / "run", num_seeds=5, **late)
    run.do("data", lambda done, total: None)
    gate, training = run.trainings.gate(run.gates[0]), run.sources().training
    counts = [training.split(0.9, seed)[0].phase_counts(gate)["phase 1"] for seed in run.trainings.seeds]
    assert counts[0] > 0
    assert 0 in counts
    with pytest.raises(MoemctsError, match=r"no samples to train 'phase 1' on: .* 0 of phase 1; start another run"):
        finish(run, NoProgress())
    assert not (run.folder / "training").exists()


def test_schemes_that_use_all_samples_need_none_of_a_phase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {**EXPERIMENT, "gates": [EMPTY], "schemes": ["weighted", "single?epochs=2"]}
    run = Experiment.prepare(tmp_path / "run", validate(settings, ExperimentConfig))
    monkeypatch.setattr(Experiment, "sources", lambda self: pytest.fail("samples are not looked at"))
    run.check_samples()

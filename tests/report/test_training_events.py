"""What trainings measure is drawn by TensorBoard, whichever process trains."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from moemcts.errors import MissingExtra
from moemcts.report import events, training_events
from moemcts.report.training_events import TrainingEvents, mirror_to_tensorboard, points


def entry(stage: str, step: int, loss: float, **more: Any) -> dict[str, Any]:
    losses = {"loss": loss, "weight": 3.0}
    return {"stage": stage, "step": step, "training": losses, "validation": None, "phases": {"late": losses}, **more}


def write(folder: Path, *entries: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in entries))


def drawn(folder: Path, tag: str = "training/loss") -> list[tuple[int, float]]:
    """Returns the steps and values that TensorBoard shows."""
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator").EventAccumulator(
        str(folder)
    )
    accumulator.Reload()
    known = tag in accumulator.Tags()["scalars"]
    return [(one.step, round(one.value, 4)) for one in accumulator.Scalars(tag)] if known else []


def test_a_measurement_is_named_by_its_samples_and_stages_follow_each_other() -> None:
    entries = [entry("all", 4, 2.0), entry("late", 2, 1.0, test={"late": {"loss": 0.5}})]
    timings = [{"stage": "late", "step": 2, "positions_per_second": 900.0, "waiting": 0.1}]
    assert list(points(entries, timings, first=1)) == [
        (6, "training/loss", 1.0),
        (6, "validation late/loss", 1.0),
        (6, "test late/loss", 0.5),
        (6, "speed/positions per second", 900.0),
        (6, "speed/share waiting for data", 0.1),
    ]
    lost = [{}, {"stage": "late", "step": 2, "waiting": 0.1}]
    assert [one[1] for one in points(entries, lost, first=1)][3:] == ["speed/share waiting for data"]


def test_every_step_of_a_training_by_stages_has_one_value() -> None:
    """As `staged` of three phases: two experts, one after the other, have a stage of the same name."""
    entries = [
        entry(stage, step, 1.0, experts=experts)
        for experts, stage in [(["a"], "a"), (["b", "c"], "a"), (["c"], "b"), (["c"], "b")]
        for step in (250, 300)
    ]
    steps = [step for step, name, _ in points(entries) if name == "training/loss"]
    assert steps == [250, 300, 550, 600, 850, 900, 1150, 1200]


def test_every_training_of_a_run_has_a_folder_of_its_own(tmp_path: Path) -> None:
    write(tmp_path / "training" / "steps-0", entry("all", 1, 2.0), entry("all", 2, 9.0, spike=True))
    write(tmp_path / "training", entry("all", 1, 4.0))
    with mirror_to_tensorboard(tmp_path):
        pass
    assert drawn(tmp_path / "tensorboard" / "steps-0") == [(1, 2.0)]
    assert drawn(tmp_path / "tensorboard" / "training") == [(1, 4.0)]


def test_what_is_written_meanwhile_is_drawn_and_what_is_put_back_withdrawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training_events, "SECONDS_BETWEEN_LOOKS", 0.01)
    log, out = tmp_path / "training" / "x", tmp_path / "tensorboard" / "x"
    with mirror_to_tensorboard(tmp_path):
        write(log, entry("all", 1, 3.0), entry("all", 2, 2.0))
        end = time.monotonic() + 20
        while not (out.exists() and drawn(out)) and time.monotonic() < end:
            time.sleep(0.02)
        assert drawn(out) == [(1, 3.0), (2, 2.0)]
        write(log, entry("all", 1, 2.5))
    assert drawn(out) == [(1, 2.5)]
    with mirror_to_tensorboard(tmp_path):
        pass
    assert drawn(out) == [(1, 2.5)]


def test_a_log_that_cannot_be_read_does_not_stop_a_training(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    (tmp_path / "metrics.jsonl").write_text("nonsense\n")
    copies = TrainingEvents(tmp_path)
    copies.update()
    copies.close()
    assert not (tmp_path / "tensorboard").exists()


def test_without_tensorboard_one_line_says_what_brings_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install '\.\[tensorboard\]'"), mirror_to_tensorboard(tmp_path):
        pass
    with mirror_to_tensorboard(tmp_path, is_wanted=False):
        pass

"""TensorBoard event files with the measurements of trainings, written as they go on."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from moemcts.errors import MoemctsError
from moemcts.learn.training.metrics_log import read_log, read_times
from moemcts.report.curves import running_steps
from moemcts.report.events import EVENTS, check_installed, writer
from moemcts.report.outcomes import Entry

METRICS, TIMINGS = "metrics.jsonl", "timings.jsonl"
SECONDS_BETWEEN_LOOKS = 2.0
_SPEEDS = {"positions_per_second": "positions per second", "waiting": "share waiting for data"}


@contextlib.contextmanager
def mirror_to_tensorboard(folder: Path, *, is_wanted: bool = True) -> Iterator[None]:
    """Copies the measurements of a run's trainings, made by any process, to event files until the block exits.

    Earlier measurements are copied as well. Raises MissingExtra if TensorBoard is not installed.
    """
    if not is_wanted:
        yield
        return
    events, is_stopped = TrainingEvents(folder), threading.Event()

    def follow() -> None:
        while not is_stopped.wait(SECONDS_BETWEEN_LOOKS):
            events.update()

    thread = threading.Thread(target=follow, name="tensorboard", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_stopped.set()
        thread.join()
        events.update()
        events.close()


class TrainingEvents:
    """Event files under `tensorboard/`, with one folder per training of a run."""

    def __init__(self, folder: Path) -> None:
        """Raises MissingExtra if TensorBoard is not installed."""
        check_installed()
        self._folder = folder
        self._writers: dict[Path, Any] = {}
        self._num_written: dict[Path, int] = {}

    def update(self) -> None:
        """Writes what was measured since the last update; a log that is just being rewound is skipped."""
        for log in sorted(self._folder.rglob(METRICS)):
            with contextlib.suppress(MoemctsError, OSError):
                self._copy(log)

    def close(self) -> None:
        """Closes the files."""
        for event_writer in self._writers.values():
            event_writer.close()

    def _copy(self, log: Path) -> None:
        entries = [entry for entry in read_log(log) if not entry.get("spike")]
        timings = read_times(log.with_name(TIMINGS))
        num_written = self._num_written.get(log, 0)
        if len(entries) == num_written:
            return
        if len(entries) < num_written or log not in self._writers:
            # A training that was rolled back repeats those steps: their events are withdrawn.
            self._writers[log] = writer(self._folder / EVENTS / self._name(log), first_step=0)
            num_written = 0
        event_writer = self._writers[log]
        for step, tag, value in points(entries, timings, first=num_written):
            event_writer.add_scalar(tag, value, step)
        event_writer.flush()
        self._num_written[log] = len(entries)

    def _name(self, log: Path) -> str:
        """Returns the folder of a training below `training/`, or its last part."""
        parts = log.parent.relative_to(self._folder).parts
        return "-".join(parts[1:] if parts[:1] == ("training",) and len(parts) > 1 else parts) or "training"


def points(
    entries: Sequence[Entry], timings: Sequence[Mapping[str, Any]] = (), *, first: int = 0
) -> Iterator[tuple[int, str, float]]:
    """Yields step, tag and value of all measurements from index `first` on.

    Tags name the samples that a loss was measured on: `training/loss`, `validation/policy`, `validation opening/loss`.
    Steps of later stages follow those of earlier ones.
    """
    # Timings do not affect results: where they are missing or in an older format, their points are left out.
    speeds = {_stage_key(timing): timing for timing in timings}
    for entry, step in list(zip(entries, running_steps(entries), strict=True))[first:]:
        step_number = int(step)
        for kind in ("training", "validation"):
            yield from ((step_number, f"{kind}/{term}", value) for term, value in _terms(entry.get(kind)))
        for kind, label in (("phases", "validation"), ("test", "test")):
            for phase, losses in (entry.get(kind) or {}).items():
                yield from ((step_number, f"{label} {phase}/{term}", value) for term, value in _terms(losses))
        speed = speeds.get(_stage_key(entry), {})
        for key, label in _SPEEDS.items():
            if key in speed:
                yield step_number, f"speed/{label}", speed[key]


def _stage_key(entry: Mapping[str, Any]) -> tuple[object, ...]:
    """Returns the experts, stage and step of a line: several experts may have a stage of the same name."""
    return str(entry.get("experts")), entry.get("stage"), entry.get("step")


def _terms(losses: Mapping[str, float] | None) -> Iterator[tuple[str, float]]:
    return ((term, value) for term, value in (losses or {}).items() if term != "weight" and value is not None)

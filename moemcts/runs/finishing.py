"""Finishes runs of any kind and writes their reports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from moemcts.errors import MoemctsError, UsageError
from moemcts.report.experiment import experiment_report
from moemcts.report.page import Report, write_report
from moemcts.report.selfplay import selfplay_report
from moemcts.report.training import training_report
from moemcts.runs.experiment.run import Experiment
from moemcts.runs.run import Run, kind_of
from moemcts.runs.selfplay.outcomes import outcomes_of
from moemcts.runs.selfplay.run import SelfPlay
from moemcts.runs.training import Training
from moemcts.work.progress import Progress

REPORT = "report"
"""The subfolder of a run for its report."""

_REPORTS: dict[type[Run[Any]], Callable[[Any], Report]] = {
    Experiment: lambda run: experiment_report(run.outcomes()),
    Training: lambda run: training_report(run.outcomes()),
    SelfPlay: lambda run: selfplay_report(outcomes_of(run)),
}
_KINDS = {kind.kind: kind for kind in _REPORTS}


def ignore_report(report: Report) -> None:
    """Does nothing with a report."""


def finish(run: Run[Any], progress: Progress, on_report: Callable[[Report], None] = ignore_report) -> Report:
    """Finishes a run, passes its report to `on_report`, then writes and returns it; raises as `Run.locked`."""
    if run.warning:
        progress.say(f"warning: {run.warning}")
    with run.locked(), run.timed():
        run.work(progress)
        report = _REPORTS[type(run)](run)
        on_report(report)
        write_report(run.folder / REPORT, report)
        return report


def rewrite(folder: Path, *, allow_programs: bool = False) -> Report:
    """Rewrites the report of a finished run and returns it; raises as `read` and `Run.locked`.

    Raises MoemctsError if the run is not finished.
    """
    run = read(folder, allow_programs=allow_programs)
    with run.locked():
        if run.pending_parts():
            raise MoemctsError(f"{folder} is not finished yet; resume it: {run.resume_command}")
        report = _REPORTS[type(run)](run)
        write_report(folder / REPORT, report)
        return report


def read(folder: Path, *, allow_programs: bool = False) -> Run[Any]:
    """Opens a run of any kind for reading; raises as `Run.read`, and UsageError if its kind is unknown."""
    kind = kind_of(folder)
    if kind not in _KINDS:
        raise UsageError(f"expected {' or '.join(_KINDS)} as the kind of the run in {folder}, got {kind!r}")
    return _KINDS[kind].read(folder, allow_programs=allow_programs)

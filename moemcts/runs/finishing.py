"""A run of any kind, from what is done of it to its report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from moemcts.errors import MoemctsError, UsageError
from moemcts.report.findings import findings
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
"""The folder in a run's that its report is in."""

_REPORTS: dict[type[Run[Any]], Callable[[Any], Report]] = {
    Experiment: lambda run: findings(run.outcomes()),
    Training: lambda run: training_report(run.outcomes()),
    SelfPlay: lambda run: selfplay_report(outcomes_of(run)),
}
_KINDS = {kind.kind: kind for kind in _REPORTS}


def untold(report: Report) -> None:
    """Tells nobody."""


def finish(run: Run[Any], progress: Progress, tell: Callable[[Report], None] = untold) -> Report:
    """Does whatever is not done yet of a run, tells its report, writes and returns it; raises as `Run.opened`."""
    if run.complaint:
        progress.say(f"warning: {run.complaint}")
    with run.opened(), run.timed():
        run.work(progress)
        report = _REPORTS[type(run)](run)
        tell(report)
        write_report(run.folder / REPORT, report)
        return report


def rewrite(folder: Path, *, allow_programs: bool = False) -> Report:
    """Writes the report of a run that is done anew, and returns it; raises as `read` and `Run.opened`.

    Raises MoemctsError where the run is not done.
    """
    run = read(folder, allow_programs=allow_programs)
    with run.opened():
        if run.waiting():
            raise MoemctsError(f"{folder} is not done yet; go on with it: {run.command} --resume {folder}")
        report = _REPORTS[type(run)](run)
        write_report(folder / REPORT, report)
        return report


def read(folder: Path, *, allow_programs: bool = False) -> Run[Any]:
    """Opens a run of any kind to look at; raises as `Run.read`, and UsageError for a kind that there is not."""
    kind = kind_of(folder)
    if kind not in _KINDS:
        raise UsageError(f"expected {' or '.join(_KINDS)} as the kind of the run in {folder}, got {kind!r}")
    return _KINDS[kind].read(folder, allow_programs=allow_programs)

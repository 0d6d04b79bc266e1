"""`moemcts reproduce`: repeats an experiment of a paper and shows its numbers beside the paper's."""

from __future__ import annotations

import contextlib
import io
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moemcts.errors import MoemctsError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moemcts.runs.papers import PaperList
    from moemcts.runs.reproduction import Reproduction

ALL = "all"


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Start here")(reproduce)


def reproduce(
    context: typer.Context,
    experiment: Annotated[
        str | None, typer.Argument(help="The experiment, or `all`; without it they are listed.")
    ] = None,
    preset: Annotated[str, typer.Option(help="smoke, laptop or paper.")] = "smoke",
    data: Annotated[
        Path | None,
        typer.Option(help="Games to learn from, a file or a dataset; preset paper needs them where papers do."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder that experiments of one size share, runs/papers-PRESET by default; resumed if it exists."
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="One size of the preset, such as samples=2000; may be repeated, and of one size the last counts.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the commands, then exit.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Repeat an experiment of the papers and show its published numbers beside ours."""
    from moemcts.cli.consoles import print_json
    from moemcts.plugins import plugins
    from moemcts.runs.papers import join

    papers = join(plugins().papers)
    if experiment is None:
        _list(papers, as_json)
        return
    names = [listed.name for listed in papers.experiment] if experiment == ALL else [experiment]
    command_line: Any = context.find_root().command
    runs = [_prepare(papers, name, preset, data, out, changes or []) for name in names]
    if data is not None and not any(run.uses_data for run in runs):
        raise UsageError(f"--data has no effect in {experiment}, whose games are played here; leave it out")
    for run in runs:
        run.check(command_line.commands)
    if dry_run:
        if not as_json:
            _print_commands(runs)
            return
        results: list[object] = [{"experiment": run.experiment.name, "commands": _commands(run)} for run in runs]
    else:
        results = [_run_experiment(run, command_line, as_json) for run in runs]
    if as_json:
        print_json(results if experiment == ALL else results[0])


def _prepare(
    papers: PaperList, name: str, preset: str, data: Path | None, out: Path | None, changes: Sequence[str]
) -> Reproduction:
    from moemcts.cli.outputs import check_writable_folder
    from moemcts.runs.reproduction import Reproduction

    if out is not None:
        check_writable_folder(out)
    if data is not None and not data.exists():
        raise UsageError(f"expected a file of games or a dataset, found nothing at {data}")
    sizes = papers.size(preset, changes)
    folder = (out or Path("runs") / f"papers-{preset}").absolute()
    return Reproduction(papers, papers.find(name), sizes, folder, data)


def _run_experiment(run: Reproduction, command_line: Any, as_json: bool) -> object:
    """Runs an experiment and writes its report; returns its numbers."""
    from moemcts.cli.progress import ConsoleProgress, interruptible
    from moemcts.report.page import write_report
    from moemcts.store import exclusive

    progress = ConsoleProgress()
    name = run.experiment.name
    resume_hint = "everything finished is kept, the same command resumes"
    with interruptible(progress, lambda: resume_hint), exclusive(run.folder):
        run.work(partial(run_command, command_line), progress.say)
        report = run.report()
        if not as_json:
            typer.echo(f"{report.title}\n{report.summary}\n\n{report.sections[0].tables[0].text()}")
        write_report(run.folder / name / "report", report)
    if not as_json:
        typer.echo(f"report: {run.folder / name / 'report' / 'report.html'}\n")
    return report.numbers


def run_command(command_line: Any, words: Sequence[str]) -> str:
    """Runs a command of this command line in this process and returns its output; raises MoemctsError if it fails."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        code = command_line.main(list(words), prog_name="moemcts", standalone_mode=False)
    if code == 130:
        raise KeyboardInterrupt
    if isinstance(code, int) and code:
        raise MoemctsError(f"moemcts {' '.join(words)} failed with exit code {code}")
    return output.getvalue()


def _list(papers: PaperList, as_json: bool) -> None:
    from moemcts.cli.consoles import print_json

    if as_json:
        print_json([experiment.model_dump(mode="json") for experiment in papers.experiment])
        return
    from moemcts.report.tables import Table

    rows = [[experiment.name, experiment.title, "; ".join(experiment.sources)] for experiment in papers.experiment]
    typer.echo(Table(["experiment", "what", "published in"], rows).text())


def _print_commands(runs: Sequence[Reproduction]) -> None:
    import shlex

    for run in runs:
        typer.echo(f"# {run.experiment.name}")
        for command in _commands(run):
            typer.echo(shlex.join(command))


def _commands(run: Reproduction) -> list[list[str]]:
    """Returns the words of an experiment's commands, in order."""
    return [["moemcts", *run.command(step)] for step in run.steps]

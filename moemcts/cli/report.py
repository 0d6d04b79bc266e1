"""`moemcts report`: rewrites the reports of finished runs, and compares several runs in one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moemcts.cli.options import AllowPrograms
from moemcts.errors import UsageError

if TYPE_CHECKING:
    from moemcts.report.page import Report

ROWS = "rows.jsonl"
"""The file with the rows of a suite that is done."""


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Measure")(report)


def report(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs that are done; or of suites, whose rows join.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the table of several runs; printed alone without it.")
    ] = None,
    allow_programs: AllowPrograms = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")] = False,
) -> None:
    """Rewrite the reports of runs, and compare several runs in one table."""
    from moemcts.cli.consoles import print_json
    from moemcts.cli.outputs import check_output_folder
    from moemcts.cli.printing import printable
    from moemcts.report.comparison import comparison
    from moemcts.report.page import write_report
    from moemcts.runs.config_file import CONFIG
    from moemcts.runs.finishing import rewrite

    if len({folder.resolve() for folder in runs}) < len(runs):
        raise UsageError("expected different runs, got one twice")
    for folder in runs:
        if not any((folder / file).exists() for file in (CONFIG, ROWS)):
            raise UsageError(
                f"expected a run with a {CONFIG}, or a suite that is done, with a {ROWS}, in {folder}, found neither"
            )
    suites = [folder for folder in runs if (folder / ROWS).exists()]
    if suites and len(suites) < len(runs):
        raise UsageError("expected runs or suites, got both")
    if out is not None:
        check_output_folder(out, "report", marks=["report.html"])
    reports = {} if suites else {str(folder): rewrite(folder, allow_programs=allow_programs) for folder in runs}
    combined = (
        _joined_suites(suites)
        if suites
        else comparison({name: run_report.numbers for name, run_report in reports.items()})
    )
    if out is not None:
        write_report(out, combined)
    if as_json:
        print_json(combined.numbers)
        return
    if len(reports) == 1:
        typer.echo(printable(next(iter(reports.values())).summary))
        typer.echo(f"report: {runs[0] / 'report' / 'report.html'}")
        return
    typer.echo(printable("\n\n".join(table.text() for section in combined.sections for table in section.tables)))
    if out is not None:
        typer.echo(f"report: {out / 'report.html'}")


def _joined_suites(folders: list[Path]) -> Report:
    from moemcts.report.leaderboard import leaderboard, read_rows

    rows = [row for folder in folders for row in read_rows(folder / ROWS)]
    return leaderboard(rows, " and ".join(folder.name for folder in folders))

"""`moemcts benchmark`: the same experiment in many games, and a leaderboard of what helped in which."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moemcts.cli.options import AllowPrograms
from moemcts.cli.report import ROWS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from moemcts.runs.benchmark import UnitRunner
    from moemcts.runs.suite import Unit

SUITE = Path("benchmarks/suite.toml")


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Measure")(benchmark)


def benchmark(
    suite: Annotated[Path, typer.Argument(help="A file that names games, gates, schemes, budgets and seeds.")] = SUITE,
    preset: Annotated[str, typer.Option(help="Its size: smoke, laptop or full in benchmarks/suite.toml.")] = "smoke",
    out: Annotated[
        Path | None, typer.Option(help="Folder of the suite, runs/suite-PRESET by default; resumed if it exists.")
    ] = None,
    workers: Annotated[int, typer.Option(min=0, help="Processes, each for one game and seed; 0: one per core.")] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done, then exit.")] = False,
    allow_programs: AllowPrograms = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON.")] = False,
) -> None:
    """Run a suite of experiments over many games and rank what helped; finished games are skipped."""
    from moemcts.cli.consoles import print_json
    from moemcts.cli.progress import ConsoleProgress, interruptible
    from moemcts.report.leaderboard import leaderboard
    from moemcts.report.page import write_report
    from moemcts.runs.benchmark import UnitRunner
    from moemcts.runs.suite import labels, read_suite
    from moemcts.store import exclusive, write_text

    units = read_suite(suite, preset, allow_programs=allow_programs)
    folder = out or Path("runs") / f"suite-{preset}"
    progress = ConsoleProgress()
    progress.say(f"{folder}: {labels(units)}")
    runner = UnitRunner(folder.absolute(), allow_programs=allow_programs)
    for unit in units:
        runner.check(unit)
    if dry_run:
        if as_json:
            typer.echo(json.dumps([_plan(unit) for unit in units], indent=1))
            return
        for unit in units:
            typer.echo(f"{unit.name}: {', '.join(unit.gates)}")
        return
    resume_hint = "finished games are kept, the same command resumes"
    with interruptible(progress, lambda: resume_hint), exclusive(folder):
        rows = _run_units(runner, units, workers, progress)
        report = leaderboard(rows, f"{suite.stem}, {preset}")
        if as_json:
            print_json(rows)
        else:
            typer.echo(f"{report.summary}\n\n{report.sections[0].tables[0].text()}")
        write_text(folder / ROWS, "".join(json.dumps(row) + "\n" for row in rows))
        write_report(folder / "report", report)
    if not as_json:
        typer.echo(f"rows: {folder / ROWS}\nleaderboard: {folder / 'report' / 'report.html'}")


def _plan(unit: Unit) -> dict[str, Any]:
    """Returns a description of a unit as JSON values."""
    limits = [{"simulations": budget, "routing": routing} for budget, routing in unit.played]
    return {
        "unit": unit.name,
        "game": unit.game.name,
        "seed": unit.seed,
        "gates": list(unit.gates),
        "schemes": list(unit.size.schemes),
        "played": limits,
    }


def _run_units(runner: UnitRunner, units: Sequence[Unit], num_workers: int, progress: Any) -> list[dict[str, Any]]:
    from moemcts.work import num_cores, workers

    pool = workers(min(num_workers or num_cores(), len(units)), hint="the same command resumes")
    finished: set[int] = set()
    states: dict[int, str] = {}

    def describe_running() -> str:
        return "; ".join(f"{units[number].name}: {words}" for number, words in states.items())

    with progress.task("games and seeds", "runs", describe_running) as advance:

        def on_message(number: int, words: str) -> None:
            states[number] = words
            advance(len(finished), len(units))

        def on_done(number: int, result: object) -> None:
            finished.add(number)
            states.pop(number, None)
            advance(len(finished), len(units))
            progress.say(f"{units[number].name}: done, {len(finished)} of {len(units)}")

        rows_by_unit = pool.map(runner, list(units), on_report=on_message, on_done=on_done)
    return [row for rows in rows_by_unit for row in rows]

"""`moemcts selfplay`: trains experts on their own games."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moemcts.cli.options import AllowPrograms, Changes, Config, TensorBoard
from moemcts.cli.outputs import check_disk_space
from moemcts.cli.plans import estimate_line, headline, new_folder, plan_as_json
from moemcts.errors import UsageError

if TYPE_CHECKING:
    from moemcts.cli.settings import RunArguments
    from moemcts.report.page import Report
    from moemcts.runs.selfplay.run import SelfPlay
    from moemcts.runs.selfplay.settings import SelfPlayConfig


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Start here")(selfplay)


def selfplay(
    game: Annotated[str | None, typer.Option(help="A registered game; see `moemcts games`.")] = None,
    gate: Annotated[str | None, typer.Option(help="A gate; without it a single network. See `moemcts gates`.")] = None,
    scheme: Annotated[str | None, typer.Option(help="How experts learn; see `moemcts schemes`.")] = None,
    network: Annotated[str | None, typer.Option(help="A registered network; see `moemcts networks`.")] = None,
    preset: Annotated[str | None, typer.Option(help="smoke, laptop (the default), or one of the game's own.")] = None,
    generations: Annotated[
        int | None, typer.Option(min=1, help="Number of generations, each of games and a training.")
    ] = None,
    start: Annotated[
        Path | None, typer.Option(help="A training or a folder of experts to begin with; else random weights.")
    ] = None,
    workers: Annotated[
        str | None,
        typer.Option(
            help="Processes that play, 0 for one per core; `ray` or ray://HEAD:PORT for actors of Ray. Results are the "
            "same."
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Random seed.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run; a new one under runs/ by default.")] = None,
    config: Config = None,
    changes: Changes = None,
    resume: Annotated[
        Path | None, typer.Option(help="Resume the run in this folder; --generations makes it longer.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show settings and estimate, then exit.")] = False,
    tensorboard: TensorBoard = False,
    allow_programs: AllowPrograms = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Let experts play games and learn from them, generation by generation, and report how strong they have become."""
    from moemcts.cli.consoles import print_json
    from moemcts.cli.progress import ConsoleProgress, interruptible
    from moemcts.cli.settings import RunArguments, start_setting
    from moemcts.report.events import check_installed
    from moemcts.runs.finishing import finish
    from moemcts.runs.selfplay.estimate import selfplay_estimate
    from moemcts.runs.selfplay.run import SelfPlay

    if tensorboard:
        check_installed()
    options = {
        "game": game,
        "gate": gate,
        "scheme": scheme,
        "network": network,
        "generations": generations,
        "workers": int(workers) if workers is not None and workers.isdecimal() else workers,
        "seed": seed,
    }
    options |= start_setting(None if start is None else str(start), network)
    arguments = RunArguments.of(options, preset, config, changes, allow_programs=allow_programs)
    progress = ConsoleProgress()
    if resume is None:
        settings = _settings(arguments)
        folder = out or new_folder(settings.game, ["selfplay", settings.gate], arguments)
        run = SelfPlay.prepare(folder, settings)
    elif out or preset or config or changes or {*arguments.options} - {"generations"}:
        raise UsageError(
            "expected --resume alone or with --generations: self-play goes on with the settings in its config.toml"
        )
    else:
        run = SelfPlay.load(resume, allow_programs=allow_programs)
        if generations is not None:
            run = run.with_generations(generations)
    progress.say(headline(run))
    estimate = selfplay_estimate(run)
    progress.say(estimate_line(estimate, resume))
    if dry_run:
        typer.echo(plan_as_json(run, estimate) if as_json else run.config_text())
        return
    check_disk_space(run.folder, estimate)
    if resume is None:
        run.write()
    elif generations is not None:
        with run.locked():
            run.keep_settings()
    if tensorboard:
        _write_events(run)

    def print_report(report: Report) -> None:
        if as_json:
            print_json({"folder": str(run.folder), **report.numbers})
            return
        typer.echo(report.summary + "\n")
        typer.echo("\n\n".join(table.text() for section in report.sections[:2] for table in section.tables))

    started = time.monotonic()
    resume_hint = f"everything finished is kept. To resume: {run.resume_command}"
    with interruptible(progress, lambda: resume_hint):
        finish(run, progress, print_report)
    progress.say(f"done in {time.monotonic() - started:,.0f} s")
    if as_json:
        return
    newest, best = run.config.generations, run.on_disk.champion(run.config.generations)
    note = "" if best == newest else f" (of generation {best}, the last that was promoted)"
    typer.echo(f"\nexperts: {run.on_disk.experts(best)}{note}\nreport: {run.folder / 'report' / 'report.html'}")


def _write_events(run: SelfPlay) -> None:
    """Writes TensorBoard event files for every generation; raises MissingExtra if TensorBoard is not installed."""
    from moemcts.report.events import EVENTS, Events
    from moemcts.runs.selfplay.outcomes import generation_of

    events = Events(run.folder / EVENTS)

    def add(generation: int) -> None:
        if (outcome := generation_of(run, generation)) is not None:
            events.add(
                outcome, [match for match in run.matches.measurements() if match["agent"] == f"generation {generation}"]
            )

    run.on_generation = add


def _settings(arguments: RunArguments) -> SelfPlayConfig:
    """Returns the configuration; raises as `read_settings`."""
    from moemcts.cli.settings import read_settings
    from moemcts.runs.selfplay.settings import SelfPlayConfig, load_preset

    return read_settings(arguments, SelfPlayConfig, load_preset)

"""`moemcts run`: an experiment from data to report."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moemcts.errors import MoemctsError, UsageError

if TYPE_CHECKING:
    from moemcts.runs import Experiment


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Start here")(run)


def run(
    game: Annotated[str | None, typer.Option(help="A registered game; see `moemcts games`.")] = None,
    gate: Annotated[
        list[str] | None,
        typer.Option(
            help="A gate; may be given several times, to compare gates on the same data. See `moemcts gates`."
        ),
    ] = None,
    preset: Annotated[str | None, typer.Option(help="smoke, laptop (the default) or paper.")] = None,
    scheme: Annotated[
        list[str] | None,
        typer.Option(help="How experts learn; may be given several times. See `moemcts schemes`."),
    ] = None,
    network: Annotated[str | None, typer.Option(help="A registered network; see `moemcts networks`.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Decides everything that is random.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run; a new one under runs/ by default.")] = None,
    config: Annotated[Path | None, typer.Option(help="TOML file with settings, as in a run's config.toml.")] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="One setting, such as search.simulations=200; may be repeated.")
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with the run in this folder.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show settings and estimate, then leave.")] = False,
) -> None:
    """Make data, train a single network and one expert per phase, play both, and report which is better."""
    from moemcts.cli.progress import ConsoleProgress
    from moemcts.cli.settings import settings
    from moemcts.runs import Experiment
    from moemcts.runs.estimate import estimate
    from moemcts.runs.settings import ExperimentConfig, validate

    named = {"game": game, "gates": gate, "schemes": scheme, "network": network, "seed": seed}
    given = {key: value for key, value in named.items() if value is not None}
    progress = ConsoleProgress()
    if resume is not None:
        if given or preset or config or changes or out:
            raise UsageError("expected --resume alone: a run goes on with the settings in its config.toml")
        experiment = Experiment.load(resume)
    else:
        configuration = validate(settings(given, preset, config, changes or []), ExperimentConfig)
        folder = out or Path("runs") / folder_name(configuration.game, configuration.gates, preset)
        experiment = Experiment.create(folder, configuration, write=not dry_run)
    progress.say(f"[bold]{experiment.folder}[/bold]: {experiment.describe()}")
    expected = estimate(experiment)
    progress.say(expected.describe())
    free = shutil.disk_usage(_existing(experiment.folder)).free
    if expected.num_bytes > free:
        raise MoemctsError(
            f"expected {expected.num_bytes / 1e6:,.0f} MB on the disk of {experiment.folder}, "
            f"{free / 1e6:,.0f} MB are free; make room or choose another folder with --out"
        )
    if dry_run:
        typer.echo(experiment.config_text())
        return
    _follow(experiment, progress)


def _follow(experiment: Experiment, progress: Any) -> None:
    started = time.monotonic()
    try:
        report = experiment.run(progress)
    except KeyboardInterrupt:
        progress.say(f"interrupted; all that was finished is kept. Go on: moemcts run --resume {experiment.folder}")
        raise typer.Exit(130) from None
    progress.say(f"done in {time.monotonic() - started:,.0f} s")
    typer.echo(report.summary)
    typer.echo(f"report: {experiment.folder / 'report' / 'report.html'}")


def folder_name(game: str, gates: list[str], preset: str | None) -> str:
    """Returns the name of a new folder under runs/."""
    words = re.sub(r"[^a-zA-Z0-9]+", "-", "_".join([game, *gates, preset or "laptop"]))
    return f"{time.strftime('%Y%m%d-%H%M%S')}_{words}"


def _existing(folder: Path) -> Path:
    folder = folder.absolute()
    while not folder.exists():
        folder = folder.parent
    return folder

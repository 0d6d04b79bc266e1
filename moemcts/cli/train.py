"""`moemcts train`: experts of one gate from games that are there, or that are played for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moemcts.errors import UsageError

if TYPE_CHECKING:
    from moemcts.runs.training import Training
    from moemcts.work.progress import Progress


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Start here")(train)


def train(
    game: Annotated[str | None, typer.Option(help="A registered game; see `moemcts games`.")] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="A dataset, or an import with train, validation and test in it; without it games are played first."
        ),
    ] = None,
    gate: Annotated[str | None, typer.Option(help="A gate; without it a single network. See `moemcts gates`.")] = None,
    scheme: Annotated[str | None, typer.Option(help="How experts learn; see `moemcts schemes`.")] = None,
    network: Annotated[str | None, typer.Option(help="A registered network; see `moemcts networks`.")] = None,
    preset: Annotated[str | None, typer.Option(help="smoke, laptop (the default) or paper.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Decides everything that is random.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the training; a new one under runs/ by default.")] = None,
    validation: Annotated[
        Path | None,
        typer.Option(help="A dataset to measure the held-out loss on; else some games are held out."),
    ] = None,
    test: Annotated[Path | None, typer.Option(help="A dataset for the tables; else what is held out.")] = None,
    baseline: Annotated[
        Path | None, typer.Option(help="A training or a folder of experts, such as a single network, to compare with.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="TOML file with settings, as in config.toml.")] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="One setting, such as training.epochs=7; may be repeated.")
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with the training in this folder.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Train one expert per phase, and show what each is worth on the samples of every phase.

    On several GPUs: `torchrun --nproc-per-node 4 --no-python moemcts train ... --out FOLDER`.
    """
    from moemcts.cli.progress import ConsoleProgress
    from moemcts.learn.training.ranks import launched
    from moemcts.runs.training import Training
    from moemcts.work.progress import Silence

    named = {"game": game, "gate": gate, "scheme": scheme, "network": network, "seed": seed}
    given: dict[str, Any] = {key: value for key, value in named.items() if value is not None}
    folders = {"data.folder": data, "data.validation": validation, "data.test": test, "baseline": baseline}
    given |= {key: str(path.absolute()) for key, path in folders.items() if path is not None}
    ranks = launched()
    if ranks.size > 1 and not (out or resume):
        raise UsageError("expected --out: several processes have to agree on the folder")
    if resume is None:
        training = _start(given, preset, config, changes or [], out, is_first=ranks.is_first)
    elif given or preset or config or changes or out:
        raise UsageError("expected --resume alone: a training goes on with the settings in its config.toml")
    else:
        training = Training.load(resume)
    progress: Progress = ConsoleProgress() if ranks.is_first else Silence()
    progress.say(f"[bold]{training.folder}[/bold]: {training.describe()}")
    try:
        report = training.run(progress)
    except KeyboardInterrupt:
        progress.say(f"interrupted; all that was finished is kept. Go on: moemcts train --resume {training.folder}")
        raise typer.Exit(130) from None
    if report is None:
        return
    if as_json:
        typer.echo(json.dumps(report.numbers, indent=1))
        return
    typer.echo(report.summary + "\n")
    typer.echo("\n\n".join(table.text() for table in report.sections[0].tables))
    typer.echo(f"\nexperts: {training.folder / 'experts'}\nreport: {training.folder / 'report' / 'report.html'}")


def _start(
    given: dict[str, Any],
    preset: str | None,
    config: Path | None,
    changes: list[str],
    out: Path | None,
    *,
    is_first: bool,
) -> Training:
    from moemcts.cli.run import folder_name
    from moemcts.cli.settings import settings
    from moemcts.runs.settings import TrainingConfig, validate
    from moemcts.runs.training import Training, resolved

    values = settings(given, preset, config, changes, known=TrainingConfig.model_fields)
    configuration = validate(values, TrainingConfig)
    folder = out or Path("runs") / folder_name(configuration.game, ["train", configuration.gate], preset)
    # The other processes of a training have nothing to write.
    return Training.create(folder, configuration) if is_first else Training(folder, resolved(configuration))

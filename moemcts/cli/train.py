"""`moemcts train`: trains the experts of one gate on given games, or on games that it plays first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moemcts.cli.options import AllowPrograms, Changes, Config, Start, TensorBoard
from moemcts.cli.plans import estimate_line, headline, new_folder, plan_as_json
from moemcts.errors import UsageError

if TYPE_CHECKING:
    from moemcts.cli.settings import RunArguments
    from moemcts.report.page import Report
    from moemcts.runs import Training
    from moemcts.work.progress import Progress


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Start here")(train)


def train(
    game: Annotated[str | None, typer.Option(help="A registered game; see `moemcts games`.")] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="A dataset, an import with train, validation and test in it, or a file that the game reads, such as "
            "PGN; without it games are played first."
        ),
    ] = None,
    gate: Annotated[str | None, typer.Option(help="A gate; without it a single network. See `moemcts gates`.")] = None,
    scheme: Annotated[str | None, typer.Option(help="How experts learn; see `moemcts schemes`.")] = None,
    network: Annotated[str | None, typer.Option(help="A registered network; see `moemcts networks`.")] = None,
    start: Start = None,
    preset: Annotated[str | None, typer.Option(help="smoke, laptop (the default) or paper.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Random seed.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the training; a new one under runs/ by default.")] = None,
    validation: Annotated[
        Path | None,
        typer.Option(help="A dataset to measure the held-out loss on; by default some games are held out."),
    ] = None,
    test: Annotated[
        Path | None, typer.Option(help="A dataset for the tables; by default the held-out samples.")
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            help="A training, a folder of experts or `weights:NAME`, such as a single network, to compare with."
        ),
    ] = None,
    config: Config = None,
    changes: Changes = None,
    resume: Annotated[Path | None, typer.Option(help="Resume the training in this folder.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show settings, stages and estimate, then exit.")] = False,
    tensorboard: TensorBoard = False,
    allow_programs: AllowPrograms = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Train one expert per phase, and show how each performs on the samples of every phase.

    On several GPUs: `torchrun --nproc-per-node 4 --no-python moemcts train ... --out FOLDER`.
    """
    from moemcts.cli.consoles import print_json
    from moemcts.cli.progress import ConsoleProgress, interruptible
    from moemcts.cli.settings import RunArguments, data_setting, start_setting
    from moemcts.learn.training.ranks import torchrun_ranks
    from moemcts.report.events import check_installed
    from moemcts.report.training_events import mirror_to_tensorboard
    from moemcts.runs import Training
    from moemcts.runs.finishing import finish
    from moemcts.work.progress import NoProgress

    if tensorboard:
        check_installed()
    options = {"game": game, "gate": gate, "scheme": scheme, "network": network, "seed": seed, "baseline": baseline}
    options |= start_setting(start, network)
    folders = {"data.validation": validation, "data.test": test}
    paths = {key: str(path.absolute()) for key, path in folders.items() if path is not None}
    arguments = RunArguments.of(
        options | data_setting(data) | paths, preset, config, changes, allow_programs=allow_programs
    )
    ranks = torchrun_ranks()
    if ranks.size > 1 and not (out or resume):
        raise UsageError("expected --out: several processes have to agree on the folder")
    if resume is None:
        training = _prepare(arguments, out, is_first=ranks.is_first)
    elif arguments or out:
        raise UsageError("expected --resume alone: a training goes on with the settings in its config.toml")
    else:
        training = Training.load(resume, allow_programs=allow_programs)
    progress: Progress = ConsoleProgress() if ranks.is_first else NoProgress()
    progress.say(headline(training))
    if dry_run:
        if ranks.is_first:
            _print_plan(training, progress, resume, as_json)
        return
    if resume is None and ranks.is_first:
        training.write()
    if not ranks.is_first:
        training.work(progress)
        return

    def print_report(report: Report) -> None:
        if as_json:
            print_json({"folder": str(training.folder), **report.numbers})
            return
        typer.echo(report.summary + "\n")
        typer.echo("\n\n".join(table.text() for table in report.sections[0].tables))

    resume_hint = f"everything finished is kept. To resume: {training.resume_command}"
    with interruptible(progress, lambda: resume_hint), mirror_to_tensorboard(training.folder, is_wanted=tensorboard):
        finish(training, progress, print_report)
    if not as_json:
        typer.echo(f"\nexperts: {training.folder / 'experts'}\nreport: {training.folder / 'report' / 'report.html'}")


def _prepare(arguments: RunArguments, out: Path | None, *, is_first: bool) -> Training:
    from moemcts.cli.settings import read_settings
    from moemcts.runs import Training, TrainingConfig

    settings = read_settings(arguments, TrainingConfig)
    folder = out or new_folder(settings.game, ["train", settings.gate], arguments)
    # The other processes write nothing, and the first one may have created the folder already.
    return Training.prepare(folder, settings) if is_first else Training(folder, Training.resolved(settings))


def _print_plan(training: Training, progress: Progress, resume: Path | None, as_json: bool) -> None:
    """Prints a training's settings, and shows its stages and estimate."""
    from dataclasses import asdict

    from moemcts.report.tables import Table
    from moemcts.runs.training_estimate import training_plan

    plan = training_plan(training)
    rows = [
        [f"{number} of {len(plan.stages)}", stage.learns_from, ", ".join(stage.experts), stage.samples, stage.steps]
        for number, stage in enumerate(plan.stages, 1)
    ]
    caption = f"Numbers of samples and steps are estimates from {plan.looked_at}; a stage may end earlier."
    progress.say(Table(["stage", "learns from", "experts", "samples", "steps"], rows, caption).text())
    progress.say(estimate_line(plan.estimate, resume))
    if as_json:
        stages = [asdict(stage) for stage in plan.stages]
        typer.echo(plan_as_json(training, plan.estimate, stages=stages, looked_at=plan.looked_at))
    else:
        typer.echo(training.config_text())

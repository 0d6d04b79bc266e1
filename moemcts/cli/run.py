"""`moemcts run`: runs an experiment from data to report."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moemcts.cli.options import AllowPrograms, Changes, Config, Start, TensorBoard
from moemcts.errors import UsageError

if TYPE_CHECKING:
    from moemcts.report.page import Report


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Start here")(run)


def run(
    game: Annotated[str | None, typer.Option(help="A registered game; see `moemcts games`.")] = None,
    gate: Annotated[
        list[str] | None,
        typer.Option(
            help="A gate, by default the game's own; may be given several times, to compare gates on the same data. "
            "`none` trains a single network alone. See `moemcts gates`."
        ),
    ] = None,
    preset: Annotated[str | None, typer.Option(help="smoke, laptop (the default) or paper.")] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Games to learn from instead of playing them: a dataset, an import with train, validation and test in "
            "it, or a file that the game reads, such as PGN."
        ),
    ] = None,
    scheme: Annotated[
        list[str] | None,
        typer.Option(help="How experts learn; may be given several times. See `moemcts schemes`."),
    ] = None,
    network: Annotated[
        list[str] | None,
        typer.Option(
            help="A registered network; see `moemcts networks`. May be given several times, to compare sizes: all with "
            "the single network of the first."
        ),
    ] = None,
    single_network: Annotated[
        list[str] | None,
        typer.Option(
            help="A further network of which there is a single one and no experts, such as a larger one; may be given "
            "several times."
        ),
    ] = None,
    start: Start = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Random seed.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run; a new one under runs/ by default.")] = None,
    config: Config = None,
    changes: Changes = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            help="Resume the run in this folder. With --gate, --scheme, --network, --single-network and --set "
            "it gains arms, games and seeds: what it has is kept. --workers may be others."
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=0, help="Processes that share the work; 0, the default: one per core.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show settings and estimate, then exit.")] = False,
    tensorboard: TensorBoard = False,
    allow_programs: AllowPrograms = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report's numbers as JSON.")] = False,
) -> None:
    """Play training games, train a single network and one expert per phase, and report which plays better."""
    from moemcts.cli.consoles import print_json
    from moemcts.cli.outputs import check_disk_space
    from moemcts.cli.plans import estimate_line, headline, new_folder, plan_as_json
    from moemcts.cli.progress import ConsoleProgress, interruptible
    from moemcts.cli.settings import RunArguments, data_setting, read_changes, read_settings, start_setting
    from moemcts.report.events import check_installed
    from moemcts.report.training_events import mirror_to_tensorboard
    from moemcts.runs import Experiment, ExperimentConfig
    from moemcts.runs.experiment.estimate import estimate
    from moemcts.runs.experiment.growth import extend_experiment, save_extension
    from moemcts.runs.finishing import finish

    if tensorboard:
        check_installed()
    networks = {"network": network[0], "other_networks": network[1:]} if network else {}
    networks |= {"single_networks": single_network} if single_network else {}
    options = {"game": game, "gates": gate, "schemes": scheme, **networks, "seed": seed, **data_setting(data)}
    options |= start_setting(start, network)
    if resume is None:
        options["workers"] = workers
    elif workers is not None:
        # Treated as a change, so that a run can be resumed with another number.
        changes = [*(changes or ()), f"workers={workers}"]
    arguments = RunArguments.of(options, preset, config, changes, allow_programs=allow_programs)
    progress = ConsoleProgress()
    if resume is None:
        settings = read_settings(arguments, ExperimentConfig).filled()
        experiment = Experiment.prepare(out or new_folder(settings.game, settings.gates, arguments), settings)
        if scheme and not experiment.gates:
            raise UsageError("--scheme has no effect without a gate, which makes experts; leave it out, or name one")
    elif out or preset or config or {*arguments.options} - {"gates", "schemes", *networks}:
        raise UsageError(
            "expected --resume with at most --gate, --scheme, --network, --single-network, --workers and --set: "
            "a run goes on with the settings in its config.toml"
        )
    else:
        experiment = Experiment.load(resume, allow_programs=allow_programs)
        if arguments:
            added = {"gates": gate or (), "schemes": scheme or (), "networks": network or ()}
            added |= {"single_networks": single_network or ()}
            experiment = extend_experiment(experiment, **added, changes=read_changes(arguments.changes))
    progress.say(headline(experiment))
    expected = estimate(experiment)
    progress.say(estimate_line(expected, resume))
    if dry_run:
        typer.echo(plan_as_json(experiment, expected) if as_json else experiment.config_text())
        return
    check_disk_space(experiment.folder, expected)
    if resume is None:
        experiment.write()
    elif arguments:
        save_extension(experiment)

    def print_report(report: Report) -> None:
        if as_json:
            print_json({"folder": str(experiment.folder), **report.numbers})
        else:
            typer.echo(report.summary)

    started = time.monotonic()
    resume_hint = f"everything finished is kept. To resume: {experiment.resume_command}"
    with interruptible(progress, lambda: resume_hint), mirror_to_tensorboard(experiment.folder, is_wanted=tensorboard):
        finish(experiment, progress, print_report)
    progress.say(f"done in {time.monotonic() - started:,.0f} s")
    if not as_json:
        typer.echo(f"report: {experiment.folder / 'report' / 'report.html'}")

"""`moemcts data generate | join | stats`: creates datasets from games; plugins may add commands to the group."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moemcts.cli.groups import DATA, Group
from moemcts.errors import UsageError

if TYPE_CHECKING:
    from moemcts.game import Game
    from moemcts.learn.data.dataset import Dataset
    from moemcts.report.tables import Table

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(cls=Group, help="Games in, datasets out.", no_args_is_help=True)
    group.command()(generate)
    group.command()(join)
    group.command()(stats)
    app.add_typer(group, name=DATA, rich_help_panel="Games and data")


def generate(
    game: Annotated[str, typer.Option(help="A registered game; see `moemcts games`.")],
    out: Annotated[Path, typer.Option(help="Folder for the dataset; the same command resumes an interrupted one.")],
    agent: Annotated[
        list[str] | None,
        typer.Option(
            help="The agent in all seats; may be repeated, once per seat. The game's default agent if not given."
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(help="The agent in all seats but that of --agent, of which alone decisions are written then."),
    ] = None,
    samples: Annotated[
        int,
        typer.Option(min=1, help="Number of decisions to write; it may change when an interrupted dataset is resumed."),
    ] = 10_000,
    keep: Annotated[
        float, typer.Option(min=0, max=1, help="Random share of the positions to write, from as many more games.")
    ] = 1.0,
    random_plies: Annotated[
        int, typer.Option(min=0, help="Random plies at the start, so that games of agents that draw nothing differ.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    as_json: Json = False,
) -> None:
    """Play games between agents and write their decisions as a dataset."""
    from moemcts.cli.outputs import check_output_folder
    from moemcts.cli.progress import ConsoleProgress, interruptible
    from moemcts.learn.data.generation import generate as play_games
    from moemcts.learn.data.varied import seat_agents
    from moemcts.naming import resolve_agent
    from moemcts.plugins import plugins
    from moemcts.store import MANIFEST, exclusive

    if not keep > 0:
        raise UsageError(f"expected a share to keep above 0, got {keep}")
    check_output_folder(out, "dataset", marks=[MANIFEST])
    loaded_game = plugins().game(game)
    num_seats = loaded_game.spec.num_players
    names = agent or [plugins().player(loaded_game)]
    if len(names) not in (1, num_seats):
        raise UsageError(f"expected --agent once, or once for each of {num_seats} seats, got it {len(names)} times")
    if against is not None and len(names) != 1:
        raise UsageError(f"expected --agent once with --against, got it {len(names)} times")
    players = {name: resolve_agent(name, loaded_game) for name in names}
    others = resolve_agent(against, loaded_game) if against is not None else None
    seats = seat_agents([players[name] for name in names], num_seats, against=others, random_plies=random_plies)
    progress = ConsoleProgress()
    with (
        interruptible(progress, lambda: f"finished games are kept in {out}, the same command resumes"),
        exclusive(out),
        progress.task(f"games of {loaded_game.spec.name}", "samples") as advance,
    ):
        play_games(
            loaded_game,
            seats,
            samples,
            seed=seed,
            out=out,
            reference=game,
            keep=keep,
            only_first=against is not None,
            on_progress=advance,
        )
    typer.echo(json.dumps({"data": str(out), "samples": samples}) if as_json else str(out))


def join(
    data: Annotated[list[Path], typer.Option(help="A dataset; repeat it for each.")],
    out: Annotated[Path, typer.Option(help="A folder for the samples of all.")],
    game: Annotated[str | None, typer.Option(help="The game, if it is not the one that the first names.")] = None,
    as_json: Json = False,
) -> None:
    """Join the samples of several datasets of one game into one dataset."""
    from moemcts.cli.outputs import check_output_folder
    from moemcts.learn.data.joining import join as join_datasets
    from moemcts.learn.data.shards import read_manifest
    from moemcts.plugins import plugins
    from moemcts.runs.sources import dataset_folder
    from moemcts.store import MANIFEST, exclusive

    check_output_folder(out, "dataset", marks=[MANIFEST])
    folders = [dataset_folder(folder) for folder in data]
    name = game or _named_game(folders[0])
    with exclusive(out):
        join_datasets(folders, plugins().game(name), out=out, reference=name)
    samples = read_manifest(out)["num_samples"]
    typer.echo(json.dumps({"data": str(out), "samples": samples}) if as_json else str(out))


def stats(
    data: Annotated[Path, typer.Option(help="A dataset, or an import with train, validation and test in it.")],
    game: Annotated[str | None, typer.Option(help="The game, if it is not the one that the dataset names.")] = None,
    gate: Annotated[list[str] | None, typer.Option(help="A gate whose phases are counted; may be repeated.")] = None,
    as_json: Json = False,
) -> None:
    """Count games, results, lengths, repeated positions, and the phases of gates."""
    from moemcts.cli.consoles import print_json
    from moemcts.plugins import plugins
    from moemcts.runs.settings import DataConfig
    from moemcts.runs.sources import open_sources

    loaded_game = plugins().game(game or _named_game(data))
    sources = open_sources(DataConfig(folder=str(data)), data, loaded_game)
    parts = {"training": sources.training, "validation": sources.validation, "test": sources.test}
    statistics = {name: _statistics(part, loaded_game, gate or []) for name, part in parts.items() if part is not None}
    if as_json:
        print_json(statistics)
    else:
        unit = loaded_game.spec.score_unit
        typer.echo(
            "\n\n".join(_describe(name, numbers, len(statistics) > 1, unit) for name, numbers in statistics.items())
        )


def _named_game(folder: Path) -> str:
    """Returns the game named in a dataset."""
    from moemcts.runs.sources import dataset_folder
    from moemcts.store import MANIFEST, read_toml

    inside = folder / "train"
    dataset = inside if (inside / MANIFEST).exists() else dataset_folder(folder)
    return str(read_toml(dataset / MANIFEST).get("game", ""))


def _statistics(dataset: Dataset, game: Game, gates: list[str]) -> dict[str, Any]:
    from moemcts.learn.data.phase_statistics import phase_statistics
    from moemcts.learn.data.summary import summary
    from moemcts.plugins import plugins

    phases = {name: asdict(phase_statistics(dataset, plugins().gate(name, game))) for name in gates}
    return {"id": dataset.id, **asdict(summary(dataset)), "gates": phases}


def _describe(name: str, numbers: dict[str, Any], is_named: bool, score_unit: float) -> str:
    from moemcts.arena.verdict import format_count
    from moemcts.report.tables import Table

    lengths = numbers["lengths"]
    lines = [
        (f"{name}: " if is_named else "")
        + f"{format_count(numbers['num_samples'], 'sample')} of {format_count(numbers['num_games'], 'game')} "
        f"of {lengths['shortest']:.0f} to {lengths['longest']:.0f} plies, {lengths['mean']:.1f} on average",
        f"{100 * numbers['repeated']:.1f} % repeat an earlier position, {100 * numbers['searched']:.1f} % have "
        "the visits of a search",
        "",
    ]
    lines.append(_results_table(numbers["results"], score_unit).text())
    for gate, gate_statistics in numbers["gates"].items():
        rows = [
            [phase["name"], f"{100 * phase['share']:.1f} %", f"{phase['mean_ply']:.1f}" if phase["share"] else "–"]
            for phase in gate_statistics["phases"]
        ]
        lines += ["", Table([f"phase of {gate}", "samples", "mean ply"], rows).text()]
    return "\n".join(lines)


def _results_table(results: Sequence[Mapping[str, float]], score_unit: float) -> Table:
    """Returns the results of each seat, or in a game of one player its returns in the game's own score."""
    from moemcts.report.tables import Table

    if len(results) == 1:
        cells = [f"{score_unit * results[0][name]:.2f}" for name in ("lowest", "mean", "highest")]
        return Table(["lowest return", "mean return", "highest return"], [cells])
    rows = [
        [str(seat), *(f"{100 * result[key]:.1f} %" for key in ("won", "tied", "lost")), f"{result['mean']:+z.3f}"]
        for seat, result in enumerate(results)
    ]
    return Table(["seat", "won", "tied", "lost", "mean return"], rows)

"""`moemcts gate fit | show`: fits gates to data, and shows how gates divide a dataset."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moemcts.cli.groups import Group
from moemcts.cli.lists import Json
from moemcts.errors import UsageError, unknown_name
from moemcts.store import check_path

if TYPE_CHECKING:
    from moemcts.game import Game
    from moemcts.learn.gates.features import Features

GameName = Annotated[str, typer.Option(help="A registered game.")]
Data = Annotated[Path, typer.Option(help="A dataset, as imports and runs write it.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(cls=Group, help="Learn gates from data, and look at what gates do.", no_args_is_help=True)
    group.command()(fit)
    group.command()(show)
    app.add_typer(group, name="gate", rich_help_panel="Start here")


def fit(
    game: GameName,
    data: Data,
    out: Annotated[Path, typer.Option(help="The gate's file, NAME.safetensors; its path then names the gate.")],
    phases: Annotated[int, typer.Option(help="Clusters to find, 2 or more.")] = 3,
    features: Annotated[str, typer.Option(help="What is clustered: planes, or network with --experts.")] = "planes",
    experts: Annotated[
        Path | None,
        typer.Option(
            help="A training, a folder of experts or `weights:NAME`: their network's body gives the features."
        ),
    ] = None,
    expert: Annotated[int | None, typer.Option(min=0, help="The expert's phase; 0 by default.")] = None,
    without: Annotated[list[str] | None, typer.Option(help="Leave out planes with this in their name.")] = None,
    max_positions: Annotated[int, typer.Option(min=1, help="Number of positions, drawn by the seed.")] = 200_000,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of positions and initial centres.")] = 0,
    as_json: Json = False,
) -> None:
    """Find phases in data by k-means clustering and save them as a gate.

    `--features planes` clusters the input planes averaged over the board, `network` the features of a trained network's
    body, averaged likewise.
    """
    from moemcts.cli.consoles import print_json
    from moemcts.learn.gates.fitting import fit_clusters
    from moemcts.learn.gates.saved import save_gate
    from moemcts.plugins import SAVED_GATE, plugins
    from moemcts.report.tables import Table
    from moemcts.runs.sources import open_training_samples

    if phases < 2:
        raise UsageError(f"expected --phases of 2 or more, got {phases}; the gate of one phase is `none`")
    if out.suffix != SAVED_GATE:
        raise UsageError(f"expected a file NAME{SAVED_GATE} for the gate, got {str(out)!r}")
    _check_file(out)
    loaded_game = plugins().game(game)
    chosen_features = _features(features, experts, expert, loaded_game)
    clusters = fit_clusters(
        open_training_samples(data, loaded_game),
        phases,
        seed=seed,
        features=chosen_features,
        without=without or (),
        max_positions=max_positions,
    )
    save_gate(out, clusters.gate)
    if as_json:
        entries = [asdict(phase) for phase in clusters.phases]
        numbers = {"positions": clusters.num_positions, "explained": round(clusters.explained, 4), "phases": entries}
        print_json({"gate": str(out), **numbers})
        return
    rows = [
        [
            phase.name,
            f"{100 * phase.share:.1f} %",
            f"{phase.mean_ply:.1f}",
            ", ".join(f"{name} {z:+z.1f}" for name, z in phase.traits),
        ]
        for phase in clusters.phases
    ]
    typer.echo(Table(["phase", "positions", "mean ply", "what stands out, in standard deviations"], rows).text())
    typer.echo(
        f"{out}: {phases} phases of {clusters.num_positions:,} positions, "
        f"{100 * clusters.explained:.1f} % of the variance lies between them"
    )


def show(
    game: GameName,
    gate: Annotated[str, typer.Argument(help="A registered gate, or the file of a saved one.")],
    data: Data,
    against: Annotated[str | None, typer.Option(help="Another gate, to see where both agree.")] = None,
    as_json: Json = False,
) -> None:
    """Count how a gate divides a dataset: positions and mean ply of phases, and returns to earlier phases."""
    from moemcts.cli.consoles import print_json
    from moemcts.learn.data.phase_statistics import agreement, phase_statistics
    from moemcts.plugins import plugins
    from moemcts.report.tables import Table
    from moemcts.runs.sources import open_training_samples

    loaded_game = plugins().game(game)
    loaded_gate, dataset = plugins().gate(gate, loaded_game), open_training_samples(data, loaded_game)
    statistics = phase_statistics(dataset, loaded_gate)
    other = plugins().gate(against, loaded_game) if against else None
    overlap = agreement(dataset, loaded_gate, other) if other else None
    if as_json:
        overlap_json = {"agreement": {"gate": against, **asdict(overlap)}} if overlap else {}
        print_json({"gate": gate, **asdict(statistics), **overlap_json})
        return
    others = [f"{name} of {against}" for name in other.phase_names] if other else []
    columns = ["phase", "positions", "mean ply", *others]
    rows = []
    for i, phase in enumerate(statistics.phases):
        shares = [f"{100 * share:.1f} %" if phase.share else "–" for share in overlap.shares[i]] if overlap else []
        mean_ply = f"{phase.mean_ply:.1f}" if phase.share else "–"
        rows.append([phase.name, f"{100 * phase.share:.1f} %", mean_ply, *shares])
    typer.echo(Table(columns, rows).text())
    typer.echo(
        f"{statistics.num_positions:,} positions; the phase changes {statistics.changes_per_game:.2f} times per player "
        f"and game, {statistics.returns_per_game:.2f} times back; the weightiest phase weighs "
        f"{statistics.mean_top_weight:.3f} on average"
    )
    if overlap:
        typer.echo(f"agreement with {against}, adjusted for chance (adjusted Rand index): {overlap.adjusted_rand:.3f}")


def _check_file(path: Path) -> None:
    """Raises UsageError if the file exists or cannot be one, MoemctsError if it is not writable."""
    from moemcts.cli.outputs import check_writable_folder

    check_path(path)
    check_writable_folder(path.parent)
    if path.exists():
        raise UsageError(f"expected a new file for the gate, but {path} exists; give another --out, or remove it")


def _features(name: str, experts: Path | None, expert: int | None, game: Game) -> Features | None:
    if name not in ("planes", "network"):
        raise unknown_name("kind of features", name, ("planes", "network"))
    if (name == "network") != (experts is not None):
        raise UsageError("expected --features network and --experts together or not at all")
    if experts is None:
        if expert is not None:
            raise UsageError("--expert has no effect without --experts; leave it out")
        return None
    from moemcts.learn.checkpoint import load_networks
    from moemcts.learn.gates.features import NetworkFeatures
    from moemcts.naming import experts_in
    from moemcts.plugins import plugins

    loaded = load_networks(experts_in(experts), game, plugins())
    phase = expert or 0
    if phase >= len(loaded.networks):
        raise UsageError(f"expected an expert below {len(loaded.networks)}, got {phase}")
    return NetworkFeatures.of(loaded.manifest["network"], loaded.networks[phase])

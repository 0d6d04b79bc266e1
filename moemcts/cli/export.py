"""`moemcts export`: exports experts as ONNX models."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from moemcts.game import Game
    from moemcts.learn.data.dataset import Dataset

EXPORTED = ("float32", "int8")
"""Precisions that models can be exported in."""


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Look around")(export)


def export(
    folder: Annotated[Path, typer.Argument(help="A folder of experts, such as `runs/X/experts/steps-0`.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the models; by default one in the experts', where `precision=int8` looks."),
    ] = None,
    precision: Annotated[str, typer.Option(help="float32, or int8: several times as fast, plays differently.")] = (
        "float32"
    ),
    data: Annotated[
        Path | None,
        typer.Option(help="A dataset to take positions from; that of the experts' run if it is there, else games."),
    ] = None,
    num_positions: Annotated[
        int, typer.Option("--positions", min=2, help="Positions per phase to calibrate with and to compare on.")
    ] = 256,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the positions.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the manifest as JSON.")] = False,
) -> None:
    """Export experts as ONNX models, checked against PyTorch on positions of every phase."""
    from moemcts.agents import PolicyAgent
    from moemcts.cli.outputs import check_writable_folder
    from moemcts.errors import UsageError, unknown_name
    from moemcts.learn.checkpoint import load_networks
    from moemcts.learn.inference.evaluators import AUTO, Inference, parse_precision
    from moemcts.learn.inference.folder import Team, export_experts, export_folder
    from moemcts.learn.inference.positions import positions_of_dataset, positions_of_play
    from moemcts.naming import experts_in
    from moemcts.plugins import plugins
    from moemcts.runs.sources import open_training_samples
    from moemcts.store import MANIFEST, read_toml

    if precision in ("bf16", AUTO):
        raise UsageError(
            f"expected --precision float32 or int8, got {precision!r}, which is chosen when a float32 model is run"
        )
    if precision not in EXPORTED:
        raise unknown_name("precision", precision, EXPORTED)
    chosen = parse_precision(precision)
    folder = experts_in(folder)
    target = out or export_folder(folder, chosen)
    check_writable_folder(target)
    game = plugins().game(str(read_toml(folder / MANIFEST).get("game", "")))
    loaded = load_networks(folder, game, plugins())
    dataset = open_training_samples(data, game) if data is not None else _own_dataset(folder, loaded.manifest, game)
    if dataset is not None:
        positions = positions_of_dataset(dataset, loaded.gate, per_phase=num_positions, seed=seed)
        source = f"dataset {dataset.id}, seed {seed}"
    else:
        name = plugins().player(game)
        agents = [plugins().agent(name, game), PolicyAgent(loaded.expert_set(Inference()), temperature=1.0)]
        positions = positions_of_play(game, loaded.gate, agents, per_phase=num_positions, seed=seed)
        source = f"games of agent {name} and of the experts' policies, seed {seed}"
    team = Team(networks=loaded.networks, phase_names=loaded.gate.phase_names, manifest=loaded.manifest)
    manifest = export_experts(team, positions, target, precision=chosen, source=source)
    typer.echo(json.dumps(manifest, indent=1) if as_json else _describe(manifest, target))


def _own_dataset(folder: Path, manifest: Mapping[str, Any], game: Game) -> Dataset | None:
    """Returns the dataset that the experts were trained on, if it is in the folder of their run."""
    from moemcts.errors import UsageError
    from moemcts.learn.data.shards import full_dataset_id
    from moemcts.runs.sources import open_training_samples

    # The experts of a training are in FOLDER/experts, those of a run in FOLDER/experts/NAME.
    for parent in (folder.absolute().parent, folder.absolute().parent.parent):
        # Any other folder named `data` holds no samples.
        with contextlib.suppress(UsageError):
            dataset = open_training_samples(parent / "data", game)
            # They may have been trained on some of its games only.
            return dataset if dataset.id == full_dataset_id(manifest.get("data", "")) else None
    return None


def _describe(manifest: dict[str, Any], folder: Path) -> str:
    counts = ", ".join(f"{count} {phase}" for phase, count in manifest["positions"]["counts"].items())
    lines = [f"{folder}: {manifest['precision']}, positions: {counts} ({manifest['positions']['source']})"]
    if missing := [phase for phase, count in manifest["positions"]["counts"].items() if not count]:
        lines.append(f"  no position of {', '.join(missing)} was met; give a dataset that has some with --data")
    for entry in manifest["experts"]:
        if "largest_error" in entry:
            lines.append(
                f"  {entry['file']}  {entry['phase']}: differs from torch by {entry['largest_error']:.1e} at most"
            )
            continue
        lines.append(f"  {entry['file']}  {entry['phase']}: against float32")
        lines += [
            f"    {phase:<20} same best move {100 * agreement['top1']:.1f} %, policy KL {agreement['kl']:.4f} nats, "
            f"value off by {agreement['value']:.4f} on average, {agreement['num_positions']} positions"
            for phase, agreement in entry["agreement"].items()
        ]
    return "\n".join(lines)

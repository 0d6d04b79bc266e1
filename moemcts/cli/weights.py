"""`moemcts weights list | show | where`: the experts that come with the games, and those of others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moemcts.cli.lists import print_rows

if TYPE_CHECKING:
    from moemcts.weights import Shipped

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Named = Annotated[
    str,
    typer.Argument(help="Experts: weights:NAME or just NAME, hf:OWNER/NAME, a URL, or a folder.", metavar="EXPERTS"),
]


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Trained experts to play with, and where they are.")
    group.callback(invoke_without_command=True)(_default)
    group.command("list")(list_weights)
    group.command()(show)
    group.command()(where)
    app.add_typer(group, name="weights", rich_help_panel="Look around")


def _default(context: typer.Context) -> None:
    """Trained experts to play with, and where they are; lists them unless told otherwise."""
    if context.invoked_subcommand is None:
        list_weights()


def list_weights(as_json: Json = False) -> None:
    """List the experts that come with the games: `weights:NAME` names them wherever a folder of experts is named."""
    from moemcts.weights import shipped

    found = [_row(one) for one in shipped()]
    if as_json:
        typer.echo(json.dumps(found, indent=1))
        return
    if not found:
        typer.echo("no weights come with the games that are installed")
        return
    print_rows([{name: f"{value:.1f}" if name == "MB" else value for name, value in row.items()} for row in found])


def show(experts: Named, as_json: Json = False) -> None:
    """Show how experts were made and how good they are: game, gate, network, scheme, seed, losses, Elo."""
    from moemcts.errors import DamagedFile
    from moemcts.naming import experts_in
    from moemcts.store import read_toml
    from moemcts.weights import CARD, MANIFEST

    folder = experts_in(_reference(experts))
    found: dict[str, Any] = {"folder": str(folder), **read_toml(folder / MANIFEST)}
    if (folder / CARD).exists():
        found["card"] = read_toml(folder / CARD)
    try:
        lines = _lines(found)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DamagedFile(
            f"{folder / MANIFEST} is no manifest of experts, or {CARD} beside it no card: {error!r}; make or fetch the "
            "experts again"
        ) from error
    typer.echo(json.dumps(found, indent=1) if as_json else "\n".join(lines))


def where(experts: Named) -> None:
    """Print the folder of experts; those of a hub or a URL are downloaded first, and their hashes checked."""
    from moemcts.naming import experts_in

    typer.echo(experts_in(_reference(experts)))


def _reference(text: str) -> str:
    from moemcts.plugins import plugins
    from moemcts.weights import WEIGHTS, is_reference

    # What can be no folder is meant to be a name, and is told the nearest one.
    is_place = is_reference(text) or "/" in text or Path(text).exists()
    return text if is_place and text not in plugins().weights else WEIGHTS + text


def _row(one: Shipped) -> dict[str, Any]:
    manifest = one.manifest
    return {
        "reference": one.reference,
        "game": manifest["game"],
        "gate": manifest["gate"]["reference"],
        "experts": len(manifest["experts"]),
        "MB": one.num_bytes / 1e6,
        "summary": one.summary,
    }


def _lines(found: Mapping[str, Any]) -> list[str]:
    lines = [f"{name:<10} {found[name]}" for name in ("folder", "game", "network", "scheme", "seed", "data", "version")]
    lines.insert(2, f"{'gate':<10} {found['gate']['reference']}")
    for entry in found["experts"]:
        losses = ", ".join(f"{name} {value:.4g}" for name, value in (entry.get("validation") or {}).items())
        lines.append(
            f"{'expert':<10} {entry['phase']}: {losses or 'no losses recorded'}, sha256 {entry['sha256'][:12]}"
        )
    for name, value in found.get("card", {}).items():
        if name != "measured":
            lines.append(f"{name:<10} {value}")
    for row in found.get("card", {}).get("measured", ()):
        lines.append(
            f"{'measured':<10} {row['result']} against {row['against']}, {row['games']} games: {row['command']}"
        )
    return lines

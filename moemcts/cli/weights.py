"""`moemcts weights list | show | where`: experts that come with the games, and those from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moemcts.cli.groups import Group
from moemcts.cli.lists import Json
from moemcts.errors import UsageError

if TYPE_CHECKING:
    from moemcts.game import Game
    from moemcts.weights import BundledExperts

ExpertsArgument = Annotated[
    str,
    typer.Argument(help="Experts: weights:NAME or just NAME, hf:OWNER/NAME, a URL, or a folder.", metavar="EXPERTS"),
]
_COUNT = re.compile(r"(?P<number>\d+|no) (?P<what>win|draw|loss)(e?s)?")


def register(app: typer.Typer) -> None:
    group = typer.Typer(cls=Group, help="Trained experts to play with, and where they are.")
    group.callback(invoke_without_command=True)(_list_by_default)
    group.command("list")(list_weights)
    group.command()(show)
    group.command()(where)
    app.add_typer(group, name="weights", rich_help_panel="Look around")


def _list_by_default(context: typer.Context, as_json: Json = False) -> None:
    """Trained experts to play with, and where they are; lists them by default."""
    if context.invoked_subcommand is None:
        list_weights(as_json)
    elif as_json:
        raise UsageError(f"expected --json after {context.invoked_subcommand}")


def list_weights(as_json: Json = False) -> None:
    """List the experts that come with the games; use `weights:NAME` wherever a folder of experts is expected."""
    from moemcts.cli.consoles import print_json, print_rows
    from moemcts.weights import bundled_experts

    rows = [_summary_row(experts) for experts in bundled_experts()]
    if as_json:
        print_json(rows)
        return
    if not rows:
        typer.echo("the installed games come with no weights")
        return
    print_rows([{name: f"{value:.1f}" if name == "MB" else value for name, value in row.items()} for row in rows])


def show(experts: ExpertsArgument, as_json: Json = False) -> None:
    """Show how experts were made and how good they are: game, gate, network, scheme, seed, losses, Elo."""
    from moemcts.cli.consoles import print_json
    from moemcts.cli.printing import printable
    from moemcts.errors import DamagedFile
    from moemcts.naming import experts_in
    from moemcts.store import MANIFEST, read_toml
    from moemcts.weights import CARD

    folder = experts_in(_reference(experts))
    manifest: dict[str, Any] = {"folder": str(folder), **read_toml(folder / MANIFEST)}
    if (folder / CARD).exists():
        manifest["card"] = read_toml(folder / CARD)
    try:
        strengths = _implied_strengths(manifest)
        lines = _lines(manifest, strengths)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DamagedFile(
            f"{folder / MANIFEST} is not a valid manifest of experts, or {CARD} beside it not a valid card: "
            f"{error!r}; make or fetch the experts again"
        ) from error
    if not as_json:
        typer.echo(printable("\n".join(lines)))
        return
    for row, strength in zip(_measurements(manifest), strengths, strict=True):
        row |= {"of_these_games": strength} if strength else {}
    print_json(manifest)


def where(experts: ExpertsArgument) -> None:
    """Print the folder of experts; those of a hub or a URL are first downloaded and their hashes checked."""
    from moemcts.naming import experts_in

    typer.echo(experts_in(_reference(experts)))


def _reference(text: str) -> str:
    from moemcts.plugins import plugins
    from moemcts.references import WEIGHTS
    from moemcts.weights import is_reference

    # If it cannot be a folder it is taken for a name, so that an error suggests the nearest one.
    is_place = is_reference(text) or "/" in text or Path(text).exists()
    return text if is_place and text not in plugins().weights else WEIGHTS + text


def _summary_row(experts: BundledExperts) -> dict[str, Any]:
    manifest = experts.manifest
    return {
        "reference": experts.reference,
        "game": manifest["game"],
        "gate": manifest["gate"]["reference"],
        "experts": len(manifest["experts"]),
        "MB": experts.num_bytes / 1e6,
        "summary": experts.summary,
    }


def _lines(manifest: Mapping[str, Any], strengths: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = [
        f"{name:<10} {manifest[name]}" for name in ("folder", "game", "network", "scheme", "seed", "data", "version")
    ]
    lines.insert(2, f"{'gate':<10} {manifest['gate']['reference']}")
    for entry in manifest["experts"]:
        losses = ", ".join(f"{name} {value:.4g}" for name, value in (entry.get("validation") or {}).items())
        lines.append(
            f"{'expert':<10} {entry['phase']}: {losses or 'no losses recorded'}, sha256 {entry['sha256'][:12]}"
        )
    for name, value in manifest.get("card", {}).items():
        if name != "measured":
            lines.append(f"{name:<10} {value}")
    for row, strength in zip(_measurements(manifest), strengths, strict=True):
        measurement = f"{row['result']} against {row['against']}, {row['games']} games{_format_strength(strength)}"
        lines.append(f"{'measured':<10} {measurement}: {row['command']}")
    return lines


def _measurements(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    return list(manifest.get("card", {}).get("measured", ()))


def _implied_strengths(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the strength that each measurement implies; empty if it has no counts of wins, draws and losses."""
    measured = _measurements(manifest)
    game = _game_of(manifest) if measured else None
    return [{} if game is None else _implied_strength(row, len(game.spec.sides)) for row in measured]


def _implied_strength(row: Mapping[str, Any], num_sides: int) -> dict[str, Any]:
    """Returns an Elo difference, or the win rate if there are more than two sides, with its 95 % interval."""
    from moemcts.arena.intervals import wilson_interval
    from moemcts.arena.rating import elo

    wins, draws, losses = counts = _parse_result(row["result"])
    if num_sides < 2 or not sum(counts) or sum(counts) != row["games"]:
        return {}
    if num_sides > 2:
        return {"win_rate": wins / sum(counts), "interval": wilson_interval(wins, sum(counts))}
    return {"elo": asdict(elo(wins, draws, losses))}


def _format_strength(strength: Mapping[str, Any]) -> str:
    from moemcts.arena.rating import Elo

    if "elo" in strength:
        difference = Elo(**strength["elo"])
        kind = "the 95 % interval" if difference.error is not None else "the only 95 % bound"
        return f", Elo {difference}, {kind} of these games alone"
    if "win_rate" in strength:
        low, high = strength["interval"]
        rate = f"{100 * strength['win_rate']:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"
        return f", win rate {rate}, the 95 % interval of these games alone"
    return ""


def _parse_result(result: str) -> tuple[int, int, int]:
    """Returns the wins, draws and losses of a result such as `10 wins, 9 draws, no loss`; zeros for any other text."""
    parts = [_COUNT.fullmatch(part) for part in result.split(", ")]
    counts = {part["what"]: 0 if part["number"] == "no" else int(part["number"]) for part in parts if part}
    if len(counts) < len(parts):
        return 0, 0, 0
    return counts.get("win", 0), counts.get("draw", 0), counts.get("loss", 0)


def _game_of(manifest: Mapping[str, Any]) -> Game | None:
    from moemcts.errors import MoemctsError
    from moemcts.plugins import plugins

    try:
        return plugins().game(manifest["game"])
    except MoemctsError:
        # Experts can be shown without the plugin of their game.
        return None

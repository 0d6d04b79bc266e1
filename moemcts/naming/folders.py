"""Finds the folders of experts, and reads their manifests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from moemcts import weights
from moemcts.errors import UsageError
from moemcts.game import Game
from moemcts.plugins import plugins
from moemcts.references import EXPERTS, format_reference, parse_reference
from moemcts.store import MANIFEST, digest, manifest_digest, read_bytes, read_toml


def names_experts(reference: str) -> bool:
    """Returns whether a reference names experts, and not a registered agent of that name."""
    name, _ = parse_reference(reference)
    is_explicit = name.startswith(EXPERTS) or weights.is_reference(name)
    return is_explicit or (name not in plugins().agents and folder_of(reference).exists())


def folder_of(reference: str) -> Path:
    """Returns the folder that a reference to experts names; see `moemcts.weights.folder_of`."""
    return weights.folder_of(parse_reference(reference)[0].removeprefix(EXPERTS))


def experts_in(named: str | Path) -> Path:
    """Returns the folder with the manifest of experts: the named one or, for a training run, its subfolder `experts`.

    Raises UsageError if it has no experts, or several sets of them.
    """
    folder = weights.folder_of(named)
    for candidate in (folder, folder / "experts"):
        if (candidate / MANIFEST).exists():
            return candidate
    teams = sorted(str(manifest.parent) for manifest in folder.glob(f"experts/*/{MANIFEST}"))
    # Self-play may have hundreds of generations; only the last is listed.
    teams += sorted(str(manifest.parent) for manifest in folder.glob(f"generations/*/experts/{MANIFEST}"))[-1:]
    hint = "there is no such folder" if not folder.exists() else "it is a file" if folder.is_file() else ""
    if not hint:
        hint = f"it holds {', '.join(teams)}" if teams else f"it holds no {MANIFEST}"
    raise UsageError(f"expected a folder of experts, got {folder}; {hint}")


def phases_of(experts: str, game: Game) -> list[str]:
    """Returns the phases of the experts that a reference names."""
    from moemcts.learn.checkpoint import load_experts

    folder = experts_in(folder_of(experts))
    return list(load_experts(folder, weights.encoded_as(folder, game), plugins()).gate.phase_names)


def game_of(experts: str) -> Game:
    """Returns the game that the experts of a reference were trained for."""
    folder = experts_in(folder_of(experts))
    return plugins().game(str(read_toml(folder / MANIFEST).get("game", "")))


def identity_of(references: Sequence[str], game: str = "") -> dict[str, Any]:
    """Returns what else determines the games of these agents: their weights, and the game reference's options."""
    name, options = parse_reference(game)
    rules = {"game": format_reference(name, dict(sorted(options.items())))} if options else {}
    return {"experts": {name: _manifest_hashes(name) for name in references}, **rules}


def experts_of(references: Sequence[str]) -> dict[str, list[str]]:
    """Returns what determines a part of a run in which these agents play: the weights of those that are experts."""
    return {f"experts of {name}": _manifest_hashes(name) for name in references if names_experts(name)}


def _manifest_hashes(reference: str) -> list[str]:
    """Returns the hashes of the manifests of all experts that an agent plays with, which include those of the weights,
    and of the file of another gate.
    """
    _, options = parse_reference(reference)
    others = [str(options[option]) for option in ("else", "value") if option in options]
    hashes = []
    for folder in map(folder_of, [reference, *others]):
        hashes += [manifest_digest(place) for place in (folder, folder / "experts") if (place / MANIFEST).exists()]
    gate_file = Path(str(options.get("gate", "")))
    if gate_file.is_file():
        hashes.append(digest(read_bytes(gate_file))[:16])
    return hashes

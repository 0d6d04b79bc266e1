"""Whether experts have learned from games that others are measured on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moemcts.learn.data.shards import whole_id
from moemcts.runs.sources import Sources
from moemcts.store import MANIFEST, read_toml


def leak(who: str, experts: Path, sources: Sources, *, seed: int, fraction: float) -> str:
    """Returns a warning where experts may have learned from what a training of that seed is measured on; empty where
    they have not. `fraction` of its games are held out, where no set is apart; `who` begins the warning.
    """
    if not (experts / MANIFEST).exists():
        # Nobody can say any more.
        return ""
    manifest = read_toml(experts / MANIFEST)
    apart = sources.test or sources.validation
    learned = {whole_id(manifest.get("data", "")), *manifest.get("data_parts", ())} - {""}
    if not learned & (apart or sources.training).parts:
        return ""
    if apart:
        return f"{who} has learned from the {sources.kind} samples themselves. Compare on others."
    ours = {
        "data": sources.training.id,
        "validation": sources.training.id,
        "seed": seed,
        "validation_fraction": fraction,
    }
    theirs = _split_of(experts)
    if ours == theirs:
        return ""
    their_seed = manifest.get("seed", 0)
    how = f"with seed {their_seed}, not {seed}" if their_seed != seed else _difference(ours, theirs)
    return (
        f"{who} has learned from the same data {how}: other games were held out from it, it has learned from some of "
        "these. Compare on a test set, or with equal seeds and an equal split."
    )


def training_of(experts: Path) -> Path:
    """Returns where the training of experts has left its measurements, if it has: theirs alone, or of an arm."""
    is_alone = experts.name == "experts"
    return experts.parent / "training" if is_alone else experts.parent.parent / "training" / experts.name


def _split_of(experts: Path) -> dict[str, Any]:
    """Returns what decided which games were held out from experts; nothing where that is not known."""
    from moemcts.learn.training.trainer import read_identity

    found = read_identity(training_of(experts)) or {}
    settings = found.get("config", {})
    held_out = {key: settings.get(key) for key in ("seed", "validation_fraction")}
    return {"data": found.get("data"), "validation": found.get("validation"), **held_out} if found else {}


def _difference(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    """Returns how another split differs from that of a run with the same seed, in words."""
    if not theirs:
        return "with a split that is not known here"
    if theirs["data"] != ours["data"]:
        return f"of which it saw {theirs['data']}, not {ours['data']}"
    if theirs["validation"] != ours["validation"]:
        return f"and measured on {theirs['validation']}"
    return f"with validation_fraction {theirs['validation_fraction']}, not {ours['validation_fraction']}"

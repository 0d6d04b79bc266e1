"""Checks whether experts were trained on games that others are evaluated on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moemcts.learn.data.shards import full_dataset_id
from moemcts.runs.sources import Sources
from moemcts.store import MANIFEST, read_toml


def leak_warning(who: str, experts: Path, sources: Sources, *, seed: int, fraction: float) -> str:
    """Returns a warning if experts may have been trained on what a training with that seed is evaluated on, else "".

    `fraction` of the training's games are held out if there is no separate set. The warning begins with `who`.
    """
    if not (experts / MANIFEST).exists():
        # Without a manifest nothing is known.
        return ""
    manifest = read_toml(experts / MANIFEST)
    evaluation_set = sources.test or sources.validation
    learned = {full_dataset_id(manifest.get("data", "")), *manifest.get("data_parts", ())} - {""}
    if not learned & (evaluation_set or sources.training).parts:
        return ""
    if evaluation_set:
        return f"{who} learned from the {sources.kind} samples themselves. Compare on others."
    ours = {
        "data": sources.training.id,
        "validation": sources.training.id,
        "seed": seed,
        "validation_fraction": fraction,
    }
    theirs = _read_split(experts)
    if ours == theirs:
        return ""
    their_seed = manifest.get("seed", 0)
    how = f"with seed {their_seed}, not {seed}" if their_seed != seed else _describe_difference(ours, theirs)
    return (
        f"{who} learned from the same data {how}: other games were held out from it, so it learned from some of "
        "these. Compare on a test set, or with the same seed and the same split."
    )


def training_folder_of(experts: Path) -> Path:
    """Returns the folder in which the training of experts leaves its measurements, whether or not it exists.

    Covers experts trained on their own and experts of an experiment's arm.
    """
    is_alone = experts.name == "experts"
    return experts.parent / "training" if is_alone else experts.parent.parent / "training" / experts.name


def _read_split(experts: Path) -> dict[str, Any]:
    """Returns what decided which games were held out from experts; empty if unknown."""
    from moemcts.learn.training.trainer import read_identity

    identity = read_identity(training_folder_of(experts))
    if not identity:
        return {}
    settings = identity.get("config", {})
    return {
        "data": identity.get("data"),
        "validation": identity.get("validation"),
        "seed": settings.get("seed"),
        "validation_fraction": settings.get("validation_fraction"),
    }


def _describe_difference(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    """Returns a description of how another split differs from that of a run with the same seed."""
    if not theirs:
        return "with an unknown split"
    if theirs["data"] != ours["data"]:
        return f"of which it saw {theirs['data']}, not {ours['data']}"
    if theirs["validation"] != ours["validation"]:
        return f"and measured on {theirs['validation']}"
    return f"with validation_fraction {theirs['validation_fraction']}, not {ours['validation_fraction']}"

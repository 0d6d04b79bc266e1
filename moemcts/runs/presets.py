"""How large an experiment is by the name of its size, and what its game adds to that."""

from __future__ import annotations

import importlib.resources
import tomllib
from collections.abc import Mapping
from typing import Any

from moemcts.dotted import flat
from moemcts.errors import unknown_name
from moemcts.plugins import plugins


def preset_names() -> list[str]:
    """Returns the presets, the smallest first."""
    return list(_presets())


def load_preset(name: str) -> dict[str, Any]:
    """Returns the values of a preset; raises UsageError for an unknown one."""
    presets = _presets()
    if name not in presets:
        raise unknown_name("preset", name, presets)
    values: dict[str, Any] = presets[name]
    return values


def layered(reference: str, preset: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Returns settings by dotted path: how the game that a user names is searched, over it a preset, over that what
    fits the game, and over all what the preset says of it by its `own`.
    """
    searched = {"search": plugins().search_settings(plugins().game(reference))}
    found: dict[str, Any] = {}
    for part in (searched, preset, plugins().game_settings(reference), own):
        found |= flat(part)
    return found


def _presets() -> dict[str, Any]:
    text = importlib.resources.files("moemcts.runs").joinpath("presets.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)

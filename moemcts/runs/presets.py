"""Presets: sizes of experiments by name, with overrides by the game."""

from __future__ import annotations

import importlib.resources
import tomllib
from collections.abc import Mapping
from typing import Any

from moemcts.dotted import flat
from moemcts.errors import unknown_name
from moemcts.plugins import plugins


def preset_names() -> list[str]:
    """Returns the names of the presets, smallest first."""
    return list(_presets())


def load_preset(name: str) -> dict[str, Any]:
    """Returns the values of a preset; raises UsageError if it is unknown."""
    presets = _presets()
    if name not in presets:
        raise unknown_name("preset", name, presets)
    values: dict[str, Any] = presets[name]
    return values


def layered(reference: str, preset: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings of a game and a preset, by dotted path.

    In order of increasing precedence: the game's search settings, the preset, the game's own settings, and `own`, what
    the preset says for this game.
    """
    searched = {"search": plugins().search_settings(plugins().game(reference))}
    found: dict[str, Any] = {}
    for part in (searched, preset, plugins().game_settings(reference), own):
        found |= flat(part)
    return found


def _presets() -> dict[str, Any]:
    text = importlib.resources.files("moemcts.runs").joinpath("presets.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)

"""Settings as users give them: preset, the game's own, a file, options; each over the ones before."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from moemcts.errors import UsageError

DEFAULT_PRESET = "laptop"


def settings(
    given: Mapping[str, Any],
    preset: str | None,
    config: Path | None,
    changes: Sequence[str],
    *,
    known: Collection[str] | None = None,
) -> dict[str, Any]:
    """Returns the values; `known` are the entries and sections that count of presets and of the game's settings.

    Raises UsageError where no game is named, or what is given cannot be read as a setting.
    """
    from moemcts.plugins import plugins
    from moemcts.references import parse_reference
    from moemcts.runs.settings import load_preset, merge
    from moemcts.store import read_toml

    file = read_toml(config) if config is not None else {}
    reference = given.get("game") or file.get("game")
    if not isinstance(reference, str):
        raise UsageError(f"expected --game; one of {', '.join(plugins().games)}")
    plugins().game(reference)
    values: dict[str, Any] = {}
    for part in (load_preset(preset or DEFAULT_PRESET), plugins().games[parse_reference(reference)[0]].settings):
        merge(values, {path: value for path, value in flat(part).items() if _counts(path, known)})
    merge(values, flat(file))
    merge(values, given)
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals:
            raise UsageError(f"expected --set setting=value, got {change!r}")
        merge(values, parse_reference(f"?{name.replace('-', '_')}={value}")[1])
    return values


def flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Returns the entries of a table and its sections by dotted path."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {prefix + key: value}
    return found


def _counts(path: str, known: Collection[str] | None) -> bool:
    return known is None or path.partition(".")[0] in known

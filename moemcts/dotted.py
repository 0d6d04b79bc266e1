"""Nested tables, as in TOML and JSON, whose entries are addressed by dotted paths: `search.simulations`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from moemcts.errors import UsageError


def flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Returns the values of a nested table by dotted path."""
    values: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            values |= flat(value, f"{prefix}{key}.")
        else:
            values[prefix + key] = value
    return values


def merge(values: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Returns `values`, changed in place, with `changes` applied, whose keys are dotted paths."""
    for path, value in changes.items():
        *sections, key = path.split(".")
        table = values
        for section in sections:
            table = table.setdefault(section, {})
            if not isinstance(table, dict):
                raise UsageError(f"expected sections in {path!r} before the last dot, but {section!r} is a value")
        table[key] = value
    return values


def lookup(values: Mapping[str, Any], path: str) -> Any:
    """Returns the value at a dotted path; None if there is none."""
    for key in path.split("."):
        if not isinstance(values, Mapping) or key not in values:
            return None
        values = values[key]
    return values


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yields every value that is neither a table nor a list, with its dotted path; items of a list share its path."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item, path)
    else:
        yield path, value

"""Base classes of settings: frozen, strict, and aware of which settings have no effect."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer

_ABSENT = (None, "", ())
"""Values of a setting that is not given."""


class Mark:
    """Metadata of a setting, as in `Annotated[float, LATER]`."""


class Idle(Mark):
    """Marks a setting that has no effect if each of the named settings has one of the given values.

    `Annotated[int, Idle(schedule=("constant", "cosine"))]`. Of several such marks, one is enough.
    """

    def __init__(self, **values: tuple[object, ...]) -> None:
        self.values = values

    def reason(self, section: Section, prefix: str) -> str:
        """Returns why the setting has no effect, with prefixed names; empty if it has one."""
        current = {name: getattr(section, name) for name in self.values}
        if any(value not in self.values[name] for name, value in current.items()):
            return ""
        absent = [f"{prefix}{name}" for name, value in current.items() if value in _ABSENT]
        present = [f"{prefix}{name}={format_value(value)}" for name, value in current.items() if value not in _ABSENT]
        reasons = []
        if absent:
            reasons.append(f"without {' and '.join(absent)}")
        if present:
            reasons.append(f"with {' and '.join(present)}")
        return " and ".join(reasons)


class Replaces(Mark):
    """Marks a setting that, if given, replaces others, which then have no effect.

    `Annotated[str, Replaces("games", "other.name")]`: names of the same section, or dotted paths of others.
    """

    def __init__(self, *names: str) -> None:
        self.names = names

    def paths(self, section: str) -> list[str]:
        """Returns the dotted paths of the replaced settings; the marked one is in `section`."""
        return [name if "." in name else f"{section}.{name}" for name in self.names]


LATER = Mark()
"""Marks a setting that was added later: it is not written to files while it has its default, so that these do not
change."""


class Frozen(BaseModel):
    """A frozen table of a file; unknown keys are rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Section(Frozen):
    """A section of the settings."""

    def idle(self, prefix: str = "") -> Iterator[tuple[str, str]]:
        """Yields the settings that have no effect given the others, with the reason in words; `prefix` precedes names.

        Settings of nested sections are named by dotted paths.
        """
        for name, field in type(self).model_fields.items():
            if isinstance(section := getattr(self, name), Section):
                yield from section.idle(f"{prefix}{name}.")
            reasons = (mark.reason(self, prefix) for mark in field.metadata if isinstance(mark, Idle))
            if reason := next(filter(None, reasons), ""):
                yield f"{prefix}{name}", reason

    @model_serializer(mode="wrap")
    def _without_later_defaults(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        return {
            name: value
            for name, value in dump(self).items()
            if LATER not in fields[name].metadata or value != fields[name].get_default()
        }


def format_value(value: object) -> str:
    """Returns a value as written in files and options: `true`, `0.5`, `puct`."""
    return value if isinstance(value, str) else json.dumps(value)

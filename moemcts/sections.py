"""What sections of settings have in common: they are frozen, know their names, and files say of them what they need."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer


class Mark:
    """What is said of a setting beside its type, as in `Annotated[float, LATER]`."""


class Idle(Mark):
    """Values of other settings of a section beside which a setting has no effect: where each has one of those named.

    `Annotated[int, Idle(schedule=("constant", "cosine"))]`. Of several such marks one is enough.
    """

    def __init__(self, **values: tuple[object, ...]) -> None:
        self.values = values

    def reason(self, section: Section, prefix: str) -> str:
        """Returns why nothing comes of the setting, names with a prefix; empty where something does."""
        found = {name: getattr(section, name) for name in self.values}
        if any(value not in self.values[name] for name, value in found.items()):
            return ""
        without = [f"{prefix}{name}" for name, value in found.items() if value in (None, "", ())]
        beside = [f"{prefix}{name}={told(value)}" for name, value in found.items() if value not in (None, "", ())]
        words = [f"{word} {' and '.join(names)}" for word, names in (("without", without), ("with", beside)) if names]
        return " and ".join(words)


LATER = Mark()
"""A setting that files did not have before: where it has its default it is left out, so that they stay as they were."""


class Frozen(BaseModel):
    """A table of a file: it stays as it was read, and what it does not know is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Section(Frozen):
    """A part of the settings."""

    def idle(self, prefix: str = "") -> Iterator[tuple[str, str]]:
        """Yields the settings of which nothing comes beside the others, and why in words; names with a prefix.

        Those of sections in it are named by dotted paths.
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


def told(value: object) -> str:
    """Returns a value as files and options say it: `true`, `0.5`, `puct`."""
    return value if isinstance(value, str) else json.dumps(value)

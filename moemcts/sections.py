"""What sections of settings have in common: they are frozen, know their names, and files say of them what they need."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer


class Mark:
    """What is said of a setting beside its type, as in `Annotated[float, LATER]`."""


LATER = Mark()
"""A setting that files did not have before: where it has its default it is left out, so that they stay as they were."""


class Section(BaseModel):
    """A part of the settings."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    @model_serializer(mode="wrap")
    def _without_later_defaults(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        return {
            name: value
            for name, value in dump(self).items()
            if LATER not in fields[name].metadata or value != fields[name].get_default()
        }

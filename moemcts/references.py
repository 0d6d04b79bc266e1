"""Syntax of references, names with options: `steps?cuts=93,252`; prefixes say where experts are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from moemcts.errors import UsageError

EXPERTS = "experts:"
"""Optional prefix of a folder of experts."""
WEIGHTS = "weights:"
"""Prefix of the names of experts that come with a plugin."""
HUB = "hf:"
"""Prefix of a repository of the Hugging Face hub: `hf:owner/name`, `hf:owner/name/folder@revision`."""
URLS = ("https://", "http://")


def parse_reference(text: str) -> tuple[str, dict[str, Any]]:
    """Returns the name and the options of `name?option=value&option=value`.

    Values are integers, numbers, `true`, `false`, lists separated by commas, or words.

    Raises UsageError if an option has no value or is repeated.
    """
    name, _, query = text.partition("?")
    options: dict[str, Any] = {}
    for part in filter(None, query.split("&")):
        key, equals, value = part.partition("=")
        if not equals or not key:
            raise UsageError(f"expected option=value in {text!r}, got {part!r}")
        key = key.replace("-", "_")
        if key in options:
            raise UsageError(f"expected option {key!r} once in {text!r}, got it twice")
        options[key] = parse_value(value)
    return name, options


def parse_value(text: str) -> Any:
    """Returns the value of an option: an integer, a number, `true`, `false`, a list separated by commas, or a word.

    A list may be in brackets, as in JSON and TOML, with or without quotes around its words.
    """
    is_bracketed = text.startswith("[") and text.endswith("]")
    if is_bracketed or "," not in text:
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            if not is_bracketed:
                return text
    items = text[1:-1] if is_bracketed else text
    return [parse_value(item.strip() if is_bracketed else item) for item in items.split(",") if item]


def format_reference(name: str, options: Mapping[str, Any]) -> str:
    """Returns a reference, the inverse of `parse_reference`."""
    return name + "".join(
        f"{'&' if i else '?'}{key}={format_value(value)}" for i, (key, value) in enumerate(options.items())
    )


def extend_reference(text: str, options: Mapping[str, Any]) -> str:
    """Returns a reference with options appended; the original text is kept as it is."""
    added = format_reference("", options)[1:]
    return f"{text}{'&' if '?' in text else '?'}{added}" if added else text


def format_value(value: Any) -> str:
    """Returns a value as text, the inverse of `parse_value`."""
    if isinstance(value, list | tuple):
        return ",".join(map(format_value, value)) + ("," if len(value) == 1 else "")
    return value if isinstance(value, str) else json.dumps(value)

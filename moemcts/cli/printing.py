"""Makes untrusted text safe to print on a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """Returns the text with unprintable characters other than newlines, such as terminal escapes, replaced by `?`."""
    return "".join(character if character.isprintable() or character == "\n" else "?" for character in text)

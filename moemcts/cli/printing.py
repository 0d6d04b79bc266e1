"""What files of others say, as a terminal may show it."""

from __future__ import annotations


def printable(text: str) -> str:
    """Returns the text with `?` for all but line ends that is not printable, such as what a terminal obeys."""
    return "".join(character if character.isprintable() or character == "\n" else "?" for character in text)

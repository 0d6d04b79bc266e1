"""How often Python looks for garbage in processes that are moemcts' own: the command line and its workers."""

from __future__ import annotations

import gc

_NEW_OBJECTS = 10_000
"""New objects that are looked through at once; Python's own number is 700 or 2,000, by its version."""


def collect_rarely() -> None:
    """Lets this process look for garbage less often: once for many new objects.

    Nearly everything here dies when its last reference does. What is looked through instead, again and again, are the
    positions of games under way and all that torch and others have imported. Memory grows by what a few thousand
    objects take. For whoever owns the process: a library leaves it as it is.
    """
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])

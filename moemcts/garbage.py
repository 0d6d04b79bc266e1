"""Garbage collection in processes that moemcts owns: the command line and its workers."""

from __future__ import annotations

import gc

_NEW_OBJECTS = 10_000
"""Threshold of the youngest generation; Python's default is 700 or 2,000, by version."""


def raise_gc_threshold() -> None:
    """Makes garbage collection in this process less frequent.

    Nearly all objects here are freed by reference counting. Collections would mostly traverse the positions of running
    games and the modules of torch and other packages, again and again. The cost is the memory of a few thousand
    objects. Only for processes that moemcts owns: as a library, it leaves this setting unchanged.
    """
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])

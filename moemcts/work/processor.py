"""The processor of this machine, as far as the system tells what it is."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
"""Where Linux tells; other systems do not have it."""


@dataclass(frozen=True, kw_only=True)
class Processor:
    """What computes here."""

    name: str
    """By its maker; empty where nobody tells."""
    num_listed: int
    """How many of it Linux lists, one per thread of a core; 0 where it lists none by name."""
    instructions: frozenset[str]
    """As Linux names them; empty on other systems."""


def processor() -> Processor:
    """Returns the processor of this machine."""
    try:
        lines = CPUINFO.read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    entries = [(key.strip(), value.strip()) for key, _, value in (line.partition(":") for line in lines)]
    names = [value for key, value in entries if key == "model name"]
    return Processor(
        name=names[0] if names else platform.processor(),
        num_listed=len(names),
        instructions=frozenset(next((value for key, value in entries if key == "flags"), "").split()),
    )

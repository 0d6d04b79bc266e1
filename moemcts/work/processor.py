"""The CPU of this machine, as far as the system reports it."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
"""CPU information on Linux; other systems do not have it."""


@dataclass(frozen=True, kw_only=True)
class Processor:
    """A CPU model."""

    name: str
    """Model name; empty if unknown."""
    num_listed: int
    """Number of logical cores that Linux lists; 0 if it lists none by model name."""
    instructions: frozenset[str]
    """CPU flags as Linux names them; empty on other systems."""


def processor() -> Processor:
    """Returns the CPU of this machine."""
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

"""Refuses settings from a file that would start programs on this machine or let others run code on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from moemcts.dotted import leaves
from moemcts.errors import UsageError
from moemcts.plugins import plugins
from moemcts.references import parse_reference
from moemcts.work.ray_workers import LOCAL_RAY

if TYPE_CHECKING:
    from moemcts.runs.settings import RunConfig


def refuse_programs(config: RunConfig, where: str) -> None:
    """Raises UsageError if a setting read from `where` names an agent that runs programs, or a cluster."""
    refuse_programs_in(config.model_dump(), where)


def refuse_programs_in(values: Mapping[str, Any], where: str) -> None:
    """Refuses a value that would start programs or let others run code on this machine.

    Raises UsageError if a value read from `where` names an agent that runs programs, or workers on a cluster, whose
    results are unpickled.
    """
    workers = values.get("workers")
    if isinstance(workers, str) and workers.startswith(f"{LOCAL_RAY}://"):
        raise UsageError(
            f"{where}: workers = {workers!r} is a cluster, which could run code here; give --allow-programs if "
            "you trust where the settings come from"
        )
    for path, value in texts(values):
        name = program_agent(value)
        if name:
            raise UsageError(
                f"{where}: {path} = {value!r} runs a program on this machine through agent {name!r}; give "
                "--allow-programs if you trust where the settings come from"
            )


def program_agent(reference: str) -> str:
    """Returns the name of an agent that runs programs, if a reference or its options name one, else ""."""
    agents = plugins().agents
    if not any(entry.runs_programs for entry in agents.values()):
        return ""
    try:
        name, options = parse_reference(reference)
    except UsageError:
        return ""
    if agents.knows(name) and agents.entry(name).runs_programs:
        return name
    return next(filter(None, (program_agent(text) for _, text in texts(options))), "")


def texts(value: Any) -> Iterator[tuple[str, str]]:
    """Yields all strings in tables and lists, with their dotted paths."""
    return ((path, leaf) for path, leaf in leaves(value) if isinstance(leaf, str))

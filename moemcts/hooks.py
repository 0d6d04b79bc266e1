"""The hooks that a plugin module implements, and the registrations they return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pluggy

from moemcts import hookspecs
from moemcts.errors import UsageError, unknown_name
from moemcts.hookspecs import Registration

COMMANDS = "commands"
"""What a plugin with commands registers, however many there are."""


class NothingRegistered(UsageError):
    """A module implements no hook."""


class Hooks:
    """The hooks that one plugin implements."""

    def __init__(self, plugin: str, module: Any) -> None:
        """Raises UsageError for an unknown hook or one without `@hookimpl`, NothingRegistered for a module that
        implements none.
        """
        self.plugin = plugin
        self._pluggy = pluggy.PluginManager("moemcts")
        self._pluggy.add_hookspecs(hookspecs)
        try:
            self._pluggy.register(module, name=plugin)
        except pluggy.PluginValidationError as error:
            raise UsageError("; ".join(filter(None, map(str.strip, str(error).splitlines())))) from error
        self._check(module)

    def registrations(self, kind: str) -> Sequence[Registration]:
        """Returns the registrations from the hook `register_<kind>`; empty if the plugin does not implement it.

        Raises UsageError if the hook returns anything but a list of registrations, or sets a field that only another
        kind of registration has.
        """
        entries = self._call(kind, Registration, "registrations")
        for entry in entries:
            for name, owner in hookspecs.ONLY_OF.items():
                if owner != kind and getattr(entry, name):
                    problem = f"{name} of {entry.name!r} has no effect in {kind}, only in {owner}; leave it out"
                    raise UsageError(f"plugin {self.plugin!r}: {problem}")
        return entries

    def tables(self, kind: str) -> Sequence[Mapping[str, Any]]:
        """Returns the tables from a hook that returns tables in place of registrations."""
        return self._call(kind, Mapping, "tables")

    @property
    def has_commands(self) -> bool:
        """Whether the plugin adds commands."""
        return bool(self._implementations(COMMANDS))

    def add_commands(self, groups: Mapping[str, Any]) -> None:
        """Calls the plugin's hook with those of the command groups that it takes."""
        for implementation in self._implementations(COMMANDS):
            implementation.function(**{name: groups[name] for name in implementation.argnames})

    def _call(self, kind: str, entry_type: Any, noun: str) -> Sequence[Any]:
        """Returns what the hook `register_<kind>` returns; `noun` names its entries in errors."""
        entries: list[Any] = []
        for implementation in self._implementations(kind):
            returned = implementation.function()
            if not isinstance(returned, list | tuple) or not all(isinstance(entry, entry_type) for entry in returned):
                raise UsageError(
                    f"plugin {self.plugin!r}: expected register_{kind} to return a list of {noun}, got {returned!r:.80}"
                )
            entries += returned
        return entries

    def _implementations(self, kind: str) -> list[Any]:
        return list(getattr(self._pluggy.hook, f"register_{kind}").get_hookimpls())

    def _check(self, module: Any) -> None:
        known = [name for name, caller in vars(self._pluggy.hook).items() if getattr(caller, "spec", None)]
        callers = {caller.name: caller for caller in self._pluggy.get_hookcallers(module) or ()}
        for name in callers:
            if name not in known:
                raise unknown_name("hook", name, known)
        for name in known:
            if name not in callers and callable(getattr(module, name, None)):
                raise UsageError(f"expected {name} to be marked with @hookimpl: otherwise it is not called")
        if not callers:
            raise NothingRegistered("registers nothing; is a function missing @hookimpl?")


def format_counts(counts: Mapping[str, int]) -> str:
    """Returns counts of registrations in words.

    >>> format_counts({"games": 1, "replay_formats": 2, "commands": 1})
    '1 game, 2 replay formats, commands'
    """
    parts = []
    for kind, count in counts.items():
        plural = kind.replace("_", " ")
        singular = plural if kind == "weights" else plural.removesuffix("s")
        parts.append(plural if kind == COMMANDS else f"{count} {singular if count == 1 else plural}")
    return ", ".join(parts) or "nothing"

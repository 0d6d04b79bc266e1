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

    def registrations(self, what: str) -> Sequence[Registration]:
        """Returns the registrations from the hook `register_<what>`; empty if the plugin does not implement it.

        Raises UsageError if the hook returns anything but a list of registrations, or sets a field that only another
        kind of registration has.
        """
        found = self._returned(what, Registration, "registrations")
        for entry in found:
            for name, owner in hookspecs.ONLY_OF.items():
                if owner != what and getattr(entry, name):
                    told = f"{name} of {entry.name!r} has no effect in {what}, only in {owner}; leave it out"
                    raise UsageError(f"plugin {self.plugin!r}: {told}")
        return found

    def tables(self, what: str) -> Sequence[Mapping[str, Any]]:
        """Returns the tables from a hook that returns tables in place of registrations."""
        return self._returned(what, Mapping, "tables")

    @property
    def has_commands(self) -> bool:
        """Whether the plugin adds commands."""
        return bool(self._implementations(COMMANDS))

    def add_commands(self, groups: Mapping[str, Any]) -> None:
        """Calls the plugin's hook with those of the command groups that it takes."""
        for implementation in self._implementations(COMMANDS):
            implementation.function(**{name: groups[name] for name in implementation.argnames})

    def _returned(self, what: str, kind: Any, noun: str) -> Sequence[Any]:
        entries: list[Any] = []
        for implementation in self._implementations(what):
            found = implementation.function()
            if not isinstance(found, list | tuple) or not all(isinstance(entry, kind) for entry in found):
                raise UsageError(
                    f"plugin {self.plugin!r}: expected register_{what} to return a list of {noun}, got {found!r:.80}"
                )
            entries += found
        return entries

    def _implementations(self, what: str) -> list[Any]:
        return list(getattr(self._pluggy.hook, f"register_{what}").get_hookimpls())

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


def shown_counts(counts: Mapping[str, int]) -> str:
    """Returns counts of registrations in words.

    >>> shown_counts({"games": 1, "replay_formats": 2, "commands": 1})
    '1 game, 2 replay formats, commands'
    """
    words = []
    for what, count in counts.items():
        noun = what.replace("_", " ")
        singular = noun if what in (COMMANDS, "weights") else noun.removesuffix("s")
        words.append(noun if what == COMMANDS else f"{count} {singular if count == 1 else noun}")
    return ", ".join(words) or "nothing"

"""The hooks that plugins implement: which there are in a module, and what they return."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pluggy

from moemcts import hookspecs
from moemcts.errors import UsageError, unknown_name
from moemcts.hookspecs import Registration

COMMANDS = "commands"
"""What a plugin that adds commands registers, however many they are."""


class Hooks:
    """The hooks of plugins, by module."""

    def __init__(self, modules: Iterable[tuple[str, Any]]) -> None:
        """Raises UsageError for a hook that there is not, one without its mark, and a module that implements none."""
        self._pluggy = pluggy.PluginManager("moemcts")
        self._pluggy.add_hookspecs(hookspecs)
        self._counts: dict[str, dict[str, int]] = {}
        for name, module in modules:
            try:
                self._pluggy.register(module, name=name)
            except pluggy.PluginValidationError as error:
                raise UsageError("; ".join(filter(None, map(str.strip, str(error).splitlines())))) from error
            self._check(module)
            self._counts[name] = {}

    def registrations(self, what: str) -> Iterator[Registration]:
        """Yields what the hooks `register_<what>` return, in the order of plugins.

        Raises UsageError for a hook that returns something else than a list of registrations.
        """
        return self._returned(what, Registration, "registrations")

    def tables(self, what: str) -> Iterator[Mapping[str, Any]]:
        """Yields likewise what hooks return that do not return registrations but tables."""
        return self._returned(what, Mapping, "tables")

    def commands(self) -> list[tuple[str, Callable[..., Any], Sequence[str]]]:
        """Returns the plugins that add commands, what does it, and the names of the arguments that it takes."""
        return [(one.plugin_name, one.function, one.argnames) for one in self._implementations(COMMANDS)]

    def counts(self, plugin: str) -> Mapping[str, int]:
        """Returns how much a plugin has registered so far, by what it is."""
        adds = any(name == plugin for name, _, _ in self.commands())
        return self._counts[plugin] | ({COMMANDS: 1} if adds else {})

    def _returned(self, what: str, kind: Any, noun: str) -> Iterator[Any]:
        for implementation in self._implementations(what):
            plugin, found = implementation.plugin_name, implementation.function()
            if not isinstance(found, list | tuple) or not all(isinstance(entry, kind) for entry in found):
                raise UsageError(
                    f"plugin {plugin!r}: expected register_{what} to return a list of {noun}, got {found!r:.80}"
                )
            if found:
                self._counts[plugin][what] = len(found)
            yield from found

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
                raise UsageError(f"expected {name} to be marked with @hookimpl: without it, it is not called")
        if not callers:
            raise UsageError("registers nothing; is a function missing @hookimpl?")


def shown_counts(counts: Mapping[str, int]) -> str:
    """Returns what a plugin registers in words.

    >>> shown_counts({"games": 1, "replay_formats": 2, "commands": 1})
    '1 game, 2 replay formats, commands'
    """
    words = []
    for what, count in counts.items():
        noun = what.replace("_", " ")
        singular = noun if what in (COMMANDS, "weights") else noun.removesuffix("s")
        words.append(noun if what == COMMANDS else f"{count} {singular if count == 1 else noun}")
    return ", ".join(words) or "nothing"

"""Groups of commands and their help, in plain text, which narrow terminals and logs show unchanged."""

from __future__ import annotations

import functools
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_group

from moemcts.cli.metavars import replace_type, set_metavars
from moemcts.plugins import plugins

ROOT = "moemcts"
DATA = "data"
OPEN = (ROOT, DATA)
"""The groups that plugins may add commands to."""
_MAX_COLUMNS = 80
_MIN_COLUMNS = 24
_NARROW = 60
"""Below this width, the help of an option is printed below it instead of beside it."""

_EXTRA = re.compile(r"unexpected extra argument\S* \((\S+)\)")
"""Typer's message for an argument that a command does not take."""


class Formatter(typer.Context.formatter_class):  # type: ignore[misc, valid-type]
    """Formats help to the width of the terminal, up to 80 columns."""

    def __init__(self, *_: object, **__: object) -> None:
        self._columns = max(_MIN_COLUMNS, min(shutil.get_terminal_size().columns, _MAX_COLUMNS))
        super().__init__(width=self._columns - 2)

    def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        rows = [(replace_type(term), help_text) for term, help_text in rows]
        super().write_dl(rows, 2 if self._columns < _NARROW else col_max, col_spacing)


class _Context(typer.Context):
    formatter_class = Formatter

    def fail(self, message: str) -> NoReturn:
        """Ends a misused command; if a game was given without `--game`, suggests the option."""
        extra = _EXTRA.search(message)
        takes_game = any("--game" in parameter.opts for parameter in self.command.params)
        if extra and takes_game and plugins().games.knows(extra[1].partition("?")[0]):
            message = f"{message}; did you mean --game {extra[1]}?"
        super().fail(message)


class Group(TyperGroup):
    """Commands grouped by panel, built-in ones before those of plugins.

    Plugins are not imported to run a built-in command.
    """

    context_class = _Context

    @property
    def commands(self) -> dict[str, Any]:
        of_plugins = _plugin_commands()[self.name] if self.name in OPEN else {}
        return self._ours | {name: of_plugins[name] for name in of_plugins if name not in self._ours}

    @commands.setter
    def commands(self, commands: Mapping[str, Any]) -> None:
        for command in commands.values():
            command.context_class = _Context
            set_metavars(command)
        self._ours = dict(commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return self._ours.get(cmd_name) or super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        panels: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            row = (name, command.get_short_help_str(limit=sys.maxsize))
            panels.setdefault(command.rich_help_panel or "Commands", []).append(row)
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl(rows)


@functools.cache
def _plugin_commands() -> Mapping[str | None, Mapping[str, Any]]:
    """Returns the commands that plugins add to each group; reports plugins that fail on standard error."""
    groups = {name: typer.Typer(cls=Group, rich_markup_mode=None) for name in OPEN}
    for plugin, error in plugins().register_commands(groups[ROOT], groups[DATA]).items():
        print(f"plugin {plugin}: its commands are left out: {error}", file=sys.stderr)
    return {name: get_group(group).commands for name, group in groups.items()}

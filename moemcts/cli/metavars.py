"""Metavariables of options and arguments in help, and names for shell completion."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from moemcts.errors import MoemctsError
from moemcts.plugins import plugins

if TYPE_CHECKING:
    import typer

    from moemcts.registry import Registry

_TYPE_NAMES = {"str": "TEXT", "int": "INTEGER", "float": "FLOAT", "Path": "PATH", "path": "PATH"}
_TYPE = re.compile(r" <(?:list\[)?(\w+)(?: range)?\]?>")
"""Matches a type as written by Typer: `<str>`, `<int range>`, `<list[Path]>`."""


class Completion(NamedTuple):
    """The attributes that Typer expects of a completion."""

    value: str
    help: str | None = None
    type: str = "plain"


class Metavar(NamedTuple):
    """A metavariable, and the possible names if they are known."""

    word: str
    names: Callable[[typer.Context], Iterable[str]] | None = None


def set_metavars(command: Any) -> None:
    """Sets metavariables and completions for a command's options and arguments; names are looked up lazily."""
    for parameter in command.params:
        option = parameter.opts[0]
        metavar = _METAVARS.get(f"{command.name} {option}") or _METAVARS.get(option)
        if parameter.metavar is None and (metavar or not option.startswith("-")):
            parameter.metavar = metavar.word if metavar else option.upper()
        if metavar and metavar.names:
            parameter.shell_complete = functools.partial(_completions, metavar.names)


def replace_type(term: str) -> str:
    """Returns an option's help term with a metavariable in place of its type; arguments have one already."""
    return _TYPE.sub(lambda match: f" {_TYPE_NAMES.get(match[1], match[1])}" if term.startswith("-") else "", term)


def _completions(
    names: Callable[[typer.Context], Iterable[str]], context: typer.Context, incomplete: str
) -> Sequence[Completion]:
    try:
        return [Completion(name) for name in names(context) if name.startswith(incomplete)]
    except (MoemctsError, OSError):
        # Completion must not print errors while the user is typing.
        return ()


def _games(context: typer.Context) -> Iterable[str]:
    return plugins().games


def _gates(context: typer.Context) -> Iterable[str]:
    return _names_for_game(plugins().gates, context)


def _agents(context: typer.Context) -> Iterable[str]:
    return [*_names_for_game(plugins().agents, context), *_weights(context)]


def _agents_listed(context: typer.Context) -> Iterable[str]:
    from moemcts.cli.lists import EXPERTS

    return [*_names_for_game(plugins().agents, context), EXPERTS]


def _weights(context: typer.Context) -> Iterable[str]:
    from moemcts.references import WEIGHTS

    return [WEIGHTS + name for name in _names_for_game(plugins().weights, context)]


def _networks(context: typer.Context) -> Iterable[str]:
    return plugins().networks


def _schemes(context: typer.Context) -> Iterable[str]:
    return plugins().schemes


def _names_for_game(registry: Registry, context: typer.Context) -> Iterable[str]:
    """Returns the names available to the game on the command line; all if none is given."""
    game = context.params.get("game")
    return [entry.name for entry in (registry.for_game(game.partition("?")[0]) if game else registry).values()]


def _presets(context: typer.Context) -> Iterable[str]:
    from moemcts.runs.presets import preset_names

    return preset_names()


def _presets_of_selfplay(context: typer.Context) -> Iterable[str]:
    from moemcts.runs.selfplay.settings import preset_names

    game = context.params.get("game")
    return preset_names(game) if game else ()


def _presets_of_tournaments(context: typer.Context) -> Iterable[str]:
    from moemcts.cli.tournament import PRESETS

    return PRESETS


def _presets_of_suite(context: typer.Context) -> Iterable[str]:
    return tomllib.loads(Path(context.params["suite"]).read_text(encoding="utf-8"))


def _papers(context: typer.Context) -> Iterable[str]:
    from moemcts.cli.reproduce import ALL
    from moemcts.runs.papers import join

    return [*(experiment.name for experiment in join(plugins().papers).experiment), ALL]


_GAME = Metavar("GAME", _games)
_GATE = Metavar("GATE", _gates)
_AGENT = Metavar("AGENT", _agents)
_NETWORK = Metavar("NETWORK", _networks)
# Usually folders, which a shell completes if it is offered nothing else.
_EXPERTS = Metavar("EXPERTS")
_METAVARS = {
    "--game": _GAME,
    "--gate": _GATE,
    "--agent": _AGENT,
    "--against": _AGENT,
    "--scheme": Metavar("SCHEME", _schemes),
    "--network": _NETWORK,
    "--single-network": _NETWORK,
    "--measure": _NETWORK,
    "--preset": Metavar("PRESET"),
    "--set": Metavar("NAME=VALUE"),
    "--experts": _EXPERTS,
    "--baseline": _EXPERTS,
    "--start": _EXPERTS,
    "explain --baseline": Metavar("BASELINE"),
    "run --preset": Metavar("PRESET", _presets),
    "train --preset": Metavar("PRESET", _presets),
    "reproduce --preset": Metavar("PRESET", _presets),
    "selfplay --preset": Metavar("PRESET", _presets_of_selfplay),
    "tournament --preset": Metavar("PRESET", _presets_of_tournaments),
    "benchmark --preset": Metavar("PRESET", _presets_of_suite),
    "check game": _GAME,
    "gates name": Metavar("NAME", _gates),
    "agents name": Metavar("NAME", _agents_listed),
    "networks name": Metavar("NAME", _networks),
    "schemes name": Metavar("NAME", _schemes),
    "show gate": _GATE,
    "show --against": _GATE,
    "show experts": Metavar("EXPERTS", _weights),
    "where experts": Metavar("EXPERTS", _weights),
    "reproduce experiment": Metavar("EXPERIMENT", _papers),
}
"""By option or argument, with the command in front where commands differ."""

"""Finds plugins and makes what users name: games, gates, agents, networks, learning schemes."""

from __future__ import annotations

import functools
import importlib.metadata
import inspect
import sys
import traceback
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pluggy

from moemcts import hookspecs
from moemcts.errors import MoemctsError, UsageError, unknown_name
from moemcts.hookspecs import Registration
from moemcts.references import extend_reference, parse_reference

if TYPE_CHECKING:
    import typer

    from moemcts.agents import Agent
    from moemcts.arena.replays import WriteReplays
    from moemcts.drawing import Board
    from moemcts.game import Game
    from moemcts.gates import PhaseGate
    from moemcts.learn.data.reading import Reader
    from moemcts.learn.schemes.scheme import Scheme

_MOST_CHARACTERS = 80
"""Of a wrong value, in an error."""
GROUP = "moemcts"
RANDOM = "random"
"""The agent that plays every game."""
SAVED_GATE = ".safetensors"
"""What names of gates end with that are paths."""


@dataclass(frozen=True)
class PluginInfo:
    """A plugin that was found, and what went wrong with it if anything did."""

    name: str
    module: str
    distribution: str
    version: str
    error: str | None = None
    """One line; the traceback is in `details`."""
    details: str = ""


class Plugins:
    """All that is registered, by kind and name."""

    def __init__(self, modules: Iterable[tuple[str, Any]], infos: Iterable[PluginInfo] = ()) -> None:
        """Raises UsageError where two plugins register one name, for gates, formats, readers and boards in one game."""
        self._pluggy = pluggy.PluginManager("moemcts")
        self._pluggy.add_hookspecs(hookspecs)
        for name, module in modules:
            self._pluggy.register(module, name=name)
        self.infos = tuple(infos)
        hook = self._pluggy.hook
        self.games = _by_name("game", hook.register_games())
        self.gates = _by_name_and_game("gate", hook.register_gates())
        self.agents = _by_name("agent", hook.register_agents())
        self.networks = _by_name("network", hook.register_networks())
        self.replay_formats = _by_name_and_game("replay format", hook.register_replay_formats())
        self.readers = _by_name_and_game("reader", hook.register_readers())
        self.schemes = _by_name("scheme", hook.register_schemes())
        self.papers: list[Mapping[str, Any]] = [table for tables in hook.register_papers() for table in tables]
        self.weights = _by_name("weights", hook.register_weights())
        self.boards = _by_name_and_game("board", hook.register_boards())

    def game(self, reference: str) -> Game:
        """Returns the game that a user names, such as `pommerman?env=PommeFFA-v1`.

        Raises UsageError for one that there is none of, which says what plugins did not load: it may be theirs.
        """
        name, _ = parse_reference(reference)
        broken = [f"plugin {info.name!r} did not load: {info.error}" for info in self.infos if info.error]
        if broken and name not in self.games and not _member(self.games, name):
            raise UsageError("; ".join([str(unknown_name("game", name, self.games)), *broken]))
        game: Game = self._make("game", self.games, reference)
        self._check_name(name, game)
        return game

    def _check_name(self, name: str, game: Game) -> None:
        """Raises MoemctsError where a game calls itself so that what was registered for it is not found."""
        try:
            own = game.spec.name
        except Exception:
            # Who asks for more than the name says what is wrong.
            return
        if own == name or _member(self.games, name):
            return
        kinds = (self.gates, self.agents, self.replay_formats, self.readers, self.weights, self.boards)
        if lost := sorted({entry.name for kind in kinds for entry in kind.values() if name in entry.games}):
            raise MoemctsError(
                f"game {name!r} has the name {own!r} in its spec, under which {', '.join(lost)} would not be found; "
                f"its plugin names the spec {name!r}, or registers all as {own!r}"
            )

    def game_settings(self, reference: str) -> Mapping[str, Any]:
        """Returns the settings of a run that fit the game that a user names, by dotted path."""
        return _entry("game", self.games, parse_reference(reference)[0]).settings

    def search_settings(self, game: Game) -> Mapping[str, Any]:
        """Returns what a search does in a game where nobody says otherwise, by the names of `SearchConfig`."""
        name = game.spec.name
        # A game that a program made by itself is nobody's.
        is_known = name in self.games or _member(self.games, name)
        return _entry("game", self.games, name).search if is_known else {}

    def game_preset(self, reference: str, preset: str) -> Mapping[str, Any]:
        """Returns what a preset says of the game that a user names, over what it says anywhere, in tables."""
        return _entry("game", self.games, parse_reference(reference)[0]).presets.get(preset, {})

    def gate(self, reference: str, game: Game) -> PhaseGate:
        """Returns the gate that a user names for a game, such as `steps?cuts=93,252` or the path of a saved gate."""
        if reference.endswith(SAVED_GATE):
            from moemcts.learn.gates.saved import load_gate

            return load_gate(Path(reference), game, self)
        from moemcts.gates import named

        return named(self._make("gate", self.for_game(self.gates, game.spec.name), reference, game), reference)

    def complete_gate(self, reference: str, game: Game) -> str:
        """Returns the reference with the options that a gate finds by playing where the user names none.

        It makes the same gate for good, however such options are found later.
        """
        if reference.endswith(SAVED_GATE):
            return reference
        name, options = parse_reference(reference)
        entries = self.for_game(self.gates, game.spec.name)
        # A name that there is not is told by who makes the gate.
        found = _entry("gate", entries, name).found if name in entries or _member(entries, name) else ()
        missing = [option for option in found if option not in options]
        if not missing:
            return reference
        parameters = self.gate(reference, game).parameters
        if not parameters.keys() >= {*missing}:
            told = ", ".join(parameters) or "none"
            raise MoemctsError(f"gate {name!r}: expected {', '.join(missing)} among its parameters, got {told}")
        return extend_reference(reference, {option: parameters[option] for option in missing})

    def agent(self, reference: str, game: Game) -> Agent:
        """Returns the agent that a user names for a game."""
        from moemcts.agents import named_agent

        return named_agent(self._make("agent", self.for_game(self.agents, game.spec.name), reference, game), reference)

    def network(self, reference: str, observation_shape: tuple[int, ...], num_actions: int) -> Any:
        """Returns a new network, a `torch.nn.Module`."""
        return self._make("network", self.networks, reference, observation_shape, num_actions)

    def complete_network(self, reference: str, game: Game) -> str:
        """Returns the reference with the options that the game decides where the user does not.

        A game that declares policy planes gets them. Where a search values all players by itself, because there are
        more than two or the game has no fixed sum, and no default agent of the game answers for the others, networks
        value all of them: `num_values`. Where one does answer, only the searched player's value is asked for.
        """
        name, options = parse_reference(reference)
        accepted = option_types(self.networks[name].make, num_given=2) if name in self.networks else {}
        spec, added = game.spec, dict[str, Any]()
        if spec.policy_planes:
            added["policy_planes"] = spec.policy_planes
        if (spec.num_players > 2 or spec.utility_sum is None) and self.default_agent(game) is None:
            added["num_values"] = spec.num_players
        missing = {key: value for key, value in added.items() if key in (accepted or ()) and key not in options}
        return extend_reference(reference, missing)

    def scheme(self, reference: str) -> Scheme:
        """Returns the learning scheme that a user names, such as `weighted?a=10`."""
        from moemcts.learn.schemes.scheme import checked_scheme

        return checked_scheme(self._make("scheme", self.schemes, reference), reference)

    def experts(self, name: str) -> Path:
        """Returns the folder of trained experts that come with a plugin."""
        return Path(self._make("weights", self.weights, name))

    def board(self, game: Game) -> Board | None:
        """Returns how a page shows a game's positions; None where its plugin does not say."""
        entries = self.for_game(self.boards, game.spec.name)
        board: Board | None = self._make("board", entries, next(iter(entries)), game) if entries else None
        return board

    def replay_format(self, name: str, game: Game) -> WriteReplays:
        """Returns what writes games in a format, such as `jsonl`."""
        entries = self.for_game(self.replay_formats, game.spec.name)
        write: WriteReplays = self._make("replay format", entries, name, game)
        return write

    def reader(self, reference: str, game: Game) -> Reader:
        """Returns what turns files of games into a dataset, such as `pgn?min_elo=2200`."""
        reader: Reader = self._make("reader", self.for_game(self.readers, game.spec.name), reference, game)
        return reader

    def reader_of(self, file: Path, game: Game) -> str:
        """Returns the name of the reader of a file, by its endings; raises UsageError where the game has none."""
        named = self.for_game(self.readers, game.spec.name)
        for suffix in reversed(file.suffixes):
            if suffix.removeprefix(".").lower() in named:
                return suffix.removeprefix(".").lower()
        endings = ", ".join(f".{name}" for name in named)
        files = f" or a file ({endings})" if endings else ""
        raise UsageError(f"{game.spec.name} reads no games from {file}: expected a dataset's folder{files}")

    def default_agent(self, game: Game) -> str | None:
        """Returns the name of the agent that a game declares its default; None where it declares none."""
        entries = self.for_game(self.agents, game.spec.name)
        return next((name for name, entry in entries.items() if entry.default), None)

    def player(self, game: Game) -> str:
        """Returns the name of the agent that plays a game where the user names none: its default, or `random`."""
        return self.default_agent(game) or RANDOM

    def register_commands(self, app: typer.Typer, data: typer.Typer) -> dict[str, str]:
        """Lets plugins add commands to the command line and to its group `data`.

        Returns what went wrong, by plugin; the others are not harmed.
        """
        problems, groups = {}, {"app": app, "data": data}
        for implementation in self._pluggy.hook.register_commands.get_hookimpls():
            try:
                implementation.function(**{name: groups[name] for name in implementation.argnames})
            except (Exception, SystemExit) as error:
                problems[implementation.plugin_name] = _one_line(error)
        return problems

    @staticmethod
    def for_game(entries: Mapping[str, Registration], game: str) -> dict[str, Registration]:
        """Returns the entries that a game can use, by name."""
        return {entry.name: entry for entry in entries.values() if not entry.games or game in entry.games}

    @staticmethod
    def _make(kind: str, entries: Mapping[str, Registration], reference: str, *arguments: Any) -> Any:
        name, options = parse_reference(reference)
        entry = _entry(kind, entries, name)
        if entry.name.endswith(":") and not _member(entries, name):
            raise UsageError(f"expected a name behind {entry.name!r}, got {reference!r}; {entry.summary}")
        make = entry.make
        given = (*_member(entries, name), *arguments)
        options = checked_options(f"{kind} {name!r}", make, options, num_given=len(given))
        try:
            made = make(*given, **options)
        except MoemctsError:
            raise
        except (TypeError, ValueError) as error:
            raise UsageError(f"{kind} {reference!r}: {told(error)}") from error
        except Exception as error:
            raise MoemctsError(f"{kind} {reference!r} cannot be made: {_one_line(error)}") from error
        if made is None:
            raise MoemctsError(f"{kind} {reference!r} cannot be made: its plugin returned None")
        return made


@functools.cache
def plugins() -> Plugins:
    """Returns the plugins of this installation, each loaded once; one that fails to import does no harm to others."""
    from moemcts import builtins

    modules: list[tuple[str, Any]] = [("builtins", builtins)]
    infos: list[PluginInfo] = []
    for point in sorted(importlib.metadata.entry_points(group=GROUP), key=lambda point: point.name):
        distribution = (point.dist.name, point.dist.version) if point.dist else ("?", "?")
        module: Any = None
        error, details = None, ""
        try:
            module = point.load()
            # A module that loads but registers nonsense must not take the others down either.
            Plugins([("builtins", builtins), *modules[1:], (point.name, module)])
        except (Exception, SystemExit) as problem:
            error = _one_line(problem)
            details = traceback.format_exc()
        else:
            modules.append((point.name, module))
        infos.append(PluginInfo(point.name, point.value, *distribution, error, details))
    return Plugins(modules, infos)


def _entry(kind: str, entries: Mapping[str, Registration], name: str) -> Registration:
    """Returns the entry of a name, or of the family that it is in; raises UsageError where there is none."""
    if name in entries:
        return entries[name]
    if _member(entries, name):
        return entries[name.partition(":")[0] + ":"]
    raise unknown_name(kind, name, entries)


def _member(entries: Mapping[str, Registration], name: str) -> tuple[str, ...]:
    """Returns what a name says behind its family, `family:member`; nothing for a name of its own."""
    family, _, member = name.partition(":")
    return (member,) if member and name not in entries and f"{family}:" in entries else ()


def _shortened(value: object) -> str:
    return text if len(text := repr(value)) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}..."


def told(error: Exception) -> str:
    """Returns what an error says; of settings that are refused the first one, in a line."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error)
    fault = error.errors()[0]
    return f"{'.'.join(map(str, fault['loc'])) or 'limits'}: {fault['msg']}, got {fault['input']!r}"


def _one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


def option_types(make: Callable[..., Any], *, num_given: int = 0) -> dict[str, Any] | None:
    """Returns the keywords that a maker takes with their types, None for one that is not known; None if it takes any.

    What has a default is one, too, behind so many arguments that are given by position. `**options:
    Unpack[SomeTypedDict]` stands for the keys of that dictionary.
    """
    found: dict[str, Any] = {}
    for position, parameter in enumerate(inspect.signature(make).parameters.values()):
        has_name = parameter.kind is parameter.POSITIONAL_OR_KEYWORD and position >= num_given
        if parameter.kind is parameter.KEYWORD_ONLY or (has_name and parameter.default is not parameter.empty):
            found[parameter.name] = _annotation(make, parameter)
        elif parameter.kind is parameter.VAR_KEYWORD:
            unpacked = typing.get_args(_annotation(make, parameter))
            if not unpacked or not typing.is_typeddict(unpacked[0]):
                return None
            found |= typing.get_type_hints(unpacked[0])
    return found


def _annotation(make: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    """Returns the type of one parameter; those of others may name what is imported for type checkers only."""
    if parameter.annotation is parameter.empty:
        return None
    while isinstance(make, functools.partial):
        make = make.func
    names = vars(sys.modules[make.__module__]) if isinstance(make, type) else getattr(make, "__globals__", {})
    alone = types.SimpleNamespace(__annotations__={"it": parameter.annotation})
    try:
        return typing.get_type_hints(alone, names)["it"]
    except NameError:
        return None


def _by_name(kind: str, results: Iterable[Iterable[Registration]]) -> dict[str, Registration]:
    entries: dict[str, Registration] = {}
    for registrations in reversed(list(results)):
        for entry in registrations:
            if entry.name in entries:
                raise UsageError(f"two plugins register a {kind} named {entry.name!r}")
            entries[entry.name] = entry
    return entries


def _by_name_and_game(kind: str, results: Iterable[Iterable[Registration]]) -> dict[str, Registration]:
    """Returns entries of which a game can use one of each name; the second of a name has its games in its key."""
    entries: dict[str, Registration] = {}
    for entry in (entry for registrations in reversed(list(results)) for entry in registrations):
        for other in (other for other in entries.values() if other.name == entry.name):
            shared = [game for game in entry.games if game in other.games]
            if shared or not (entry.games and other.games):
                raise UsageError(f"two plugins register a {kind} named {entry.name!r} for {', '.join(shared) or 'all'}")
        entries[f"{entry.name} of {', '.join(entry.games)}" if entry.name in entries else entry.name] = entry
    return entries


def checked_options(
    owner: str, make: Callable[..., Any], options: Mapping[str, Any], *, num_given: int = 0
) -> dict[str, Any]:
    """Returns the options as a maker's annotations want them: one item becomes a list, a whole number a number.

    `num_given` are the arguments that the maker gets by position, which are no options. Raises UsageError for an option
    that it does not take and for a value of another type.
    """
    types = option_types(make, num_given=num_given)
    if types is None:
        return dict(options)
    for option in options:
        if option not in types:
            raise unknown_name(f"option of {owner}", option, types)
    return {option: _checked(owner, option, types[option], value) for option, value in options.items()}


def _checked(owner: str, option: str, kind: Any, value: Any) -> Any:
    """Returns a value as a type has it; None stands for a type that is not known here."""
    if kind is None:
        return value
    from pydantic import ConfigDict, TypeAdapter, ValidationError
    from pydantic.errors import PydanticUserError

    try:
        adapter: TypeAdapter[Any] = TypeAdapter(kind, config=ConfigDict(coerce_numbers_to_str=True))
    except PydanticUserError:
        # A type that is the maker's own to check.
        return value
    faults: list[ValidationError] = []
    # One item is a list of one where a list is wanted.
    for candidate in (value, [value]):
        try:
            return adapter.validate_python(candidate)
        except ValidationError as error:
            faults.append(error)
    reason = faults[0].errors()[0]["msg"]
    raise UsageError(f"{owner}: expected {option} as {shown_type(kind)}, got {_shortened(value)}: {reason}")


def shown_type(kind: Any) -> str:
    """Returns a type as people write it."""
    return kind.__name__ if isinstance(kind, type) else str(kind).replace("collections.abc.", "").replace("typing.", "")

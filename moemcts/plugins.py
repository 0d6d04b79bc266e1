"""Discovers plugins and creates what users name: games, gates, agents, networks, learning schemes."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moemcts.errors import MoemctsError, UsageError, foreign_frames, one_line
from moemcts.hooks import COMMANDS, Hooks, NothingRegistered
from moemcts.options import option_types
from moemcts.references import EXPERTS, HUB, URLS, WEIGHTS, extend_reference, parse_reference
from moemcts.registry import Registry, RegistryByGame

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    import typer

    from moemcts.agents import Agent
    from moemcts.arena.replays import WriteReplays
    from moemcts.drawing import Board
    from moemcts.game import Game
    from moemcts.gates import PhaseGate
    from moemcts.learn.data.reading import Reader
    from moemcts.learn.schemes.scheme import Scheme

GROUP = "moemcts"
"""The entry point group of plugins."""
DISTRIBUTION = "moemcts"
"""The distribution with the plugins that come with the framework."""
RANDOM = "random"
"""The agent that can play every game."""
SAVED_GATE = ".safetensors"
"""Suffix of gate references that are paths of saved gates."""


@dataclass(frozen=True)
class PluginInfo:
    """A plugin that was found, and the error if it failed to load."""

    name: str
    module: str
    distribution: str
    version: str
    error: str | None = None
    """A single line; the traceback is in `details`."""
    note: str = ""
    """A line about a possible mistake in a plugin that loaded without error."""
    details: str = ""
    registers: Mapping[str, int] = field(default_factory=dict)
    """Number of registrations by kind: `{"games": 1, "gates": 1}`."""


class Plugins:
    """All registrations, by kind and name."""

    def __init__(self, modules: Iterable[tuple[str, Any]]) -> None:
        """Raises UsageError as `add` does."""
        self.infos: list[PluginInfo] = []
        self._not_loaded: list[str] = []
        self.games = Registry("game", missing=self._not_loaded)
        self.gates = RegistryByGame("gate", missing=self._not_loaded)
        self.agents = Registry("agent", missing=self._not_loaded)
        self.networks = Registry("network", missing=self._not_loaded)
        self.replay_formats = RegistryByGame("replay format", missing=self._not_loaded)
        self.readers = RegistryByGame("reader", missing=self._not_loaded)
        self.schemes = Registry("scheme", missing=self._not_loaded)
        self.weights = Registry("weights", missing=self._not_loaded)
        self.boards = RegistryByGame("board", missing=self._not_loaded)
        self.papers: list[Mapping[str, Any]] = []
        self._hooks: list[Hooks] = []
        for name, module in modules:
            self.add(name, module)

    def add(self, plugin: str, module: Any) -> Mapping[str, int]:
        """Adds all registrations of a module; returns their number by kind: `{"games": 1, "gates": 1}`.

        Raises UsageError, and adds nothing, if its hooks do not match `hookspecs`, if a name is already registered (for
        gates, formats, readers and boards: for the same game), if a gate's name ends like a file of a saved gate, or if
        an agent's name begins like a reference to experts.
        """
        hooks = Hooks(plugin, module)
        entries = {kind: hooks.registrations(kind) for kind in self._registries}
        for entry in entries["gates"]:
            if entry.name.endswith(SAVED_GATE):
                raise UsageError(
                    f"plugin {plugin!r}: expected a name other than {entry.name!r} for a gate: names that end "
                    f"with {SAVED_GATE} are read as files"
                )
        for entry in entries["agents"]:
            if entry.name.startswith((EXPERTS, WEIGHTS, HUB, *URLS)):
                raise UsageError(
                    f"plugin {plugin!r}: expected a name other than {entry.name!r} for an agent: names that begin "
                    f"with {entry.name.partition(':')[0]}: are read as experts"
                )
        extended = {kind: registry.extended(entries[kind]) for kind, registry in self._registries.items()}
        papers = hooks.tables("papers")
        vars(self).update(extended)
        self.papers += papers
        self._hooks.append(hooks)
        counts = {kind: len(added) for kind, added in {**entries, "papers": papers}.items() if added}
        return counts | ({COMMANDS: 1} if hooks.has_commands else {})

    def record(self, info: PluginInfo) -> None:
        """Records a plugin that was found; if it failed to load, errors for unknown names will mention that."""
        self.infos.append(info)
        if info.error:
            self._not_loaded.append(f"plugin {info.name!r} failed to load: {info.error}")

    def plugin_of_error(self, error: BaseException) -> str:
        """Returns, in words, which third-party plugin raised an error, and where; empty if none did."""
        from importlib.metadata import packages_distributions

        third_party = [info for info in self.infos if info.distribution != DISTRIBUTION]
        plugin_of_package = {info.module.partition(".")[0]: info.name for info in third_party}
        # A distribution may have several top-level packages; its entry point names only one.
        plugin_of_distribution = {info.distribution: info.name for info in third_party}
        for package, distributions in packages_distributions().items():
            for distribution in plugin_of_distribution.keys() & {*distributions}:
                plugin_of_package.setdefault(package, plugin_of_distribution[distribution])
        for frame, _ in foreign_frames(error):
            package = str(frame.f_globals.get("__name__")).partition(".")[0]
            if plugin := plugin_of_package.get(package):
                return f"plugin {plugin!r} raised {one_line(error)}; `moemcts check` finds such mistakes"
        return ""

    @property
    def _registries(self) -> Mapping[str, Registry]:
        return {kind: value for kind, value in vars(self).items() if isinstance(value, Registry)}

    def unknown_games(self, game: str | None = None) -> Mapping[str, list[str]]:
        """Returns registrations for games that are not registered, by plugin: a mistyped name, or a missing plugin.
        With the name of a game, only for plugins that register that game.
        """
        return {
            hooks.plugin: self._unknown_games_of(hooks)
            for hooks in self._hooks
            if game is None or any(entry.name == game for entry in hooks.registrations("games"))
        }

    def _unknown_games_of(self, hooks: Hooks) -> list[str]:
        return [
            f"{registry.kind} {entry.name!r} is for the game {game!r}, which no plugin registers"
            for kind, registry in self._registries.items()
            for entry in hooks.registrations(kind)
            for game in entry.games
            if not self.games.knows(game)
        ]

    def game(self, reference: str) -> Game:
        """Returns the game that a reference names, such as `pommerman?env=PommeFFA-v1`.

        Raises UsageError for an unknown game, MoemctsError if the plugin does not return a game or its spec has another
        name.
        """
        name, _ = parse_reference(reference)
        game: Game = self.games.make(reference)
        self._check_game(name, game)
        return game

    def _check_game(self, name: str, game: object) -> None:
        """Raises MoemctsError unless it is a game whose spec has the registered name, under which the rest is looked
        up.
        """
        from moemcts.game import Game, GameSpec

        if not isinstance(game, Game):
            raise MoemctsError(f"game {name!r} cannot be made: expected a moemcts.game.Game, got {game!r:.80}")
        try:
            spec = getattr(game, "spec", None)
        except Exception as error:
            raise MoemctsError(f"game {name!r} cannot be made: its spec raised {one_line(error)}") from error
        if not isinstance(spec, GameSpec):
            raise MoemctsError(
                f"game {name!r} cannot be made: expected its spec to be a moemcts.game.GameSpec, got {spec!r:.80}"
            )
        if spec.name == name or self.games.is_member(name):
            return
        registries = (self.gates, self.agents, self.replay_formats, self.readers, self.weights, self.boards)
        registration = self.games.entry(name)
        unfound = sorted({entry.name for registry in registries for entry in registry.values() if name in entry.games})
        unfound += [table for table in ("settings", "search", "presets") if getattr(registration, table)]
        names = " and ".join(["it", *unfound])
        raise MoemctsError(
            f"game {name!r} has the name {spec.name!r} in its spec, under which {names} would not be found; in "
            f"its plugin, name the spec {name!r}, or register them all as {spec.name!r}"
        )

    def game_settings(self, reference: str) -> Mapping[str, Any]:
        """Returns the settings of a run that suit the game that a reference names, by dotted path."""
        return self.games.entry(parse_reference(reference)[0]).settings

    def search_settings(self, game: Game) -> Mapping[str, Any]:
        """Returns a game's default search settings, by the names of `SearchConfig`."""
        name = game.spec.name
        # Games created by user code without a plugin are not registered.
        return self.games.entry(name).search if self.games.knows(name) else {}

    def game_preset(self, reference: str, preset: str) -> Mapping[str, Any]:
        """Returns the tables that a game has for a preset, which override the preset's general ones."""
        return self.games.entry(parse_reference(reference)[0]).presets.get(preset, {})

    def gate(self, reference: str, game: Game) -> PhaseGate:
        """Returns the gate that a reference names, such as `steps?cuts=93,252`, or a saved gate from its path."""
        if reference.endswith(SAVED_GATE):
            from moemcts.learn.gates.saved import load_gate

            return load_gate(Path(reference), game, self)
        from moemcts.gates import checked_gate

        return checked_gate(self.gates.for_game(game.spec.name).make(reference, game), reference)

    def complete_gate(self, reference: str, game: Game) -> str:
        """Returns the reference with values for those options that the gate would otherwise determine by playing games.

        The result names the same gate even if the way of determining them changes.
        """
        if reference.endswith(SAVED_GATE):
            return reference
        name, options = parse_reference(reference)
        entries = self.gates.for_game(game.spec.name)
        # An unknown name raises when the gate is made.
        measured = entries.entry(name).found if entries.knows(name) else ()
        missing = [option for option in measured if option not in options]
        if not missing:
            return reference
        parameters = self.gate(reference, game).parameters
        if not parameters.keys() >= {*missing}:
            got = ", ".join(parameters) or "none"
            raise MoemctsError(f"gate {name!r}: expected {', '.join(missing)} among its parameters, got {got}")
        return extend_reference(reference, {option: parameters[option] for option in missing})

    def agent(self, reference: str, game: Game) -> Agent:
        """Returns the agent that a reference names, for a game."""
        from moemcts.agents import checked_agent

        return checked_agent(self.agents.for_game(game.spec.name).make(reference, game), reference)

    def network(self, reference: str, observation_shape: tuple[int, ...], num_actions: int) -> Any:
        """Returns a new network, a `torch.nn.Module`."""
        return self.networks.make(reference, observation_shape, num_actions)

    def complete_network(self, reference: str, game: Game, *, faced: str | None = None) -> str:
        """Returns the reference with the options that depend on the game, unless the user has set them.

        Networks get the game's `policy_planes`, if any. They get `num_values`, to output values of all players, if the
        game has more than two players or no fixed sum and the search itself plays for all of them. If an agent plays
        for the other players, only the value of the searching player is needed. `faced` is that agent: empty for none,
        None for the game's default agent.
        """
        name, options = parse_reference(reference)
        accepted = option_types(self.networks[name].make, num_given=2) if name in self.networks else {}
        spec, added = game.spec, dict[str, Any]()
        if spec.policy_planes:
            added["policy_planes"] = spec.policy_planes
        opponent = self.default_agent(game) if faced is None else faced
        if (spec.num_players > 2 or spec.utility_sum is None) and not opponent:
            added["num_values"] = spec.num_players
        missing = {key: value for key, value in added.items() if key in accepted and key not in options}
        return extend_reference(reference, missing)

    def scheme(self, reference: str) -> Scheme:
        """Returns the learning scheme that a reference names, such as `weighted?a=10`."""
        from moemcts.learn.schemes.scheme import checked_scheme

        return checked_scheme(self.schemes.make(reference), reference)

    def experts(self, name: str) -> Path:
        """Returns the folder of trained experts that come with a plugin."""
        return Path(self.weights.make(name))

    def board(self, game: Game) -> Board | None:
        """Returns how pages draw a game's positions; None if no plugin defines it."""
        entries = self.boards.for_game(game.spec.name)
        board: Board | None = entries.make(next(iter(entries)), game) if entries else None
        return board

    def replay_format(self, name: str, game: Game) -> WriteReplays:
        """Returns the function that writes games in a format, such as `jsonl`."""
        write: WriteReplays = self.replay_formats.for_game(game.spec.name).make(name, game)
        return write

    def reader(self, reference: str, game: Game) -> Reader:
        """Returns what converts files of games into a dataset, such as `pgn?min_elo=2200`."""
        reader: Reader = self.readers.for_game(game.spec.name).make(reference, game)
        return reader

    def reader_of(self, file: Path, game: Game) -> str:
        """Returns the name of the reader for a file, by its suffixes; raises UsageError if the game has none."""
        readers = self.readers.for_game(game.spec.name)
        for suffix in reversed(file.suffixes):
            if (name := suffix.removeprefix(".").lower()) in readers:
                return name
        endings = ", ".join(f".{name}" for name in readers)
        files = f" or a file ({endings})" if endings else ""
        raise UsageError(f"{game.spec.name} reads no games from {file}: expected a dataset's folder{files}")

    def default_agent(self, game: Game) -> str | None:
        """Returns the name of a game's default agent; None if it has none."""
        entries = self.agents.for_game(game.spec.name)
        return next((name for name, entry in entries.items() if entry.default), None)

    def player(self, game: Game) -> str:
        """Returns the name of the agent that plays if the user names none: the game's default, or `random`."""
        return self.default_agent(game) or RANDOM

    def register_commands(self, app: typer.Typer, data: typer.Typer) -> dict[str, str]:
        """Lets plugins add commands to the command line and to its group `data`.

        Returns error messages by plugin; a failing plugin does not affect the others.
        """
        problems: dict[str, str] = {}
        groups = {"app": app, "data": data}
        for hooks in self._hooks:
            try:
                hooks.add_commands(groups)
            except (Exception, SystemExit) as error:
                problems[hooks.plugin] = one_line(error)
        return problems


@functools.cache
def plugins() -> Plugins:
    """Returns the installed plugins, loaded once; a plugin that fails to import does not affect the others."""
    from importlib.metadata import entry_points

    from moemcts import builtins

    plugins = Plugins([("builtins", builtins)])
    for point in sorted(entry_points(group=GROUP), key=_builtin_first):
        distribution = (point.dist.name, point.dist.version) if point.dist else ("?", "?")
        error, note, details, registers = None, "", "", dict[str, int]()
        try:
            module = point.load()
            registers = dict(plugins.add(point.name, module))
        except NothingRegistered:
            # A module may be imported only for its side effects, such as registering environments with Gymnasium.
            where = getattr(module, "__file__", None) or ", ".join(getattr(module, "__path__", [f"{module!r:.80}"]))
            note = f"nothing is marked with @hookimpl in {where}"
        except (Exception, SystemExit) as problem:
            error = str(problem).partition("\n")[0] if isinstance(problem, MoemctsError) else one_line(problem)
            details = traceback.format_exc()
        plugins.record(PluginInfo(point.name, point.value, *distribution, error, note, details, registers))
    return plugins


def _builtin_first(point: EntryPoint) -> tuple[bool, str]:
    """Sort key of plugins: those that come with the framework are first, so that they win conflicts of names."""
    return point.dist is None or point.dist.name != DISTRIBUTION, point.name

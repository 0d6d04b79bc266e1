"""Merges settings in order of precedence: preset, the game's own, a file, options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from moemcts.errors import UsageError

if TYPE_CHECKING:
    from moemcts.runs.settings import RunConfig

    Config = TypeVar("Config", bound=RunConfig)

DEFAULT_PRESET = "laptop"
EXISTING_GAMES = ("data.folder", "data.games")
"""Settings that name existing games to learn from."""


@dataclass(frozen=True, kw_only=True)
class RunArguments:
    """The settings given on the command line; falsy if there are none."""

    options: Mapping[str, Any] = field(default_factory=dict)
    """Options by dotted path."""
    preset: str | None = None
    config: Path | None = None
    """A file whose settings override those of the preset."""
    changes: Sequence[str] = ()
    """Values of `--set`."""
    allow_programs: bool = False
    """Whether settings in files may start programs."""

    @classmethod
    def of(
        cls,
        options: Mapping[str, Any],
        preset: str | None,
        config: Path | None,
        changes: Sequence[str] | None,
        *,
        allow_programs: bool,
    ) -> RunArguments:
        """Returns the given settings; options that were not given are None and left out."""
        options = {path: value for path, value in options.items() if value is not None}
        return cls(options=options, preset=preset, config=config, changes=changes or (), allow_programs=allow_programs)

    def __bool__(self) -> bool:
        return bool(self.options or self.preset or self.config or self.changes)

    @property
    def sizes(self) -> list[str]:
        """The names that describe a run's size: the preset and the file, or the default preset if neither is given."""
        names = [self.preset, None if self.config is None else self.config.stem]
        return [name for name in names if name] or [DEFAULT_PRESET]


def read_settings(
    arguments: RunArguments, config_type: type[Config], find_preset: Callable[[str, str], dict[str, Any]] | None = None
) -> Config:
    """Returns the configuration.

    `find_preset` returns the values of a preset by game and name, for kinds of runs with presets of their own. Raises
    UsageError if no game is named, if something given is not a valid setting or has no effect, and if the file names a
    program to start and this is not allowed.
    """
    from moemcts.dotted import flat, merge
    from moemcts.plugins import plugins
    from moemcts.runs.presets import layered, load_preset
    from moemcts.runs.programs import refuse_programs_in
    from moemcts.runs.settings import validate
    from moemcts.store import read_toml

    file = flat(read_toml(arguments.config)) if arguments.config is not None else {}
    changes = read_changes(arguments.changes)
    for path, value in changes.items():
        # An empty list clears the file's value, so --set may replace it.
        if arguments.options.get(path, value) not in ([], value):
            raise UsageError(f"expected {path} once, got {arguments.options[path]!r} and, with --set, {value!r}")
    explicit = {**file, **arguments.options, **changes}
    reference = explicit.get("game")
    if not isinstance(reference, str):
        raise UsageError(f"expected --game; one of {', '.join(plugins().games)}")
    plugins().game(reference)
    if not arguments.allow_programs:
        refuse_programs_in(file, str(arguments.config))
    values: dict[str, Any] = {}
    preset = arguments.preset or DEFAULT_PRESET
    # Kinds of runs with presets of their own have their own presets per game, too.
    game_values = {} if find_preset else dict(plugins().game_preset(reference, preset))
    needs: Mapping[str, str] = game_values.pop("needs", {})
    general = load_preset(preset) if find_preset is None else find_preset(reference, preset)
    layers = layered(reference, general, game_values)
    # Ignore sections of the preset that this kind of run does not have.
    layers = {path: value for path, value in layers.items() if path.split(".")[0] in config_type.model_fields}
    if any(explicit.get(path) for path in EXISTING_GAMES):
        # A preset sets how many games to play, not how many existing ones to use.
        layers.pop("data.samples", None)
    preset_paths = layers.keys() & {**flat(general), **flat(game_values)}
    preset_left = _not_overridden(preset_paths, file, config_type)
    if arguments.preset and file and not preset_left - {"summary"}:
        raise UsageError(
            f"--preset {preset} has no effect beside --config {arguments.config}, which sets everything that the "
            "preset sets; leave one of them out"
        )
    layers = {path: value for path, value in layers.items() if path in preset_left or path not in preset_paths}
    merge(values, {**layers, **explicit})
    configuration = validate(values, config_type)
    _check_effects(explicit, file, configuration)
    _check_needs(needs, preset, configuration)
    return configuration


def read_changes(changes: Sequence[str]) -> dict[str, Any]:
    """Returns the settings given by `--set`, by dotted path; raises UsageError for anything malformed."""
    from moemcts.references import parse_value

    changes_by_path: dict[str, Any] = {}
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals or not name:
            raise UsageError(f"expected --set setting=value, got {change!r}")
        changes_by_path[name.replace("-", "_")] = parse_value(value)
    return changes_by_path


def _not_overridden(preset_paths: AbstractSet[str], file: Mapping[str, Any], config_type: type[RunConfig]) -> set[str]:
    """Returns the settings of a preset that a file does not override."""
    from moemcts.runs.settings import default_of, replaced

    not_overridden = preset_paths - file.keys() - replaced(config_type, file).keys()
    if "summary" not in file:
        return not_overridden
    # A run's file has the summary of its preset and omits settings without a value.
    return {path for path in not_overridden if default_of(config_type, path)}


def _check_effects(explicit: Mapping[str, Any], file: Mapping[str, Any], configuration: RunConfig) -> None:
    from moemcts.dotted import flat, lookup
    from moemcts.runs.settings import default_of, replaced

    values = configuration.model_dump()
    for path, other in replaced(type(configuration), flat(values)).items():
        if path in explicit:
            raise UsageError(
                f"{path} has no effect if {other} is given, {lookup(values, other)!r}; leave one of them out"
            )
    # A file written by a run contains all settings, not only those that the user chose.
    chosen = explicit.keys() - (file if "summary" in file else ())
    for path, reason in configuration.idle():
        if path in chosen and lookup(values, path) != default_of(type(configuration), path):
            raise UsageError(f"{path} has no effect {reason}; change that or leave {path} out")


def _check_needs(needs: Mapping[str, str], preset: str, configuration: RunConfig) -> None:
    from moemcts.dotted import lookup

    values = configuration.model_dump()
    for path, reason in needs.items():
        if not any(lookup(values, alternative) for alternative in path.split(" or ")):
            raise UsageError(f"preset {preset} of {configuration.game} expects {path}: {reason}")


def start_setting(start: str | None, network: object) -> dict[str, str]:
    """Returns the setting for `--start`; raises UsageError if a network is named as well."""
    if start is None:
        return {}
    if network:
        raise UsageError(f"expected --start without --network: the network is that of {start}")
    return {"start": start}


def data_setting(path: Path | None) -> dict[str, str]:
    """Returns the setting for `--data`: the folder of a dataset, or a file of games to import.

    Raises UsageError if neither exists.
    """
    if path is None:
        return {}
    if not path.exists():
        raise UsageError(f"expected --data to be a dataset's folder or a file of games, found neither at {path}")
    return {"data.games" if path.is_file() else "data.folder": str(path.absolute())}

"""All hooks that a plugin can implement.

A plugin is a module named by an entry point of the group `moemcts`. It implements any of these functions, marked with
`@hookimpl`; each returns a list of registrations. Names are unique; for gates, replay formats, readers and boards,
unique among those that a game can use. The built-in games are plugins too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    import typer

hookspec = pluggy.HookspecMarker("moemcts")
hookimpl = pluggy.HookimplMarker("moemcts")


@dataclass(frozen=True)
class Registration:
    """A name that users can write, `name?option=value&...`, or a family of names."""

    name: str
    """A name that ends with a colon is a family: for `family:member`, `make` gets the member as its first argument."""
    make: Callable[..., Any]
    """Called with the options as keyword arguments. The positional arguments of each kind are given with its hook
    below. Options are the keyword-only parameters and, after the positional arguments, those with a default."""
    summary: str
    """One line for listings."""
    games: tuple[str, ...] = ()
    """The games it applies to; empty for all."""
    is_learned: bool = False
    """For gates: whether it has to be fitted to data or trained before use."""
    found: tuple[str, ...] = ()
    """For gates: options whose values are determined by playing games if the user gives none. The gate's `parameters`
    has them under the same names; runs and experts store them, so that they are determined only once."""
    default: bool = False
    """Whether its games use it if the user names none."""
    runs_programs: bool = False
    """For agents: whether its options name a program to run on this machine. Files from elsewhere must not use it."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """For games: settings of an experiment that suit it, by dotted path, such as `search.simulations`."""
    search: Mapping[str, Any] = field(default_factory=dict)
    """For games: default search settings, by the names of `SearchConfig`. They apply to runs and to agents that play
    with experts; presets and users override them."""
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """For games: game-specific contents of the presets `smoke`, `laptop` and `paper`, as tables like in a run's
    `config.toml`, which override the general ones. A table's `needs` has the settings that the preset requires, each
    with the reason why. Presets of self-play are under `selfplay` by name; one replaces a general one of its name, and
    what it leaves out is as in `SelfPlayConfig`."""

    def __post_init__(self) -> None:
        """Raises TypeError for a field of a wrong type, ValueError for a name that cannot be written in a reference."""
        if not isinstance(self.name, str) or not re.fullmatch(r"[^\s?]+", self.name):
            raise ValueError(f"expected a name without spaces or '?', got {self.name!r}")
        owner = f"registration {self.name!r}"
        if not callable(self.make):
            raise TypeError(f"{owner}: expected make to be callable, got {self.make!r:.80}")
        if not isinstance(self.summary, str):
            raise TypeError(f"{owner}: expected summary to be a string, got {self.summary!r:.80}")
        for what, example in (("games", "('my-game',)"), ("found", "('cuts',)")):
            names = getattr(self, what)
            if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
                raise TypeError(f"{owner}: expected {what} to be a tuple of names such as {example}, got {names!r:.80}")
        for what in ("is_learned", "default", "runs_programs"):
            if not isinstance(getattr(self, what), bool):
                raise TypeError(f"{owner}: expected {what} to be True or False, got {getattr(self, what)!r:.80}")
        for what in ("settings", "search", "presets"):
            if not isinstance(getattr(self, what), Mapping):
                raise TypeError(f"{owner}: expected {what} to be a mapping, got {getattr(self, what)!r:.80}")


ONLY_OF = {
    "is_learned": "gates",
    "found": "gates",
    "runs_programs": "agents",
    "settings": "games",
    "search": "games",
    "presets": "games",
}
"""Fields that only one kind of registration may set."""


@hookspec
def register_games() -> Sequence[Registration]:  # type: ignore[empty-body]
    """Returns games; `make(**options) -> Game`."""


@hookspec
def register_gates() -> Sequence[Registration]:  # type: ignore[empty-body]
    """Returns gates; `make(game, **options) -> PhaseGate`."""


@hookspec
def register_agents() -> Sequence[Registration]:  # type: ignore[empty-body]
    """Returns agents; `make(game, **options) -> Agent`. The default agent of a game plays its training games."""


@hookspec
def register_networks() -> Sequence[Registration]:  # type: ignore[empty-body]
    """Returns networks; `make(observation_shape, num_actions, *, num_values=1, ...) -> torch.nn.Module`.

    Games set the keyword arguments `policy_planes` and `num_values` if `make` accepts them.
    """


@hookspec
def register_schemes() -> Sequence[Registration]:  # type: ignore[empty-body]
    """Returns learning schemes; `make(**options) -> Scheme`."""


@hookspec
def register_replay_formats() -> Sequence[Registration]:  # type: ignore[empty-body]
    """Returns file formats for games, named by their file extension; `make(game) -> WriteReplays`."""


@hookspec
def register_readers() -> Sequence[Registration]:  # type: ignore[empty-body]
    """Returns readers of games for training, named by file extension; `make(game, **options) -> Reader`."""


@hookspec
def register_papers() -> Sequence[Mapping[str, Any]]:  # type: ignore[empty-body]
    """Returns tables of published experiments that can be reproduced, in the format of `moemcts.runs.papers`."""


@hookspec
def register_weights() -> Sequence[Registration]:  # type: ignore[empty-body]
    """Returns trained experts; `make() -> Path`, their folder. A game's default ones play if the user names none."""


@hookspec
def register_boards() -> Sequence[Registration]:  # type: ignore[empty-body]
    """Returns drawings of positions for web pages; `make(game) -> Board`."""


@hookspec
def register_commands(app: typer.Typer, data: typer.Typer) -> None:
    """Adds commands to the command line; `data` is its command group for games and datasets."""

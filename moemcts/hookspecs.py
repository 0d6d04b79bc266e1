"""What a plugin can add: all hooks on one screen.

A plugin is a module named by an entry point of the group `moemcts`. It implements any of these functions, marked
with `@hookimpl`; each returns a list of registrations. Names are unique, those of gates, replay formats, readers and
boards among what a game can use; the built-in games are plugins too.
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
    """One name that users can write, `name?option=value&...`, or a family of names."""

    name: str
    """Where it ends with a colon, it is a family: of `family:member`, `make` gets the member as its first argument."""
    make: Callable[..., Any]
    """Called with the options as keywords; a first argument, where there is one, is named with each hook below. Options
    are its keyword-only parameters and, behind that first argument, those with a default."""
    summary: str
    """One line for listings."""
    games: tuple[str, ...] = ()
    """The games it belongs to; empty for all."""
    is_learned: bool = False
    """For gates: whether it knows nothing before it has learned from data."""
    found: tuple[str, ...] = ()
    """For gates: options that are found by playing where the user names none. The gate's `parameters` have them by the
    same names, and runs and experts write them down, so that they are found once."""
    default: bool = False
    """Whether it is what its games use where the user names none."""
    runs_programs: bool = False
    """For agents: whether its options name a program of the machine, which it starts. Files from elsewhere must not."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """For games: settings of an experiment that fit it, by dotted path, such as `search.simulations`."""
    search: Mapping[str, Any] = field(default_factory=dict)
    """For games: what a search does in them where nobody says otherwise, by the names of `SearchConfig`. Agents of
    experts and runs hear it; presets and users come before it."""
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """For games: what the presets `smoke`, `laptop` and `paper` say here, in tables as in a run's `config.toml`, over
    what they say anywhere. A table's `needs` holds settings without which that preset is refused, each with the reason.
    Under `selfplay` are the presets of self-play by name, each whole.
    """

    def __post_init__(self) -> None:
        """Raises TypeError for what is not of its type, ValueError for a name that nobody can write."""
        if not isinstance(self.name, str) or not re.fullmatch(r"[^\s?]+", self.name):
            raise ValueError(f"expected a name without spaces and '?', got {self.name!r}")
        owner = f"registration {self.name!r}"
        if not callable(self.make):
            raise TypeError(f"{owner}: expected make to be called, got {self.make!r:.80}")
        if not isinstance(self.summary, str):
            raise TypeError(f"{owner}: expected a summary in a line, got {self.summary!r:.80}")
        for what, example in (("games", "('my-game',)"), ("found", "('cuts',)")):
            names = getattr(self, what)
            if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
                raise TypeError(f"{owner}: expected {what} as a tuple of names such as {example}, got {names!r:.80}")
        for what in ("is_learned", "default", "runs_programs"):
            if not isinstance(getattr(self, what), bool):
                raise TypeError(f"{owner}: expected {what} to be True or False, got {getattr(self, what)!r:.80}")
        for what in ("settings", "search", "presets"):
            if not isinstance(getattr(self, what), Mapping):
                raise TypeError(f"{owner}: expected {what} as a table, got {getattr(self, what)!r:.80}")


ONLY_OF = {
    "is_learned": "gates",
    "found": "gates",
    "runs_programs": "agents",
    "settings": "games",
    "search": "games",
    "presets": "games",
}
"""What one kind of registration alone can say."""


@hookspec
def register_games() -> Sequence[Registration]:  # type: ignore[empty-body]
    """Returns games; `make(**options) -> Game`."""


@hookspec
def register_gates() -> Sequence[Registration]:  # type: ignore[empty-body]
    """Returns gates; `make(game, **options) -> PhaseGate`."""


@hookspec
def register_agents() -> Sequence[Registration]:  # type: ignore[empty-body]
    """Returns agents; `make(game, **options) -> Agent`. The default one of a game plays its training games."""


@hookspec
def register_networks() -> Sequence[Registration]:  # type: ignore[empty-body]
    """Returns networks; `make(observation_shape, num_actions, *, num_values=1, ...) -> torch.nn.Module`.

    A game fills in the keywords `policy_planes` and `num_values` where a maker names them.
    """


@hookspec
def register_schemes() -> Sequence[Registration]:  # type: ignore[empty-body]
    """Returns learning schemes; `make(**options) -> Scheme`."""


@hookspec
def register_replay_formats() -> Sequence[Registration]:  # type: ignore[empty-body]
    """Returns formats of files of games, named by their ending; `make(game) -> WriteReplays`."""


@hookspec
def register_readers() -> Sequence[Registration]:  # type: ignore[empty-body]
    """Returns readers of games to learn from, named by the ending of their files; `make(game, **options) -> Reader`."""


@hookspec
def register_papers() -> Sequence[Mapping[str, Any]]:  # type: ignore[empty-body]
    """Returns tables of published experiments that the games can repeat, as `moemcts.runs.papers` reads them."""


@hookspec
def register_weights() -> Sequence[Registration]:  # type: ignore[empty-body]
    """Returns trained experts; `make() -> Path`, their folder. A game's default ones play where nobody is named."""


@hookspec
def register_boards() -> Sequence[Registration]:  # type: ignore[empty-body]
    """Returns how pages show the positions of games; `make(game) -> Board`."""


@hookspec
def register_commands(app: typer.Typer, data: typer.Typer) -> None:
    """Adds commands to the command line; `data` is its group of commands about games and datasets."""

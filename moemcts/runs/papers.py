"""Experiments of papers as data: what is made, by which commands, and what was published.

A plugin hands over tables such as these (`register_papers`):

    [sizes.smoke]                 # numbers that commands name in braces, by preset
    samples = "400"

    [make.games]                  # made once per folder, whoever needs it
    command = "data generate --game go --samples {samples} --out {here}"
    given = "data import {data} --out {here}"      # in its place where the user gives games

    [make.network]
    command = "train --game go --data {games} --out {here}"

    [[experiment]]
    name = "losses"
    title = "Loss of a single network"
    sources = ["A paper, Table 1"]
    steps = ["network"]
    [[experiment.numbers]]
    what = "loss"
    paper = "1.29"
    ours = "network: losses.-1.loss.all"
"""

from __future__ import annotations

import re
import shlex
import string
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import Field

from moemcts.errors import UsageError, unknown_name
from moemcts.runs.settings import validate_tables
from moemcts.sections import Frozen

HERE = "here"
DATA = "data"
PRESET = "preset"


class Made(Frozen):
    """Something that is made once in a folder and that experiments share."""

    command: str = ""
    """After `moemcts`; `{NAME}` is the folder of something else that is made first, `{here}` its own. Empty where it
    has to be given."""
    given: str = ""
    """In its place where the user gives games; `{data}` is what they gave."""
    presets: tuple[str, ...] = ()
    """The presets in which the command may stand for what is given; all where empty."""


class Number(Frozen):
    """A published number and where ours is."""

    what: str
    paper: str
    ours: str = ""
    """The step, a colon, and the path in the JSON it printed; empty where only the paper has one."""
    factor: float = 1.0
    """What ours is multiplied by, such as 100 for percent."""


class PaperExperiment(Frozen):
    """One experiment of a paper."""

    name: str
    title: str
    sources: tuple[str, ...]
    """Papers with their tables and figures."""
    steps: tuple[str, ...]
    """What has to be made for it; what these need comes by itself."""
    numbers: tuple[Number, ...] = ()
    missing: str = ""
    """What of the published experiment is not done here, and why."""
    programs: tuple[str, ...] = ()
    """Programs of the machine that it starts."""


class PaperList(Frozen):
    """All that plugins hand over, joined."""

    sizes: Mapping[str, Mapping[str, str]] = Field(default_factory=dict)
    make: Mapping[str, Made] = Field(default_factory=dict)
    experiment: tuple[PaperExperiment, ...] = ()

    def find(self, name: str) -> PaperExperiment:
        """Returns the experiment of a name; raises UsageError for an unknown one."""
        for one in self.experiment:
            if one.name == name:
                return one
        raise unknown_name("experiment", name, [one.name for one in self.experiment])

    def size(self, preset: str, changes: Sequence[str]) -> dict[str, str]:
        """Returns the numbers of a preset with the user's changes, `samples=2000`; raises UsageError."""
        if preset not in self.sizes:
            raise unknown_name("preset", preset, self.sizes)
        values = dict(self.sizes[preset])
        for change in changes:
            name, equals, value = change.partition("=")
            if not equals:
                raise UsageError(f"expected --set size=value, got {change!r}")
            if name not in values:
                raise unknown_name("size", name, values)
            values[name] = value
        return {**values, PRESET: preset}

    def needed(self, steps: Sequence[str], *, is_given: bool, preset: str) -> list[str]:
        """Returns what has to be made for some steps, in order: what something needs stands before it."""
        found: dict[str, None] = {}

        def add(name: str, above: tuple[str, ...]) -> None:
            if name in above:
                raise UsageError(f"{' needs '.join([*above, name])}: expected no circle")
            if name not in self.make:
                raise unknown_name("step", name, self.make)
            for other in placeholders(self.command(name, is_given=is_given, preset=preset)):
                if other in self.make:
                    add(other, (*above, name))
            found[name] = None

        for step in steps:
            add(step, ())
        return list(found)

    def command(self, name: str, *, is_given: bool, preset: str) -> str:
        """Returns the command that makes something; raises UsageError where that has to be given."""
        made = self.make[name]
        if is_given and made.given:
            return made.given
        if not made.command or (made.presets and preset not in made.presets):
            raise UsageError(
                f"preset {preset} wants real games for {name!r}: give a file of games or a dataset with --data"
            )
        return made.command


def placeholders(command: str) -> Iterator[str]:
    """Yields the names in braces."""
    yield from (name for _, name, _, _ in string.Formatter().parse(command) if name)


def words(command: str, sizes: Mapping[str, str], places: Mapping[str, str]) -> list[str]:
    """Returns the words of a command with their names replaced; raises UsageError for a name that stands for nothing.

    Names of places are replaced inside words, so that they may have spaces; a size that is a word of its own may stand
    for several words.
    """
    found: list[str] = []
    try:
        for word in shlex.split(command):
            alone = word[1:-1] if word.startswith("{") and word.endswith("}") else ""
            found += shlex.split(sizes[alone]) if alone in sizes else [word.format_map({**sizes, **places})]
        return found
    except KeyError as error:
        raise UsageError(f"{command!r} names {error}, which is no size and nothing that is made") from None
    except ValueError as error:
        raise UsageError(f"expected words of a command in each size of {command!r}, got one with {error}") from None


def join(tables: Sequence[Mapping[str, Any]]) -> PaperList:
    """Returns the lists of all plugins as one; raises UsageError for one that is none or two things of one name."""
    sizes: dict[str, dict[str, str]] = {}
    make: dict[str, Made] = {}
    experiments: list[PaperExperiment] = []
    for table in tables:
        part = validate_tables(table, PaperList)
        for preset, values in part.sizes.items():
            sizes.setdefault(preset, {}).update(values)
        twice = [
            *({*make} & {*part.make}),
            *({one.name for one in experiments} & {one.name for one in part.experiment}),
        ]
        if twice:
            raise UsageError(f"two plugins hand over {twice[0]!r} of papers")
        make |= part.make
        experiments += part.experiment
    if both := [name for values in sizes.values() for name in values if name in make]:
        raise UsageError(f"papers: {both[0]!r} is a size and something that is made")
    return PaperList(sizes=sizes, make=make, experiment=tuple(experiments))


def printed_at(value: Any, path: str) -> Any:
    """Returns what is at a path of keys and numbers apart by points in what a command printed; None for nothing.

    `*` takes every item of a list or table and yields a list. What is printed has lists, and keys with points in them,
    which settings do not have and `dotted.lookup` does not know.
    """
    if not path:
        return value
    key, _, rest = path.partition(".")
    if key == "*":
        items = list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list) else []
        return [printed_at(item, rest) for item in items]
    if isinstance(value, Mapping):
        # Keys may hold points themselves, such as names of agents: the longest that fits.
        keys = [one for one in value if path == one or path.startswith(f"{one}.")]
        if not keys:
            return None
        longest = max(keys, key=len)
        return printed_at(value[longest], path[len(longest) + 1 :])
    if isinstance(value, list) and re.fullmatch(r"-?\d+", key) and -len(value) <= int(key) < len(value):
        return printed_at(value[int(key)], rest)
    return None

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


class PaperStep(Frozen):
    """A step whose output experiments share; it is made once per folder."""

    command: str = ""
    """The command, without `moemcts`; `{NAME}` is the folder of another step, which is made first, and `{here}` the
    step's own. Empty if the output has to be given."""
    given: str = ""
    """The command to use instead if the user gives games; `{data}` is what they gave."""
    presets: tuple[str, ...] = ()
    """The presets in which `command` may replace given games; all if empty."""


class Number(Frozen):
    """A published number and where to find ours."""

    what: str
    paper: str
    ours: str = ""
    """The step, a colon, and the path in the JSON output of its command; empty if only the paper has the number."""
    factor: float = 1.0
    """The factor that ours is multiplied by, such as 100 for percent."""


class PaperExperiment(Frozen):
    """One experiment of a paper."""

    name: str
    title: str
    sources: tuple[str, ...]
    """Papers with the numbers of their tables and figures."""
    steps: tuple[str, ...]
    """The steps it needs; their dependencies are added automatically."""
    numbers: tuple[Number, ...] = ()
    missing: str = ""
    """Parts of the published experiment that are not reproduced, and why."""
    programs: tuple[str, ...] = ()
    """External programs that it starts."""


class PaperList(Frozen):
    """The tables of all plugins, merged."""

    sizes: Mapping[str, Mapping[str, str]] = Field(default_factory=dict)
    make: Mapping[str, PaperStep] = Field(default_factory=dict)
    experiment: tuple[PaperExperiment, ...] = ()

    def find(self, name: str) -> PaperExperiment:
        """Returns the experiment with that name; raises UsageError if it is unknown."""
        for experiment in self.experiment:
            if experiment.name == name:
                return experiment
        raise unknown_name("experiment", name, [experiment.name for experiment in self.experiment])

    def size(self, preset: str, changes: Sequence[str]) -> dict[str, str]:
        """Returns the sizes of a preset with the user's changes, such as `samples=2000`; raises UsageError."""
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

    def with_dependencies(self, steps: Sequence[str], *, is_given: bool, preset: str) -> list[str]:
        """Returns some steps and their dependencies, in order: each step after those it needs."""
        ordered: dict[str, None] = {}

        def add(name: str, dependents: tuple[str, ...]) -> None:
            if name in dependents:
                raise UsageError(f"{' needs '.join([*dependents, name])}: expected no circular dependency")
            if name not in self.make:
                raise unknown_name("step", name, self.make)
            for other in placeholders(self.command(name, is_given=is_given, preset=preset)):
                if other in self.make:
                    add(other, (*dependents, name))
            ordered[name] = None

        for step in steps:
            add(step, ())
        return list(ordered)

    def command(self, name: str, *, is_given: bool, preset: str) -> str:
        """Returns the command of a step; raises UsageError if its output has to be given."""
        step = self.make[name]
        if is_given and step.given:
            return step.given
        if not step.command or (step.presets and preset not in step.presets):
            raise UsageError(
                f"preset {preset} needs real games for {name!r}: give a file of games or a dataset with --data"
            )
        return step.command


def placeholders(command: str) -> Iterator[str]:
    """Yields the names in braces."""
    yield from (name for _, name, _, _ in string.Formatter().parse(command) if name)


def command_words(command: str, sizes: Mapping[str, str], places: Mapping[str, str]) -> list[str]:
    """Returns the words of a command with its placeholders replaced; raises UsageError for an unknown placeholder.

    Paths are substituted within words, so they may contain spaces; a size that is a word of its own may expand to
    several words.
    """
    words: list[str] = []
    try:
        for word in shlex.split(command):
            placeholder = word[1:-1] if word.startswith("{") and word.endswith("}") else ""
            if placeholder in sizes:
                words += shlex.split(sizes[placeholder])
            else:
                words.append(word.format_map({**sizes, **places}))
        return words
    except KeyError as error:
        raise UsageError(f"{command!r} names {error}, which is neither a size nor something that is made") from None
    except ValueError as error:
        raise UsageError(f"expected every size in {command!r} to be words of a command, got one with {error}") from None


def join(tables: Sequence[Mapping[str, Any]]) -> PaperList:
    """Returns the lists of all plugins merged into one; raises UsageError for invalid tables and duplicate names."""
    sizes: dict[str, dict[str, str]] = {}
    make: dict[str, PaperStep] = {}
    experiments: list[PaperExperiment] = []
    for table in tables:
        part = validate_tables(table, PaperList)
        for preset, values in part.sizes.items():
            sizes.setdefault(preset, {}).update(values)
        names, new_names = ({experiment.name for experiment in some} for some in (experiments, part.experiment))
        if duplicates := [*({*make} & {*part.make}), *(names & new_names)]:
            raise UsageError(f"two plugins register {duplicates[0]!r} for papers")
        make |= part.make
        experiments += part.experiment
    if ambiguous := [name for values in sizes.values() for name in values if name in make]:
        raise UsageError(f"papers: {ambiguous[0]!r} is both a size and something that is made")
    return PaperList(sizes=sizes, make=make, experiment=tuple(experiments))


def value_at(value: Any, path: str) -> Any:
    """Returns the value at a dotted path of keys and indices in a command's output; None if there is none.

    `*` maps over all items of a list or table and yields a list. `dotted.lookup` does not fit: a command's output,
    unlike settings, has lists and keys that contain dots.
    """
    if not path:
        return value
    key, _, rest = path.partition(".")
    if key == "*":
        items = list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list) else []
        return [value_at(item, rest) for item in items]
    if isinstance(value, Mapping):
        # Keys, such as names of agents, may contain dots: take the longest match.
        keys = [key for key in value if path == key or path.startswith(f"{key}.")]
        if not keys:
            return None
        longest = max(keys, key=len)
        return value_at(value[longest], path[len(longest) + 1 :])
    if isinstance(value, list) and re.fullmatch(r"-?\d+", key) and -len(value) <= int(key) < len(value):
        return value_at(value[int(key)], rest)
    return None

"""Reproduces a published experiment in a folder: runs its steps as commands and compares their output to the paper."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moemcts.arena.rating import Elo
from moemcts.errors import MoemctsError, UsageError
from moemcts.learn.data.shards import IMPORT_REPORT
from moemcts.report.page import Report, Section
from moemcts.report.tables import Table
from moemcts.runs.papers import DATA, HERE, Number, PaperExperiment, PaperList, command_words, value_at
from moemcts.store import read_json, write_json

RunCommand = Callable[[Sequence[str]], str]
"""Runs a command and returns its standard output."""
RESUMED = ("run", "train", "selfplay")
"""Commands that can be resumed from their folder with `--resume`."""


@dataclass(frozen=True)
class Reproduction:
    """An experiment of a paper at a given size, in a folder shared by experiments."""

    papers: PaperList
    experiment: PaperExperiment
    sizes: Mapping[str, str]
    folder: Path
    """The folder of all experiments of this size; `made/` is shared, and each experiment has a folder named after
    it."""
    data: Path | None = None
    """Games given by the user."""

    @property
    def steps(self) -> list[str]:
        """The steps to run, in order."""
        return self.papers.with_dependencies(
            self.experiment.steps, is_given=self.data is not None, preset=self.sizes["preset"]
        )

    @property
    def uses_data(self) -> bool:
        """Whether any step learns from the games given by the user."""
        commands = (self.papers.command(step, is_given=True, preset=self.sizes["preset"]) for step in self.steps)
        return self.data is not None and any(f"{{{DATA}}}" in command for command in commands)

    def command(self, step: str) -> list[str]:
        """Returns the words of a step's command, without `moemcts`."""
        places = {
            **{name: str(self._steps_folder / name) for name in self.papers.make},
            HERE: str(self._steps_folder / step),
            DATA: "" if self.data is None else str(self.data.absolute()),
        }
        text = self.papers.command(step, is_given=self.data is not None, preset=self.sizes["preset"])
        return command_words(text, self.sizes, places)

    def check(self, commands: Container[str]) -> None:
        """Raises UsageError if a step needs an unknown command, and MoemctsError if a program is missing."""
        for program in self.experiment.programs:
            if not has_program(program):
                raise MoemctsError(
                    f"{self.experiment.name} needs the program {program}, which is not on this machine; "
                    f"apt install {program}"
                )
        for step in self.steps:
            first = self.command(step)[0]
            if first not in commands:
                raise UsageError(f"{self.experiment.name} needs `moemcts {first}`, which this version does not have")

    def work(self, run_command: RunCommand, say: Callable[[str], None]) -> None:
        """Runs all steps that are not done yet; stores each step's output beside its folder."""
        steps = self.steps
        for number, step in enumerate(steps, 1):
            command = self.command(step)
            output_file = self._output_file(step)
            known = read_json(output_file) if output_file.exists() else {}
            if known.get("command") == command and "answer" in known:
                continue
            if known and known["command"] != command and (self._steps_folder / step).exists():
                raise UsageError(
                    f"{self._steps_folder / step} was made by another command, {shlex.join(known['command'])}; "
                    "give another --out, or remove that folder"
                )
            say(f"{self.experiment.name}, step {number} of {len(steps)}: moemcts {shlex.join(command)}")
            if known and (import_report := self._steps_folder / step / IMPORT_REPORT).exists():
                # Killed after the import and before its output was stored: the import refuses an existing folder.
                answer = read_json(import_report)
            else:
                # After a kill, this says which command the folder was begun with.
                write_json(output_file, {"command": command})
                answer = _parse_output(run_command(self._resume_command(step, command)))
            write_json(output_file, {"command": command, "answer": answer})

    def report(self) -> Report:
        """Returns a report with the paper's numbers beside ours; the steps must be done."""
        experiment = self.experiment
        rows = [[number.what, number.paper, format_value(self.ours(number))] for number in experiment.numbers]
        games = self.data if self.uses_data else "agents that play here"
        scale = f"preset {self.sizes['preset']}, games from {games}"
        missing = f"\n\nNot done here: {experiment.missing}" if experiment.missing else ""
        steps = "\n".join(f"- `moemcts {shlex.join(self.command(step))}`" for step in self.steps)
        return Report(
            title=experiment.title,
            summary=f"{'; '.join(experiment.sources)}. At {scale}: numbers of another size than the paper's are no "
            f"reproduction of them.{missing}",
            sections=[
                Section("The paper's numbers and ours", tables=[Table(["", "paper", "ours"], rows)]),
                Section("How it was made", f"{steps}\n- folders: `{self._steps_folder}`"),
            ],
            numbers={
                "experiment": experiment.name,
                "sizes": dict(self.sizes),
                "numbers": [
                    {"what": number.what, "paper": number.paper, "ours": self.ours(number)}
                    for number in experiment.numbers
                ],
            },
        )

    def ours(self, number: Number) -> Any:
        """Returns our counterpart of a published number; None if there is none."""
        step, _, path = number.ours.partition(":")
        if not step:
            return None
        return scale_numbers(value_at(read_json(self._output_file(step))["answer"], path.strip()), number.factor)

    @property
    def _steps_folder(self) -> Path:
        return self.folder / "made"

    def _output_file(self, step: str) -> Path:
        return self._steps_folder / f"{step}.json"

    def _resume_command(self, step: str, command: list[str]) -> list[str]:
        if command[0] in RESUMED and (self._steps_folder / step / "config.toml").exists():
            return [command[0], "--resume", str(self._steps_folder / step), "--json"]
        return command


def has_program(name: str) -> bool:
    """Returns whether a program is installed, on the path or where Debian installs games."""
    return any(shutil.which(name, path=path) for path in (None, "/usr/games"))


def format_value(value: Any) -> str | None:
    """Returns one or several numbers as shown in a table."""
    if isinstance(value, Mapping) and value.keys() == Elo.__dataclass_fields__.keys():
        return str(Elo(**value))
    if isinstance(value, Mapping) and "difference" in value:
        error = value.get("error")
        return f"{value['difference']:+z.1f}" + ("" if error is None else f" ± {error:.1f}")
    if isinstance(value, list | tuple):
        return " / ".join(format_value(item) or "–" for item in value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None if value is None else str(value)
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}"


def scale_numbers(value: Any, factor: float) -> Any:
    """Returns numbers multiplied by a factor, and everything else unchanged."""
    if isinstance(value, list):
        return [scale_numbers(item, factor) for item in value]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value * factor if is_number and factor != 1 else value


def _parse_output(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {"text": text}

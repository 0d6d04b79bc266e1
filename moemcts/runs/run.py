"""Runs: a run is a folder with settings, a record of its environment, and parts that are done or not."""

from __future__ import annotations

import contextlib
import shlex
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import tomli_w

from moemcts.errors import DamagedFile, ForeignData, MoemctsError, UsageError
from moemcts.game import Game
from moemcts.plugins import plugins
from moemcts.runs.config_file import CONFIG
from moemcts.runs.copies import OpeningsFile, copy_gate, copy_start, openings_files
from moemcts.runs.environment import as_typed, environment
from moemcts.runs.hardware import device_for
from moemcts.runs.programs import refuse_programs
from moemcts.runs.settings import RunConfig, validate
from moemcts.store import MANIFEST, check_path, exclusive, json_round_trip, read_json, read_toml, write_json, write_text
from moemcts.work import Report, Workers
from moemcts.work.progress import Advance, Progress

if TYPE_CHECKING:
    from moemcts.learn.networks.outputs import Outputs

ENVIRONMENT = "env.json"
PARTS = "parts"
_COMMANDS = {"experiment": "moemcts run", "training": "moemcts train", "selfplay": "moemcts selfplay"}
_MAX_CHANGES = 3
"""The number of changed settings listed in an error."""

Config = TypeVar("Config", bound=RunConfig)


@dataclass(frozen=True, kw_only=True)
class Part:
    """A piece of a run's work, done once."""

    name: str
    """The name of its file under `parts/`."""
    task: str
    """The task's name shown to users; parts of one task depend only on those of earlier tasks."""
    unit: str
    """The unit that its progress is counted in."""
    size: int | None = None
    """The number of units, if known in advance."""
    do: Callable[[Advance], None]
    """Does whatever is not done yet."""
    share: Callable[[Advance, Workers], None] | None = None
    """Does the same with several workers; None if the part cannot be divided or is too small to be worth starting
    them."""
    decided_by: Mapping[str, Any]
    """The settings that decide its result, by dotted path."""
    extent: Mapping[str, Any] = field(default_factory=dict)
    """The settings that decide its amount of work; if they grow, the part is continued."""
    result_file: Path | None = None
    """The file with its result, read by later parts and the report, if nothing can recreate it."""


class Run(ABC, Generic[Config]):
    """A folder with `config.toml`, `env.json`, and a file in `parts/` for each part that was begun.

    A part's file records the settings that decided it, so that later edits of the settings are detected before its
    results are used.
    """

    kind: ClassVar[str]
    """The name in `env.json`."""
    noun: ClassVar[str]
    """The name shown to users."""
    config_type: ClassVar[type[RunConfig]]
    keeps_start: ClassVar[bool] = True
    """Whether its folder keeps a copy of the experts that it starts from."""

    def __init__(self, folder: Path, config: Config) -> None:
        """Raises UsageError if the configuration names something that does not exist; networks are not checked."""
        self.folder = folder
        self.config = config
        self.game: Game = plugins().game(config.game)
        config.training.check_layout(self.game.spec.observation_shape)

    def check_networks(self) -> list[Outputs]:
        """Builds and checks every network, and returns their outputs for an empty position.

        To be called before estimating, training or playing. Raises UsageError if the run names an unknown network, and
        MoemctsError if one does not fit the game.
        """
        from moemcts.learn.networks.contract import check_network

        spec = self.game.spec
        return [
            check_network(plugins().network(reference, spec.observation_shape, spec.num_actions), spec)
            for reference in self.config.all_networks
        ]

    @classmethod
    def prepare(cls, folder: Path, config: Config) -> Self:
        """Returns a new run without writing anything.

        Raises UsageError if the folder already holds a run, samples or experts, if the device to train on does not
        exist, or if a weight of the loss has no effect, and as `check_networks`.
        """
        from moemcts.learn.networks.contract import missing_outputs

        check_path(folder)
        _check_free(folder, cls.noun)
        _check_seed(config)
        device_for(config.training.device)
        # Round-trips the settings, so that the new run has the same ones as if it were opened from its file.
        written: Any = validate(cls.resolved(config).resolved_settings(), cls.config_type)
        run = cls(folder, written)
        written.training.check_terms(missing_outputs(run.check_networks()))
        return run

    @classmethod
    def create(cls, folder: Path, config: Config) -> Self:
        """Creates a run in a folder; raises as `prepare`."""
        run = cls.prepare(folder, config)
        run.write()
        return run

    @classmethod
    def load(cls, folder: Path, *, allow_programs: bool = False) -> Self:
        """Opens a run to continue it; raises as `read` and `check_networks`."""
        run = cls.read(folder, allow_programs=allow_programs)
        run.check_networks()
        return run

    @classmethod
    def read(cls, folder: Path, *, allow_programs: bool = False) -> Self:
        """Opens a run for reading.

        Raises UsageError if there is none, if it is of another kind, or if its settings would start programs and this
        is not allowed: the folder may come from an untrusted source.
        """
        check_path(folder)
        if not (folder / CONFIG).exists():
            raise UsageError(f"expected a {cls.noun} with a {CONFIG} in {folder}, found none")
        kind = _read_environment(folder).get("kind", cls.kind)
        if kind != cls.kind:
            raise UsageError(f"{folder} is not a {cls.noun}; resume it: {resume_command(kind, folder)}")
        try:
            config: Any = validate(read_toml(folder / CONFIG), cls.config_type)
        except UsageError as error:
            raise UsageError(f"{folder / CONFIG}: {error}") from None
        if not allow_programs:
            refuse_programs(config, str(folder / CONFIG))
        return cls(folder, config)

    @classmethod
    def resolved(cls, config: Config) -> Config:
        """Returns the configuration with everything that the game and the machine decide filled in."""
        # Initial experts keep their network.
        network = config.network if config.start else cls.complete_network(config)
        return _with_precision(config.filled().model_copy(update={"network": network}))

    @classmethod
    def complete_network(cls, config: Config) -> str:
        """Returns the network with the options that the game decides."""
        return plugins().complete_network(config.network, plugins().game(config.game))

    def write(self) -> None:
        """Writes a new run's files; raises UsageError if another process has created a run there meanwhile."""
        with exclusive(self.folder):
            _check_free(self.folder, self.noun)
            self.keep_files()
            write_json(self.folder / ENVIRONMENT, {"kind": self.kind, **environment()})
            # Written last: this file makes the folder a run.
            write_text(self.folder / CONFIG, self.config_text())

    @property
    def openings(self) -> list[OpeningsFile]:
        """The files of openings that the settings name."""
        return openings_files(self.folder, self.config)

    @property
    def warning(self) -> str:
        """A line on what the files of openings contain that cannot be used; empty if all can."""
        return "; ".join(filter(None, (file.read(self.game).warning for file in self.openings)))

    def keep_settings(self) -> None:
        """Writes the settings of a run that was extended; the run must be open."""
        write_text(self.folder / CONFIG, self.config_text())

    def keep_files(self) -> None:
        """Copies the files that the settings name and the run needs into its folder."""
        for gate in self.gates:
            copy_gate(self.folder, gate)
        for file in self.openings:
            file.make_copy()
        if self.keeps_start:
            copy_start(self.folder, self.config.start)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Locks the run for this process.

        Raises MoemctsError if another process holds it, and as `check`.
        """
        with exclusive(self.folder):
            self.check()
            yield

    def check(self, *, remedy: str = f"put {CONFIG} back, or start another run with --out") -> None:
        """Checks that the parts that were begun match the settings.

        Raises ForeignData, with `remedy`, if a part was made with other settings, and DamagedFile if the result of one
        is lost.
        """
        for part in self.parts():
            self._check(part, remedy)

    @contextlib.contextmanager
    def timed(self) -> Iterator[None]:
        """Writes `done.json`, with the elapsed time, unless the body fails."""
        done, started = self.folder / "done.json", time.monotonic()
        # A run that was extended is no longer done.
        done.unlink(missing_ok=True)
        yield
        write_json(done, {"seconds_of_last_start": round(time.monotonic() - started, 1)})

    def work(self, progress: Progress) -> None:
        """Does all parts that are not done yet; the run must be open."""
        for (task, unit), parts in groupby(self.pending_parts(), key=lambda part: (part.task, part.unit)):
            with progress.task(task, unit) as advance:
                self.do_all(list(parts), advance)

    def pending_parts(self) -> list[Part]:
        """Returns the parts that are not done yet."""
        return [part for part in self.parts() if not self.is_done(part)]

    def do_all(self, parts: Sequence[Part], advance: Advance) -> None:
        """Does the parts of one task; one after the other by default."""
        for part in parts:
            self.do(part.name, advance)

    def do(self, name: str, advance: Advance) -> None:
        """Does the part with that name."""
        part = next(part for part in self.parts() if part.name == name)
        with self.recording(part):
            part.do(advance)

    @contextlib.contextmanager
    def recording(self, part: Part) -> Iterator[None]:
        """Records in a part's file that it was begun and, unless the body fails, that it is done."""
        self._write(part, is_done=False)
        yield
        self._write(part, is_done=True)

    def is_done(self, part: Part) -> bool:
        """Returns whether a part was finished with the current settings."""
        return self.read_record(part.name) == _record(part, is_done=True)

    def read_record(self, name: str) -> dict[str, Any]:
        """Returns the contents of a part's file; empty if the part was not begun. Raises DamagedFile."""
        path = self._path(name)
        if not path.exists():
            return {}
        found = read_json(path)
        if not isinstance(found, dict) or not isinstance(found.get("decided_by"), dict):
            raise DamagedFile(f"{path} does not say what decided this part; delete it to do the part again")
        return found

    def config_text(self) -> str:
        """Returns the configuration, fully resolved, as TOML."""
        return tomli_w.dumps(self.config.resolved_settings())

    def environment(self) -> dict[str, Any]:
        """Returns the contents of `env.json`; empty if it is missing or damaged."""
        return _read_environment(self.folder)

    def describe_environment(self) -> str:
        """Returns a description of the environment, with the command that started the run."""
        found = self.environment()
        if not (found.keys() >= {"moemcts", "torch", "python", "system"} and found.get("command")):
            return f"- versions unknown: {self.folder / ENVIRONMENT} is missing or damaged"
        return (
            f"- moemcts {found['moemcts']}, torch {found['torch']}, Python {found['python']}, {found['system']}\n"
            f"- `{as_typed([str(word) for word in found['command']])}`"
        )

    @property
    def resume_command(self) -> str:
        """The command line that resumes the run."""
        return resume_command(self.kind, self.folder)

    @property
    @abstractmethod
    def gates(self) -> Sequence[str]:
        """The gates that the run uses, as the user wrote them."""

    @abstractmethod
    def parts(self) -> Sequence[Part]:
        """Returns all parts in the order in which they are done."""

    @abstractmethod
    def describe(self) -> str:
        """Returns a line that describes the run."""

    def _check(self, part: Part, remedy: str) -> None:
        found, expected = self.read_record(part.name), _record(part, is_done=True)
        if not found:
            return
        if differences := changes(found["decided_by"], expected["decided_by"]):
            raise ForeignData(f"{self.folder}: part {part.name} was made with other settings: {differences}; {remedy}")
        if found.get("done") and part.result_file is not None and not part.result_file.exists():
            raise DamagedFile(
                f"{part.result_file} is missing, the result of part {part.name}; put it back, or start another run "
                "with --out"
            )

    def _write(self, part: Part, *, is_done: bool) -> None:
        write_json(self._path(part.name), _record(part, is_done=is_done))

    def _path(self, name: str) -> Path:
        return self.folder / PARTS / f"{name}.json"


def kind_of(folder: Path) -> str:
    """Returns the kind of run in a folder, as in `env.json`; raises UsageError if there is none."""
    check_path(folder)
    if not (folder / CONFIG).exists():
        raise UsageError(f"expected a run with a {CONFIG} in {folder}, found none")
    return str(_read_environment(folder).get("kind", "experiment"))


def resume_command(kind: str, folder: Path) -> str:
    """Returns the command line that resumes a run of a kind."""
    return f"{_COMMANDS.get(kind, kind)} --resume {shlex.quote(str(folder))}"


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Returns a description of the settings that differ; empty if none do."""
    changed = [key for key in {**before, **now} if before.get(key) != now.get(key)]
    description = "; ".join(f"{key} was {before.get(key)!r} and is {now.get(key)!r}" for key in changed[:_MAX_CHANGES])
    return description + (f"; and {len(changed) - _MAX_CHANGES} more" if len(changed) > _MAX_CHANGES else "")


def _record(part: Part, *, is_done: bool) -> dict[str, Any]:
    values = {"decided_by": dict(part.decided_by), "extent": dict(part.extent), "done": is_done}
    plain: dict[str, Any] = json_round_trip(values)
    return plain


def _check_seed(config: RunConfig) -> None:
    """Raises UsageError if the training has a seed of its own: the run's seed decides everything."""
    if config.training.seed:
        raise UsageError(
            f"training.seed has no effect in a run, got {config.training.seed}; use seed, which decides "
            "everything random"
        )


def _check_free(folder: Path, noun: str) -> None:
    if (folder / CONFIG).exists():
        command = resume_command(kind_of(folder), folder)
        raise UsageError(f"{folder} already holds a run; resume it: {command}, or begin another in another folder")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"expected a folder for the {noun}, but {folder} is a file")
    if (folder / MANIFEST).exists():
        raise UsageError(f"expected a folder of its own for the {noun}, but {folder} holds samples or experts")


def _read_environment(folder: Path) -> dict[str, Any]:
    # The environment decides nothing: without it a run continues, and its report says that it is missing.
    with contextlib.suppress(MoemctsError):
        found = read_json(folder / ENVIRONMENT)
        return found if isinstance(found, dict) else {}
    return {}


def _with_precision(config: Config) -> Config:
    """Returns the configuration with precision `auto` replaced by the fastest way to train its network."""
    training = config.training
    if training.precision != "auto":
        return config
    from moemcts.learn.training.ranks import device_of, torchrun_ranks
    from moemcts.learn.training.speed import resolve_precision

    if torchrun_ranks().size > 1:
        # Timings would differ between processes: when training starts, the first process decides for all.
        return config
    spec = plugins().game(config.game).spec
    network = plugins().network(config.network, spec.observation_shape, spec.num_actions)
    device = str(device_of(training.device))
    resolved = resolve_precision(training, network, spec.observation_shape, device=device)
    return config.model_copy(update={"training": resolved})


class PartRunner:
    """Does the parts of a run by name; when pickled, it reopens the run from its folder."""

    def __init__(self, run: Run[Any]) -> None:
        self._run = run

    def __call__(self, name: str, report: Report) -> None:
        self._run.do(name, lambda done, total: report((done, total)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen_part_runner, (type(self._run), self._run.folder)


def _reopen_part_runner(kind: type[Run[Any]], folder: Path) -> PartRunner:
    """Returns what a pickled `PartRunner` becomes in another process."""
    # The parent process has already allowed the settings' programs and checked the networks.
    return PartRunner(kind.read(folder, allow_programs=True))

"""Copies of the files that a run's settings name, in its folder: gates, openings and initial experts.

They make the run self-contained, and all its trainings start from the same experts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from moemcts.arena.openings import Suite, read_openings
from moemcts.dotted import lookup
from moemcts.game import Game
from moemcts.plugins import SAVED_GATE
from moemcts.runs.arms import exact_label, file_label
from moemcts.runs.config_file import written_settings
from moemcts.runs.settings import Config, RunConfig
from moemcts.store import MANIFEST, digest, read_bytes, read_toml, write_bytes

GAMES, GAUNTLET, MATCH = "games", "gauntlet", "match"
"""The sections of the settings that may name a file of openings."""
_GATES, _OPENINGS, _START = "gates", "openings", "start"
"""The folders of the copies."""


def copy_gate(folder: Path, reference: str) -> None:
    """Copies a gate into a run's folder if it is a saved one."""
    if reference.endswith(SAVED_GATE):
        write_bytes(_path_of_copy(folder, exact_label(reference)), Path(reference).read_bytes())


def copied_gate(folder: Path, reference: str, gates: Sequence[str] = ()) -> str:
    """Returns the path of the run's copy of a saved gate, or the reference if there is no copy.

    `gates` are all gates of the run.
    """
    if not reference.endswith(SAVED_GATE) or reference not in _gates_named_in(folder):
        return reference
    labels = [exact_label(reference)]
    if all(file_label(gate) != file_label(reference) for gate in gates if gate != reference):
        # Copies used to have no digest, and gates whose names differ only in punctuation shared one.
        labels.append(file_label(reference))
    return next((str(copy) for label in labels if (copy := _path_of_copy(folder, label)).exists()), reference)


def copy_start(folder: Path, start: str) -> None:
    """Copies the experts that a run starts from, if any, into its folder; they have been checked already."""
    if not start:
        return
    manifest = read_toml(Path(start) / MANIFEST)
    files = [*(expert["file"] for expert in manifest["experts"]), manifest["gate"].get("file", "")]
    # The manifest comes last: it marks the copy as complete.
    for file in filter(None, (*dict.fromkeys(files), MANIFEST)):
        write_bytes(folder / _START / file, read_bytes(Path(start) / file))


def copied_start(folder: Path, start: str) -> Path:
    """Returns the run's copy of the experts it starts from, or their original folder for older runs without a copy."""
    copy = folder / _START
    return copy if (copy / MANIFEST).exists() else Path(start)


@dataclass(frozen=True)
class OpeningsFile:
    """A file of openings and the run's copy of it."""

    section: str
    """The section of the settings that names the file."""
    named: Path
    folder: Path
    """The folder of the run."""

    @property
    def copy(self) -> Path:
        """The path of the run's copy."""
        return self.folder / _OPENINGS / self.section / self.named.name

    @property
    def has_copy(self) -> bool:
        """Whether the run has a copy of the file that its settings name.

        False before the copy is made, and for older runs, which have none.
        """
        named = lookup(written_settings(self.folder), f"{self.section}.openings")
        return bool(named) and Path(named) == self.named and self.copy.exists()

    @property
    def path(self) -> Path:
        """The path of the copy, or of the file itself if there is none."""
        return self.copy if self.has_copy else self.named

    @property
    def decided_by(self) -> dict[str, str]:
        """What decides parts of a run besides the settings: a digest of the content, if the run has a copy."""
        return {f"content of {self.section}.openings": digest(read_bytes(self.copy))[:16]} if self.has_copy else {}

    def make_copy(self) -> None:
        """Copies the file into the run's folder; raises DamagedFile if it cannot be read."""
        write_bytes(self.copy, read_bytes(self.named))

    def read(self, game: Game) -> Suite:
        """Returns the openings to play from; raises as `read_openings`."""
        return read_openings(game, self.path)


def openings_file(folder: Path, config: RunConfig, section: str) -> OpeningsFile | None:
    """Returns the file of openings that a section names; None if games begin from the game's own start positions."""
    named: str = getattr(getattr(config, section, None), "openings", "")
    return OpeningsFile(section, Path(named), folder) if named else None


def openings_files(folder: Path, config: RunConfig) -> list[OpeningsFile]:
    """Returns the files of openings that the settings name."""
    found = (openings_file(folder, config, section) for section in (GAMES, GAUNTLET, MATCH))
    return [file for file in found if file is not None]


def with_absolute_paths(config: Config) -> Config:
    """Returns the configuration with absolute paths of the files of openings."""
    update = {
        file.section: getattr(config, file.section).model_copy(update={"openings": str(file.named.absolute())})
        for file in openings_files(Path(), config)
    }
    return config.model_copy(update=update)


def _gates_named_in(folder: Path) -> list[str]:
    """Returns the gates named in the settings of a folder."""
    settings = written_settings(folder)
    return [settings.get("gate", ""), *settings.get("gates", ())]


def _path_of_copy(folder: Path, label: str) -> Path:
    return folder / _GATES / f"{label}{SAVED_GATE}"

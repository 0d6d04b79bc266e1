"""Copies of files of openings in a run's folder, which make the run self-contained."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from moemcts.arena.openings import Suite, read_openings
from moemcts.dotted import lookup
from moemcts.game import Game
from moemcts.runs.config_file import written_settings
from moemcts.runs.settings import Config, RunConfig
from moemcts.store import digest, read_bytes, write_bytes

GAMES, GAUNTLET, MATCH = "games", "gauntlet", "match"
"""The sections of the settings that may name a file of openings."""
_FOLDER = "openings"


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
        return self.folder / _FOLDER / self.section / self.named.name

    @property
    def is_kept(self) -> bool:
        """Whether the run has a copy of the file that its settings name.

        False before the copy is made, and for older runs, which have none.
        """
        named = lookup(written_settings(self.folder), f"{self.section}.openings")
        return bool(named) and Path(named) == self.named and self.copy.exists()

    @property
    def path(self) -> Path:
        """The path of the copy, or of the file itself if there is none."""
        return self.copy if self.is_kept else self.named

    @property
    def decided_by(self) -> dict[str, str]:
        """What decides parts of a run besides the settings: a digest of the content, if the run has a copy."""
        return {f"content of {self.section}.openings": digest(read_bytes(self.copy))[:16]} if self.is_kept else {}

    def keep(self) -> None:
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


def with_whole_paths(config: Config) -> Config:
    """Returns the configuration with absolute paths of the files of openings."""
    update = {
        file.section: getattr(config, file.section).model_copy(update={"openings": str(file.named.absolute())})
        for file in openings_files(Path(), config)
    }
    return config.model_copy(update=update)

"""The samples for training and evaluation."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from moemcts.errors import UsageError
from moemcts.plugins import plugins
from moemcts.runs.settings import DataConfig
from moemcts.store import MANIFEST, read_toml

if TYPE_CHECKING:
    from moemcts.game import Game
    from moemcts.learn.data.dataset import Dataset


@dataclass(frozen=True)
class Sources:
    """Datasets of one game; `validation` and `test` are None if there is no separate one."""

    training: Dataset
    validation: Dataset | None = None
    test: Dataset | None = None

    @property
    def kind(self) -> str:
        """What the tables are evaluated on, in one word."""
        return "test" if self.test else "validation" if self.validation else "held-out"

    def held_out(self, fraction: float, seed: int) -> Dataset:
        """Returns the samples for the tables: the test set, else the validation set, else the held-out games."""
        return self.test or self.validation or self.training.split(fraction, seed)[1]


def open_sources(config: DataConfig, own: Path, game: Game) -> Sources:
    """Opens the configured datasets; `own` is the run's own dataset, used if no other is named.

    A folder without a dataset may contain one each in `train`, `validation` and `test`, as written by an import with
    splits. Raises UsageError if there is no dataset, if one is used twice, or if two begin with the same games, and
    ForeignData if one is of another game.
    """
    datasets = _open_datasets(_folders(config, own), game)
    training = datasets["training"]
    if config.is_given and config.samples:
        training = training.sample_games(config.samples)
    return Sources(training, datasets.get("validation"), datasets.get("test"))


def check_sources(config: DataConfig, game: Game) -> None:
    """Raises as `open_sources` if the configured datasets cannot be opened; one yet to be made is not checked."""
    _open_datasets(_folders(config, Path(config.folder)) if config.folder else _evaluation_folders(config), game)


def _open_datasets(folders: Mapping[str, Path], game: Game) -> dict[str, Dataset]:
    """Opens datasets by kind; raises UsageError if two of them share samples or games."""
    from moemcts.learn.data.shards import part_ids, read_manifest

    datasets = {kind: _open(folder, game) for kind, folder in folders.items()}
    ids = [part for folder in folders.values() for part in part_ids(read_manifest(folder))]
    if len(set(ids)) < len(ids):
        named = ", ".join(f"{kind} {folder}" for kind, folder in folders.items())
        raise UsageError(f"expected different samples to learn from and to measure on, got the same twice: {named}")
    _check_apart(folders)
    return datasets


def _check_apart(folders: Mapping[str, Path]) -> None:
    """Raises UsageError if two datasets begin with the same games, whatever their sizes."""
    from moemcts.learn.data.shards import played_game_ids, read_manifest

    first_use: dict[str, str] = {}
    for kind, folder in folders.items():
        for played in played_game_ids(read_manifest(folder)):
            if played in first_use:
                _, agents, seed = json.loads(played)
                raise UsageError(
                    f"expected different games to learn from and to measure on, got those of {agents} with seed "
                    f"{seed} as {first_use[played]} and as {kind} {folder}; play one of them with another seed"
                )
            first_use[played] = f"{kind} {folder}"


def _open(folder: Path, game: Game) -> Dataset:
    """Opens a dataset; one of the same game with other planes is converted to the game's planes."""
    from moemcts.learn.data.dataset import Dataset

    written = game_of_dataset(folder, game)
    dataset = Dataset.open(folder, written)
    return dataset if written is game else dataset.encoded_by(game)


def game_of_dataset(folder: Path, game: Game) -> Game:
    """Returns the variant of a game that a dataset was written with, if only the planes differ, else the game itself.

    In the latter case the dataset may not match the game.
    """
    from moemcts.learn.fingerprint import differ_only_in_planes, encoding_fingerprint

    manifest = read_toml(folder / MANIFEST)
    if manifest.get("encoding") != encoding_fingerprint(game):
        with contextlib.suppress(UsageError):
            written = plugins().game(str(manifest.get("game", "")))
            if differ_only_in_planes(written, game):
                return written
    return game


def dataset_ids(config: DataConfig, own: Path) -> dict[str, str]:
    """Returns the ids of existing datasets that `open_sources` would open, by kind, from their manifests alone."""
    from moemcts.learn.data.shards import dataset_id, read_manifest

    folders = _folders(config, own) if config.folder else _evaluation_folders(config)
    return {kind: dataset_id(read_manifest(folder)) for kind, folder in folders.items()}


def open_training_samples(folder: Path, game: Game) -> Dataset:
    """Opens a dataset, or the training set of an import with splits; raises as `open_sources`."""
    return open_sources(DataConfig(folder=str(folder)), folder, game).training


def _folders(config: DataConfig, own: Path) -> dict[str, Path]:
    folder = Path(config.folder) if config.folder else own
    is_split = not (folder / MANIFEST).exists() and (folder / "train" / MANIFEST).exists()
    folders = {"training": dataset_folder(folder / "train" if is_split else folder)}
    if is_split:
        folders |= {kind: folder / kind for kind in ("validation", "test") if (folder / kind / MANIFEST).exists()}
    return folders | _evaluation_folders(config)


def _evaluation_folders(config: DataConfig) -> dict[str, Path]:
    """Returns the separate datasets for evaluation that are configured."""
    folders = {}
    for kind, named in (("validation", config.validation), ("test", config.test)):
        if named:
            inside = Path(named) / kind
            folders[kind] = dataset_folder(inside if (inside / MANIFEST).exists() else Path(named))
    return folders


def dataset_folder(folder: Path) -> Path:
    """Returns a folder if it holds a dataset; otherwise raises UsageError with a hint at where to find one."""
    if (folder / MANIFEST).exists():
        return folder
    hint = ""
    if (folder / "data" / MANIFEST).exists():
        hint = f"; did you mean {folder / 'data'}?"
    elif not folder.exists():
        hint = ": there is no such folder"
    elif folder.is_file():
        hint = ": it is a file"
    raise UsageError(f"expected a dataset in {folder}, found none{hint}")

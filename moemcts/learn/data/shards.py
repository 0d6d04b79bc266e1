"""Datasets on disk: numbered shards of samples in a folder, and a manifest that describes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from moemcts.errors import DamagedFile, ForeignData
from moemcts.game import Game
from moemcts.learn.data.record_checks import check_new_records, check_records
from moemcts.learn.data.records import Records
from moemcts.learn.data.verified import VerifiedFiles
from moemcts.learn.fingerprint import encoding_fingerprint
from moemcts.learn.identity import PLAIN_FILE, Encoding, FileContent, check_encoding, check_same, validate_content
from moemcts.learn.tensors import map_tensors, tensor_bytes
from moemcts.store import MANIFEST, digest, read_toml, write_bytes, write_toml

IMPORT_REPORT = "import.json"
"""The file that an import writes into its folder at the end; its command prints the same."""
FORMAT = 1
REQUESTED_SAMPLES = "num_samples"
"""Key of a source for the requested number of samples, on which no sample depends."""


class ShardWriter:
    """Writes a dataset shard by shard, and resumes where an interrupted writer of the same dataset stopped.

    Shards that the manifest lists are complete on disk; files that it does not list do not count.
    """

    def __init__(self, folder: Path, game: Game, *, reference: str, source: Mapping[str, Any]) -> None:
        """Starts or resumes a dataset.

        `reference` is how users name the game, `source` describes where the samples come from: numbers, strings and
        lists. An unfinished dataset may be resumed with another number of samples. Raises ForeignData if the folder
        holds another dataset, DamagedFile if its manifest is not valid.
        """
        self.folder = folder
        self._game = game
        head = {
            "format": FORMAT,
            "game": reference,
            "num_players": game.spec.num_players,
            "source": dict(source),
            "encoding": encoding_fingerprint(game),
        }
        self.head: Mapping[str, Any] = head
        """The beginning of the manifest, which identifies the dataset."""
        self._manifest: dict[str, Any] = {**head, "complete": False, "num_samples": 0, "num_positions": 0, "shards": []}
        if (folder / MANIFEST).exists():
            raw = read_toml(folder / MANIFEST)
            if raw.get("complete") is True:
                check_same(folder, head, raw)
            else:
                check_same(folder, without_num_samples(head), without_num_samples(raw))
            written = read_manifest(folder)
            whole = self._whole_shards(written["shards"])
            is_complete = written["complete"] and len(whole) == len(written["shards"])
            # In the order of a new manifest, whatever was read, so that an interruption leaves no trace.
            self._manifest |= written | head
            self._manifest |= {"shards": whole, "complete": is_complete}
            self._update_counts()
        else:
            self.save()

    @property
    def is_complete(self) -> bool:
        return bool(self._manifest["complete"])

    @property
    def num_shards(self) -> int:
        return len(self._manifest["shards"])

    @property
    def num_samples(self) -> int:
        return int(self._manifest["num_samples"])

    def append(self, records: Records) -> None:
        """Writes the next shard; raises MoemctsError for samples that could not be read back."""
        check_new_records(records, self._game)
        name = f"shard-{self.num_shards:05d}.safetensors"
        content = tensor_bytes(records.arrays())
        write_bytes(self.folder / name, content)
        self._manifest["shards"].append(
            {
                "file": name,
                "num_samples": len(records),
                "num_positions": len(records.positions),
                "num_bytes": len(content),
                "sha256": digest(content),
            }
        )
        self._update_counts()
        self.save()

    def finish(self, last: Records | None = None) -> None:
        """Marks the dataset as complete, with a last shard if one is given."""
        self._manifest["complete"] = True
        if last is None:
            self.save()
        else:
            self.append(last)

    def save(self) -> None:
        """Writes the manifest in its current state."""
        write_toml(self.folder / MANIFEST, self._manifest)

    def _whole_shards(self, shards: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Returns the shards before the first whose file is missing or of another size."""
        for i, shard in enumerate(shards):
            file = self.folder / shard["file"]
            if not file.exists() or file.stat().st_size != shard["num_bytes"]:
                return shards[:i]
        return shards

    def _update_counts(self) -> None:
        for key in ("num_samples", "num_positions"):
            self._manifest[key] = sum(shard[key] for shard in self._manifest["shards"])


def without_num_samples(head: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the beginning of a manifest without the requested number of samples."""
    source = head.get("source")
    if isinstance(source, Mapping):
        source = {key: value for key, value in source.items() if key != REQUESTED_SAMPLES}
    return {**head, "source": source}


def read_shards(folder: Path, game: Game) -> tuple[dict[str, Any], list[Records]]:
    """Returns the manifest and the shards of a complete dataset, memory-mapped.

    Every shard is hashed and checked when it is first opened, and again if its file has changed. Raises ForeignData if
    it belongs to another game or encoding, DamagedFile if it is unfinished, not as it was written, or holds samples
    that the game cannot have produced.
    """
    manifest = read_manifest(folder)
    check_encoding(folder, manifest["game"], manifest["encoding"], game)
    if not manifest["complete"]:
        raise DamagedFile(
            f"{folder} is unfinished, {manifest['num_samples']} samples so far; "
            f"{_completion_advice(manifest['source'])}"
        )
    if not manifest["shards"]:
        raise DamagedFile(f"{folder / MANIFEST} names no shard: the dataset is empty")
    verified, shards = VerifiedFiles(folder), []
    for shard in manifest["shards"]:
        path = folder / shard["file"]
        try:
            shards.append(_read_shard(path, shard["sha256"], game, verified))
        except DamagedFile as error:
            raise DamagedFile(f"{error}{_repair_advice(manifest, path)}") from error
    verified.save()
    return manifest, shards


def read_manifest(folder: Path) -> dict[str, Any]:
    """Returns the manifest of a dataset.

    Raises DamagedFile if it is not valid, ForeignData for the format of another version.
    """
    path = folder / MANIFEST
    manifest = read_toml(path)
    if isinstance(found := manifest.get("format"), int) and found != FORMAT:
        raise ForeignData(f"{folder} has format {found}; this version reads {FORMAT}")
    validate_content(_Manifest, manifest, f"{path} is not a valid manifest of a dataset")
    return manifest


class _Shard(FileContent):
    file: str = Field(pattern=PLAIN_FILE)
    num_samples: int
    num_positions: int
    num_bytes: int
    sha256: str


class _Manifest(FileContent):
    format: int
    game: str
    source: dict[str, Any]
    encoding: Encoding
    complete: bool
    num_samples: int
    shards: list[_Shard]


def _completion_advice(source: Mapping[str, Any]) -> str:
    """Returns advice on how to complete an unfinished dataset."""
    if "joined" in source:
        return "join its parts again to complete it"
    if REQUESTED_SAMPLES in source:
        return "generate it again with the same settings to complete it, or with another number of samples"
    return "what was making it completes it where it goes on"


def _repair_advice(manifest: Mapping[str, Any], path: Path) -> str:
    """Returns advice for a missing or damaged shard, if there is any."""
    if "joined" in manifest["source"]:
        return f"; remove {path.parent} and join its parts again"
    if "agents" not in manifest["source"]:
        return ""
    return f"; {'remove it and ' if path.exists() else ''}generate the dataset again with the same settings"


def _read_shard(path: Path, sha256: str, game: Game, verified: VerifiedFiles) -> Records:
    is_known = verified.is_verified(path, sha256)
    arrays = map_tensors(path, None if is_known else sha256)
    try:
        records = Records.of_arrays(arrays)
    except KeyError as error:
        raise DamagedFile(f"{path} is not a shard of a dataset: {error} is missing") from error
    if not is_known:
        check_records(records, game, path)
        verified.mark_verified(path, sha256)
    return records


def dataset_id(manifest: Mapping[str, Any]) -> str:
    """Returns an id of exactly these samples: 16 hexadecimal digits."""
    return digest(" ".join(shard["sha256"] for shard in manifest["shards"]).encode())[:16]


def full_dataset_id(name: str) -> str:
    """Returns the id of the dataset of which these samples are some games or all."""
    return name.partition(",")[0]


def part_ids(manifest: Mapping[str, Any]) -> set[str]:
    """Returns the id of a dataset and, if it was joined, those of its parts."""
    joined = manifest["source"].get("joined", [])
    return {dataset_id(manifest), *(str(part["id"]) for part in joined if "id" in part)}


def played_game_ids(manifest: Mapping[str, Any]) -> list[str]:
    """Returns an id of the games of each part of a dataset that was played here.

    Parts of datasets that share an id begin with the same games, however many each has.
    """
    source = manifest["source"]
    # A game depends on its rules, which users may reference by several names, on the agents, the seed and its number,
    # but not on the planes that encode it.
    return [
        json.dumps([manifest["encoding"]["actions"], part["agents"], part["seed"]], sort_keys=True)
        for part in source.get("joined", [source])
        if "agents" in part and "seed" in part
    ]

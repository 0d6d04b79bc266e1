"""Joins datasets of one game, from several machines or of several kinds of play."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from moemcts.errors import UsageError
from moemcts.game import Game
from moemcts.learn.data.shards import ShardWriter, dataset_id, part_ids, played_game_ids, read_manifest, read_shards


def join(folders: Sequence[Path], game: Game, *, out: Path, reference: str = "") -> Path:
    """Writes the samples of complete datasets one after another, numbering their games consecutively; returns `out`.

    The manifest records the sources of the samples of each part. An interrupted join resumes when it is called again,
    and produces the same bytes.

    Raises ForeignData if one is of another game or encoding, or `out` holds another dataset, DamagedFile if one is
    unfinished or damaged, UsageError for fewer than two datasets or if two of them have games in common.
    """
    if len(folders) < 2:
        raise UsageError(f"expected at least two datasets to join, got {len(folders)}")
    manifests = [read_manifest(folder) for folder in folders]
    _check_apart(folders, manifests)
    parts = [part for manifest in manifests for part in _parts(manifest)]
    shards = [read_shards(folder, game)[1] for folder in folders]
    writer = ShardWriter(out, game, reference=reference or game.spec.name, source={"joined": parts})
    # How many shards are on disk already, and the number of a dataset's first game among those joined.
    done, first = writer.num_shards, 0
    for dataset in shards:
        for shard in dataset[done:]:
            writer.append(dataclasses.replace(shard, game=shard.game + first))
        done = max(done - len(dataset), 0)
        first += 1 + max(int(shard.game.max(initial=-1)) for shard in dataset)
    if not writer.is_complete:
        writer.finish()
    return out


def _parts(manifest: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Returns the sources of a dataset's samples, one for each part if it was joined."""
    source = manifest["source"]
    return list(source.get("joined", [{"id": dataset_id(manifest), **source}]))


def _check_apart(folders: Sequence[Path], manifests: Sequence[Mapping[str, Any]]) -> None:
    """Raises UsageError if two datasets have games in common."""
    seen: dict[str, Path] = {}
    for folder, manifest in zip(folders, manifests, strict=True):
        for played in {*part_ids(manifest), *played_game_ids(manifest)}:
            if played in seen:
                raise UsageError(
                    f"expected datasets of different games, got the same ones in {seen[played]} and {folder}; "
                    "name each once, and play with another seed"
                )
            seen[played] = folder

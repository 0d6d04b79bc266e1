"""Who plays a generation's games elsewhere has all that this needs, and leaves nothing behind."""

from __future__ import annotations

import gc
import importlib.util
import pickle
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

import pytest
from selfplay_for_tests import selfplay

from moemcts.runs.selfplay.games import Chunk
from moemcts.runs.selfplay.players import ChunkPlayer
from moemcts.work.progress import ignore_progress

needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is an extra")


@pytest.mark.parametrize("workers", [2, pytest.param("ray", marks=needs_ray)])
def test_who_plays_elsewhere_has_no_files_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int | str
) -> None:
    homes = tmp_path / "homes"
    homes.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(homes))
    run = selfplay(tmp_path / "run", workers=workers)
    run.trainer.start(ignore_progress)
    here = ChunkPlayer(run.players, 1, 0)
    elsewhere = pickle.loads(pickle.dumps(here))
    expected, found = list[Any](), list[Any]()
    here([0], expected.append)
    if workers == "ray":
        shutil.rmtree(run.folder)

    def report(message: Any) -> None:
        assert not list(homes.iterdir())
        found.append(message)

    for _ in range(2):
        elsewhere([0], report)
    (chunk,) = (message for message in expected if isinstance(message, Chunk))
    assert [message for message in found if isinstance(message, Chunk)] == [chunk, chunk]


def test_processes_are_not_sent_the_files_of_experts(tmp_path: Path) -> None:
    run = selfplay(tmp_path / "run", workers=2)
    run.trainer.start(ignore_progress)
    player = pickle.dumps(ChunkPlayer(run.players, 1, 0))
    assert all(content not in player for content in run.players.required_files(0).values())


@pytest.mark.parametrize(("opponents", "num_kept"), [("self", 2), ("league", 3)])
def test_no_more_experts_are_kept_open_than_play(opponents: str, num_kept: int, tmp_path: Path) -> None:
    run = selfplay(tmp_path / "run", games={"opponents": opponents, "league": 1})
    run.trainer.start(ignore_progress)
    for generation in range(1, 4):
        shutil.copytree(run.on_disk.experts(0), run.on_disk.experts(generation))
    opened = [weakref.ref(run.players.experts(generation)) for generation in range(4)]
    gc.collect()
    assert sum(one() is not None for one in opened) == num_kept

"""Phase weights are computed once, kept beside the samples, and never another gate's."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learning_games import TicTacToe, make_data

from moemcts.errors import DamagedFile, MoemctsError
from moemcts.game import FloatArray, Views
from moemcts.gates import PlyGate
from moemcts.learn.data import shards
from moemcts.learn.data.dataset import Dataset
from moemcts.learn.data.verified import NAME


class Counting(PlyGate):
    """Counts the views that it weighs."""

    num_views = 0

    def weights(self, views: Views) -> FloatArray:
        self.num_views += len(views)
        return super().weights(views)


class Soft(PlyGate):
    def weights(self, views: Views) -> FloatArray:
        late = (views.plies() / 9)[:, None]
        return np.concatenate([1 - late, late], axis=1).astype(np.float32)


class Shifted(PlyGate):
    """A gate whose code was changed: same name, same options, same phases along the first games, other phases later."""

    def weights(self, views: Views) -> FloatArray:
        weights = super().weights(views)
        return weights[:, ::-1].copy() if len(views) == 64 else weights


@pytest.mark.parametrize(
    ("weigh", "what"),
    [
        (lambda size: np.full((size, 2), np.nan, np.float32), "got nan, nan for one"),
        (lambda size: np.full((size, 2), 0.7, np.float32), "got 0.7, 0.7 for one"),
        (lambda size: np.full((size, 3), 1 / 3, np.float32), r"got \(\d+, 3\)"),
        (lambda size: [[0.0, 1.0]] * size, "got list"),
        (lambda size: np.tile([True, False], (size, 1)), "got bool, not floating-point numbers"),
    ],
)
def test_what_is_no_weight_is_said_before_anything_is_learned(
    weigh: Callable[[int], Any], what: str, tmp_path: Path
) -> None:
    class Wrong(Soft):
        def weights(self, views: Views) -> Any:
            return weigh(len(views))

    make_data(tmp_path, num_samples=40)
    with pytest.raises(MoemctsError, match=rf"gate 'plies' is invalid: expected weights of shape \(\d+, 2\), .*{what}"):
        Dataset.open(tmp_path, TicTacToe()).phase_weights(Wrong([5]))


@pytest.mark.parametrize("phases", [[-1], [2], [0, 0], [0.5], None])
def test_a_phase_that_there_is_not_is_said(phases: Any) -> None:
    class Wrong(PlyGate):
        def phases(self, views: Views) -> Any:
            return phases

    game = TicTacToe()
    with pytest.raises(MoemctsError, match=r"gate 'plies' is invalid: expected phases of shape \[1\] below 2, got "):
        Wrong([5]).weights(game.views([(game.initial_state(), 0)]))


def num_weighed(folder: Path) -> int:
    gate = Counting([3, 6])
    data = Dataset.open(folder, TicTacToe())
    before = gate.num_views
    weights = data.phase_weights(gate)
    assert (weights == PlyGate([3, 6]).weights(data.views(np.arange(len(data))))).all()
    return gate.num_views - before


def test_a_gate_weighs_a_dataset_once(tmp_path: Path) -> None:
    make_data(tmp_path, num_samples=400)
    first, second = num_weighed(tmp_path), num_weighed(tmp_path)
    # The second time it only sees what its fingerprint needs and a few samples to compare.
    assert first - second == 400 - 64
    assert len(list((tmp_path / "phases").iterdir())) == 1


def test_soft_weights_are_kept_to_the_last_bit(tmp_path: Path) -> None:
    make_data(tmp_path)
    gate = Soft([4])
    computed = Dataset.open(tmp_path, TicTacToe()).phase_weights(gate)
    kept = Dataset.open(tmp_path, TicTacToe()).phase_weights(gate)
    assert (computed == kept).all()


@pytest.mark.parametrize("harm", ["flip", "cut", "empty", "other samples"])
def test_what_is_not_as_it_was_written_is_computed_again(tmp_path: Path, harm: str) -> None:
    make_data(tmp_path / "a")
    num_weighed(tmp_path / "a")
    (path,) = (tmp_path / "a" / "phases").iterdir()
    content = bytearray(path.read_bytes())
    if harm == "flip":
        content[-1] ^= 1
    path.write_bytes({"cut": bytes(content[:-9]), "empty": b""}.get(harm, bytes(content)))
    folder = tmp_path / "a"
    if harm == "other samples":
        folder = tmp_path / "b"
        make_data(folder, seed=2)
        shutil.copytree(tmp_path / "a" / "phases", folder / "phases")
    assert num_weighed(folder) >= 400
    assert num_weighed(folder) < 400


def test_a_gate_that_says_otherwise_is_asked_again(tmp_path: Path) -> None:
    make_data(tmp_path)
    Dataset.open(tmp_path, TicTacToe()).phase_weights(PlyGate([3]))
    data = Dataset.open(tmp_path, TicTacToe())
    # The samples that are compared have changed sides, which the fingerprint does not show.
    (path,) = (tmp_path / "phases").iterdir()
    before = path.stat().st_mtime_ns
    data.phase_weights(Shifted([3]))
    assert path.stat().st_mtime_ns > before


def test_a_folder_that_cannot_be_written_has_them_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_data(tmp_path / "data")
    (tmp_path / "data" / "phases").write_text("in the way")
    first = num_weighed(tmp_path / "data")
    assert num_weighed(tmp_path / "data") < first
    assert list((tmp_path / ".data.phases").iterdir())


@pytest.mark.parametrize(("stands", "folder"), [("data", "."), ("data/sub", ".."), (".", "data")])
def test_a_folder_may_be_named_from_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stands: str, folder: str
) -> None:
    make_data(tmp_path / "data")
    (tmp_path / "data" / "sub").mkdir()
    (tmp_path / "data" / "phases").write_text("in the way")
    monkeypatch.chdir(tmp_path / stands)
    first = num_weighed(Path(folder))
    assert num_weighed(Path(folder)) < first
    assert list((tmp_path / ".data.phases").iterdir())


def test_a_shard_is_hashed_once_and_again_when_it_is_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_data(tmp_path, num_samples=400)
    paths = sorted(tmp_path.glob("shard-*"))
    checked: list[str] = []
    check = shards.check_records
    monkeypatch.setattr(shards, "check_records", lambda records, game, path: checked.append(path.name))
    Dataset.open(tmp_path, TicTacToe())
    assert len(checked) == len(paths)
    # What was written just now is not remembered: the next change might carry the same time.
    assert not (tmp_path / NAME).exists()
    later = time.time() + 5
    monkeypatch.setattr(time, "time", lambda: later)
    Dataset.open(tmp_path, TicTacToe())
    checked.clear()
    Dataset.open(tmp_path, TicTacToe())
    assert not checked
    times = paths[1].stat()
    content = bytearray(paths[1].read_bytes())
    content[-1] ^= 1
    paths[1].write_bytes(content)
    # As large as before, with the old time put back.
    os.utime(paths[1], ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(DamagedFile, match="shard-00001"):
        Dataset.open(tmp_path, TicTacToe())
    monkeypatch.setattr(shards, "check_records", check)

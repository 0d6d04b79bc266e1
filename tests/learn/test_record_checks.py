"""Datasets with the right checksums and wrong insides are refused where they are opened."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from learning_games import TicTacToe, make_data

from moemcts.errors import DamagedFile
from moemcts.learn.data.dataset import Dataset
from moemcts.store import digest, read_toml, write_toml

Arrays = dict[str, Any]


def change(row: int, name: str, value: float) -> Callable[[Arrays], None]:
    def harm(arrays: Arrays) -> None:
        arrays[name][row] = value

    return harm


def searched(actions: list[int], shares: list[float]) -> Callable[[Arrays], None]:
    """Gives the first sample visits, and the others none."""

    def harm(arrays: Arrays) -> None:
        num = len(arrays["action"])
        arrays["visit_offsets"] = np.array([0] + [len(actions)] * num, dtype=np.int64)
        arrays["visit_actions"] = np.array(actions, dtype=np.int64)
        arrays["visit_shares"] = np.array(shares, dtype=np.float32)

    return harm


def cut(name: str) -> Callable[[Arrays], None]:
    def harm(arrays: Arrays) -> None:
        arrays[name] = arrays[name][:-1].copy()

    return harm


def play_twice(arrays: Arrays) -> None:
    """Has the second player take the cell that the first has taken."""
    arrays["action"][1] = arrays["action"][0]


HARMS: list[tuple[Callable[[Arrays], None], str]] = [
    (change(3, "action", -1), "expected every action to be at least 0 and below 9, got -1 in row 3"),
    (change(3, "action", 9), "expected every action to be at least 0 and below 9, got 9 in row 3"),
    (play_twice, "of row 1 is not legal in its position"),
    (change(0, "player", 1), "of row 0 is not legal in its position"),
    (change(0, "player", 2), "expected every player"),
    (change(5, "position", -1), "expected every position"),
    (change(5, "position", 10**6), "expected every position"),
    (change(5, "game", -1), "expected every game"),
    (change(5, "plies_to_end", -3), "expected every plies_to_end"),
    (change(5, "returns", np.nan), "expected returns from -1 to 1, got .*nan.* in row 5"),
    (change(5, "returns", 7), "expected returns from -1 to 1"),
    (change(-1, "position_offsets", 10**9), "expected offsets of positions from 0 to"),
    (change(4, "position_offsets", 10**6), "expected offsets of positions in ascending order"),
    (change(4, "position_offsets", -1), "expected offsets of positions in ascending order"),
    (change(0, "position_data", ord("x")), "holds no samples of tictactoe: ValueError"),
    (cut("action"), "expected position of shape"),
    (cut("returns"), "expected returns of shape"),
    (lambda arrays: arrays.update(returns=arrays["returns"][:, :1].copy()), "expected returns of shape"),
    (lambda arrays: arrays.update(action=arrays["action"].astype(np.float32)), "got .* float32"),
    (lambda arrays: arrays.pop("player"), "'player' is missing"),
    (lambda arrays: arrays.update(value=np.zeros(3, dtype=np.float32)), "expected 40. values|expected .* values"),
    (lambda arrays: arrays.update(value=np.full(len(arrays["action"]), 2, np.float32)), "expected values from -1 to 1"),
    (searched([0, 12], [0.5, 0.5]), "expected visited actions below 9"),
    (searched([0, 1], [0.5, 0.2]), "expected the shares of visits"),
    (searched([0, 1], [np.nan, 1.0]), "expected the shares of visits"),
    (searched([0, 1], [-1.0, 2.0]), "expected the shares of visits"),
]


def rewrite(folder: Path, harm: Callable[[Arrays], None]) -> None:
    """Changes the first shard and the manifest with it."""
    manifest = read_toml(folder / "manifest.toml")
    shard = manifest["shards"][0]
    path = folder / shard["file"]
    arrays = {name: array.copy() for name, array in safetensors.numpy.load_file(path).items()}
    harm(arrays)
    safetensors.numpy.save_file(arrays, path)
    shard["sha256"] = digest(path.read_bytes())
    write_toml(folder / "manifest.toml", manifest)


@pytest.mark.parametrize(("harm", "fault"), HARMS, ids=[str(i) for i in range(len(HARMS))])
def test_samples_that_no_game_can_have_made_are_refused(
    tmp_path: Path, harm: Callable[[Arrays], None], fault: str
) -> None:
    make_data(tmp_path, num_samples=200)
    rewrite(tmp_path, harm)
    with pytest.raises(DamagedFile, match=fault) as error:
        Dataset.open(tmp_path, TicTacToe())
    assert "shard-00000" in str(error.value)
    assert "\n" not in str(error.value)


def test_values_and_visits_of_some_samples_are_no_fault(tmp_path: Path) -> None:
    make_data(tmp_path, num_samples=200)

    def search(arrays: Arrays) -> None:
        searched([int(arrays["action"][0])], [1.0])(arrays)
        arrays["value"] = np.full(len(arrays["action"]), np.nan, dtype=np.float32)
        arrays["value"][0] = 0.5

    rewrite(tmp_path, search)
    data = Dataset.open(tmp_path, TicTacToe())
    assert data.values(np.array([0]))[0] == 0.5


def test_a_header_that_is_none_is_named(tmp_path: Path) -> None:
    make_data(tmp_path, num_samples=200)
    manifest = read_toml(tmp_path / "manifest.toml")
    for content in (b"", b"12", b"\x05" + bytes(7) + b"[1,2]", b"\x02" + bytes(7) + b"{}", bytes(50)):
        path = tmp_path / manifest["shards"][0]["file"]
        path.write_bytes(content)
        manifest["shards"][0]["sha256"] = digest(content)
        write_toml(tmp_path / "manifest.toml", manifest)
        with pytest.raises(DamagedFile, match="shard-00000"):
            Dataset.open(tmp_path, TicTacToe())

"""Datasets of one game become one."""

from pathlib import Path

import numpy as np
import pytest
from games_of_chance import Grid
from learning_games import RandomAgent, TicTacToe

from moemcts.errors import DamagedFile, ForeignData, UsageError
from moemcts.learn.data.dataset import Dataset
from moemcts.learn.data.generation import generate
from moemcts.learn.data.joining import join
from moemcts.learn.data.records import Records
from moemcts.learn.data.shards import ShardWriter, read_manifest
from moemcts.runs.settings import DataConfig
from moemcts.runs.sources import open_sources
from moemcts.store import write_toml


def played(folder: Path, num_samples: int, seed: int) -> Path:
    agent = RandomAgent()
    return generate(TicTacToe(), [agent, agent], num_samples, seed=seed, out=folder, games_per_shard=10)


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    return [played(tmp_path / "a", 150, 1), played(tmp_path / "b", 90, 2)]


def test_the_samples_of_all_are_there_in_order_and_their_games_have_numbers_of_their_own(
    parts: list[Path], tmp_path: Path
) -> None:
    first, second = (Dataset.open(part, TicTacToe()) for part in parts)
    joined = Dataset.open(join(parts, TicTacToe(), out=tmp_path / "joined"), TicTacToe())
    assert len(joined) == 240
    rows = np.arange(150, 240)
    assert (joined.actions(np.arange(150)) == first.actions(np.arange(150))).all()
    assert (joined.actions(rows) == second.actions(rows - 150)).all()
    assert (joined.returns(rows) == second.returns(rows - 150)).all()
    weights = np.ones(240)
    assert (joined.batch(rows, weights).planes == second.batch(rows - 150, weights).planes).all()
    assert (np.diff(joined.games()) >= 0).all()
    assert len(set(joined.games())) == len(set(first.games())) + len(set(second.games()))


def test_a_join_that_was_interrupted_ends_in_the_same_bytes(
    parts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = read_manifest(join(parts, TicTacToe(), out=tmp_path / "whole"))
    append = ShardWriter.append

    def cut(writer: ShardWriter, records: Records) -> None:
        if writer.num_shards == 4:
            raise KeyboardInterrupt
        append(writer, records)

    with monkeypatch.context() as patch:
        patch.setattr(ShardWriter, "append", cut)
        with pytest.raises(KeyboardInterrupt):
            join(parts, TicTacToe(), out=tmp_path / "cut")
    assert len(read_manifest(tmp_path / "cut")["shards"]) == 4 < len(whole["shards"])
    assert read_manifest(join(parts, TicTacToe(), out=tmp_path / "cut")) == whole


def test_joined_datasets_can_be_joined_again_and_no_game_comes_twice(parts: list[Path], tmp_path: Path) -> None:
    joined = join(parts, TicTacToe(), out=tmp_path / "joined")
    third = played(tmp_path / "c", 30, 3)
    assert len(Dataset.open(join([joined, third], TicTacToe(), out=tmp_path / "all"), TicTacToe())) == 270
    assert [part["seed"] for part in read_manifest(tmp_path / "all")["source"]["joined"]] == [1, 2, 3]
    for folders in ([parts[0], parts[0]], [joined, parts[1]], [tmp_path / "all", parts[1]]):
        with pytest.raises(UsageError, match="got the same ones in"):
            join(folders, TicTacToe(), out=tmp_path / "twice")
    assert not (tmp_path / "twice").exists()


def test_parts_that_were_not_played_here_do_not_come_twice_either(parts: list[Path], tmp_path: Path) -> None:
    for part in parts:
        manifest = read_manifest(part)
        # As of an import.
        write_toml(part / "manifest.toml", manifest | {"source": {"files": ["games.pgn"]}})
    joined = join(parts, TicTacToe(), out=tmp_path / "joined")
    with pytest.raises(UsageError, match="got the same ones in"):
        join([joined, parts[1]], TicTacToe(), out=tmp_path / "twice")
    data = DataConfig(folder=str(joined), test=str(parts[0]))
    with pytest.raises(UsageError, match="expected different samples to learn from and to measure on"):
        open_sources(data, joined, TicTacToe())


def test_one_dataset_an_unfinished_one_and_one_of_another_game_are_refused(parts: list[Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected at least two datasets"):
        join(parts[:1], TicTacToe(), out=tmp_path / "joined")
    ShardWriter(tmp_path / "begun", TicTacToe(), reference="tictactoe", source={"agents": ["a", "b"], "seed": 9})
    with pytest.raises(DamagedFile, match="is unfinished"):
        join([parts[0], tmp_path / "begun"], TicTacToe(), out=tmp_path / "joined")
    assert not (tmp_path / "joined").exists()
    with pytest.raises(ForeignData):
        join(parts, Grid(), out=tmp_path / "other")

"""Training sees every sample that counts once per epoch, and no other."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learning_games import ShuffledTicTacToe, TicTacToe, crowd, make_data, thirds

from moemcts.errors import DamagedFile, ForeignData, MoemctsError
from moemcts.game import Packed
from moemcts.gates import PlyGate
from moemcts.learn.data.dataset import Dataset, epoch_rows
from moemcts.learn.data.records import Records, Visits
from moemcts.learn.data.verified import NAME, VerifiedFiles


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return make_data(tmp_path_factory.mktemp("data"))


@given(st.lists(st.floats(0, 2), max_size=60), st.integers(1, 9), st.integers(0, 5))
def test_an_epoch_is_a_permutation_of_the_rows_with_weight(weights: list[float], size: int, seed: int) -> None:
    array = np.array(weights, dtype=np.float32)
    batches = epoch_rows(array, size, seed)
    assert sorted(np.concatenate(batches).tolist()) == np.flatnonzero(array > 0).tolist()
    lengths = [len(batch) for batch in batches]
    assert max(lengths) <= size
    assert max(lengths) - min(lengths) <= 1


def test_batches_hold_the_planes_actions_and_returns_of_their_rows(data: Dataset) -> None:
    weights = data.phase_weights(thirds())[:, 1]
    for rows in epoch_rows(weights, 32, 7):
        batch = data.batch(rows, weights)
        assert len(batch) == len(rows)
        assert (batch.planes == data.views(rows).observations()).all()
        assert (batch.actions == data.actions(rows)).all()
        assert (batch.returns == data.returns(rows)).all()
        assert (batch.weights == 1).all()


def test_augmented_samples_are_the_samples_of_the_turned_game(data: Dataset) -> None:
    rows = np.arange(len(data))
    weights = np.ones(len(data), dtype=np.float32)
    plain, turned = data.batch(rows, weights), data.batch(rows, weights, data.game.symmetries(), (4,))
    images = {0: plain.planes} | {i: s.planes(plain.planes) for i, s in enumerate(data.game.symmetries(), 1)}
    actions = {0: plain.actions} | {i: s.actions[plain.actions] for i, s in enumerate(data.game.symmetries(), 1)}
    seen = set()
    for row in rows:
        matching = [
            i
            for i, image in images.items()
            if (image[row] == turned.planes[row]).all() and actions[i][row] == turned.actions[row]
        ]
        assert matching
        if len(matching) == 1:
            seen.add(matching[0])
        # A legal action stays one: its cell is still empty.
        assert turned.planes[row].sum(axis=0).ravel()[turned.actions[row]] == 0
    assert seen == set(images)


def test_visits_turn_with_the_board() -> None:
    game = TicTacToe()
    share = np.array([0.25, 0.75], dtype=np.float32)
    records = Records(
        positions=Packed.of([b"4"]),
        position=np.array([0]),
        player=np.array([1]),
        action=np.array([1]),
        returns=np.zeros((1, 2), dtype=np.float32),
        plies_to_end=np.array([3]),
        game=np.array([0]),
        visits=Visits.of([(np.array([0, 1]), share)]),
    )
    dataset = Dataset(game, [records])
    for symmetry in game.symmetries():
        batch = dataset.batch(np.zeros(20, dtype=np.int64), np.ones(1, dtype=np.float32), [symmetry])
        assert batch.policy is not None
        actions, shares = batch.policy.actions.reshape(20, 2), batch.policy.shares.reshape(20, 2)
        assert (shares == share).all()
        assert (actions[:, 1] == batch.actions).all()
        assert {tuple(row) for row in actions} == {(0, 1), tuple(symmetry.actions[[0, 1]])}


def test_phase_weights_are_the_gate_of_the_views(data: Dataset) -> None:
    gate = thirds()
    expected = gate.weights(data.views(np.arange(len(data))))
    assert (data.phase_weights(gate) == expected).all()
    assert data.phase_weights(gate) is data.phase_weights(thirds())
    assert not np.array_equal(data.phase_weights(PlyGate([1, 2], ["early", "middle", "late"])), expected)
    assert sum(data.phase_counts(gate).values()) == len(data)


@settings(max_examples=20)
@given(st.floats(0.01, 0.99), st.integers(0, 3))
def test_no_game_is_on_both_sides_of_a_split(data: Dataset, fraction: float, seed: int) -> None:
    training, held_out = data.split(fraction, seed)
    assert len(training) + len(held_out) == len(data)
    assert min(len(training), len(held_out)) > 0
    assert not set(training.games()) & set(held_out.games())


def test_a_part_knows_the_phases_of_its_rows(data: Dataset) -> None:
    whole = data.phase_weights(thirds())
    rows = np.array([5, 3, 200])
    assert (data.take(rows).phase_weights(thirds()) == whole[rows]).all()
    assert (data.take(rows).take(np.array([2])).actions(np.array([0])) == data.actions(rows[2:])).all()


def test_one_game_cannot_be_split(tmp_path: Path) -> None:
    data = make_data(tmp_path, num_samples=4)
    with pytest.raises(MoemctsError, match="expected at least 2, got 1; learn from more samples, or name a dataset"):
        data.split(0.5, 0)


def test_data_of_another_game_or_encoding_is_refused(tmp_path: Path) -> None:
    make_data(tmp_path)
    with pytest.raises(ForeignData, match=r"was made for tictactoe with planes .* but hashed-tree here has planes"):
        Dataset.open(tmp_path, crowd())
    with pytest.raises(ForeignData, match=r"but tictactoe here has planes"):
        Dataset.open(tmp_path, ShuffledTicTacToe())


@pytest.mark.parametrize("harm", ["flip", "cut", "remove", "manifest", "foreign manifest"])
def test_damaged_data_is_refused_with_one_line(tmp_path: Path, harm: str) -> None:
    make_data(tmp_path)
    shard = tmp_path / "shard-00001.safetensors"
    content = bytearray(shard.read_bytes())
    if harm == "flip":
        content[-1] ^= 1
        shard.write_bytes(content)
    elif harm == "cut":
        shard.write_bytes(content[:-100])
    elif harm == "remove":
        shard.unlink()
    else:
        text = "format = " if harm == "manifest" else "format = 1\n"
        (tmp_path / "manifest.toml").write_text(text)
    with pytest.raises(DamagedFile) as error:
        Dataset.open(tmp_path, TicTacToe())
    assert str(tmp_path) in str(error.value)
    assert "\n" not in str(error.value)


def test_unfinished_data_is_refused(tmp_path: Path) -> None:
    make_data(tmp_path)
    manifest = tmp_path / "manifest.toml"
    manifest.write_text(manifest.read_text().replace("complete = true", "complete = false"))
    with pytest.raises(DamagedFile, match="is unfinished, 400 samples so far"):
        Dataset.open(tmp_path, TicTacToe())


def test_what_is_remembered_of_files_and_is_none_is_forgotten(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("[" * 100_000)
    assert not VerifiedFiles(tmp_path).is_verified(tmp_path / NAME, "")

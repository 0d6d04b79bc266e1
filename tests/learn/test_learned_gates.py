"""Gates that are learned: fitted, saved, loaded, and used like any other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from learning_games import ShuffledTicTacToe, TicTacToe, crowd, make_data, thirds

from moemcts.errors import DamagedFile, ForeignData, MoemctsError, UsageError
from moemcts.learn.checkpoint import load_experts, load_networks, save_experts
from moemcts.learn.container import container_bytes
from moemcts.learn.data.dataset import Dataset
from moemcts.learn.data.phase_statistics import agreement, phase_statistics
from moemcts.learn.fingerprint import gate_fingerprint
from moemcts.learn.gates.features import NetworkFeatures
from moemcts.learn.gates.fitting import Fit, fit_clusters
from moemcts.learn.gates.gate_file import GateFile
from moemcts.learn.gates.network_gate import NetworkGate, make_gate_network
from moemcts.learn.gates.saved import load_gate, save_gate
from moemcts.learn.networks import catalogue
from moemcts.learn.schemes.catalogue import Separated
from moemcts.learn.weights import network_state, state_digest
from moemcts.plugins import plugins
from moemcts.testing import check_gate

NETWORK = "resnet?channels=4&blocks=1"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return make_data(tmp_path_factory.mktemp("data"), num_samples=1500)


@pytest.fixture(scope="module")
def fit(data: Dataset) -> Fit:
    return fit_clusters(data, 3, seed=0)


def network(seed: int = 3) -> torch.nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return catalogue.resnet((2, 3, 3), 9, channels=4, blocks=1)


def trained_network_gate(num_phases: int = 3) -> NetworkGate:
    """Returns a gate that has learned something, whatever."""
    game = TicTacToe()
    with torch.random.fork_rng():
        torch.manual_seed(1)
        weights = make_gate_network(game, num_phases, 8)
        torch.nn.init.normal_(weights.last.weight, std=2.0)
    return NetworkGate(game, weights, channels=8)


def test_clusters_of_planes_are_ordered_by_ply(fit: Fit, data: Dataset) -> None:
    # Two planes of marks whose means count the moves: what clusters must find is how far the game is.
    found = phase_statistics(data, fit.gate)
    plies = [phase.mean_ply for phase in found.phases]
    assert plies == sorted(plies)
    assert plies[2] > plies[0] + 3
    assert [phase.mean_ply for phase in fit.phases] == pytest.approx(plies)
    assert fit.explained > 0.7
    assert fit.gate.phase_names == ("phase 0", "phase 1", "phase 2")
    assert found.returns_per_game == 0
    assert fit.gate.weights(data.views(np.arange(0))).shape == (0, 3)


def test_the_same_seed_fits_the_same_gate(data: Dataset, fit: Fit) -> None:
    assert fit_clusters(data, 3, seed=0).gate.file.content == fit.gate.file.content
    part = fit_clusters(data, 3, seed=1, max_positions=200)
    assert part.num_positions == 200


def test_features_count_alike_whatever_their_unit(data: Dataset, fit: Fit) -> None:
    views = data.views(np.arange(len(data)))
    points = views.observations().reshape(len(data), 2, 9).mean(axis=2)
    points = (points - points.mean(axis=0)) / points.std(axis=0)
    arrays = fit.gate.file.arrays
    distances = np.square(points[:, None] - arrays["centres"]).sum(axis=2)
    assert (fit.gate.phases(views) == distances.argmin(axis=1)).mean() > 0.999  # float32 means here, float64 there


def test_clusters_of_a_networks_features_depend_on_the_network(data: Dataset, tmp_path: Path) -> None:
    game = TicTacToe()
    gates = [fit_clusters(data, 3, seed=0, features=NetworkFeatures.of(NETWORK, network(i))).gate for i in (1, 2)]
    assert gates[0].parameters["features"] == "network"
    assert gates[0].parameters != gates[1].parameters
    save_gate(tmp_path / "gate.safetensors", gates[0])
    loaded = load_gate(tmp_path / "gate.safetensors", game, plugins())
    views = data.views(np.arange(len(data)))
    assert (loaded.weights(views) == gates[0].weights(views)).all()
    assert gate_fingerprint(loaded, game) == gate_fingerprint(gates[0], game)
    check_gate(loaded, game, num_games=5)
    assert loaded.weights(data.views(np.arange(0))).shape == (0, 3)


def test_planes_can_be_left_out_by_name(data: Dataset, fit: Fit) -> None:
    part = fit_clusters(data, 3, seed=0, without=["plane 1"])
    assert (part.gate.file.arrays["scale"] == fit.gate.file.arrays["scale"] * [1, 0]).all()
    assert (part.gate.file.arrays["centres"][:, 1] == 0).all()
    with pytest.raises(UsageError, match=r"no feature named 'plain'; did you mean 'plane"):
        fit_clusters(data, 3, seed=0, without=["plain"])


def test_too_many_phases_are_one_line(data: Dataset) -> None:
    with pytest.raises(
        MoemctsError, match=r"cannot find 500 phases in 1500 positions: expected at least 500 different"
    ):
        fit_clusters(data, 500, seed=0)


@pytest.mark.parametrize("kind", ["kmeans", "learned", "untrained"])
def test_a_saved_gate_is_the_same_and_keeps_the_laws(kind: str, fit: Fit, tmp_path: Path) -> None:
    game = TicTacToe()
    made = {
        "kmeans": lambda: fit.gate,
        "learned": trained_network_gate,
        "untrained": lambda: plugins().gate("learned?phases=4", game),
    }[kind]()
    check_gate(made, game)
    path = tmp_path / "a gate?.safetensors"
    save_gate(path, made)
    loaded = plugins().gate(str(path), game)
    assert gate_fingerprint(loaded, game) == gate_fingerprint(made, game)
    assert loaded.parameters == made.parameters
    assert json.loads(json.dumps(loaded.parameters)) == loaded.parameters
    check_gate(loaded, game, num_games=5)


def test_an_untrained_gate_prefers_no_phase(data: Dataset) -> None:
    gate = plugins().gate("learned?phases=4", TicTacToe())
    assert (gate.weights(data.views(np.arange(50))) == 0.25).all()


def test_weights_of_a_network_gate_depend_on_nothing_but_the_view(data: Dataset) -> None:
    gate = trained_network_gate()
    whole = gate.weights(data.views(np.arange(600)))
    alone = np.concatenate([gate.weights(data.views(np.array([row]))) for row in range(0, 600, 7)])
    assert (alone == whole[::7]).all()
    assert whole.std() > 0.01


def test_a_gate_of_another_game_or_encoding_is_refused(fit: Fit, tmp_path: Path) -> None:
    path = tmp_path / "gate.safetensors"
    save_gate(path, fit.gate)
    for game in (ShuffledTicTacToe(), crowd()):
        with pytest.raises(ForeignData, match=r"gate.safetensors was made for tictactoe with planes"):
            load_gate(path, game, plugins())


@pytest.mark.parametrize("damage", ["cut", "text", "weights"])
def test_a_damaged_gate_is_refused(damage: str, fit: Fit, tmp_path: Path) -> None:
    from moemcts.learn.weights import write_state

    path = tmp_path / "gate.safetensors"
    save_gate(path, fit.gate)
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-9])
    elif damage == "text":
        path.write_text("no gate")
    else:
        write_state(path, {"a": torch.zeros(1)}, {})
    with pytest.raises(DamagedFile, match=r"gate.safetensors is (not a gate file|damaged)"):
        load_gate(path, TicTacToe(), plugins())


@pytest.mark.parametrize("kind", ["kmeans", "learned"])
def test_one_bit_of_a_gate_does_not_go_unnoticed(kind: str, fit: Fit, tmp_path: Path) -> None:
    path = tmp_path / "gate.safetensors"
    gate = fit.gate if kind == "kmeans" else trained_network_gate()
    save_gate(path, gate)
    loaded = load_gate(path, TicTacToe(), plugins())
    assert loaded.parameters == gate.parameters
    save_gate(tmp_path / "again.safetensors", loaded)
    whole = path.read_bytes()
    assert (tmp_path / "again.safetensors").read_bytes() == whole
    for place in range(8, len(whole), 7):
        content = bytearray(whole)
        content[place] ^= 1
        path.write_bytes(content)
        with pytest.raises(DamagedFile, match=r"gate.safetensors is (damaged|not a gate file)"):
            load_gate(path, TicTacToe(), plugins())


def test_a_centre_that_is_no_number_is_named(fit: Fit, tmp_path: Path) -> None:
    file = fit.gate.file
    arrays = {name: np.array(array) for name, array in file.arrays.items()}
    arrays["centres"][1, 0] = np.nan
    broken = GateFile(arrays, file.header, file.digest)
    (tmp_path / "gate.safetensors").write_bytes(broken.content)
    with pytest.raises(DamagedFile, match="centres holds numbers that are not finite; fit the gate again"):
        load_gate(tmp_path / "gate.safetensors", TicTacToe(), plugins())


def test_a_gate_file_from_before_there_were_hashes_is_read(fit: Fit, tmp_path: Path) -> None:
    file = fit.gate.file
    content = container_bytes(file.arrays, file.header)
    (tmp_path / "gate.safetensors").write_bytes(content)
    assert load_gate(tmp_path / "gate.safetensors", TicTacToe(), plugins()).parameters == fit.gate.parameters


def test_a_missing_gate_and_an_unfitted_one_say_what_to_do() -> None:
    with pytest.raises(UsageError, match=r"expected a gate's file at nowhere.safetensors, found none"):
        plugins().gate("nowhere.safetensors", TicTacToe())
    with pytest.raises(UsageError, match=r"fitted to data first: moemcts gate fit --game tictactoe .* --phases 5"):
        plugins().gate("kmeans?phases=5", TicTacToe())


@pytest.mark.parametrize("kind", ["kmeans", "learned"])
def test_experts_take_their_gate_along(kind: str, fit: Fit, data: Dataset, tmp_path: Path) -> None:
    game = TicTacToe()
    gate = fit.gate if kind == "kmeans" else trained_network_gate()
    save_experts(
        tmp_path / "made",
        [network(i) for i in range(3)],
        game=game,
        game_reference="tictactoe",
        gate=gate,
        gate_reference="somewhere/else.safetensors",
        network_reference=NETWORK,
        scheme="separated",
        seed=0,
    )
    (tmp_path / "made").rename(tmp_path / "moved")
    experts = load_experts(tmp_path / "moved", game, plugins())
    views = data.views(np.arange(40))
    assert (experts.gate.weights(views) == gate.weights(views)).all()
    evaluation = experts.evaluate(views)
    # A hard gate asks the expert of the phase, a soft one all of them.
    single = [expert.evaluate(views) for expert in experts.experts]
    weights = gate.weights(views)
    value = sum(weights[:, k] * single[k].value for k in range(3))
    assert np.allclose(evaluation.value, value, atol=1e-5)
    other = tmp_path / "moved" / "gate.safetensors"
    save_gate(other, fit_clusters(data, 3, seed=0, max_positions=300).gate)
    with pytest.raises(ForeignData, match="was trained with gate"):
        load_networks(tmp_path / "moved", game, plugins())


def test_gates_and_schemes_that_do_not_go_together_are_named(fit: Fit) -> None:
    untrained = plugins().gate("learned", TicTacToe())
    plugins().scheme("mixture").check(untrained)
    Separated().check(fit.gate)
    Separated().check(trained_network_gate())
    with pytest.raises(UsageError, match="use --scheme mixture"):
        Separated().check(untrained)
    for gate in (fit.gate, trained_network_gate(), thirds()):
        with pytest.raises(UsageError, match="scheme 'mixture' trains its own gate: expected --gate learned"):
            plugins().scheme("mixture").check(gate)


def test_agreement_is_one_with_itself_and_none_by_chance(data: Dataset, fit: Fit) -> None:
    same = agreement(data, fit.gate, fit.gate)
    assert same.adjusted_rand == 1
    assert same.shares == np.eye(3).tolist()
    assert agreement(data, thirds(), fit.gate).adjusted_rand > 0.3
    # Whether a third cell is one's own has little to do with the length of the game.
    assert 0 <= phase_statistics(data, thirds()).changes_per_game <= 2


def test_statistics_count_returns_to_earlier_phases(data: Dataset) -> None:
    class Alternating(type(thirds())):  # type: ignore[misc]
        name = "alternating"

        def phases(self, views):  # type: ignore[no-untyped-def]
            return views.plies() // 2 % 2

    found = phase_statistics(data, Alternating([1], ["even", "odd"]))
    # A player's plies are 0, 2, 4, ... or 1, 3, 5, ...: its phase is another at each of its turns.
    games, turns = np.unique(data.games() * 2 + data.views(np.arange(len(data))).players(), return_counts=True)
    assert found.changes_per_game == pytest.approx((turns - 1).sum() / len(games))
    assert found.returns_per_game == pytest.approx(((turns - 1) // 2).sum() / len(games))
    assert found.mean_top_weight == 1


@pytest.mark.parametrize(
    ("kind", "wrong", "what"),
    [
        ("kmeans", {"encoding": {}}, "encoding.planes is missing"),
        ("kmeans", {"encoding": []}, "encoding: Input should be a table"),
        ("kmeans", {"encoding": {"planes": 1, "actions": 2}}, "encoding.planes: Input should be a valid string"),
        ("kmeans", {"format": "x"}, "format: Input should be a valid integer"),
        ("kmeans", {"mean": np.zeros(3)}, r"expected mean of shape \(2,\), floating point, got \(3,\)"),
        ("kmeans", {"centres": np.zeros(2)}, r"expected centres of shape \(2, 2\), .*, got \(2,\)"),
        ("kmeans", {"centres": np.zeros((0, 2))}, r"expected centres of shape \(1, 2\), .*, got \(0, 2\)"),
        ("kmeans", {"centres": np.zeros((3, 2), dtype=np.int32)}, "expected centres .* of int32"),
        ("learned", {"phases": -1}, "phases: Input should be greater than or equal to 1"),
        ("learned", {"channels": -1}, "channels: Input should be greater than or equal to 1"),
        ("learned", {"phases": 10**12}, "phases: Input should be less than"),
        ("learned", {"is_trained": 1}, "is_trained: Input should be a valid boolean"),
    ],
)
def test_a_gate_file_with_wrong_content_is_named(
    kind: str, wrong: dict[str, Any], what: str, fit: Fit, tmp_path: Path
) -> None:
    file = (fit.gate if kind == "kmeans" else trained_network_gate()).file
    arrays = file.arrays | {name: value for name, value in wrong.items() if name in file.arrays}
    header = {**file.header, **{name: value for name, value in wrong.items() if name not in file.arrays}}
    (tmp_path / "gate.safetensors").write_bytes(GateFile(arrays, header, file.digest).content)
    with pytest.raises(DamagedFile, match=f"gate.safetensors is not a gate file: {what}"):
        load_gate(tmp_path / "gate.safetensors", TicTacToe(), plugins())


@pytest.mark.parametrize("kind", ["kmeans", "learned"])
def test_sizes_that_a_gate_file_only_claims_take_no_memory(kind: str, data: Dataset, tmp_path: Path) -> None:
    file, claimed = trained_network_gate().file, dict[str, Any](phases=2**20, channels=2**20)
    if kind == "kmeans":
        file = fit_clusters(data, 2, seed=0, features=NetworkFeatures.of(NETWORK, network())).gate.file
        claimed = {"network": f"resnet?channels={2**20}&blocks=1"}
    broken = GateFile(file.arrays, {**file.header, **claimed}, file.digest)
    (tmp_path / "gate.safetensors").write_bytes(broken.content)
    with pytest.raises(ForeignData, match="belongs to another network: expected"):
        load_gate(tmp_path / "gate.safetensors", TicTacToe(), plugins())


def test_features_of_a_network_depend_on_nothing_but_the_view(data: Dataset) -> None:
    own = network()
    before = state_digest(network_state(own.train()))
    features = NetworkFeatures.of(NETWORK, own)
    whole = features.points(data.views(np.arange(200)))
    alone = np.concatenate([features.points(data.views(np.array([row]))) for row in range(200)])
    assert (alone == whole).all()
    assert features.count((2, 3, 3)) == whole.shape[1]
    # They are taken from a copy.
    assert own.training
    assert all(parameter.requires_grad for parameter in own.parameters())
    assert state_digest(network_state(own)) == before

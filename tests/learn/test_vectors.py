"""Games whose observations are no board are learned by dense layers; their numbers count as planes of one cell."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from learning_games import Board, GreedyAgent, TicTacToe, thirds

from moemcts.errors import UsageError
from moemcts.game import FloatArray, GameSpec, Player, Symmetry
from moemcts.learn.attribution import explain
from moemcts.learn.checkpoint import load_experts, save_experts
from moemcts.learn.data.dataset import Dataset
from moemcts.learn.data.generation import generate
from moemcts.learn.gates.features import NetworkFeatures
from moemcts.learn.gates.fitting import fit_clusters
from moemcts.learn.inference.evaluators import Inference, make_evaluator
from moemcts.learn.inference.torch_evaluator import TorchEvaluator
from moemcts.learn.networks.gate import GateNetwork
from moemcts.learn.schemes.catalogue import SharedStem
from moemcts.learn.training.config import TrainerConfig
from moemcts.learn.training.trainer import Trainer
from moemcts.plugins import plugins

NETWORK = "mlp?width=32&layers=2"


class FlatBoard(Board):
    """Tic-tac-toe whose cells are a vector."""

    def observation(self, player: Player) -> FloatArray:
        return super().observation(player).ravel()


class OneHotBoard(Board):
    """Tic-tac-toe whose cells are rows of which one number is 1: empty, own or the opponent's."""

    def observation(self, player: Player) -> FloatArray:
        own, other = super().observation(player).reshape(2, 9)
        return np.stack([1 - own - other, own, other], axis=1)


class OneHot(TicTacToe):
    spec = GameSpec(name="one-hot", num_players=2, num_actions=9, observation_shape=(9, 3), max_plies=9)  # type: ignore[arg-type]
    board: type[Board] = OneHotBoard

    def initial_state(self, seed: int = 0) -> Board:
        return self.board()

    def parse_state(self, text: str) -> Board:
        return self.board(tuple(map(int, text)))

    def symmetries(self) -> Sequence[Symmetry]:
        return ()


class Flat(OneHot):
    spec = GameSpec(name="flat", num_players=2, num_actions=9, observation_shape=(18,), max_plies=9)  # type: ignore[arg-type]
    board = FlatBoard


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("flat")
    game = Flat()
    generate(game, [GreedyAgent()] * 2, 400, seed=1, out=folder, reference="flat", games_per_shard=50)
    return Dataset.open(folder, game)


def make_network() -> Any:
    return plugins().network(NETWORK, (18,), 9)


@pytest.mark.parametrize("backend", ["torch", "onnxruntime", "openvino"])
def test_vectors_are_learned_stored_and_played_with(backend: Any, data: Dataset, tmp_path: Path) -> None:
    trainer = Trainer(TrainerConfig(epochs=3, batch_size=32, validation_fraction=0.2, device="cpu"))
    team = SharedStem().fit(trainer, make_network, data, thirds(), tmp_path / "training")
    game = data.game
    save_experts(
        tmp_path / "experts",
        [one.network for one in team.trained],
        game=game,
        game_reference="flat",
        gate=team.gate,
        gate_reference="plies?cuts=3,6",
        network_reference=NETWORK,
        scheme="shared_stem",
        seed=0,
    )
    views = data.views(np.arange(30))
    experts = load_experts(tmp_path / "experts", game, _Makers(), inference=Inference(backend))
    torch_experts = load_experts(tmp_path / "experts", game, _Makers())
    assert np.allclose(experts.evaluate(views).value, torch_experts.evaluate(views).value, atol=1e-4)


class _Makers:
    """Makes what the names of these experts mean here."""

    def gate(self, reference: str, game: Any) -> Any:
        return thirds()

    def network(self, reference: str, observation_shape: tuple[int, ...], num_actions: int) -> Any:
        return plugins().network(reference, observation_shape, num_actions)


@pytest.mark.parametrize("shape", [(18,), (3, 6), (2, 3, 3), (1, 2, 3, 3)])
@pytest.mark.parametrize("options", ["", "&value_head=wdlp", "&num_values=2", "&activation=leaky_relu"])
def test_an_mlp_takes_observations_of_any_rank(shape: tuple[int, ...], options: str) -> None:
    network = plugins().network(NETWORK + options, shape, 9)
    planes = np.random.default_rng(0).random((5, *shape), dtype=np.float32)
    evaluation = TorchEvaluator(network).evaluate_planes(planes)
    assert evaluation.logits.shape == (5, 9)
    assert evaluation.value.shape == ((5, 2) if "num_values" in options else (5,))
    exported = make_evaluator(network, shape, backend="onnxruntime").evaluate_planes(planes)
    assert np.allclose(exported.logits, evaluation.logits, atol=1e-5)


def test_channels_last_is_refused_where_observations_are_no_planes(data: Dataset, tmp_path: Path) -> None:
    trainer = Trainer(TrainerConfig(channels_last=True, device="cpu"))
    with pytest.raises(UsageError, match=r"expected no channels_last: .* observations here are \[18\]"):
        SharedStem().fit(trainer, make_network, data, thirds(), tmp_path)
    TrainerConfig(channels_last=True).check_layout((2, 3, 3))


def test_vectors_are_clustered_by_their_numbers_or_by_those_of_a_network(data: Dataset) -> None:
    fit = fit_clusters(data, 2, seed=0)
    assert fit.phases[0].mean_ply < fit.phases[1].mean_ply
    learned = fit_clusters(data, 2, seed=0, features=NetworkFeatures.of(NETWORK, make_network()))
    assert learned.gate.num_phases == 2


def test_rows_that_are_no_board_are_clustered_by_their_numbers(tmp_path: Path) -> None:
    game = OneHot()
    generate(game, [GreedyAgent()] * 2, 200, seed=1, out=tmp_path, reference="one-hot")
    # The mean of each row is 1/3 in every position.
    empty, full = fit_clusters(Dataset.open(tmp_path, game), 2, seed=0).phases
    assert empty.mean_ply + 2 < full.mean_ply


def test_the_numbers_of_a_vector_are_weighed_and_explained_as_planes_of_one_cell(data: Dataset) -> None:
    views = data.views(np.arange(5))
    assert np.allclose(plugins().gate("learned?phases=2", data.game).weights(views), 0.5)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        attribution = explain(make_network(), views).value
        weigh = GateNetwork(18, 2, channels=4).eval()
        torch.nn.init.normal_(weigh.last.weight)
    assert attribution.planes.shape == (5, 18, 1, 1)
    # Integrated gradients from zeros: an input of zero contributes nothing.
    assert not attribution.planes[views.observations() == 0].any()
    assert attribution.gaps.max() < 1e-2
    vectors = torch.from_numpy(views.observations())
    assert torch.equal(weigh(vectors), weigh(vectors.reshape(5, 18, 1, 1)))


def test_what_needs_a_board_says_so() -> None:
    message = r"expected planes, rows and columns for {}.*, got observations of shape \(18,\)"
    names = [name for name in plugins().networks if name != "mlp"]
    for name in names:
        with pytest.raises(
            UsageError, match=message.format("a network of convolutions .network 'mlp' takes any shape")
        ):
            plugins().network(name, (18,), 9)

"""What runs a network is the quickest that keeps its policy, found out once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from learning_games import TicTacToe, thirds
from networks_for_tests import (
    EXPORTED,
    GATE,
    is_able,
    positions,
    save,
    skip_without_libraries,
    trained_network,
    without,
)
from torch import Tensor, nn

from moemcts.agents import Named, RandomAgent
from moemcts.errors import MissingExtra, MoemctsError, UsageError
from moemcts.evaluation import Evaluation
from moemcts.gates import SinglePhase
from moemcts.learn.checkpoint import load_networks
from moemcts.learn.inference import choice, fidelity, measurement
from moemcts.learn.inference.backends import ALL_INFERENCES, BACKENDS
from moemcts.learn.inference.choice import Choice, NetworkGroup, cached_measurements, choose
from moemcts.learn.inference.evaluators import Inference, resolve
from moemcts.learn.inference.export import onnx_bytes
from moemcts.learn.inference.fidelity import Fidelity
from moemcts.learn.inference.measurement import SIZES, measure
from moemcts.learn.inference.positions import Positions, Sample, default_positions
from moemcts.learn.inference.torch_evaluator import TorchEvaluator
from moemcts.learn.threads import torch_threads
from moemcts.learn.weights import network_state, state_digest
from moemcts.plugins import plugins
from moemcts.store import read_toml

skip_without_libraries()


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def choose_backend(network: nn.Module, shape: tuple[int, int, int], **options: Any) -> Choice:
    """Returns what runs a network here."""
    return choose(NetworkGroup(networks=[network], observation_shape=shape), **options)


def test_the_choice_is_measured_once_and_remembered(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Other tests may keep this machine busy.
    monkeypatch.setattr(choice, "DISTURBED", np.inf)
    network = trained_network()
    first = choose_backend(network, (2, 3, 3))
    assert set(first.rates) == {str(pair) for pair in ALL_INFERENCES if pair.precision != "int8" and is_able(pair)}
    assert all(set(rates) == set(SIZES) for rates in first.rates.values())
    (path,) = (own_cache / "moemcts" / "inference").iterdir()

    def fail(*_: Any, **__: Any) -> Any:
        raise AssertionError("measured again")

    monkeypatch.setattr(choice, "measure", fail)
    assert choose_backend(network, (2, 3, 3)) == first
    assert choose_backend(trained_network(), (2, 3, 3)).rates == first.rates, "other weights are as fast"
    assert [entry["rates"] for entry in cached_measurements()] == [first.rates]
    assert cached_measurements()[0]["network"].endswith("weights on 2 x 3 x 3")
    with pytest.raises(AssertionError, match="measured again"):
        choose_backend(trained_network(channels=8), (2, 3, 3))
    path.write_text("{")
    with pytest.raises(AssertionError, match="measured again"):
        choose_backend(network, (2, 3, 3))


RATES = {
    "torch": {1: 10.0, 8: 20.0, 64: 100.0},
    "torch bf16": {1: 9.0, 8: 25.0, 64: 119.0},
    "onnxruntime": {1: 50.0, 8: 60.0, 64: 60.0},
}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"batch_size": 1}, "onnxruntime"),
        ({"batch_size": 16}, "onnxruntime"),
        # bf16 is 1.19 times as fast: not worth what it rounds.
        ({"batch_size": 100}, "torch"),
        ({"batch_size": 100, "precision": "bf16"}, "torch bf16"),
        ({"batch_size": 8, "backend": "torch"}, "torch bf16"),
        ({"batch_size": 1, "backend": "torch"}, "torch"),
        ({"batch_size": 1, "backend": "torch", "precision": "float32"}, "torch"),
    ],
)
def test_the_quickest_that_is_worth_it_is_taken(
    options: dict[str, Any], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "measure", lambda *_, **__: RATES)
    assert str(choose_backend(trained_network(), (2, 3, 3), **options).inference) == expected


DISTURBED = {"torch": {1: 536.7, 8: 45.9, 64: 234.5}}


def test_rates_of_a_busy_machine_are_measured_twice_and_not_remembered(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = {"torch": {1: 500.0, 8: 60.0, 64: 900.0}}
    answers = iter([DISTURBED, second])
    monkeypatch.setattr(choice, "measure", lambda *_, **__: next(answers))
    found = choose_backend(trained_network(), (2, 3, 3))
    assert found.rates == {"torch": {1: 536.7, 8: 60.0, 64: 900.0}}
    assert cached_measurements() == []
    assert not own_cache.exists()
    monkeypatch.setattr(choice, "measure", lambda *_, **__: RATES)
    assert choose_backend(trained_network(), (2, 3, 3)).rates == RATES
    assert [entry["rates"] for entry in cached_measurements()] == [RATES]


def test_a_machine_that_was_busy_for_a_moment_is_measured_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    second = {"torch": {1: 500.0, 8: 600.0, 64: 900.0}}
    answers = iter([DISTURBED, second])
    monkeypatch.setattr(choice, "measure", lambda *_, **__: next(answers))
    choose_backend(trained_network(), (2, 3, 3))
    assert [entry["rates"] for entry in cached_measurements()] == [{"torch": {1: 536.7, 8: 600.0, 64: 900.0}}]


def test_rates_of_a_busy_machine_that_were_remembered_are_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "measure", lambda *_, **__: DISTURBED)
    with monkeypatch.context() as context:
        context.setattr(choice, "DISTURBED", np.inf)
        choose_backend(trained_network(), (2, 3, 3))
    assert [entry["rates"] for entry in cached_measurements()] == [DISTURBED]
    monkeypatch.setattr(choice, "measure", lambda *_, **__: RATES)
    assert choose_backend(trained_network(), (2, 3, 3)).rates == RATES
    assert [entry["rates"] for entry in cached_measurements()] == [RATES]


def test_a_device_that_is_neither_a_cpu_nor_a_gpu_of_cuda_is_measured_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "measure", lambda *_, **__: RATES)
    # Every torch knows this one, as some know mps or xpu.
    chosen = choose(
        NetworkGroup(networks=[trained_network()], observation_shape=(2, 3, 3), device="meta"), batch_size=100
    )
    assert str(chosen.inference) == "torch"


@pytest.mark.parametrize(("limit", "expected"), [(1.0, "torch bf16"), (0.0, "torch")])
def test_fewer_digits_are_taken_only_where_they_keep_the_policy(
    limit: float, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "measure", lambda *_, **__: {"torch": {8: 1.0}, "torch bf16": {8: 3.0}})
    monkeypatch.setattr(fidelity, "LIMITS", Fidelity(top1=0, kl=limit, regret=limit, value=limit))
    found = choose_backend(trained_network(), (2, 3, 3), batch_size=8)
    assert str(found.inference) == expected
    assert set(found.fidelities) == {"torch bf16"}
    judged = found.fidelities["torch bf16"]
    assert judged.keeps_policy == (expected == "torch bf16")
    assert 0 < judged.value < 0.01
    assert 0 <= judged.kl < 0.005


def test_what_was_found_on_some_positions_says_nothing_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "measure", lambda *_, **__: {"torch": {8: 1.0}, "torch bf16": {8: 3.0}})
    game, network, drawn = TicTacToe(), trained_network(), list[str]()

    def chosen(sample: Sample) -> Choice:
        def draw() -> Positions:
            drawn.append(sample.id)
            return sample.draw()

        positions = replace(sample, draw=draw)
        subject = NetworkGroup(networks=[network], observation_shape=(2, 3, 3), positions=lambda: positions)
        return choose(subject, batch_size=8)

    single, thirds_of_it = (default_positions(game, gate, RandomAgent()) for gate in (SinglePhase(), thirds()))
    found = chosen(single).fidelities
    assert chosen(default_positions(game, SinglePhase(), RandomAgent())).fidelities == found
    assert drawn == [single.id]
    chosen(thirds_of_it)
    chosen(default_positions(game, SinglePhase(), Named(RandomAgent(), "another")))
    assert len(drawn) == len(set(drawn)) == 3


def test_fidelity_is_by_the_formulas_and_does_not_mind_which_of_two_equal_moves_is_first() -> None:
    legal = np.ones((2, 2), np.bool_)
    ours = Evaluation(np.log(np.array([[0.5, 0.5], [0.7, 0.3]], np.float32)), np.array([0.5, 0], np.float32))
    theirs = Evaluation(np.log(np.array([[0.4, 0.6], [0.45, 0.55]], np.float32)), np.array([0.1, 0], np.float32))
    found = fidelity.fidelity(ours, theirs, legal)
    assert found.regret == pytest.approx((0 + 0.4) / 2, abs=1e-6)
    assert (found.top1, found.value) == (0, pytest.approx(0.2))
    assert not found.keeps_policy


def test_an_expert_is_judged_on_the_positions_of_its_own_phase() -> None:
    networks = [trained_network(), trained_network()]
    views = positions(TicTacToe(), 40)
    phases = np.arange(40) % 2
    mine = Positions(views.observations(), views.legal_mask(), phases)
    exact = TorchEvaluator(networks[0])

    class Wrong:
        """Is right about the boards of phase 0."""

        def evaluate_planes(self, planes: Any) -> Evaluation:
            found = exact.evaluate_planes(planes)
            is_own = np.array([(board == mine.planes[phases == 0]).all(axis=(1, 2, 3)).any() for board in planes])
            return Evaluation(found.logits, found.value + np.where(is_own, 0, 1).astype(np.float32))

        evaluate = None

    judged: Any = [Wrong(), TorchEvaluator(networks[1])]
    assert fidelity.team_fidelity(networks, judged, mine).value < 1e-5
    assert fidelity.team_fidelity(networks[:1], judged[:1], mine).value > 0.1


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert choose_backend(trained_network(), (2, 3, 3)).inference.backend in BACKENDS
    assert cached_measurements() == []


def test_a_measurement_takes_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "openvino")
    found = measure(trained_network(), (2, 3, 3), sizes=(1, 4), budget=0.05)
    assert set(found) == {"torch", "torch bf16", "onnxruntime"}
    # PyTorch needs over 30 calls per batch, onnxruntime one.
    assert found["onnxruntime"][1] > found["torch"][1]


def test_a_measurement_is_by_one_thread_whatever_torch_had_before(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = list[int]()

    class Noting:
        def evaluate_planes(self, planes: Any) -> None:
            seen.append(torch.get_num_threads())

    monkeypatch.setattr(measurement, "_make_evaluators", lambda *_: {Inference(): Noting()})
    with torch_threads(2):
        measure(trained_network(), (2, 3, 3), sizes=(1,), budget=0)
        assert (set(seen), torch.get_num_threads()) == ({1}, 2)


def test_a_named_backend_that_is_not_there_is_told_before_anything_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "openvino")
    monkeypatch.setattr(choice, "measure", None)
    with pytest.raises(MissingExtra, match="openvino is not installed"):
        resolve("openvino", "auto", trained_network(), (2, 3, 3))
    with pytest.raises(UsageError, match="not on cuda"):
        resolve("openvino", "auto", trained_network(), (2, 3, 3), device="cuda")


def test_auto_is_torch_where_nothing_else_is_installed(monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    without(monkeypatch, *EXPORTED)
    assert choose_backend(trained_network(), (2, 3, 3)).inference.backend == "torch"
    assert choose_backend(trained_network(), (2, 3, 3), precision="float32") == Choice(Inference(), {}, {})


class Unheard(nn.Module):
    """Uses an operation that ONNX has no word for."""

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        return torch.special.bessel_j0(planes.flatten(1)[:, :9]), planes.mean(dim=(1, 2, 3))


def test_a_network_that_onnx_cannot_express_says_so_and_auto_leaves_it_to_torch() -> None:
    with pytest.raises(MoemctsError, match="Unheard cannot be exported to ONNX") as error:
        onnx_bytes(Unheard(), (2, 3, 3))
    assert "\n" not in str(error.value)
    assert choose_backend(Unheard(), (2, 3, 3)).inference.backend == "torch"


@pytest.mark.parametrize(
    ("backend", "precision", "message"),
    [
        ("onnx", "float32", "no backend named 'onnx'; did you mean 'onnxruntime'?"),
        ("auto", "int4", "no precision named 'int4'; did you mean 'int8'?"),
        ("torch", "int8", "torch has no int8 here; use backend=onnxruntime or backend=openvino"),
        ("onnxruntime", "bf16", "onnxruntime has no bf16 here; use backend=torch or backend=openvino"),
    ],
)
def test_names_that_mean_nothing_are_refused(backend: str, precision: str, message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("?", r"\?")):
        resolve(backend, precision, trained_network(), (2, 3, 3))


def test_the_agent_says_which_backend_it_took(tmp_path: Path) -> None:
    from moemcts.naming import is_more_specific, resolve_agent

    def judged(game: Any) -> Sample:
        return default_positions(game, thirds(), RandomAgent())

    save(tmp_path)
    game = TicTacToe()
    chosen = load_networks(tmp_path, game, plugins()).choice(positions=lambda: judged(game)).inference
    named = f"backend={chosen.backend}" + ("" if chosen.precision == "float32" else f"&precision={chosen.precision}")
    assert resolve_agent(f"{tmp_path}?simulations=0", game).name == f"{tmp_path}?simulations=0&{named}"
    assert resolve_agent(f"{tmp_path}", game).name == f"{tmp_path}?{named}"
    named = f"{tmp_path}?backend=openvino"
    assert resolve_agent(named, game).name == named, "without a precision it is float32"
    said = resolve_agent(f"{tmp_path}?backend=auto&precision=auto", game).name
    assert said == f"{tmp_path}?backend={chosen.backend}&precision={chosen.precision}"
    assert is_more_specific(said, f"{tmp_path}?backend=auto&precision=auto")
    assert resolve_agent(said, game).name == said
    assert GATE in (tmp_path / "manifest.toml").read_text()


def test_a_run_writes_down_the_backend_that_auto_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from moemcts.runs import Experiment
    from moemcts.runs.settings import ExperimentConfig, validate

    # Rates of a busy machine are not remembered.
    monkeypatch.setattr(choice, "DISTURBED", np.inf)
    settings = validate(
        {"game": "tictactoe", "network": "resnet?channels=4&blocks=1", "match": {"backend": "auto"}}, ExperimentConfig
    )
    experiment = Experiment.create(tmp_path / "run", settings)
    written = read_toml(tmp_path / "run" / "config.toml")["match"]["backend"]
    assert written == experiment.config.match.backend
    assert written == choose_backend(trained_network(), (2, 3, 3), precision="float32").inference.backend
    assert "precision" not in read_toml(tmp_path / "run" / "config.toml")["match"]
    assert Experiment.load(tmp_path / "run").config.match == experiment.config.match


def test_a_run_with_a_backend_that_is_missing_does_not_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from moemcts.runs import Experiment
    from moemcts.runs.settings import ExperimentConfig, validate

    without(monkeypatch, "openvino")
    settings = validate({"game": "tictactoe", "match": {"backend": "openvino"}}, ExperimentConfig)
    with pytest.raises(MissingExtra, match="openvino"):
        Experiment.create(tmp_path / "run", settings)
    assert not (tmp_path / "run").exists()


def test_a_network_is_as_it_was_after_the_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "measure", lambda *_, **__: {"torch": {8: 1.0}, "torch bf16": {8: 3.0}})
    network = trained_network().train()
    before = state_digest(network_state(network))
    found = choose_backend(network, (2, 3, 3), batch_size=8)
    assert found.fidelities, "it was looked at"
    assert network.training
    assert state_digest(network_state(network)) == before

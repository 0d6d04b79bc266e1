"""Training learns, and what goes wrong in it is undone or named."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from games_of_chance import Pig
from learning_games import TicTacToe, make_data, thirds
from torch import nn
from training_for_tests import EVERYTHING, Forgetful, config, fit_staged, lines_of, quiet, same, small_network

from moemcts.agents import RandomAgent
from moemcts.errors import MoemctsError, UsageError
from moemcts.gates import PlyGate, SinglePhase
from moemcts.learn.data.dataset import Dataset
from moemcts.learn.data.generation import generate
from moemcts.learn.networks import catalogue
from moemcts.learn.schemes.catalogue import Distance, GeneralFirst, Separated, Single, Weighted
from moemcts.learn.training.metrics_log import MetricsLog, read_times
from moemcts.learn.training.progress import Progress
from moemcts.learn.training.ranks import device_or_cpu
from moemcts.learn.training.sample_weights import sample_weights
from moemcts.learn.training.schedule import ScheduleName, schedule_values
from moemcts.learn.training.stage_state import StageState
from moemcts.learn.training.stages import Stage
from moemcts.learn.training.trainer import Trainer


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return make_data(tmp_path_factory.mktemp("data"))


def test_training_lowers_the_held_out_loss(data: Dataset, tmp_path: Path) -> None:
    network = small_network(8)
    Trainer(config(epochs=8, learning_rate=0.01)).fit(network, data, thirds(), EVERYTHING, tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert lines[-1]["training"]["policy"] < lines[0]["training"]["policy"] < np.log(9) + 0.1
    assert lines[-1]["validation"]["value"] < lines[0]["validation"]["value"]
    assert [line["step"] for line in lines][:3] == [7, 14, 21]


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (
            lambda n: (torch.zeros(n, 18), torch.zeros(n)),
            r"expected logits \[2, 9\] for observations \[2, 2, 3, 3\] of .*got \[2, 18\]",
        ),
        (lambda n: (torch.zeros(n, 9), torch.zeros(n, 1).squeeze()), r"expected value \[1\] or \[1, 2\] .*got \[\]"),
        (lambda n: (torch.zeros(n, 9), torch.zeros(n, 1)), r"expected value \[2\] or \[2, 2\] .*got \[2, 1\]"),
        (lambda n: (torch.zeros(n, 9), torch.full((n,), 5.0)), r"expected values in \[-1, 1\], got \[5.0, 5.0\]"),
        (lambda n: torch.zeros(n, 9), "expected a tuple of logits and value, got Tensor"),
    ],
)
def test_a_network_that_is_none_for_the_game_learns_nothing(
    answer: Callable[[int], Any], what: str, data: Dataset, tmp_path: Path
) -> None:
    class Wrong(nn.Module):
        def forward(self, planes: torch.Tensor) -> Any:
            return answer(len(planes))

    for train in (
        lambda: Trainer(config()).fit(Wrong(), data, thirds(), EVERYTHING, tmp_path / "one"),
        lambda: Separated().fit(Trainer(config()), Wrong, data, thirds(), tmp_path / "all"),
    ):
        with pytest.raises(MoemctsError, match=f"network Wrong is invalid: {what}"):
            train()
    assert not list(tmp_path.iterdir())
    other = small_network(8, shape=(3, 3, 3))
    told = r"is invalid: on observations \[2, 2, 3, 3\] it raised RuntimeError: .*expected input.* to have 3 channels"
    with pytest.raises(MoemctsError, match=told):
        Trainer(config()).fit(other, data, thirds(), EVERYTHING, tmp_path / "other")
    with pytest.raises(MoemctsError, match=r"network object is invalid: expected a torch\.nn\.Module"):
        Separated().fit(Trainer(config()), object, data, thirds(), tmp_path)


def test_the_best_weights_are_kept(data: Dataset, tmp_path: Path) -> None:
    # So few games are learned by heart, and the loss on others rises.
    few = data.take(np.flatnonzero(data.games() < 12))
    settings = config(epochs=60, learning_rate=0.02, augment=False, validation_fraction=0.5)
    result = Trainer(settings).fit(small_network(8), few, thirds(), EVERYTHING, tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    best = min(lines, key=lambda line: line["validation"]["loss"])
    assert result.measurement == best
    assert best["step"] < lines[-1]["step"]
    _, held_out = few.split(0.5, settings.seed)
    batch = held_out.batch(np.arange(len(held_out)), np.ones(len(held_out), dtype=np.float32))
    with torch.inference_mode():
        logits = result.network(torch.from_numpy(batch.planes)).logits
        policy = nn.functional.cross_entropy(logits, torch.from_numpy(batch.actions))
    assert policy.item() == pytest.approx(best["validation"]["policy"], abs=1e-5)  # float32, other batch


def test_every_term_of_the_loss_is_measured_and_learned(data: Dataset, tmp_path: Path) -> None:
    network = catalogue.resnet((2, 3, 3), 9, channels=8, blocks=1, value_head="wdlp")
    settings = config(epochs=8, learning_rate=0.01, wdl_weight=0.1, plies_weight=0.1)
    Trainer(settings).fit(network, data, thirds(), EVERYTHING, tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    for part in ("training", "validation"):
        first, last = lines[0][part], lines[-1][part]
        assert list(last) == ["loss", "policy", "value", "wdl", "plies", "accuracy", "weight"][: len(last)]
        assert last["wdl"] < first["wdl"]
        assert last["plies"] < first["plies"]
        parts = 0.9 * last["policy"] + 0.1 * (last["value"] + last["wdl"] + last["plies"])
        assert last["loss"] == pytest.approx(parts, rel=0.02 if part == "training" else 1e-6)  # steps differ in size


def test_phases_of_the_held_out_games_add_up(data: Dataset, tmp_path: Path) -> None:
    network = small_network()
    entry = Trainer(config()).fit(network, data, thirds(), EVERYTHING, tmp_path).measurement
    parts = entry["phases"].values()
    total = sum(part["weight"] for part in parts)
    assert total == entry["validation"]["weight"]
    for key in ("loss", "policy", "value", "accuracy"):
        assert sum(part[key] * part["weight"] for part in parts) / total == pytest.approx(entry["validation"][key])


def test_the_same_seed_gives_the_same_network_and_another_another(data: Dataset, tmp_path: Path) -> None:
    runs = [fit_staged(data, tmp_path / str(i), config(epochs=1, seed=seed), quiet) for i, seed in enumerate((1, 1, 2))]
    assert same(runs[0], runs[1])
    assert not same(runs[0], runs[2])


def test_training_leaves_the_callers_random_numbers_alone(data: Dataset, tmp_path: Path) -> None:
    torch.manual_seed(11)
    expected = torch.rand(3)
    torch.manual_seed(11)
    fit_staged(data, tmp_path, config(epochs=1), quiet)
    assert torch.equal(torch.rand(3), expected)


def test_separated_experts_learn_from_their_phase_alone(data: Dataset, tmp_path: Path) -> None:
    experts = Separated().fit(Trainer(config()), Forgetful, data, thirds(), tmp_path / "all").trained
    # Make the samples of other phases nonsense: the expert of the last phase must not notice.
    late = data.phase_weights(thirds())[:, 2] > 0
    part = [Stage(weights=(0.0, 0.0, 1.0))]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = Forgetful()
    alone = Trainer(config()).fit(network, data, thirds(), part, tmp_path / "late")
    assert same([experts[2]], [alone])
    assert 0 < late.sum() < len(data)


def test_single_gives_every_phase_the_same_network(data: Dataset, tmp_path: Path) -> None:
    experts = Single().fit(Trainer(config()), Forgetful, data, thirds(), tmp_path).trained
    assert same(experts[:1], experts[1:2])
    assert experts[0].path == experts[2].path


def test_single_of_three_phases_is_the_network_without_a_gate(data: Dataset, tmp_path: Path) -> None:
    three = Single().fit(Trainer(config()), Forgetful, data, thirds(), tmp_path / "three").trained
    one = Separated().fit(Trainer(config()), Forgetful, data, SinglePhase(), tmp_path / "one").trained
    assert same(three[:1], one)


def test_experts_of_general_first_begin_with_the_same_network(data: Dataset, tmp_path: Path) -> None:
    GeneralFirst(special_epochs=0.5).fit(Trainer(config()), Forgetful, data, thirds(), tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert lines[0]["experts"] == ["early", "middle", "late"]
    assert {line["stage"] for line in lines} == {"all", "early", "middle", "late"}
    assert sum(line["step"] == line["num_steps"] for line in lines) == 4


def test_weighted_trains_on_all_samples(data: Dataset, tmp_path: Path) -> None:
    (expert, *_) = Weighted(a=4).fit(Trainer(config(epochs=1)), Forgetful, data, thirds(), tmp_path).trained
    held_out = {name: part["weight"] for name, part in expert.measurement["phases"].items()}
    expected = 2 * held_out["early"] + 0.5 * (held_out["middle"] + held_out["late"])
    assert expert.measurement["validation"]["weight"] == pytest.approx(expected)


def test_progress_counts_all_stages(data: Dataset, tmp_path: Path) -> None:
    seen: list[Progress] = []
    fit_staged(data, tmp_path, config(epochs=1), seen.append)
    assert [p.step for p in seen] == list(range(1, len(seen) + 1))
    assert {p.num_steps for p in seen} == {len(seen)}
    assert seen[-1].samples_per_second > 0


def test_a_phase_without_samples_is_named_with_the_counts(data: Dataset, tmp_path: Path) -> None:
    gate = PlyGate([3, 9], ["early", "rest", "never"])
    with pytest.raises(MoemctsError, match=r"'never' on: gate 'plies' finds \d+ of early, \d+ of rest, 0 of never;"):
        Separated().fit(Trainer(config()), Forgetful, data, gate, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_loss_that_is_no_number_stops_the_training_and_loses_nothing(data: Dataset, tmp_path: Path) -> None:
    settings = config(learning_rate=1e30, optimiser="sgd", save_interval=1)
    network = small_network()
    with pytest.raises(MoemctsError, match=r"at step \d+ of \d+ of stage 'all'; lower the learning rate, now 1e\+30"):
        Trainer(settings).fit(network, data, thirds(), EVERYTHING, tmp_path)
    for file in tmp_path.rglob("*.safetensors"):
        from moemcts.learn.weights import read_state

        assert all(bool(tensor.isfinite().all()) for tensor in read_state(file)[0].values())


def test_a_loss_that_is_no_number_before_anything_is_learned_is_not_put_down_to_the_learning_rate(
    data: Dataset, tmp_path: Path
) -> None:
    network = small_network()
    with torch.no_grad():
        next(network.parameters()).fill_(math.nan)
    told = "the loss is nan at step 1 of .*; no step had changed the weights: what the network sees, or what it begins"
    with pytest.raises(MoemctsError, match=told) as raised:
        Trainer(config()).fit(network, data, thirds(), EVERYTHING, tmp_path)
    assert "learning rate" not in str(raised.value)


def test_a_first_step_that_breaks_the_weights_is_put_down_to_the_learning_rate(data: Dataset, tmp_path: Path) -> None:
    settings = config(learning_rate=1e30, optimiser="sgd", validation_interval=1)
    with pytest.raises(MoemctsError, match=r"at step 1 of \d+ of stage 'all'; lower the learning rate, now 1e\+30"):
        Trainer(settings).fit(small_network(), data, thirds(), EVERYTHING, tmp_path)


def test_a_phase_without_held_out_samples_still_ends_with_its_last_weights(tmp_path: Path) -> None:
    data = make_data(tmp_path / "data", num_samples=60)
    rare = PlyGate([7], ["usual", "rare"])
    rows = np.flatnonzero(data.phase_weights(rare)[:, 1])
    games = [int(data.games()[row]) for row in rows[:1]]
    keep = np.flatnonzero(np.isin(data.games(), games) | (data.phase_weights(rare)[:, 1] == 0))
    part = data.take(keep)
    for seed in range(10):
        _, held_out = part.split(0.2, seed)
        if not held_out.phase_weights(rare)[:, 1].any():
            break
    network = small_network()
    result = Trainer(config(seed=seed)).fit(network, part, rare, [Stage(weights=(0.0, 1.0))], tmp_path / "fit")
    assert result.measurement["validation"] is None
    assert result.measurement["step"] == result.measurement["num_steps"]
    assert isinstance(data.game, TicTacToe)


class Normalised(nn.Module):
    """A network that normalises each of its numbers over the batch."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(18, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 10))

    def forward(self, planes: torch.Tensor) -> Any:
        answer = self.body(planes)
        return answer[:, :9], torch.tanh(answer[:, 9])


def test_a_phase_of_one_sample_is_learned_from_whatever_a_network_normalises_over(
    data: Dataset, tmp_path: Path
) -> None:
    rare = PlyGate([7], ["usual", "rare"])
    is_rare = data.phase_weights(rare)[:, 1] > 0
    part = data.take(np.sort([*np.flatnonzero(~is_rare), np.flatnonzero(is_rare)[0]]))
    held_out = data.take(np.flatnonzero(is_rare)[1:])
    trainer = Trainer(config(epochs=20, learning_rate=0.02))
    result = trainer.fit(Normalised(), part, rare, [Stage(weights=(0.0, 1.0))], tmp_path / "fit", validation=held_out)
    lines = lines_of(tmp_path / "fit")
    assert result.measurement["num_steps"] == 20
    assert lines[-1]["training"]["policy"] < lines[0]["training"]["policy"]


def test_a_spike_is_undone_and_what_follows_is_dealt_anew(data: Dataset, tmp_path: Path) -> None:
    settings = config(spike=1.0002, max_spikes=500, learning_rate=0.3, optimiser="sgd", epochs=5)
    Trainer(settings).fit(small_network(8), data, thirds(), EVERYTHING, tmp_path)
    lines = lines_of(tmp_path)
    spikes = [i for i, line in enumerate(lines) if line.get("spike")]
    assert spikes
    for i in spikes:
        good = [line for line in lines[:i] if not line.get("spike")][-1]
        following = lines[i + 1]
        assert lines[i]["validation"]["loss"] > 1.0002 * good["validation"]["loss"]
        # Back to the step of the last good measurement, from there on with other batches.
        assert following["step"] == lines[i]["step"] == good["step"] + 7 or lines[i]["step"] == lines[i]["num_steps"]
        assert following["training"] != lines[i]["training"]
    accepted = [line["step"] for line in lines if not line.get("spike")]
    assert accepted == sorted(set(accepted))


def test_spikes_without_end_give_up_in_one_line(data: Dataset, tmp_path: Path) -> None:
    settings = config(spike=1.00001, max_spikes=2, learning_rate=0.5, optimiser="sgd", epochs=20)
    with pytest.raises(MoemctsError, match=r"held-out loss is .* before, at step .* after going back 2 times") as error:
        Trainer(settings).fit(small_network(8), data, thirds(), EVERYTHING, tmp_path)
    assert "\n" not in str(error.value)
    assert sum(bool(line.get("spike")) for line in lines_of(tmp_path)) == 3
    assert (tmp_path / "stages" / "00" / "best.safetensors").exists()


def test_a_nan_after_a_good_measurement_is_undone(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from moemcts.learn.training import learner

    real, calls = learner.total_loss, [0]

    def sometimes_nan(*arguments: Any, **keywords: Any) -> torch.Tensor:
        calls[0] += 1
        return real(*arguments, **keywords) * (float("nan") if calls[0] == 12 else 1.0)

    monkeypatch.setattr(learner, "total_loss", sometimes_nan)
    result = Trainer(config()).fit(small_network(), data, thirds(), EVERYTHING, tmp_path)
    assert calls[0] > result.measurement["num_steps"]
    assert all(bool(tensor.isfinite().all()) for tensor in result.network.state_dict().values())
    assert lines_of(tmp_path)[-1]["step"] == result.measurement["num_steps"]


def test_patience_ends_a_stage_with_its_best_weights(data: Dataset, tmp_path: Path) -> None:
    settings = config(epochs=50, patience=3, learning_rate=0.02, augment=False)
    result = Trainer(settings).fit(small_network(8), data, thirds(), EVERYTHING, tmp_path)
    lines = lines_of(tmp_path)
    losses = [line["validation"]["loss"] for line in lines]
    assert lines[-1]["step"] < lines[-1]["num_steps"]
    assert len(losses) - 1 - losses.index(min(losses)) == 3
    assert result.measurement["validation"]["loss"] == min(losses)


def test_the_test_set_is_measured_by_phase_and_decides_nothing(data: Dataset, tmp_path: Path) -> None:
    games = data.games()
    test, rest = data.take(np.flatnonzero(games < 8)), data.take(np.flatnonzero(games >= 8))
    runs = [
        Separated().fit(Trainer(config()), Forgetful, rest, thirds(), tmp_path / str(i), test=given).trained
        for i, given in enumerate((test, None))
    ]
    assert same(*runs)
    for line in lines_of(tmp_path / "0"):
        assert {name: part["weight"] for name, part in line["test"].items()} == test.phase_counts(thirds())
    assert "test" not in lines_of(tmp_path / "1")[0]


def test_losses_in_training_are_under_the_weights_of_the_stage(data: Dataset, tmp_path: Path) -> None:
    (stage,) = Weighted(a=10).stages(2, 3)
    # Nothing is learned, so that a sample's loss is the same in training and after.
    settings = config(epochs=1, batch_size=50, validation_interval=8, learning_rate=1e-12, augment=False)
    network = catalogue.mlp((2, 3, 3), 9, width=8, layers=1)
    Trainer(settings).fit(network, data, thirds(), [stage], tmp_path, validation=data)
    (line,) = lines_of(tmp_path)
    for name, number in line["training"].items():
        assert number == pytest.approx(line["validation"][name], rel=1e-5)


def test_states_from_before_samples_were_weighed_count_steps_alike() -> None:
    before = StageState().to_json() | {"sums": {"totals": {"loss": 6.0}, "steps": 3}}
    assert StageState.of(before).sums.means() == {"loss": 2.0}


def test_few_samples_may_stand_for_all_on_the_way(data: Dataset, tmp_path: Path) -> None:
    Trainer(config(measured_samples=20)).fit(small_network(), data, thirds(), EVERYTHING, tmp_path)
    assert all(line["validation"]["weight"] == 20 for line in lines_of(tmp_path))


def test_few_samples_count_as_they_do_among_all(data: Dataset, tmp_path: Path) -> None:
    (stage,) = Distance(half_life=1).stages(2, 3)
    Trainer(config(epochs=1, measured_samples=20)).fit(small_network(), data, thirds(), [stage], tmp_path)
    _, held_out = data.split(config().validation_fraction, config().seed)
    drawn = np.random.default_rng(config().seed).permutation(len(held_out))[:20]
    expected = sample_weights(stage, held_out, held_out.phase_weights(thirds()))[drawn].sum()
    assert expected > 0
    assert all(line["validation"]["weight"] == pytest.approx(expected) for line in lines_of(tmp_path))


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA"),
        MemoryError(),
        RuntimeError("DefaultCPUAllocator: can't allocate memory"),
    ],
)
def test_a_full_memory_is_one_line_with_a_hint(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    from moemcts.learn.training import learner

    def full(*arguments: Any) -> Any:
        raise error

    monkeypatch.setattr(learner, "sample_losses", full)
    with pytest.raises(MoemctsError, match="out of memory on cpu with batches of 32 samples; use a smaller batch_size"):
        Trainer(config()).fit(small_network(), data, thirds(), EVERYTHING, tmp_path)


NONE = "finds none; use device=cpu"
TWO = "finds 2, numbered from 0; use device=cuda or cpu"


@pytest.mark.parametrize(
    ("name", "num_gpus", "line"),
    [
        ("gpu", 0, "expected a device such as cpu, cuda or cuda:1, got 'gpu'"),
        ("meta", 0, "expected a device such as cpu, cuda or cuda:1, got 'meta', which torch does not find"),
        ("cuda", 0, f"no GPU for device 'cuda': torch .* {NONE}"),
        ("cuda:7", 0, f"no GPU for device 'cuda:7': torch .* {NONE}"),
        ("cuda:2", 2, f"no GPU for device 'cuda:2': torch .* {TWO}"),
    ],
)
def test_a_device_that_is_not_there_is_misuse(
    monkeypatch: pytest.MonkeyPatch, name: str, num_gpus: int, line: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: num_gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: num_gpus)
    with pytest.raises(UsageError, match=line):
        Trainer(config(device=name))
    assert device_or_cpu(name) == "cpu"


def test_devices_that_are_there_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert device_or_cpu("cpu") == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert [device_or_cpu(name) for name in ("cuda", "cuda:1", "auto")] == ["cuda", "cuda:1", "cuda"]


def test_a_game_with_dice_is_learned_from(tmp_path: Path) -> None:
    game, gate = Pig(10, 4), PlyGate([4], ["early", "late"])
    data = Dataset.open(generate(game, [RandomAgent()] * 2, 200, seed=1, out=tmp_path / "data"), game)
    trainer = Trainer(config(epochs=1))
    team = Separated().fit(trainer, lambda: catalogue.mlp((6,), 2, width=8, layers=1), data, gate, tmp_path / "t")
    assert [one.measurement["stage"] for one in team.trained] == ["early", "late"]


def test_a_held_out_loss_that_is_no_number_is_named_without_a_spike_to_compare_with(tmp_path: Path) -> None:
    class Failing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.num_measured = small_network(), 0

        def forward(self, planes: torch.Tensor) -> Any:
            logits, value = self.body(planes)[:2]
            self.num_measured += not self.training
            return (logits * float("nan") if self.num_measured > 1 and not self.training else logits), value

    data = make_data(tmp_path / "data")
    with pytest.raises(MoemctsError, match=r"the held-out loss is nan at step \d+"):
        Trainer(config(spike=None)).fit(Failing(), data, thirds(), EVERYTHING, tmp_path / "none")
    with pytest.raises(MoemctsError, match=r"the held-out loss is nan at step \d+"):
        Trainer(config(max_spikes=0)).fit(Failing(), data, thirds(), EVERYTHING, tmp_path / "spike")


@pytest.mark.parametrize("schedule", ["one_cycle", "cosine"])
def test_momentum_never_rises_above_its_highest(schedule: ScheduleName) -> None:
    for momentum in (0.0, 0.7, 0.95):
        found = [
            schedule_values(schedule, step, 100, learning_rate=0.1, momentum=momentum, min_momentum=0.8).momentum
            for step in range(100)
        ]
        assert max(found) == pytest.approx(momentum)
        assert min(found) >= min(momentum, 0.8) - 1e-9


def test_half_a_line_of_times_costs_nothing_but_itself(tmp_path: Path) -> None:
    path = tmp_path / "timings.jsonl"
    path.write_text(
        "[" * 100_000 + '\n{"stage": "all", "step": 1}\n{"stage": "al{"stage": "all", "step": 2}\n{"stage": "a'
    )
    assert read_times(path) == [{"stage": "all", "step": 1}]
    log = MetricsLog(path)
    log.rewind(log.num_bytes)
    log.append({"stage": "all", "step": 3})
    assert read_times(path) == [{"stage": "all", "step": 1}, {"stage": "all", "step": 3}]

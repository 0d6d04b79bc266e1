"""Losses of experts and mixture, phase by phase, are those of the samples."""

from pathlib import Path

import numpy as np
import pytest
from learning_games import make_data, thirds

from moemcts.evaluation import Evaluation
from moemcts.experts import ExpertSet
from moemcts.game import Views
from moemcts.gates import PlyGate
from moemcts.learn.assessment import mean_over_seeds, phase_losses, team_evaluators
from moemcts.learn.data.dataset import Dataset


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return make_data(tmp_path_factory.mktemp("data"), num_samples=2500)


class Constant:
    """Prefers one action everywhere and expects the same of every view."""

    def __init__(self, action: int, value: float) -> None:
        self._logits = np.zeros(9, dtype=np.float32)
        self._logits[action] = 2.0
        self._value = value

    def evaluate(self, views: Views) -> Evaluation:
        size = len(views)
        return Evaluation(np.tile(self._logits, (size, 1)), np.full(size, self._value, dtype=np.float32))


def test_losses_are_those_of_the_samples_of_each_phase(data: Dataset) -> None:
    (row,) = phase_losses({"one": Constant(4, 0.5)}, data, thirds())
    rows = np.arange(len(data))
    actions, returns = data.actions(rows), data.returns(rows)[:, 0]
    phases = data.phase_weights(thirds()).argmax(axis=1)
    log_total = np.log(8 + np.exp(2.0))
    for name, own in [("early", phases == 0), ("late", phases == 2), ("all", phases >= 0)]:
        assert row.counts[name] == own.sum() > 0
        assert row.policy[name] == pytest.approx(np.mean(log_total - 2.0 * (actions[own] == 4)))
        assert row.accuracy[name] == pytest.approx(np.mean(actions[own] == 4))
        assert row.value[name] == pytest.approx(np.mean(np.square(0.5 - returns[own])))
        expected = 0.9 * row.policy[name] + 0.1 * row.value[name]
        assert row.loss(name, policy_weight=0.9, value_weight=0.1) == pytest.approx(expected)


def test_the_mixture_has_the_losses_of_each_phases_own_expert(data: Dataset) -> None:
    team = ExpertSet(thirds(), [Constant(action, action / 9) for action in (4, 0, 8)])
    rows = {row.name: row for row in phase_losses(team_evaluators(team), data, team.gate)}
    assert list(rows) == ["expert for early", "expert for middle", "expert for late", "mixture"]
    mixture = rows["mixture"]
    for name in team.gate.phase_names:
        own = rows[f"expert for {name}"]
        assert (mixture.policy[name], mixture.value[name]) == (own.policy[name], own.value[name])
    parts = sum((mixture.policy[name] or 0) * mixture.counts[name] for name in team.gate.phase_names)
    assert mixture.policy["all"] == pytest.approx(parts / mixture.counts["all"])


def test_a_phase_without_samples_has_no_loss(data: Dataset) -> None:
    gate = PlyGate([9], ["all of it", "never"])
    (row,) = phase_losses({"one": Constant(4, 0.0)}, data, gate)
    assert row.policy["never"] is row.accuracy["never"] is row.loss("never", policy_weight=1, value_weight=1) is None
    assert row.counts["never"] == 0
    assert row.policy["all of it"] == row.policy["all"]


def test_means_over_seeds_leave_out_what_a_seed_has_not(tmp_path: Path) -> None:
    data = make_data(tmp_path, num_samples=60)
    early = data.take(np.flatnonzero(data.phase_weights(thirds())[:, 0]))
    tables = [phase_losses({"one": Constant(4, 0.0)}, part, thirds()) for part in (data, early)]
    (mean,) = mean_over_seeds(tables)
    assert mean.policy["late"] == tables[0][0].policy["late"]
    assert mean.policy["early"] == pytest.approx(tables[0][0].policy["early"])
    assert mean.counts["late"] == tables[0][0].counts["late"] / 2

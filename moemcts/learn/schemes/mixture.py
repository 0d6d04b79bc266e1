"""Experts and the gate between them, trained together: a mixture of experts.

After Jacobs, Jordan, Nowlan and Hinton, "Adaptive mixtures of local experts" (1991). The mixture is a network like any
other: its policy is the mean of the experts' policies with the gate's weights, so that the policy's loss is their
likelihood, `-log sum_k g_k(x) p_k(a | x)`, and an expert learns from a sample as much as it is responsible for it. The
value is the mean of the experts' values, the paper's first, cooperative error. That is what the search evaluates with
routing `mixture`, and it is trained by `Trainer` as one network, with its loss, schedule and exact resume.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from moemcts.errors import UsageError
from moemcts.gates import PhaseGate, SinglePhase
from moemcts.learn.data.dataset import CHUNK, Dataset
from moemcts.learn.gates.network import NetworkGate, make_gate_network
from moemcts.learn.networks.gate import GateNetwork
from moemcts.learn.networks.outputs import Outputs
from moemcts.learn.schemes.stages import Curriculum, JointScheme, Stage
from moemcts.learn.training.trainer import Trained, Trainer


@dataclass(frozen=True, kw_only=True)
class Team:
    """What a scheme makes: a gate, and one expert per phase."""

    gate: PhaseGate
    trained: list[Trained]


def fit_team(
    trainer: Trainer,
    make_network: Callable[[], nn.Module],
    dataset: Dataset,
    gate: PhaseGate,
    scheme: Curriculum | JointScheme,
    folder: Path,
    *,
    validation: Dataset | None = None,
    test: Dataset | None = None,
) -> Team:
    """Trains the experts of a gate by any scheme, and the gate too where the scheme does that.

    `validation` and `test` are those of `Trainer.fit`. Raises UsageError where gate and scheme do not go together, and
    what `Trainer.fit` raises.
    """
    check_scheme(gate, scheme)
    if isinstance(scheme, JointScheme):
        assert isinstance(gate, NetworkGate)
        return fit_mixture(trainer, make_network, dataset, gate, scheme, folder, validation=validation, test=test)
    trained = trainer.fit_experts(make_network, dataset, gate, scheme, folder, validation=validation, test=test)
    return Team(gate=gate, trained=trained)


def check_scheme(gate: PhaseGate, scheme: Curriculum | JointScheme) -> None:
    """Raises UsageError unless the scheme trains the gate exactly if the gate has to be trained."""
    has_to_learn = isinstance(gate, NetworkGate) and not gate.is_trained
    if has_to_learn and not isinstance(scheme, JointScheme):
        raise UsageError(
            f"gate {gate.name!r} is trained together with its experts: "
            "use --scheme mixture, or name the file of one that is trained"
        )
    if isinstance(scheme, JointScheme) and not has_to_learn:
        raise UsageError(f"scheme 'mixture' trains its own gate: expected --gate learned, got {gate.name!r}")


def fit_mixture(
    trainer: Trainer,
    make_network: Callable[[], nn.Module],
    dataset: Dataset,
    gate: NetworkGate,
    scheme: JointScheme,
    folder: Path,
    *,
    validation: Dataset | None = None,
    test: Dataset | None = None,
) -> Team:
    """Trains experts together with a gate of the size of `gate`, which is not changed.

    The experts begin with different weights, for equal ones would stay equal; the trainer's seed decides them. Phases
    are numbered by the mean ply of the training positions, weighed by the gate. Raises what `Trainer.fit` raises.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(trainer.config.seed)
        experts = [make_network() for _ in gate.phase_names]
        weights = make_gate_network(gate.game, gate.num_phases, gate.channels)
    mixture = MixtureNetwork(weights, experts, balance=scheme.balance)
    stages = [Stage(weights=(1.0,), epochs=scheme.epochs)]
    whole = trainer.fit(mixture, dataset, SinglePhase(), stages, folder, validation=validation, test=test)
    assert isinstance(whole.network, MixtureNetwork)
    training = dataset if validation else dataset.split(trainer.config.validation_fraction, trainer.config.seed)[0]
    order = _order(whole.network.gate, training)
    return Team(
        gate=NetworkGate(gate.game, _reordered(whole.network.gate, order), channels=gate.channels),
        trained=[dataclasses.replace(whole, network=whole.network.experts[phase]) for phase in order],
    )


class MixtureNetwork(nn.Module):
    """A gate network and K experts that see the same planes and answer as one network."""

    def __init__(self, gate: GateNetwork, experts: Sequence[nn.Module], *, balance: float) -> None:
        super().__init__()
        self.gate = gate
        self.experts = nn.ModuleList(experts)
        self._balance = balance

    def forward(self, planes: Tensor) -> Outputs:
        """Returns what the experts answer, mixed: probabilities as they are, and numbers as they are."""
        weights = self.gate(planes)
        if self.training and self._balance:
            weights = _with_loss(weights, self._balance * balance_loss(weights))
        answers = [Outputs(*expert(planes)) for expert in self.experts]
        outcomes = [answer.wdl for answer in answers if answer.wdl is not None]
        plies = [answer.plies for answer in answers if answer.plies is not None]
        return Outputs(
            logits=_mix_logits(weights, [answer.logits for answer in answers]),
            value=_mix_numbers(weights, [answer.value for answer in answers]),
            wdl=_mix_logits(weights, outcomes) if outcomes else None,
            plies=_mix_numbers(weights, plies) if plies else None,
        )


def balance_loss(weights: Tensor) -> Tensor:
    """Returns how unevenly `[N, K]` weights use the phases: 1 where evenly, K where all views are in one.

    `K sum_k f_k P_k` with the share `f_k` of the views whose weightiest phase is k, which has no gradient, and the
    mean weight `P_k` (Fedus, Zoph and Shazeer, "Switch Transformers", 2021, equation 4).
    """
    num_phases = weights.shape[1]
    shares = nn.functional.one_hot(weights.detach().argmax(dim=1), num_phases).to(weights.dtype).mean(dim=0)
    return num_phases * (shares * weights.mean(dim=0)).sum()


class _AddLoss(torch.autograd.Function):
    """Passes a tensor on, and on the way back adds to all gradients that of a loss of its own.

    So the balance of a mixture takes part in training, while the loss that is measured stays that of its answers.
    """

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, loss: Tensor) -> Tensor:
        ctx.like = (loss.shape, loss.dtype, loss.device)
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        shape, dtype, device = ctx.like
        return gradient, torch.ones(shape, dtype=dtype, device=device)


def _with_loss(tensor: Tensor, loss: Tensor) -> Tensor:
    result: Tensor = _AddLoss.apply(tensor, loss)
    return result


def _mix_logits(weights: Tensor, logits: Sequence[Tensor]) -> Tensor:
    """Returns the logarithm of the mean of the experts' probabilities over the last axis."""
    logarithms = weights.clamp_min(1e-12).log()
    mixed = [_expand(logarithms[:, k], one) + torch.log_softmax(one.float(), dim=-1) for k, one in enumerate(logits)]
    return torch.logsumexp(torch.stack(mixed), dim=0)


def _mix_numbers(weights: Tensor, numbers: Sequence[Tensor]) -> Tensor:
    return torch.stack([_expand(weights[:, k], one) * one for k, one in enumerate(numbers)]).sum(dim=0)


def _expand(column: Tensor, like: Tensor) -> Tensor:
    return column.reshape(-1, *(1,) * (like.ndim - 1))


def _order(gate: GateNetwork, dataset: Dataset) -> list[int]:
    """Returns the phases by the mean ply of a dataset's positions, each weighed by the phase."""
    plies = np.zeros(gate.last.out_features)
    totals = np.zeros_like(plies)
    with torch.inference_mode():
        for start in range(0, len(dataset), CHUNK):
            views = dataset.views(np.arange(start, min(start + CHUNK, len(dataset))))
            weights = gate(torch.from_numpy(views.observations())).double().numpy()
            plies += weights.T @ views.plies()
            totals += weights.sum(axis=0)
    return [int(phase) for phase in np.argsort(plies / np.maximum(totals, 1e-12), kind="stable")]


def _reordered(gate: GateNetwork, order: Sequence[int]) -> GateNetwork:
    """Returns the gate, which is changed, with its phases in another order."""
    with torch.no_grad():
        gate.last.weight.copy_(gate.last.weight[list(order)].clone())
        gate.last.bias.copy_(gate.last.bias[list(order)].clone())
    return gate

"""Mixture of experts: experts and the gate between them, trained together.

The mixture is a network like any other, `networks.mixture`: its output is what the search evaluates with routing
`mixture`, and `Trainer` trains it as one network, with its loss, schedule and exact resume.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from moemcts.errors import UsageError
from moemcts.learn.schemes.catalogue import check_positive
from moemcts.learn.schemes.scheme import MakeNetwork, Scheme, Team
from moemcts.learn.training.stages import Stage

if TYPE_CHECKING:
    from moemcts.gates import PhaseGate
    from moemcts.learn.data.dataset import Dataset
    from moemcts.learn.gates.network_gate import NetworkGate
    from moemcts.learn.networks.gate import GateNetwork
    from moemcts.learn.training.trainer import Trainer

ORDERING = 100_000
"""Evenly spaced positions, at most, whose mean ply numbers the phases: the gate is evaluated on each."""


@dataclass(frozen=True, kw_only=True)
class Mixture(Scheme):
    """Experts and gate are trained together, each expert mostly on what the gate assigns to it.

    Jacobs, Jordan, Nowlan and Hinton, "Adaptive mixtures of local experts" (1991).
    """

    epochs: float = 1.0
    """Length as a multiple of the trainer's epochs."""
    balance: float = 0.01
    """Weight of the loss that keeps the gate from sending everything to one expert."""

    def __post_init__(self) -> None:
        check_positive(epochs=self.epochs)
        if not 0 <= self.balance < math.inf:
            raise ValueError(f"expected a balance of at least 0, got {self.balance!r}")

    def check(self, gate: PhaseGate) -> None:
        _require_untrained(gate)

    def cost(self, num_phases: int) -> float:
        # Every expert evaluates every sample.
        return self.epochs * num_phases

    def fit(
        self,
        trainer: Trainer,
        make_network: MakeNetwork,
        dataset: Dataset,
        gate: PhaseGate,
        folder: Path,
        *,
        validation: Dataset | None = None,
        test: Dataset | None = None,
    ) -> Team:
        """Trains experts together with a gate of the size of `gate`, which is not changed.

        The experts start with different weights, drawn by the trainer's seed, since equal ones would stay equal. Phases
        are numbered by the mean ply of up to `ORDERING` training positions, weighted by the gate. Raises as
        `Scheme.fit`.
        """
        import torch

        from moemcts.gates import SinglePhase
        from moemcts.learn.gates.network_gate import NetworkGate, make_gate_network
        from moemcts.learn.networks.mixture import MixtureNetwork

        template = _require_untrained(gate)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(trainer.config.seed)
            experts = [make_network() for _ in template.phase_names]
            gate_network = make_gate_network(template.game, template.num_phases, template.channels)
        mixture = MixtureNetwork(gate_network, experts, balance=self.balance)
        stages = [Stage(weights=(1.0,), epochs=self.epochs)]
        # None for the default, as in trainings from before it was recorded.
        decided_by = {"balance": None if self.balance == Mixture.balance else self.balance}
        trained = trainer.fit(
            mixture, dataset, SinglePhase(), stages, folder, validation=validation, test=test, decided_by=decided_by
        )
        assert isinstance(trained.network, MixtureNetwork)
        training = dataset
        if validation is None:
            training, _ = dataset.split(trainer.config.validation_fraction, trainer.config.seed)
        order = _phase_order(trained.network.gate, training)
        return Team(
            gate=NetworkGate(template.game, _reorder(trained.network.gate, order), channels=template.channels),
            trained=[dataclasses.replace(trained, network=trained.network.experts[phase]) for phase in order],
        )


def _require_untrained(gate: PhaseGate) -> NetworkGate:
    """Returns the gate if it is one to be trained; raises UsageError for any other."""
    from moemcts.learn.gates.network_gate import NetworkGate, is_untrained

    if isinstance(gate, NetworkGate) and is_untrained(gate):
        return gate
    raise UsageError(f"scheme 'mixture' trains its own gate: expected --gate learned, got {gate.name!r}")


def _phase_order(gate: GateNetwork, dataset: Dataset) -> list[int]:
    """Returns the phases by the mean ply of positions spread over a dataset, weighted by the gate."""
    import numpy as np
    import torch

    from moemcts.learn.data.dataset import chunks_of

    rows = np.linspace(0, len(dataset) - 1, min(len(dataset), ORDERING)).astype(np.int64)
    plies = np.zeros(gate.last.out_features)
    totals = np.zeros_like(plies)
    with torch.inference_mode():
        for part in chunks_of(rows):
            views = dataset.views(part)
            weights = gate(torch.from_numpy(views.observations())).double().numpy()
            plies += weights.T @ views.plies()
            totals += weights.sum(axis=0)
    return [int(phase) for phase in np.argsort(plies / np.maximum(totals, 1e-12), kind="stable")]


def _reorder(gate: GateNetwork, order: Sequence[int]) -> GateNetwork:
    """Returns the gate, modified in place, with its phases in another order."""
    import torch

    with torch.no_grad():
        gate.last.weight.copy_(gate.last.weight[list(order)].clone())
        gate.last.bias.copy_(gate.last.bias[list(order)].clone())
    return gate

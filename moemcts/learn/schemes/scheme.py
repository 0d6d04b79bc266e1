"""The interface of learning schemes: a scheme fits a team of experts to a dataset, and knows what that costs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from moemcts.errors import MoemctsError, UsageError, one_line
from moemcts.learn.training.stages import Stage, plan

if TYPE_CHECKING:
    from torch import nn

    from moemcts.gates import PhaseGate
    from moemcts.learn.data.dataset import Dataset
    from moemcts.learn.training.trainer import Trained, Trainer

MakeNetwork = Callable[[], Any]
"""Returns a new `torch.nn.Module`, initialised from torch's generator."""


@dataclass(frozen=True, kw_only=True)
class Team:
    """The result of a scheme: a gate, and one expert per phase."""

    gate: PhaseGate
    trained: Sequence[Trained]


class Scheme(ABC):
    """A way to train one expert per phase of a gate."""

    @abstractmethod
    def check(self, gate: PhaseGate) -> None:
        """Raises UsageError unless the scheme can train experts for the gate."""

    @abstractmethod
    def cost(self, num_phases: int) -> float:
        """Returns how often all trainings together see the data, in passes of the configured epochs.

        Phases are assumed to be equally large, and samples to count as often as they can.
        """

    def stages_of(self, phase: int, num_phases: int) -> Sequence[Stage] | None:
        """Returns the stages of the expert for `phase`; None if the scheme trains in another way."""
        return None

    @abstractmethod
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
        """Trains the experts of a gate, and the gate if the scheme does that; resumes from what is in `folder`.

        Training starts from new networks. `validation` and `test` are those of `Trainer.fit`. Raises as `check` and
        `Trainer.fit`.
        """


class StagedScheme(Scheme):
    """A scheme that trains each expert in stages of its own, for a gate that exists beforehand."""

    @abstractmethod
    def stages(self, phase: int, num_phases: int) -> Sequence[Stage]:
        """Returns the stages of the expert for `phase`; first stages that several experts share are trained once."""

    @final
    def check(self, gate: PhaseGate) -> None:
        from moemcts.learn.gates.network_gate import is_untrained

        if is_untrained(gate):
            raise UsageError(
                f"gate {gate.name!r} is trained together with its experts: use --scheme mixture, or name the file "
                "of a trained one"
            )

    @final
    def stages_of(self, phase: int, num_phases: int) -> Sequence[Stage]:
        """Returns the stages of the expert for `phase`; raises MoemctsError if they are not valid."""
        name = f"scheme {type(self).__name__}"
        try:
            stages = self.stages(phase, num_phases)
        except Exception as error:
            raise MoemctsError(
                f"{name} is invalid: asked for the stages of phase {phase}, it raised {one_line(error)}"
            ) from error
        is_non_empty = isinstance(stages, Sequence) and len(stages) > 0
        if not is_non_empty or not all(
            isinstance(stage, Stage) and len(stage.weights) == num_phases for stage in stages
        ):
            raise MoemctsError(
                f"{name} is invalid: expected stages for phase {phase} with weights of {num_phases} phases each, "
                f"got {stages!r}"
            )
        return stages

    @final
    def cost(self, num_phases: int) -> float:
        return sum(step.stage.passes() for step in plan(self.all_stages(num_phases)))

    @final
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
        self.check(gate)
        stages = self.all_stages(gate.num_phases)
        trained = trainer.fit_experts(make_network, dataset, gate, stages, folder, validation=validation, test=test)
        return Team(gate=gate, trained=trained)

    @final
    def fit_from(
        self,
        trainer: Trainer,
        networks: Sequence[nn.Module],
        dataset: Dataset,
        gate: PhaseGate,
        folder: Path,
        *,
        validation: Dataset | None = None,
        test: Dataset | None = None,
    ) -> Team:
        """Trains the experts of a gate as `fit` does, starting the expert of each phase from the weights of a network.

        Raises as `fit` and `check_initial_networks`.
        """
        self.check(gate)
        self.check_initial_networks(networks)
        stages = self.all_stages(gate.num_phases)
        trained = trainer.fit_from(networks, dataset, gate, stages, folder, validation=validation, test=test)
        return Team(gate=gate, trained=trained)

    @final
    def check_initial_networks(self, networks: Sequence[nn.Module]) -> None:
        """Raises UsageError if experts start as one network that all of them share, and these, one each, differ."""
        from moemcts.learn.weights import network_state, state_digest

        if len({own[0] for own in self.all_stages(len(networks))}) > 1:
            return
        if len({state_digest(network_state(network)) for network in networks}) > 1:
            raise UsageError(
                f"expected one network to start all experts from, got {len(networks)} experts that differ; start "
                "from a single network, or choose a scheme in which each expert continues from itself, such as "
                "separated or staged"
            )

    @final
    def all_stages(self, num_phases: int) -> list[Sequence[Stage]]:
        """Returns the stages of every expert, in the order of phases; raises MoemctsError if any are not valid."""
        return [self.stages_of(phase, num_phases) for phase in range(num_phases)]


def checked_scheme(scheme: Scheme, reference: str) -> Scheme:
    """Returns the scheme of a reference; raises MoemctsError if it is not one."""
    if not isinstance(scheme, Scheme):
        kind = type(scheme).__name__
        raise MoemctsError(f"scheme {reference!r} is invalid: expected a Scheme, such as a StagedScheme, got a {kind}")
    return scheme

"""The trainings of an experiment's arms and the resulting experts."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moemcts.game import Game
from moemcts.gates import PhaseGate
from moemcts.plugins import plugins
from moemcts.runs.arms import NO_GATE, Arm
from moemcts.runs.copies import copied_gate, copied_start
from moemcts.runs.leaks import leak_warning
from moemcts.runs.learning import read_measurements, train_experts, training_decided_by
from moemcts.runs.run import Part
from moemcts.runs.settings import ExperimentConfig
from moemcts.runs.sources import Sources, open_sources
from moemcts.store import manifest_digest
from moemcts.work.progress import Advance

if TYPE_CHECKING:
    # These import torch, which commands that only describe a run should not wait for.
    from moemcts.experts import ExpertSet, Routing

TRAINING = "training"
"""The task of the parts that train, and their folder."""


@dataclass(frozen=True)
class ArmTrainings:
    """The trainings of all arms and seeds, in `training/LABEL-SEED` and `experts/LABEL-SEED` of a folder."""

    folder: Path
    config: ExperimentConfig
    game: Game
    arms: Sequence[Arm]

    @property
    def single(self) -> Arm:
        """The arm of the single network that all others are compared with."""
        return self.arms[0]

    @property
    def gates(self) -> list[str]:
        """The gates that have experts, without that of the single network."""
        return [gate for gate in self.config.gates if gate != NO_GATE]

    @property
    def seeds(self) -> range:
        """The training seeds: that of the configuration and those that follow it."""
        return self.config.training_seeds

    def gate(self, reference: str) -> PhaseGate:
        """Returns a gate of the experiment's game; a saved gate is read from the run's own copy."""
        return plugins().gate(copied_gate(self.folder, reference, self.gates), self.game)

    def sources(self) -> Sources:
        """Opens the datasets."""
        return open_sources(self.config.data, self.folder / "data", self.game)

    def part(self, arm: Arm, seed: int, data: Part) -> Part:
        """Returns the training of an arm and seed on the samples of a part."""
        return Part(
            name=f"train-{arm.label}-{seed}",
            task=TRAINING,
            unit="steps",
            do=functools.partial(self._train, arm, seed),
            decided_by=training_decided_by(self.config, arm, seed, data),
        )

    def experts(
        self,
        arm: Arm,
        seed: int,
        backend: str = "torch",
        precision: str | None = None,
        routing: Routing | None = None,
        device: str = "cpu",
    ) -> ExpertSet:
        """Loads a set of experts; raises UsageError if the device does not exist."""
        from moemcts.learn.checkpoint import load_experts
        from moemcts.learn.inference.evaluators import Inference, parse_backend, parse_precision

        folder = self._experts_folder(arm, seed)
        inference = Inference(parse_backend(backend), parse_precision(precision or "float32"))
        return load_experts(folder, self.game, plugins(), device=device, routing=routing, inference=inference)

    def trained(self, arm: Arm, seed: int) -> ExpertSet:
        """Loads a set of experts with the torch backend, on the training device if it is available."""
        from moemcts.learn.training.ranks import device_or_cpu

        return self.experts(arm, seed, device=device_or_cpu(self.config.training.device))

    def weights_of(self, arms: Sequence[Arm], seed: int) -> dict[str, Any]:
        """Returns digests that identify the experts of some arms and a training seed.

        Raises DamagedFile if some are missing.
        """
        return {"experts": [manifest_digest(self._experts_folder(arm, seed), length=64) for arm in arms]}

    def warning(self, sources: Sources) -> str:
        """Returns a warning if the initial experts were trained on samples that are held out here, else ""."""
        if not self.config.start:
            return ""
        who, fraction = "What the trainings began with", self.config.training.validation_fraction
        warnings = {
            seed: warning
            for seed in self.seeds
            if (warning := leak_warning(who, Path(self.config.start), sources, seed=seed, fraction=fraction))
        }
        if not warnings:
            return ""
        seeds = ", ".join(map(str, warnings))
        return f"Of training seed{'s' * (len(warnings) > 1)} {seeds}: {next(iter(warnings.values()))}"

    def measurements(self, arm: Arm, seed: int) -> list[Mapping[str, Any]]:
        """Returns the measurements of an arm's training."""
        return read_measurements(self._training_folder(arm, seed))

    def _train(self, arm: Arm, seed: int, advance: Advance) -> None:
        train_experts(
            self.config,
            self.game,
            arm,
            self.gate(arm.gate),
            self.sources(),
            training_folder=self._training_folder(arm, seed),
            experts_folder=self._experts_folder(arm, seed),
            start=copied_start(self.folder, self.config.start),
            on_progress=lambda state: advance(state.step, state.num_steps),
            seed=seed,
        )

    def _training_folder(self, arm: Arm, seed: int) -> Path:
        return self.folder / TRAINING / f"{arm.label}-{seed}"

    def _experts_folder(self, arm: Arm, seed: int) -> Path:
        return self.folder / "experts" / f"{arm.label}-{seed}"

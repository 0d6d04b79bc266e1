"""Continues the training of experts, each from its own weights and by the stages of a scheme, on new samples."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from moemcts.errors import UsageError
from moemcts.gates import PhaseGate
from moemcts.learn.loop.config import PaceConfig
from moemcts.learn.loop.window import Samples
from moemcts.learn.schemes.scheme import Scheme, StagedScheme
from moemcts.learn.training.config import TrainerConfig
from moemcts.learn.training.sample_weights import sample_weights
from moemcts.learn.training.stage import RESULT, read_stage
from moemcts.learn.training.stages import Stage
from moemcts.learn.training.trainer import Optimisers, Trainer
from moemcts.learn.weights import load_state


@dataclass(frozen=True, kw_only=True)
class Networks:
    """One network per phase, and the one for all phases if the scheme starts experts from such a network."""

    experts: Sequence[nn.Module]
    general: nn.Module | None = None


@dataclass(frozen=True, kw_only=True)
class TrainingResult:
    """Result of a generation's training."""

    networks: Networks
    measurements: Sequence[Mapping[str, Any]]
    """By phase; empty for an expert that was not trained."""
    notes: Sequence[str]
    """Messages about phases with few samples or none."""


def require_staged(scheme: Scheme, reference: str) -> StagedScheme:
    """Returns the scheme if it trains in stages; raises UsageError if not: its experts cannot continue training."""
    if isinstance(scheme, StagedScheme):
        return scheme
    raise UsageError(
        f"scheme {reference!r} trains its gate together with its experts, so they cannot continue from where they "
        "are; expected a scheme of stages, such as separated, staged, weighted, general_first or single"
    )


def has_shared_first_stage(stages: Sequence[Sequence[Stage]]) -> bool:
    """Returns whether all experts have the same first stage, so that one network is trained before they branch off."""
    return len({own[0] for own in stages}) == 1 and any(len(own) > 1 for own in stages)


def check_initial_networks(scheme: StagedScheme, networks: Networks) -> None:
    """Raises UsageError if experts are to start from one network, but there are several that differ."""
    if networks.general is None:
        scheme.check_initial_networks(networks.experts)


def train_generation(
    trainer: Trainer,
    scheme: StagedScheme,
    initial: Networks,
    samples: Samples,
    gate: PhaseGate,
    folder: Path,
    *,
    optimisers: Optimisers | None = None,
) -> TrainingResult:
    """Trains the experts of a generation from the previous ones; resumes from what is in `folder`.

    If a scheme begins with one network for all, that one continues from itself, and the experts start from it, as in
    CrazyAra's reinforcement learning; else each expert continues from itself. A stage without samples is left out.
    `optimisers` are those of `Trainer.fit_from`; the optimiser state of stages left out is passed on. Raises as
    `Trainer.fit` and `check_initial_networks`.
    """
    stages = scheme.all_stages(gate.num_phases)
    has_general = has_shared_first_stage(stages)
    check_initial_networks(scheme, initial)
    starts = initial.experts if not has_general else [initial.general or initial.experts[0]] * len(stages)
    weights = samples.training.phase_weights(gate)
    # By expert, the indices of the stages that have samples.
    places = [
        [place for place, stage in enumerate(own) if sample_weights(stage, samples.training, weights).any()]
        for own in stages
    ]
    trainable = [[own[place] for place in kept] for own, kept in zip(stages, places, strict=True)]
    if optimisers is not None:
        optimisers = replace(optimisers, places=places)
        for expert, own in enumerate(stages):
            for place in set(range(len(own))) - set(places[expert]):
                optimisers.pass_on(expert, place)
    trained = trainer.fit_from(
        list(starts),
        samples.training,
        gate,
        trainable,
        folder,
        validation=samples.validation,
        optimisers=optimisers,
    )
    general = None
    if has_general:
        general = copy.deepcopy(starts[0])
        if 0 in places[0]:
            # The stage that all experts share is trained first; if it was left out, the general network was not
            # trained.
            path = folder / "stages" / "00" / RESULT
            load_state(general, read_stage(path)[0], str(path))
    return TrainingResult(
        networks=Networks(experts=[expert.network for expert in trained], general=general),
        measurements=[expert.measurement for expert in trained],
        notes=sparse_phase_notes(samples.training.phase_counts(gate), trainer.config.batch_size),
    )


def sparse_phase_notes(counts: Mapping[str, float], batch_size: int) -> list[str]:
    """Returns messages about phases with less than a batch of samples, given the number of samples of each."""
    notes = []
    for name, count in counts.items():
        if count == 0:
            notes.append(f"no game came to {name!r}: its expert stays as it is where it learns from that alone")
        elif count < batch_size:
            notes.append(f"{name!r} has {count:.0f} samples, less than a batch of {batch_size}")
    return notes


def generation_config(
    config: TrainerConfig, learning: PaceConfig, *, generation: int, seed: int, num_samples: int
) -> TrainerConfig:
    """Returns how a generation is trained: its learning rate, its length and its own seed."""
    own = int(np.random.SeedSequence((seed, generation)).generate_state(1)[0])
    changes: dict[str, Any] = {"seed": own, "learning_rate": config.learning_rate * learning.rate(generation)}
    if learning.steps is not None:
        per_epoch = max(-(-num_samples // config.batch_size), 1)
        changes["epochs"] = learning.steps / per_epoch
    return config.model_copy(update=changes)

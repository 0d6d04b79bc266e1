"""Trains experts on samples: one network, or one per phase, through the stages of a learning scheme."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from moemcts.errors import DamagedFile, MoemctsError, UsageError, first_line
from moemcts.game import IntArray
from moemcts.gates import PhaseGate
from moemcts.learn.data.dataset import Dataset, num_batches
from moemcts.learn.fingerprint import gate_fingerprint
from moemcts.learn.identity import check_same
from moemcts.learn.networks.contract import check_network
from moemcts.learn.networks.shared_body import require_heads
from moemcts.learn.threads import torch_threads
from moemcts.learn.training.compiling import compiled, resolve_compile
from moemcts.learn.training.config import TrainerConfig
from moemcts.learn.training.learner import TrainingContext
from moemcts.learn.training.optimisers import Optimisers as Optimisers
from moemcts.learn.training.plan_run import PlanRun
from moemcts.learn.training.plan_run import Trained as Trained
from moemcts.learn.training.progress import Meter, OnProgress
from moemcts.learn.training.ranks import ALONE, Ranks, device_of
from moemcts.learn.training.sample_weights import no_samples_error, sample_weights
from moemcts.learn.training.speed import resolve_precision_once
from moemcts.learn.training.stage import TrainingData, stage_steps
from moemcts.learn.training.stages import Stage, last_steps, plan
from moemcts.learn.weights import Weights, network_state, state_digest
from moemcts.store import json_round_trip, parse_json, read_bytes, write_json


class Trainer:
    """Trains networks; an interrupted training resumes when called again with the same settings and folder.

    The folder holds `identity.json`, what determines the result, `metrics.jsonl`, one line per measurement,
    `timings.jsonl`, the speed between measurements, and `stages/`, one folder per stage with its state and finally its
    weights. On a CPU a resumed training ends in the same weights, to the last bit, as an uninterrupted one.
    """

    def __init__(
        self,
        config: TrainerConfig,
        *,
        on_progress: OnProgress = lambda progress: None,
        ranks: Ranks = ALONE,
        references: Mapping[str, str] | None = None,
    ) -> None:
        """With several ranks, each calls this and the methods with the same arguments, and does its share.

        `references` are the user's names of network, gate and scheme: they are stored, and have to be equal to resume.
        """
        self.config = config
        self._references = dict(references or {})
        self._on_progress = on_progress
        self._ranks = ranks
        self._device = device_of(config.device, ranks)

    def fit(
        self,
        network: nn.Module,
        dataset: Dataset,
        gate: PhaseGate,
        stages: Sequence[Stage],
        folder: Path,
        *,
        validation: Dataset | None = None,
        test: Dataset | None = None,
        decided_by: Mapping[str, Any] | None = None,
    ) -> Trained:
        """Trains a network through stages, in place.

        The held-out loss, which decides, is measured on `validation`; without it a share of the games is held out.
        `test` is measured at the same times, without influence. `decided_by` is what else determines the result and is
        not visible in the weights, such as a loss of the network's own: it has to be equal to resume; None counts as
        absent. Raises MoemctsError if the network does not fit the game, a stage has no samples, its loss stops being
        finite or a file cannot be written, ForeignData if the folder holds a training with other settings.
        """
        check_network(network, dataset.game.spec)
        initial = [network_state(network)]
        data = self._prepare_data(dataset, gate, validation, test)
        return self._fit(network, initial, data, gate, [stages], folder, decided_by=decided_by)[0]

    def fit_experts(
        self,
        make_network: Callable[[], nn.Module],
        dataset: Dataset,
        gate: PhaseGate,
        stages: Sequence[Sequence[Stage]],
        folder: Path,
        *,
        validation: Dataset | None = None,
        test: Dataset | None = None,
    ) -> list[Trained]:
        """Trains one network per phase through its `stages`, all from the same initial weights, drawn by the seed.

        First stages that several experts share are trained once. `validation` and `test` are those of `fit`, which
        raises the same.
        """
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.config.seed)
            network = make_network()
        check_network(network, dataset.game.spec)
        initial = [network_state(network)]
        return self._fit(network, initial, self._prepare_data(dataset, gate, validation, test), gate, stages, folder)

    def fit_from(
        self,
        networks: Sequence[nn.Module],
        dataset: Dataset,
        gate: PhaseGate,
        stages: Sequence[Sequence[Stage]],
        folder: Path,
        *,
        validation: Dataset | None = None,
        test: Dataset | None = None,
        optimisers: Optimisers | None = None,
    ) -> list[Trained]:
        """Trains one network per phase through its `stages`, each from its current weights, which stay as they are.

        If several experts start with the same weights and stages, these are trained once; an expert without stages is
        returned as it is, without a measurement. `optimisers` are the optimiser states of earlier stages, and where
        those of these stages are stored. `validation` and `test` are those of `fit`, which raises the same.
        """
        data = self._prepare_data(dataset, gate, validation, test)
        initial = [network_state(network) for network in networks]
        return self._fit(copy.deepcopy(networks[0]), initial, data, gate, stages, folder, optimisers)

    def _fit(
        self,
        network: nn.Module,
        initial: Sequence[Weights],
        data: TrainingData,
        gate: PhaseGate,
        stages: Sequence[Sequence[Stage]],
        folder: Path,
        optimisers: Optimisers | None = None,
        *,
        decided_by: Mapping[str, Any] | None = None,
    ) -> list[Trained]:
        shape = data.training.game.spec.observation_shape
        self.config.check_layout(shape)
        begun = read_identity(folder)
        self.config = resolve_precision_once(self.config, network, shape, begun, self._device, self._ranks)
        digests = [state_digest(state) for state in initial]
        steps = plan(stages, [digests.index(digest) for digest in digests] if len(digests) > 1 else ())
        trains_heads = any(step.stage.trains == "heads" for step in steps)
        if trains_heads:
            require_heads(network)
        num_steps = [self._num_steps(step.stage, data) for step in steps]
        for step, number in zip(steps, num_steps, strict=True):
            if not number:
                remedy = "make more samples, or choose other cuts"
                raise no_samples_error(step.stage, data.training, gate, gate.name, remedy)
        self.config = resolve_compile(self.config, network, shape, sum(num_steps), begun, self._device, self._ranks)
        identity = {
            "config": self.config.identity(),
            "data": data.training.id,
            "num_samples": len(data.training),
            "validation": data.validation.id,
            "test": data.test.id if data.test else None,
            "gate": gate_fingerprint(gate, data.training.game),
            "initial_weights": digests[0] if len(set(digests)) == 1 else digests,
        }
        full_identity = {
            **identity,
            "references": self._references,
            "stages": [list(map(asdict, own)) for own in stages],
        }
        full_identity |= decided_by or {}
        check_training(folder, full_identity)
        if self._ranks.is_first and not (folder / IDENTITY).exists():
            write_json(folder / IDENTITY, full_identity)
        self._ranks.wait()
        meter = Meter(self._on_progress, sum(num_steps))
        with self._torch_settings_restored():
            context = self._make_context(network, trains_heads)
            plan_run = PlanRun(self.config, context, initial, data, identity, folder, meter, optimisers)
            for step in steps:
                plan_run.run(step)
        network.to("cpu")
        return [plan_run.trained(number, expert) for expert, number in enumerate(last_steps(steps, stages))]

    def _prepare_data(
        self, dataset: Dataset, gate: PhaseGate, validation: Dataset | None, test: Dataset | None
    ) -> TrainingData:
        training = dataset
        if validation is None:
            # Phase weights are computed before the split, once for both parts.
            dataset.phase_weights(gate)
            training, validation = dataset.split(self.config.validation_fraction, self.config.seed)
        measured, test = self._measured_rows(validation), test and test.take(self._measured_rows(test))
        return TrainingData(
            training=training,
            held_out=validation,
            measured=measured,
            validation=validation.take(measured),
            test=test,
            training_phases=training.phase_weights(gate),
            held_out_phases=validation.phase_weights(gate),
            test_phases=test.phase_weights(gate) if test else None,
            phase_names=gate.phase_names,
        )

    def _measured_rows(self, dataset: Dataset) -> IntArray:
        """Returns the rows that are measured during training, in their order."""
        maximum = self.config.measured_samples
        if maximum is None or len(dataset) <= maximum:
            return np.arange(len(dataset))
        return np.sort(np.random.default_rng(self.config.seed).permutation(len(dataset))[:maximum])

    def _num_steps(self, stage: Stage, data: TrainingData) -> int:
        """Returns the maximum number of steps of a stage; raises UsageError if batches are too small for the ranks."""
        weights = sample_weights(stage, data.training, data.training_phases)
        num_steps = stage_steps(self.config, stage, weights)
        smallest = int((weights > 0).sum()) // max(num_batches(weights, self.config.batch_size), 1)
        if num_steps and smallest < self._ranks.size:
            raise UsageError(
                f"expected batches of at least {self._ranks.size} samples, one per process, got {smallest} for "
                f"{stage.describe(data.phase_names)!r}; use fewer processes or a larger batch_size"
            )
        return num_steps

    def _make_context(self, network: nn.Module, freezes_body: bool) -> TrainingContext:
        network.to(self._device)
        forward: Callable[[torch.Tensor], Any] = self._ranks.wrap(network, freezes_body=freezes_body)
        if self.config.compile:
            forward = compiled(forward)
        return TrainingContext(device=self._device, network=network, forward=forward, ranks=self._ranks)

    @contextlib.contextmanager
    def _torch_settings_restored(self) -> Iterator[None]:
        """Restores torch's random generators and threads afterwards; explains errors of memory and of compiling."""
        devices = [self._device] if self._device.type == "cuda" else []
        try:
            with torch.random.fork_rng(devices=devices), torch_threads(self.config.threads or 1):
                yield
        except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
            if _is_out_of_memory(error):
                raise MoemctsError(
                    f"out of memory on {self._device} with batches of {self.config.batch_size} samples; use a smaller "
                    "batch_size, prefetch or network, or precision bf16; what was saved is kept"
                ) from error
            if isinstance(error, torch._dynamo.exc.TorchDynamoException):
                raise MoemctsError(
                    f"torch cannot compile the network here: {first_line(error)}; install a C++ compiler, or train "
                    "with compile=false, or with compile=auto, which compiles only what can be"
                ) from error
            raise


IDENTITY = "identity.json"


def check_training(folder: Path, expected: Mapping[str, Any]) -> None:
    """Raises ForeignData, naming both sides, if a training in the folder was begun with anything but `expected`.

    `expected` has any of the entries of `identity.json`: `config`, as returned by `TrainerConfig.identity`, `data`,
    `validation` and `test` as ids of datasets, `references`, `gate`, `initial_weights`, `stages`. Passes if no training
    was begun.
    """
    if (found := read_identity(folder)) is not None:
        check_same(folder, json_round_trip(expected), found)


def read_identity(folder: Path) -> dict[str, Any] | None:
    """Returns the identity that a training was begun with, None if none was begun."""
    path = folder / IDENTITY
    if not path.exists():
        return None
    try:
        found = parse_json(read_bytes(path))
    except ValueError as error:
        raise DamagedFile(f"{path} is damaged: {error}; delete it to continue without it") from error
    return found if isinstance(found, dict) else {}


def _is_out_of_memory(error: Exception) -> bool:
    """Returns whether the error is one of memory; on a CPU, torch has no type of its own for it."""
    words = ("can't allocate memory", "not enough memory", "out of memory")
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or any(word in str(error) for word in words)

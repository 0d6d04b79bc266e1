"""One stage of training: steps, measurements, and states from which it goes on exactly."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from moemcts.errors import MoemctsError
from moemcts.game import FloatArray, IntArray, Symmetry
from moemcts.learn.config import TrainerConfig
from moemcts.learn.curriculum import Stage
from moemcts.learn.dataset import Batch, Dataset, epoch_rows, num_batches
from moemcts.learn.interrupts import deferred_interrupts
from moemcts.learn.losses import Losses, Targets, sample_losses, total_loss
from moemcts.learn.networks.outputs import Outputs
from moemcts.learn.optimisers import make_optimiser, optimiser_tensors, restore_optimiser, set_pace
from moemcts.learn.progress import MetricsLog
from moemcts.learn.schedule import pace
from moemcts.learn.weights import State, load_state, network_state, read_state, write_state

CHECK_INTERVAL = 16
"""Steps between looks at the loss: a GPU is not made to wait for each."""


@dataclass(frozen=True, kw_only=True)
class Material:
    """What a stage learns from."""

    training: Dataset
    validation: Dataset
    test: Dataset | None
    """Measured like the validation set; decides nothing."""
    training_phases: FloatArray
    """Phase weights of the samples, `[N, K]`."""
    validation_phases: FloatArray
    test_phases: FloatArray | None
    phase_names: tuple[str, ...]


@dataclass(kw_only=True)
class _Sums:
    """Sums over the samples since the last measurement, in the order of the steps."""

    totals: dict[str, float] = field(default_factory=dict)
    """Of the loss, of each of its terms and of the accuracy, by name."""
    steps: int = 0

    def add(self, numbers: Mapping[str, float]) -> None:
        """Adds the numbers of one step."""
        for name, number in numbers.items():
            self.totals[name] = self.totals.get(name, 0.0) + number
        self.steps += 1

    def means(self) -> dict[str, float]:
        return {name: total / self.steps for name, total in self.totals.items()}


@dataclass(kw_only=True)
class _Position:
    """Where a stage is: all of its state but tensors."""

    step: int = 0
    metrics_bytes: int = 0
    best: dict[str, Any] | None = None
    """The measurement with the lowest held-out loss so far."""
    sums: _Sums = field(default_factory=_Sums)


class StageRun:
    """Trains a network through one stage, in a folder from which a killed run goes on as if nothing had happened."""

    def __init__(
        self,
        config: TrainerConfig,
        network: nn.Module,
        material: Material,
        stage: Stage,
        *,
        seed: int,
        folder: Path,
        identity: Mapping[str, Any],
        head: Mapping[str, Any],
        log: MetricsLog,
        num_bytes: int,
        device: torch.device,
    ) -> None:
        """`head` begins every line of the log, whose first `num_bytes` are of the stages before; `identity` is stored
        with each state.
        """
        self.config = config
        self.name = stage.describe(material.phase_names)
        self._network = network.to(device)
        self._material = material
        self._stage = stage
        self._seed = seed
        self._folder = folder
        self._identity = dict(identity)
        self._head = dict(head)
        self._log = log
        self._device = device
        self._weights = material.training_phases @ np.array(stage.weights, dtype=np.float32)
        self._per_epoch = num_batches(self._weights, config.batch_size)
        self.num_steps = stage_steps(config, stage, material.training_phases)
        self._optimiser = make_optimiser(config, network)
        self._position = _Position(metrics_bytes=num_bytes)
        self._pending: list[dict[str, Tensor]] = []
        self.loss = math.nan

    def run(self, on_step: Callable[[int, int, float], None]) -> dict[str, Any]:
        """Trains to the end of the stage; returns the measurement that belongs to the weights it ends with.

        `on_step` is told of every step: its number, its samples, and the seconds spent waiting for data.
        Raises MoemctsError if the loss stops being a number, KeyboardInterrupt after saving the state.
        """
        self._resume()
        with deferred_interrupts() as is_interrupted, contextlib.closing(self._batches()) as batches:
            for rows, batch, waited in batches:
                self._learn(batch)
                is_due = self._is_due(self._position.step)
                if is_due:
                    self._measure()
                if is_due or self._position.step % self.config.save_interval == 0:
                    self._save()
                try:
                    on_step(self._position.step, len(rows), waited)
                    if is_interrupted():
                        raise KeyboardInterrupt
                except KeyboardInterrupt:
                    self._save()
                    raise
        return self._finish()

    def _batches(self) -> Generator[tuple[IntArray, Batch, float]]:
        """Yields the batches from the present step on; the next one is encoded while one is learned from."""
        symmetries: Sequence[Symmetry] = self._material.training.game.symmetries() if self.config.augment else ()
        rows_of: list[IntArray] = []
        epoch_of_rows = -1

        def encode(step: int) -> tuple[IntArray, Batch]:
            nonlocal rows_of, epoch_of_rows
            epoch, i = divmod(step, self._per_epoch)
            if epoch != epoch_of_rows:
                rows_of = epoch_rows(self._weights, self.config.batch_size, self._seed_of(epoch))
                epoch_of_rows = epoch
            rows = rows_of[i]
            return rows, self._material.training.batch(rows, self._weights, symmetries, (self._seed, step))

        with ThreadPoolExecutor(max_workers=1) as encoder:
            upcoming = encoder.submit(encode, self._position.step) if self._position.step < self.num_steps else None
            while upcoming is not None:
                start = time.perf_counter()
                rows, batch = upcoming.result()
                waited = time.perf_counter() - start
                following = self._position.step + 1
                upcoming = encoder.submit(encode, following) if following < self.num_steps else None
                yield rows, batch, waited

    def _seed_of(self, number: int) -> int:
        return int(np.random.SeedSequence((self._seed, number)).generate_state(1)[0])

    def _learn(self, batch: Batch) -> None:
        config, step = self.config, self._position.step
        now = pace(
            config.schedule,
            step,
            self.num_steps,
            learning_rate=config.learning_rate * self._stage.learning_rate,
            momentum=config.momentum,
            min_momentum=config.min_momentum,
        )
        set_pace(self._optimiser, now)
        # What a network draws at random in a step depends on the step alone: no state of a generator to store.
        torch.manual_seed(self._seed_of(step))
        self._network.train()
        losses = self._losses(batch)
        weights = torch.from_numpy(batch.weights).to(self._device)
        loss = total_loss(losses, weights, config.shares())
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if config.clip is not None:
            nn.utils.clip_grad_norm_(self._network.parameters(), config.clip)
        self._optimiser.step()
        means = {name: column.detach().mean() for name, column in _columns(losses).items()}
        self._pending.append({"loss": loss.detach(), **means})
        self._position.step += 1
        if len(self._pending) == CHECK_INTERVAL:
            self._check()

    def _losses(self, batch: Batch) -> Losses:
        def place(array: np.ndarray[Any, Any]) -> Tensor:
            return torch.from_numpy(array).to(self._device)

        outputs = Outputs(*self._network(place(batch.planes)))
        policy = None if batch.policy is None else place(batch.policy)
        targets = Targets(place(batch.actions), policy, place(batch.returns), place(batch.plies_to_end))
        return sample_losses(outputs, targets)

    def _check(self) -> None:
        """Adds the losses of the last steps to the sums; raises MoemctsError if one is no number."""
        if not self._pending:
            return
        sums, first = self._position.sums, self._position.step - len(self._pending)
        names = list(self._pending[0])
        # One transfer for all steps: a GPU is not made to wait for each number.
        table = torch.stack([torch.stack([step[name] for name in names]) for step in self._pending])
        for i, row in enumerate(table.tolist(), 1):
            numbers = dict(zip(names, row, strict=True))
            if not math.isfinite(numbers["loss"]):
                raise self._diverged(f"the loss is {numbers['loss']}", first + i)
            sums.add(numbers)
            self.loss = numbers["loss"]
        self._pending.clear()

    def _check_weights(self) -> None:
        self._check()
        if not all(bool(parameter.isfinite().all()) for parameter in self._network.parameters()):
            raise self._diverged("a weight is no number", self._position.step)

    def _diverged(self, what: str, step: int) -> MoemctsError:
        return MoemctsError(
            f"{what} at step {step} of {self.num_steps} of stage {self.name!r}; lower the learning rate, now "
            f"{self.config.learning_rate}, or set clip; what was learned until the last saved state is kept "
            f"in {self._folder}"
        )

    def _is_due(self, step: int) -> bool:
        return step % (self.config.validation_interval or self._per_epoch) == 0 or step == self.num_steps

    def _measure(self) -> None:
        """Measures the held-out loss, over the stage's weights and in every phase, and keeps the best weights."""
        self._check_weights()
        position, phases = self._position, self._material.validation_phases
        stage_weights = phases @ np.array(self._stage.weights, dtype=np.float32)
        per_sample = self._losses_of(self._material.validation)
        entry = {
            **self._head,
            "stage": self.name,
            "step": position.step,
            "num_steps": self.num_steps,
            "epoch": position.step / self._per_epoch,
            "training": position.sums.means(),
            "validation": self._summary(per_sample, stage_weights),
            "phases": {
                name: self._summary(per_sample, phases[:, k]) for k, name in enumerate(self._material.phase_names)
            },
        }
        if self._material.test is not None and self._material.test_phases is not None:
            of_test = self._losses_of(self._material.test)
            entry["test"] = {
                name: self._summary(of_test, self._material.test_phases[:, k])
                for k, name in enumerate(self._material.phase_names)
            }
        self._log.append(entry)
        position.sums = _Sums()
        held_out = entry["validation"]
        best = position.best and position.best["validation"]
        if self.config.keep == "last" or not best or (held_out and held_out["loss"] < best["loss"]):
            position.best = entry
            write_state(self._folder / BEST, network_state(self._network), {"step": position.step})

    def _losses_of(self, dataset: Dataset) -> dict[str, FloatArray]:
        """Returns the terms of the loss and the accuracy of every sample, `[N]` each, by name."""
        self._network.eval()
        parts: list[dict[str, FloatArray]] = []
        with torch.inference_mode():
            for batch in dataset.chunks(np.ones(len(dataset), dtype=np.float32)):
                parts.append({name: column.cpu().numpy() for name, column in _columns(self._losses(batch)).items()})
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if parts else {}

    def _summary(self, per_sample: Mapping[str, FloatArray], weights: FloatArray) -> dict[str, float] | None:
        """Returns weighted means, or None where no sample has weight."""
        total = weights.sum(dtype=np.float64)
        if not total > 0:
            return None
        shares = self.config.shares()
        means = {name: float(column @ weights.astype(np.float64) / total) for name, column in per_sample.items()}
        loss = sum(shares[name] * mean for name, mean in means.items() if name in shares)
        return {"loss": loss, **means, "weight": float(total)}

    def _save(self) -> None:
        self._check_weights()
        self._position.metrics_bytes = self._log.num_bytes
        tensors: State = {f"network.{name}": tensor for name, tensor in network_state(self._network).items()}
        tensors |= {f"optimiser.{name}": tensor for name, tensor in optimiser_tensors(self._optimiser).items()}
        position = vars(self._position) | {"sums": vars(self._position.sums)}
        write_state(self._folder / RESUME, tensors, {"identity": self._identity, "position": position})

    def _resume(self) -> None:
        if not (self._folder / RESUME).exists():
            self._log.rewind(self._position.metrics_bytes)
            return
        tensors, content = read_state(self._folder / RESUME)
        position = content["position"]
        self._position = _Position(**{**position, "sums": _Sums(**position["sums"])})
        self._log.rewind(self._position.metrics_bytes)
        load_state(self._network, _part(tensors, "network."), str(self._folder / RESUME))
        restore_optimiser(self._optimiser, _part(tensors, "optimiser."))

    def _finish(self) -> dict[str, Any]:
        state, _ = read_state(self._folder / BEST)
        load_state(self._network, state, str(self._folder / BEST))
        best = self._position.best or {}
        content = {"identity": self._identity, "measurement": best, "metrics_bytes": self._log.num_bytes}
        write_state(self._folder / RESULT, state, content)
        for name in (RESUME, BEST):
            (self._folder / name).unlink(missing_ok=True)
        return best


RESUME, BEST, RESULT = "resume.safetensors", "best.safetensors", "result.safetensors"


def stage_steps(config: TrainerConfig, stage: Stage, phases: FloatArray) -> int:
    """Returns how many steps a stage has, counted from the samples that have weight in it; 0 if none has."""
    weights = phases @ np.array(stage.weights, dtype=np.float32)
    per_epoch = num_batches(weights, config.batch_size)
    return max(round(config.epochs * stage.epochs * per_epoch), 1) if per_epoch else 0


def _columns(losses: Losses) -> dict[str, Tensor]:
    """Returns what is measured of every sample, by the names of the log."""
    return {**losses.terms(), "accuracy": losses.correct}


def _part(tensors: State, prefix: str) -> State:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}

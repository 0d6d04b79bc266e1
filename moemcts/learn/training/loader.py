"""Loads the batches of a training: encoded ahead by threads, in the order of the steps."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from moemcts.game import FloatArray, IntArray, Symmetry
from moemcts.learn.data.dataset import Batch, Dataset, epoch_rows, num_batches
from moemcts.learn.training.config import TrainerConfig
from moemcts.learn.training.cross_entropy import PolicyTargets
from moemcts.learn.training.losses import Targets
from moemcts.learn.training.ranks import Ranks


class BatchTensors(NamedTuple):
    """A batch as tensors for training."""

    planes: Tensor
    targets: Targets
    weights: Tensor

    @classmethod
    def of(cls, batch: Batch, *, is_pinned: bool = False) -> BatchTensors:
        """Returns the batch on the CPU; `is_pinned` puts it into pinned memory, which a GPU can read by itself."""

        def tensor(array: np.ndarray) -> Tensor:
            unpinned = torch.from_numpy(array)
            return unpinned.pin_memory() if is_pinned else unpinned

        policy = None
        if (visits := batch.policy) is not None:
            policy = PolicyTargets(tensor(visits.offsets), tensor(visits.actions), tensor(visits.shares))
        values = None if batch.values is None else tensor(batch.values)
        targets = Targets(tensor(batch.actions), policy, tensor(batch.returns), tensor(batch.plies_to_end), values)
        return cls(tensor(batch.planes), targets, tensor(batch.weights))

    def to(self, device: torch.device) -> BatchTensors:
        """Returns the batch on a device."""

        def place(tensor: Tensor) -> Tensor:
            return tensor.to(device, non_blocking=True)

        actions, policy, *others = self.targets
        policy = policy and PolicyTargets(*map(place, policy))
        targets = Targets(place(actions), policy, *(None if target is None else place(target) for target in others))  # type: ignore[arg-type]
        return BatchTensors(place(self.planes), targets, place(self.weights))


class LoadedBatch(NamedTuple):
    """Input of a training step."""

    batch: BatchTensors
    num_samples: int
    """Of all ranks together; `batch` is this rank's share."""
    waited: float
    """Seconds spent waiting for the batch."""


class Loader:
    """The batches of a stage, by number of the step.

    A batch depends on seed and step alone: threads encode several at once, and an interrupted training resumes with
    those it would have had. Each epoch has every sample once; if a stage is reset to an earlier step, the rest of that
    epoch is shuffled again.
    """

    def __init__(
        self,
        config: TrainerConfig,
        dataset: Dataset,
        weights: FloatArray,
        *,
        seed: int,
        device: torch.device,
        ranks: Ranks,
    ) -> None:
        """`weights` `[N]` are those of the samples; samples without weight are left out."""
        self.per_epoch = num_batches(weights, config.batch_size)
        self._config = config
        self._dataset = dataset
        self._weights = weights
        self._seed = seed
        self._ranks = ranks
        self._symmetries: Sequence[Symmetry] = dataset.game.symmetries() if config.augment else ()
        self._is_pinned = device.type == "cuda"
        self._rows: list[IntArray] = []
        self._rows_of: tuple[int, int] | None = None

    def batches(self, start: int, stop: int, resets: Sequence[int]) -> Generator[LoadedBatch]:
        """Yields the batches of the steps from `start` to `stop`; `resets` are the steps it was reset to."""
        steps = iter(range(start, stop))
        upcoming: deque[tuple[IntArray, Future[BatchTensors]]] = deque()
        with ThreadPoolExecutor(max_workers=self._config.encoders) as encoders:

            def submit() -> None:
                if (step := next(steps, None)) is not None:
                    rows = self._rows_at(step, resets)
                    upcoming.append((rows, encoders.submit(self._encode, rows, (self._seed, step, len(resets)))))

            try:
                for _ in range(self._config.prefetch):
                    submit()
                while upcoming:
                    rows, future = upcoming.popleft()
                    began = time.perf_counter()
                    batch = future.result()
                    waited = time.perf_counter() - began
                    submit()
                    yield LoadedBatch(batch, len(rows), waited)
            finally:
                for _, future in upcoming:
                    future.cancel()

    def _encode(self, rows: IntArray, seed: Sequence[int]) -> BatchTensors:
        share = (self._ranks.rank, self._ranks.size)
        batch = self._dataset.batch(rows, self._weights, self._symmetries, seed, share=share)
        return BatchTensors.of(batch, is_pinned=self._is_pinned)

    def _rows_at(self, step: int, resets: Sequence[int]) -> IntArray:
        epoch, i = divmod(step, self.per_epoch)
        if self._rows_of != (epoch, len(resets)):
            self._rows = epoch_rows(self._weights, self._config.batch_size, seed_of(self._seed, epoch))
            for number, back_to in enumerate(resets):
                if back_to // self.per_epoch == epoch:
                    _shuffle(self._rows, back_to % self.per_epoch, seed_of(self._seed, epoch, number + 1))
            self._rows_of = (epoch, len(resets))
        return self._rows[i]


def seed_of(*numbers: int) -> int:
    """Returns a seed that depends on all the numbers."""
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])


def _shuffle(batches: list[IntArray], first: int, seed: int) -> None:
    """Shuffles the rows of the batches from `first` on again."""
    left = batches[first:]
    rows = np.random.default_rng(seed).permutation(np.concatenate(left))
    batches[first:] = np.split(rows, np.cumsum([len(batch) for batch in left])[:-1])

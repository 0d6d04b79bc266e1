"""Networks on a GPU with batches of a few sizes, whose launches are recorded once and then repeated as one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from moemcts.errors import first_line
from moemcts.game import FloatArray
from moemcts.locks import OwnLock

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
"""Batch sizes that are recorded; a batch is padded to the next of them. In larger ones launches cost nothing."""
ALIKE = 1e-2
"""How far a repetition may be from the network itself, relative to the largest output, to be used: it does the same
work, and would be wrong altogether where the recording had missed something."""


class _Recorded(NamedTuple):
    """The memory of one batch size, and what computes in it."""

    host: Tensor
    """Where planes are put on the CPU: pinned, so that the GPU fetches them by itself."""
    planes: Tensor
    """Where they are on the device."""
    outputs: tuple[Tensor, ...]
    repeat: Callable[[], None]


class FixedBatches:
    """Calls a network with batches of `SIZES` only; whatever an earlier batch left in the rows behind is ignored.

    On a GPU each size is recorded as a CUDA graph when it is first met, and used where it gives what the network gives.
    On a CPU the network is called as it is, in the same memory. Threads call it one at a time.
    """

    def __init__(
        self, network: Callable[[Tensor], Sequence[Any]], device: torch.device, dtype: torch.dtype = torch.float32
    ) -> None:
        self._network = network
        self._device = device
        self._dtype = dtype
        self._recorded: dict[int, _Recorded] = {}
        self._own = OwnLock()

    def __call__(self, planes: FloatArray) -> list[Tensor]:
        """Returns logits and value of planes `[N, *observation_shape]`, on the CPU, in float32.

        Raises ValueError for a batch that is larger than all of `SIZES`.
        """
        count = len(planes)
        if count > SIZES[-1]:
            raise ValueError(f"expected up to {SIZES[-1]} rows, got {count}")
        size = next(size for size in SIZES if count <= size)
        with self._own.lock:
            if size not in self._recorded:
                self._recorded[size] = self._record(size, planes.shape[1:])
            host, on_device, outputs, repeat = self._recorded[size]
            host[:count].copy_(torch.from_numpy(planes))
            on_device.copy_(host, non_blocking=True)
            repeat()
            # Taking them to the CPU waits for the device; float32 is a copy even there.
            return [output[:count].to("cpu", torch.float32, copy=True) for output in outputs]

    def _record(self, size: int, shape: tuple[int, ...]) -> _Recorded:
        is_gpu = self._device.type == "cuda"
        # Rounded here: planes of another type would go to the device by way of memory that is not pinned.
        host = torch.zeros((size, *shape), dtype=self._dtype, pin_memory=is_gpu)
        planes = torch.zeros((size, *shape), dtype=self._dtype, device=self._device)
        if is_gpu:
            try:
                return self._captured(host, planes)
            except RuntimeError as error:
                logging.getLogger(__name__).warning(
                    "the network's launches for %d rows on %s are not recorded, which is slower: %s",
                    size,
                    self._device,
                    first_line(error),
                )
        outputs = tuple(torch.empty_like(each) for each in self._network(planes)[:2])

        def repeat() -> None:
            for output, each in zip(outputs, self._network(planes)[:2], strict=True):
                output.copy_(each)

        return _Recorded(host, planes, outputs, repeat)

    def _captured(self, host: Tensor, planes: Tensor) -> _Recorded:
        """Returns a recording; raises RuntimeError where there can be none, or it gives something else."""
        current = torch.cuda.current_stream(self._device)
        stream = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
        # Makes the device the current one, which is what is recorded; a recording that fails may leave its own stream.
        with torch.cuda.stream(current):
            stream.wait_stream(current)
            # Libraries choose their kernels in the first calls, which must not be recorded.
            with torch.cuda.stream(stream):
                for _ in range(3):
                    self._network(planes)
            current.wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=stream):
                outputs = tuple(self._network(planes)[:2])
            # It has to read other planes than it was recorded with, and to write its outputs anew.
            planes.bernoulli_(1 / 7)
            expected = [each.clone() for each in self._network(planes)[:2]]
            for output in outputs:
                output.fill_(torch.nan)
            graph.replay()
            torch.cuda.synchronize(self._device)
        for right, ours in zip(expected, outputs, strict=True):
            scale = max(1.0, float(right.abs().max()))
            if not bool(((right - ours).abs() <= ALIKE * scale).all()):
                raise RuntimeError("a repetition gives something else than the network")
        return _Recorded(host, planes, outputs, graph.replay)

"""CUDA graphs of networks for a few batch sizes: launches are captured once, then replayed as one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from moemcts.errors import first_line
from moemcts.game import FloatArray
from moemcts.locks import PicklableLock

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
"""Batch sizes that are captured; a batch is padded to the next of them. In larger ones launches cost nothing."""
TOLERANCE = 1e-2
"""Maximum difference of a replay from the network itself, relative to the largest output: a valid replay does the same
work, and one whose capture missed something would be wrong altogether."""


class _CapturedBatch(NamedTuple):
    """The buffers of one batch size, and what computes in them."""

    host: Tensor
    """Planes on the CPU, pinned so that the GPU can copy them by itself."""
    planes: Tensor
    """Planes on the device."""
    outputs: tuple[Tensor, ...]
    repeat: Callable[[], None]


class FixedBatches:
    """Calls a network with batches of `SIZES` only; what earlier batches left in the rows of padding is ignored.

    On a GPU each size is captured as a CUDA graph when it is first needed, and used if it reproduces the network's
    outputs. On a CPU the network is called directly, in the same buffers. Threads call it one at a time.
    """

    def __init__(
        self, network: Callable[[Tensor], Sequence[Any]], device: torch.device, dtype: torch.dtype = torch.float32
    ) -> None:
        self._network = network
        self._device = device
        self._dtype = dtype
        self._captured_batches: dict[int, _CapturedBatch] = {}
        self._own = PicklableLock()

    def __call__(self, planes: FloatArray) -> list[Tensor]:
        """Returns logits and value of planes `[N, *observation_shape]`, on the CPU, in float32.

        Raises ValueError for a batch larger than all of `SIZES`.
        """
        count = len(planes)
        if count > SIZES[-1]:
            raise ValueError(f"expected up to {SIZES[-1]} rows, got {count}")
        size = next(size for size in SIZES if count <= size)
        with self._own.lock:
            if size not in self._captured_batches:
                self._captured_batches[size] = self._prepare(size, planes.shape[1:])
            host, on_device, outputs, repeat = self._captured_batches[size]
            host[:count].copy_(torch.from_numpy(planes))
            on_device.copy_(host, non_blocking=True)
            repeat()
            # Moving outputs to the CPU waits for the device; outputs in float32 on the CPU are copied too.
            return [output[:count].to("cpu", torch.float32, copy=True) for output in outputs]

    def _prepare(self, size: int, shape: tuple[int, ...]) -> _CapturedBatch:
        is_gpu = self._device.type == "cuda"
        # In the network's dtype: planes of another one would go to the device through memory that is not pinned.
        host = torch.zeros((size, *shape), dtype=self._dtype, pin_memory=is_gpu)
        planes = torch.zeros((size, *shape), dtype=self._dtype, device=self._device)
        if is_gpu:
            try:
                return self._capture(host, planes)
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

        return _CapturedBatch(host, planes, outputs, repeat)

    def _capture(self, host: Tensor, planes: Tensor) -> _CapturedBatch:
        """Returns a captured graph; raises RuntimeError if capturing fails, or a replay differs from the network."""
        current = torch.cuda.current_stream(self._device)
        stream = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
        # Makes the device current, as the current one is captured, and restores the stream if capturing fails.
        with torch.cuda.stream(current):
            stream.wait_stream(current)
            # Warms up: libraries choose their kernels in the first calls, which must not be captured.
            with torch.cuda.stream(stream):
                for _ in range(3):
                    self._network(planes)
            current.wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=stream):
                outputs = tuple(self._network(planes)[:2])
            # A replay has to read other planes than those it was captured with, and to overwrite its outputs.
            planes.bernoulli_(1 / 7)
            expected = [each.clone() for each in self._network(planes)[:2]]
            for output in outputs:
                output.fill_(torch.nan)
            graph.replay()
            torch.cuda.synchronize(self._device)
        for right, ours in zip(expected, outputs, strict=True):
            scale = max(1.0, float(right.abs().max()))
            if not bool(((right - ours).abs() <= TOLERANCE * scale).all()):
                raise RuntimeError("replaying the graph gives other results than the network")
        return _CapturedBatch(host, planes, outputs, graph.replay)

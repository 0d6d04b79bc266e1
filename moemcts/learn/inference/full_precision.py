"""Inference by torch in full float32 precision, without TF32."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from threading import Lock

import torch


@contextlib.contextmanager
def full_precision_inference(device: torch.device) -> Iterator[None]:
    """Disables gradients within the context, and on a GPU computes float32 in full precision.

    By default, inputs of convolutions on a GPU are rounded to TF32, 10 bits of 23, as in training. This is a global
    switch for all threads: it stays off while any of them evaluates a network.
    """
    with torch.inference_mode():
        if device.type != "cuda":
            yield
            return
        with _TF32_DISABLED:
            yield


class _TF32Disabled:
    """Disables TF32 for convolutions while any thread is inside; the last one to leave restores it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._num_threads_inside = 0
        self._was_allowed = False

    def __enter__(self) -> None:
        flags = torch.backends.cudnn
        with self._lock:
            if not self._num_threads_inside:
                self._was_allowed = flags.allow_tf32
                flags.allow_tf32 = False
            self._num_threads_inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._num_threads_inside -= 1
            if not self._num_threads_inside:
                torch.backends.cudnn.allow_tf32 = self._was_allowed


_TF32_DISABLED = _TF32Disabled()

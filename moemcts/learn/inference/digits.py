"""In how many digits torch computes where a network is asked, not trained."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from threading import Lock

import torch


@contextlib.contextmanager
def inference_on(device: torch.device) -> Iterator[None]:
    """Has torch compute without gradients for a while, and on a GPU float32 with all of its digits.

    By itself it rounds what goes into convolutions on a GPU to TF32, 10 bits of 23, as trainings do. Whether it does is
    one switch for all threads: it is off as long as any of them asks a network.
    """
    with torch.inference_mode():
        if device.type != "cuda":
            yield
            return
        with _EXACT:
            yield


class _Exact:
    """Keeps TF32 switched off while somebody is within; the last to leave switches it back."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._num_within = 0
        self._before = False

    def __enter__(self) -> None:
        flags = torch.backends.cudnn
        with self._lock:
            if not self._num_within:
                self._before = flags.allow_tf32
                flags.allow_tf32 = False
            self._num_within += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._num_within -= 1
            if not self._num_within:
                torch.backends.cudnn.allow_tf32 = self._before


_EXACT = _Exact()

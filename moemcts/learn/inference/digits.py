"""In how many digits torch computes where a network is asked, not trained."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch


@contextlib.contextmanager
def inference_on(device: torch.device) -> Iterator[None]:
    """Has torch compute without gradients for a while, and on a GPU float32 with all of its digits.

    By itself it rounds what goes into convolutions on a GPU to TF32, 10 bits of 23, as trainings do.
    """
    with torch.inference_mode():
        if device.type != "cuda":
            yield
            return
        before = torch.backends.cudnn.allow_tf32
        torch.backends.cudnn.allow_tf32 = False
        try:
            yield
        finally:
            torch.backends.cudnn.allow_tf32 = before

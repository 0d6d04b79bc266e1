"""How many threads torch computes with: what has to be equal everywhere is computed with one."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def torch_threads(number: int) -> Iterator[None]:
    """Has torch, where it is loaded, compute with so many threads for a while.

    Sums over several threads are in another order than over one, and differ in their last bits.
    """
    if "torch" not in sys.modules:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)

"""The number of torch threads: results that must be equal everywhere are computed with one."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def torch_threads(number: int) -> Iterator[None]:
    """Sets the number of torch threads within the context; a no-op if torch is not loaded.

    Sums over several threads are added up in another order than over one, and differ in their last bits.
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

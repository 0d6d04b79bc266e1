"""Ragged arrays, concatenated: row `i` is `data[offsets[i]:offsets[i + 1]]`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def gather_rows(offsets: NDArray[np.int64], rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the offsets of the given rows, concatenated in that order, and the index of each of their entries."""
    starts, lengths = offsets[rows], offsets[rows + 1] - offsets[rows]
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return ends, np.arange(ends[-1]) + np.repeat(starts - ends[:-1], lengths)

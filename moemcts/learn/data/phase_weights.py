"""Phase weights of a dataset, computed once per gate and cached in files beside the samples."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moemcts.errors import DamagedFile, MoemctsError
from moemcts.game import FloatArray, IntArray, Views
from moemcts.gates import PhaseGate, checked_weights
from moemcts.learn.container import container_bytes, read_container
from moemcts.store import digest, write_bytes

FOLDER = "phases"
CHUNK = 4096
"""Views per gate evaluation."""
NUM_COMPARED = 64
"""Samples whose weights are recomputed whenever a file is opened, to detect a changed gate."""


class PhaseWeights:
    """The phase weights of one dataset.

    A file is named by the gate's fingerprint and records which samples and gate it is of. For a gate that puts every
    sample into one phase it holds the phases, else the weights. If no folder is writable, no file is kept.
    """

    def __init__(self, folder: Path | None, dataset: str) -> None:
        """`folder` is that of the dataset, None if it is in memory only; `dataset` identifies exactly its samples."""
        self._folders = [] if folder is None else _cache_folders(folder)
        self._dataset = dataset
        self._cached: dict[str, FloatArray] = {}

    def of(self, gate: PhaseGate, fingerprint: str, num_samples: int, views: Callable[[IntArray], Views]) -> FloatArray:
        """Returns the weights of all samples, `[N, K]`; `views` makes views of rows."""
        if fingerprint not in self._cached:
            weights = self._read(gate, fingerprint, num_samples, views)
            if weights is None:
                weights = _compute(gate, np.arange(num_samples), views)
                self._write(weights, fingerprint)
            self._cached[fingerprint] = weights
        return self._cached[fingerprint]

    def _read(
        self, gate: PhaseGate, fingerprint: str, num_samples: int, views: Callable[[IntArray], Views]
    ) -> FloatArray | None:
        """Returns the cached weights; None if there are none, or they are not what the gate computes here."""
        rows = np.unique(np.linspace(0, max(num_samples - 1, 0), NUM_COMPARED).astype(np.int64))[:num_samples]
        for folder in self._folders:
            with contextlib.suppress(DamagedFile):
                weights = _read_file(folder / _file_name(fingerprint), self._header(fingerprint), gate.num_phases)
                if len(weights) == num_samples and np.allclose(weights[rows], _compute(gate, rows, views), atol=1e-5):
                    return weights
        return None

    def _write(self, weights: FloatArray, fingerprint: str) -> None:
        array: NDArray[Any] = weights
        if _are_hard(weights):
            array = weights.argmax(axis=1).astype(np.uint8)
        header = {**self._header(fingerprint), "sha256": digest(array.tobytes()), "phases": weights.shape[1]}
        content = container_bytes({"weights" if array is weights else "phases": array}, header)
        for folder in self._folders:
            try:
                write_bytes(folder / _file_name(fingerprint), content)
            except MoemctsError:
                continue
            return

    def _header(self, fingerprint: str) -> dict[str, str]:
        return {"dataset": self._dataset, "gate": fingerprint}


def _compute(gate: PhaseGate, rows: IntArray, views: Callable[[IntArray], Views]) -> FloatArray:
    chunks = [checked_weights(gate, views(rows[start : start + CHUNK])) for start in range(0, len(rows), CHUNK)]
    return np.concatenate([np.zeros((0, gate.num_phases), dtype=np.float32), *chunks])


def _are_hard(weights: FloatArray) -> bool:
    """Returns whether every row has a single phase, whose number fits a byte."""
    num_samples, num_phases = weights.shape
    num_ones, num_counting = int(np.count_nonzero(weights == 1)), int(np.count_nonzero(weights))
    return bool(num_phases <= 256 and num_ones == num_counting == num_samples)


def _read_file(path: Path, header: dict[str, str], num_phases: int) -> FloatArray:
    """Returns the weights in a file; raises DamagedFile if they are not those of `header`."""
    arrays, found = read_container(path)
    if len(arrays) != 1:
        raise DamagedFile(f"{path} holds no phase weights: expected one array, got {len(arrays)}")
    (array,) = arrays.values()
    expected = {**header, "sha256": digest(array.tobytes()), "phases": num_phases}
    if found != expected:
        raise DamagedFile(f"{path} holds other phase weights: expected {expected}, got {found}")
    if array.shape[1:] not in ((), (num_phases,)) or (array.ndim == 1 and (array >= num_phases).any()):
        raise DamagedFile(f"{path} holds no weights of {num_phases} phases")
    weights: FloatArray = array if array.ndim == 2 else np.eye(num_phases, dtype=np.float32)[array]
    return weights


def _cache_folders(folder: Path) -> list[Path]:
    # The current folder, `.`, has no name of its own.
    named = Path(os.path.abspath(folder))
    # If the folder is read-only, as that of a shared dataset may be, its files are beside it.
    return [named / FOLDER, named.with_name(f".{named.name}.{FOLDER}")]


def _file_name(fingerprint: str) -> str:
    return f"{fingerprint[:16]}.safetensors"

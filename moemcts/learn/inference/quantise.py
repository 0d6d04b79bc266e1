"""Quantises networks to int8: weights and activations are bytes, with ranges from real positions."""

from __future__ import annotations

import contextlib
import logging
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from moemcts.errors import MissingExtra, MoemctsError, first_line
from moemcts.evaluation import Evaluation, policy_probabilities
from moemcts.game import BoolArray, FloatArray
from moemcts.learn.inference.backends import INPUT, PlanesEvaluator, onnxruntime_module, require_backend
from moemcts.learn.inference.export import onnx_bytes
from moemcts.learn.inference.positions import Positions

BATCH = 64
"""Positions per batch in calibration and comparison."""


@dataclass(frozen=True)
class Agreement:
    """Agreement of two evaluators on the same positions."""

    num_positions: int
    top1: float
    """Share of the positions in which both have the same most likely legal move."""
    kl: float
    """Mean Kullback-Leibler divergence of the second's policy over legal moves from the first's, in nats."""
    value: float
    """Mean absolute difference of the values."""

    def to_toml(self) -> dict[str, Any]:
        """Returns the fields, rounded to six decimals."""
        return {key: round(number, 6) for key, number in asdict(self).items()}


def quantised(network: nn.Module, calibration: FloatArray) -> bytes:
    """Returns the network as an ONNX model in int8, statically quantised with ranges from planes `[N, C, H, W]`.

    Weights are signed and have a scale per channel, activations are unsigned and have one scale (QDQ format, which
    onnxruntime and OpenVINO both run). Raises MissingExtra without onnxruntime and onnx, ValueError without planes,
    MoemctsError if the network cannot be quantised.
    """
    if not len(calibration):
        raise ValueError("expected positions to calibrate with, got none")
    require_backend("onnxruntime")
    onnxruntime_module()
    try:
        import onnx  # noqa: F401
        from onnxruntime.quantization import QuantFormat, QuantType, quant_pre_process, quantize_static
    except ModuleNotFoundError as error:
        raise MissingExtra(error.name or "onnx", "fast") from None
    with tempfile.TemporaryDirectory() as folder, _silence_quantiser():
        plain, ready, result = (Path(folder) / f"{name}.onnx" for name in ("plain", "ready", "result"))
        plain.write_bytes(onnx_bytes(network, calibration.shape[1:], regroup=False))
        try:
            quant_pre_process(str(plain), str(ready), skip_symbolic_shape=True)
            quantize_static(
                str(ready),
                str(result),
                _Batches(calibration),
                quant_format=QuantFormat.QDQ,
                per_channel=True,
                weight_type=QuantType.QInt8,
                activation_type=QuantType.QUInt8,
            )
        except Exception as error:
            raise MoemctsError(f"{type(network).__name__} cannot be quantised: {first_line(error)}") from error
        return result.read_bytes()


def agreement(expected: Evaluation, found: Evaluation, legal: BoolArray) -> Agreement:
    """Compares two evaluations of the same positions; rows without legal actions do not count for the policy."""
    rows = legal.any(axis=1)
    ours, theirs = (policy_probabilities(each.logits[rows], legal[rows]) for each in (expected, found))
    kl = np.where(ours > 0, ours * (np.log(np.maximum(ours, 1e-30)) - np.log(np.maximum(theirs, 1e-30))), 0).sum(axis=1)
    return Agreement(
        len(legal),
        float((ours.argmax(axis=1) == theirs.argmax(axis=1)).mean()) if rows.any() else 1.0,
        max(float(kl.mean()), 0.0) if rows.any() else 0.0,
        float(np.abs(expected.value - found.value).mean()) if len(legal) else 0.0,
    )


def agreements(
    expected: PlanesEvaluator, found: PlanesEvaluator, positions: Positions, phase_names: tuple[str, ...]
) -> Mapping[str, Agreement]:
    """Returns the agreement of two evaluators on the positions of each phase that has any."""
    answers = [evaluate_in_batches(each, positions.planes) for each in (expected, found)]
    result = {}
    for phase, name in enumerate(phase_names):
        rows = np.flatnonzero(positions.phases == phase)
        if len(rows):
            first, second = (Evaluation(each.logits[rows], each.value[rows]) for each in answers)
            result[name] = agreement(first, second, positions.legal[rows])
    return result


def evaluate_in_batches(evaluator: PlanesEvaluator, planes: FloatArray) -> Evaluation:
    """Evaluates any number of planes, `BATCH` at a time."""
    return Evaluation.joined(evaluator.evaluate_planes(planes[i : i + BATCH]) for i in range(0, len(planes), BATCH))


class _Batches:
    """Calibration data reader for onnxruntime."""

    def __init__(self, planes: FloatArray) -> None:
        self._batches = iter([{INPUT: planes[i : i + BATCH]} for i in range(0, len(planes), BATCH)])

    def get_next(self) -> dict[str, FloatArray] | None:
        return next(self._batches, None)


@contextlib.contextmanager
def _silence_quantiser() -> Iterator[None]:
    """Suppresses the quantiser's log messages, which advise users who call it by hand."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)

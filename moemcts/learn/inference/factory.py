"""Creates the evaluator of a network for a given backend and precision."""

from __future__ import annotations

from torch import nn

from moemcts.learn.inference.backends import Inference, PlanesEvaluator, run_model
from moemcts.learn.inference.export import (
    CHECKS,
    check_error,
    onnx_bytes,
    torch_evaluation,
)
from moemcts.learn.inference.torch_evaluator import TorchEvaluator
from moemcts.learn.planes import random_planes

NUM_CHECKED = 8
"""Random positions on which an exported network is compared with torch before it is used: a batch size that is also
used later, as some libraries compile for each size."""


def build_evaluator(
    network: nn.Module,
    observation_shape: tuple[int, ...],
    inference: Inference,
    *,
    model: bytes | None = None,
    device: str = "cpu",
    name: str = "the network",
) -> PlanesEvaluator:
    """Returns an evaluator of a network: planes of `observation_shape` in, logits and value out.

    `model` is the network in ONNX, if available; int8 needs the one that `quantise.quantised` made of it. Except for
    int8 and for torch in float32, outputs are compared with torch on a few positions first. Raises MissingExtra if a
    library is not installed, UsageError for a precision or a device that the backend does not support, MoemctsError if
    the outputs differ from the network's.
    """
    inference.checked(device)
    backend, precision = inference.backend, inference.precision
    if precision == "int8":
        if model is None:
            raise ValueError("expected the quantised model for precision int8, got none")
        return run_model(model, backend, precision, name=name, device=device)
    if backend == "torch":
        evaluator: PlanesEvaluator = TorchEvaluator(network, device, precision)
        if precision == "float32":
            return evaluator
    else:
        model = model or onnx_bytes(network, observation_shape)
        evaluator = run_model(model, backend, precision, name=name, device=device)
    planes = random_planes(observation_shape, NUM_CHECKED)
    error_of, tolerance = CHECKS[precision]
    error = error_of(torch_evaluation(network, planes), evaluator.evaluate_planes(planes))
    check_error(error, f"{name}, run by {inference},", tolerance)
    return evaluator

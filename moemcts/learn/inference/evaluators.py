"""One way to make an evaluator of a network, whatever runs it."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from moemcts.errors import UsageError, unknown_name
from moemcts.learn.inference.backends import BACKENDS, PRECISIONS, Backend, PlanesEvaluator, Precision, run_model
from moemcts.learn.inference.choice import BATCH_SIZE, choose_backend, random_planes
from moemcts.learn.inference.export import check_error, largest_error, onnx_bytes, torch_evaluation
from moemcts.learn.inference.torch_evaluator import TorchEvaluator

AUTO = "auto"
NUM_CHECKED = 4
"""Random positions on which an exported network is compared with torch before it is used."""


@dataclass(frozen=True)
class Inference:
    """How networks are run."""

    backend: Backend = "torch"
    precision: Precision = "float32"

    def __str__(self) -> str:
        return self.backend if self.precision == "float32" else f"{self.backend} {self.precision}"


def resolve(
    backend: str,
    precision: str,
    network: nn.Module,
    observation_shape: tuple[int, ...],
    *,
    batch_size: int = BATCH_SIZE,
    device: str = "cpu",
) -> Inference:
    """Returns what the names mean here, `auto` being the quickest that is installed.

    The quickest is looked for among float32 backends; with int8, which torch does not run, it is onnxruntime.
    Raises UsageError for names there are none of, or that do not go together.
    """
    chosen = None if backend == AUTO else named_backend(backend)
    if named_precision(precision) == "int8":
        if chosen == "torch":
            raise UsageError("torch has no int8 here; expected backend=onnxruntime or backend=openvino")
        return Inference(chosen or "onnxruntime", "int8")
    return Inference(chosen or choose_backend(network, observation_shape, batch_size=batch_size, device=device).backend)


def named_backend(name: str) -> Backend:
    """Returns the backend of that name; raises UsageError where there is none."""
    for backend in BACKENDS:
        if name == backend:
            return backend
    raise unknown_name("backend", name, (*BACKENDS, AUTO))


def named_precision(name: str) -> Precision:
    """Returns the precision of that name; raises UsageError where there is none."""
    for precision in PRECISIONS:
        if name == precision:
            return precision
    raise unknown_name("precision", name, PRECISIONS)


def make_evaluator(
    network: nn.Module,
    observation_shape: tuple[int, ...],
    *,
    backend: str = AUTO,
    precision: str = "float32",
    quantised: bytes | None = None,
    batch_size: int = BATCH_SIZE,
    device: str = "cpu",
    name: str = "the network",
) -> PlanesEvaluator:
    """Returns an evaluator of a network: planes of `observation_shape` in, logits and value out.

    `precision="int8"` needs the model that `quantise.quantised` made of it. A float32 model is compared with torch on
    a few positions before it is handed out. Raises MissingExtra where a library is not installed, MoemctsError where
    the model computes something else than the network, UsageError as `resolve`.
    """
    chosen = resolve(backend, precision, network, observation_shape, batch_size=batch_size, device=device)
    if chosen.precision == "int8":
        if quantised is None:
            raise ValueError("expected the quantised model for precision int8, got none")
        return run_model(quantised, chosen.backend, name=name)
    if chosen.backend == "torch":
        return TorchEvaluator(network, device)
    evaluator = run_model(onnx_bytes(network, observation_shape), chosen.backend, name=name)
    planes = random_planes(observation_shape, NUM_CHECKED)
    error = largest_error(torch_evaluation(network, planes), evaluator.evaluate_planes(planes))
    check_error(error, f"{name}, run by {chosen.backend},")
    return evaluator

"""The libraries that run exported networks, as evaluators."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
from typing import Any, Literal, Protocol, get_args

import numpy as np

from moemcts.errors import DamagedFile, MissingExtra
from moemcts.evaluation import Evaluation
from moemcts.game import FloatArray, Views
from moemcts.learn.inference.export import INPUT, OUTPUTS

Backend = Literal["torch", "onnxruntime", "openvino"]
Precision = Literal["float32", "int8"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
EXTRAS: dict[Backend, str] = {"onnxruntime": "fast", "openvino": "openvino"}
"""The extra that brings a backend; torch is always there."""


class PlanesEvaluator(Protocol):
    """An evaluator that is a network, and can be asked about planes as well as views."""

    def evaluate(self, views: Views) -> Evaluation: ...

    def evaluate_planes(self, planes: FloatArray) -> Evaluation:
        """Evaluates planes `[N, C, H, W]`."""


def installed_version(backend: Backend) -> str | None:
    """Returns the version of a backend's library, None where it is not installed; imports nothing."""
    if importlib.util.find_spec(backend) is None:
        return None
    try:
        return importlib.metadata.version(backend)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def require(backend: Backend) -> None:
    """Raises MissingExtra, saying what to install, unless the backend's library is there."""
    if installed_version(backend) is None:
        raise MissingExtra(backend, EXTRAS.get(backend, "fast"))


def run_model(model: bytes, backend: Backend, *, name: str = "the model") -> PlanesEvaluator:
    """Returns an evaluator that runs an ONNX model by onnxruntime or openvino, on one thread.

    Raises MissingExtra where the library is not installed, DamagedFile, naming the model, where it cannot be read.
    """
    require(backend)
    return OnnxruntimeEvaluator(model, name) if backend == "onnxruntime" else OpenvinoEvaluator(model, name)


class OnnxruntimeEvaluator:
    """Runs an ONNX model by onnxruntime; batches of any size."""

    def __init__(self, model: bytes, name: str = "the model") -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session: Any = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise DamagedFile(f"{name} is no ONNX model that onnxruntime can run: {_first_line(error)}") from error

    def evaluate(self, views: Views) -> Evaluation:
        return self.evaluate_planes(views.observations())

    def evaluate_planes(self, planes: FloatArray) -> Evaluation:
        """Evaluates planes `[N, C, H, W]`."""
        return Evaluation(*self._session.run(OUTPUTS, {INPUT: planes}))


class OpenvinoEvaluator:
    """Runs an ONNX model by OpenVINO, in pieces of a few fixed sizes.

    A model compiled for one batch size is up to 2.6 times as fast as one for any size; each size is compiled when it
    is first met.
    """

    SIZES = (1, 2, 4, 8, 16, 32, 64)

    def __init__(self, model: bytes, name: str = "the model") -> None:
        try:
            self._model: Any = _openvino_core().read_model(model, b"")
        except Exception as error:
            raise DamagedFile(f"{name} is no ONNX model that openvino can run: {_first_line(error)}") from error
        self._requests: dict[int, tuple[Any, FloatArray]] = {}

    def evaluate(self, views: Views) -> Evaluation:
        return self.evaluate_planes(views.observations())

    def evaluate_planes(self, planes: FloatArray) -> Evaluation:
        """Evaluates planes `[N, C, H, W]`."""
        parts = []
        start = 0
        for size, count in pieces(len(planes), self.SIZES):
            parts.append(self._evaluate_piece(planes[start : start + count], size))
            start += count
        if len(parts) == 1:
            return parts[0]
        return Evaluation(
            np.concatenate([part.logits for part in parts]), np.concatenate([part.value for part in parts])
        )

    def _evaluate_piece(self, planes: FloatArray, size: int) -> Evaluation:
        request, padded = self._request(size)
        count = len(planes)
        # Whatever an earlier batch left in the rows behind ours does not influence them.
        padded[:count] = planes
        request.infer({0: padded}, share_inputs=True)
        logits, value = (request.get_output_tensor(i).data[:count].copy() for i in range(len(OUTPUTS)))
        return Evaluation(logits, value)

    def _request(self, size: int) -> tuple[Any, FloatArray]:
        if size not in self._requests:
            model = self._model.clone()
            shape = [size, *(dimension.get_length() for dimension in list(model.input(0).partial_shape)[1:])]
            model.reshape({0: shape})
            compiled = _openvino_core().compile_model(model, "CPU", _OPENVINO_SETTINGS)
            self._requests[size] = compiled.create_infer_request(), np.zeros(shape, dtype=np.float32)
        return self._requests[size]


def pieces(num_rows: int, sizes: tuple[int, ...]) -> list[tuple[int, int]]:
    """Returns how a batch is cut: the size of each piece and how many of its rows are used.

    A piece that is at least three quarters full is padded, any other rest is cut further; an empty batch is one empty
    piece.
    """
    found: list[tuple[int, int]] = []
    left = num_rows
    while left or not found:
        fitting = [size for size in sizes if 3 * size <= 4 * left and left <= size]
        size = fitting[0] if fitting else max((size for size in sizes if size <= left), default=sizes[0])
        found.append((size, min(size, left)))
        left -= min(size, left)
    return found


# Left to itself OpenVINO computes in bfloat16 where the processor can: not the float32 that was asked for.
_OPENVINO_SETTINGS = {
    "INFERENCE_PRECISION_HINT": "f32",
    "INFERENCE_NUM_THREADS": 1,
    "NUM_STREAMS": 1,
    "PERFORMANCE_HINT": "LATENCY",
}


@functools.cache
def _openvino_core() -> Any:
    import openvino

    return openvino.Core()


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]

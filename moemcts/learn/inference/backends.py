"""Evaluators for the libraries that run exported networks."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import sys
import threading
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal, Protocol, cast, get_args

import numpy as np

from moemcts.errors import DamagedFile, MissingExtra, MoemctsError, UsageError, first_line
from moemcts.evaluation import Evaluation
from moemcts.game import FloatArray, Views
from moemcts.learn.inference.silence import silence_onnxruntime

INPUT = "planes"
OUTPUTS = ("logits", "value")
"""Input and output names of exported models."""
Backend = Literal["torch", "onnxruntime", "openvino"]
Precision = Literal["float32", "bf16", "int8"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
EXTRAS: dict[Backend, str] = {"onnxruntime": "fast", "openvino": "openvino"}
"""The extra that installs a backend; torch is always installed."""
SUPPORTED_PRECISIONS: dict[Backend, tuple[Precision, ...]] = {
    "torch": ("float32", "bf16"),
    "onnxruntime": ("float32", "int8"),
    "openvino": ("float32", "bf16", "int8"),
}
"""The precisions that each backend supports."""


@dataclass(frozen=True)
class Inference:
    """How networks are run."""

    backend: Backend = "torch"
    precision: Precision = "float32"

    def __str__(self) -> str:
        return self.backend if self.precision == "float32" else f"{self.backend} {self.precision}"

    def checked(self, device: str = "cpu") -> Inference:
        """Returns itself; raises UsageError for a precision or a device that the backend does not support."""
        if self.precision not in SUPPORTED_PRECISIONS[self.backend]:
            supporting = " or ".join(
                f"backend={backend}" for backend in BACKENDS if self.precision in SUPPORTED_PRECISIONS[backend]
            )
            raise UsageError(f"{self.backend} has no {self.precision} here; use {supporting}")
        if self.backend == "openvino" and not is_cpu(device):
            raise UsageError(f"openvino runs networks only on the CPU here, not on {device}; use backend=torch")
        return self


def is_cpu(device: str) -> bool:
    """Returns whether a device is the CPU."""
    return device.partition(":")[0] == "cpu"


ALL_INFERENCES = tuple(
    Inference(backend, precision) for backend in BACKENDS for precision in SUPPORTED_PRECISIONS[backend]
)
"""Every backend with every precision that it supports."""


class PlanesEvaluator(Protocol):
    """An evaluator that is a network, and accepts planes as well as views."""

    def evaluate(self, views: Views) -> Evaluation:
        return self.evaluate_planes(views.observations())

    @abstractmethod
    def evaluate_planes(self, planes: FloatArray) -> Evaluation:
        """Evaluates planes `[N, *observation_shape]`."""


def installed_version(backend: Backend) -> str | None:
    """Returns the version of a backend's library, None if it is not installed; imports nothing."""
    if importlib.util.find_spec(backend) is None:
        return None
    try:
        return importlib.metadata.version(backend)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def require_backend(backend: Backend) -> None:
    """Raises MissingExtra, saying what to install, unless the backend's library is installed."""
    if installed_version(backend) is None:
        raise MissingExtra(backend, EXTRAS.get(backend, "fast"))


def onnxruntime_module() -> Any:
    """Returns onnxruntime; must be called before a part of it is imported."""
    silence_onnxruntime()
    import onnxruntime

    return onnxruntime


def run_model(
    model: bytes,
    backend: Backend,
    precision: Precision = "float32",
    *,
    name: str = "the model",
    device: str = "cpu",
) -> PlanesEvaluator:
    """Returns an evaluator that runs an ONNX model with onnxruntime or openvino; on a CPU, with one thread.

    With `bf16` a float32 model is computed in bfloat16; an int8 model is quantised already. Raises MissingExtra if the
    library is not installed, UsageError if it does not support the precision or the device, DamagedFile, naming the
    model, if it cannot be read, MoemctsError if this processor lacks bfloat16, or the library cannot use the device.
    """
    require_backend(backend)
    Inference(backend, precision).checked(device)
    if backend == "onnxruntime":
        return OnnxruntimeEvaluator(model, name, device=device)
    return OpenvinoEvaluator(model, name, is_bf16=precision == "bf16")


MAX_BATCH = 64
"""Maximum batch size on a CPU: larger ones are no faster, for small networks up to a quarter slower, and take more
memory."""


def _evaluate_in_parts(planes: FloatArray, evaluate: Callable[[FloatArray], Evaluation]) -> Evaluation:
    """Evaluates planes, at most `MAX_BATCH` at once."""
    if len(planes) <= MAX_BATCH:
        return evaluate(planes)
    parts = [evaluate(planes[start : start + MAX_BATCH]) for start in range(0, len(planes), MAX_BATCH)]
    return Evaluation.joined(parts)


class OnnxruntimeEvaluator(PlanesEvaluator):
    """Runs an ONNX model with onnxruntime, in batches of any size."""

    def __init__(self, model: bytes, name: str = "the model", *, device: str = "cpu") -> None:
        onnxruntime = onnxruntime_module()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._made_with = (model, name, device)
        self._is_on_cpu = is_cpu(device)
        wanted = providers(device)
        reason = "there is no such provider"
        # Providers that the library was built for, such as TensorRT, may fail to load; then the next one is tried.
        for first in range(max(1, len(wanted) - 1)):
            try:
                # By default it would report this on stdout, and fall back to the CPU.
                self._session: Any = onnxruntime.InferenceSession(
                    model, options, providers=wanted[first:], enable_fallback=0
                )
            except Exception as error:
                reason = first_line(error)
                continue
            taken = self._session.get_providers()[0]
            if self._is_on_cpu or taken in _GPU_PROVIDERS:
                return
            reason = f"it would take {taken}"
        if self._is_on_cpu:
            raise DamagedFile(f"{name} is not an ONNX model that onnxruntime can run: {reason}")
        raise MoemctsError(f"onnxruntime cannot run {name} on {device}: {reason}; {_REMEDY}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns what to copy or pickle: the model, since sessions can be neither copied nor pickled."""
        model, name, device = self._made_with
        return functools.partial(OnnxruntimeEvaluator, device=device), (model, name)

    def evaluate_planes(self, planes: FloatArray) -> Evaluation:
        """Evaluates planes `[N, *observation_shape]`."""
        return _evaluate_in_parts(planes, self._evaluate_at_once) if self._is_on_cpu else self._evaluate_at_once(planes)

    def _evaluate_at_once(self, planes: FloatArray) -> Evaluation:
        return Evaluation(*self._session.run(OUTPUTS, {INPUT: planes}))


def providers(device: str) -> list[tuple[str, dict[str, str]]]:
    """Returns onnxruntime's execution providers for a device, with options, in order of preference.

    On a GPU TensorRT is preferred to CUDA. Raises MoemctsError for a GPU if the installed onnxruntime is for CPUs only.
    """
    on_cpu: tuple[str, dict[str, str]] = ("CPUExecutionProvider", {})
    if is_cpu(device):
        return [on_cpu]
    onnxruntime = onnxruntime_module()
    found = [name for name in _GPU_PROVIDERS if name in onnxruntime.get_available_providers()]
    if not found:
        raise MoemctsError(f"the installed onnxruntime cannot use {device}; {_REMEDY}")
    number = device.partition(":")[2] or "0"
    return [*((name, {"device_id": number}) for name in found), on_cpu]


_GPU_PROVIDERS = ("TensorrtExecutionProvider", "CUDAExecutionProvider")
_REMEDY = "pip install onnxruntime-gpu in its place, with the CUDA that it is for, or use backend=torch"


class OpenvinoEvaluator(PlanesEvaluator):
    """Runs an ONNX model with OpenVINO, compiled for a few batch sizes and once for all others.

    A small network compiled for one size is up to 1.4 times as fast as one for any size, a large one equally fast. Each
    is compiled when it is first needed. Which of them evaluates a row depends only on the size of its batch.
    """

    SIZES = (1, 2, 4, 8, 16, 32, 64)

    def __init__(self, model: bytes, name: str = "the model", *, is_bf16: bool = False) -> None:
        try:
            self._model: Any = _openvino_core().read_model(model, b"")
        except Exception as error:
            raise DamagedFile(f"{name} is not an ONNX model that openvino can run: {first_line(error)}") from error
        self._made_with = (model, name, is_bf16)
        self._hint = "bf16" if is_bf16 else "f32"
        self._requests: dict[int, Any] = {}
        self._lock = threading.Lock()
        if is_bf16 and "BF16" not in _openvino_core().get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
            raise MoemctsError(
                f"openvino cannot run {name} in bfloat16, which this processor lacks; use precision=float32"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns what to copy or pickle: the model, since requests can be neither copied nor pickled."""
        model, name, is_bf16 = self._made_with
        return functools.partial(OpenvinoEvaluator, is_bf16=is_bf16), (model, name)

    def evaluate_planes(self, planes: FloatArray) -> Evaluation:
        """Evaluates planes `[N, *observation_shape]`."""
        return _evaluate_in_parts(planes, self._evaluate_at_once)

    def _evaluate_at_once(self, planes: FloatArray) -> Evaluation:
        request = self._request(len(planes) if len(planes) in self.SIZES else _ANY)
        # Other threads may call it as well.
        with self._lock:
            # Shared with OpenVINO, so it has to be contiguous.
            request.infer({0: np.ascontiguousarray(planes)}, share_inputs=True)
            # The next batch overwrites the request's output.
            logits, value = (request.get_output_tensor(i).data.copy() for i in range(len(OUTPUTS)))
        return Evaluation(logits, value)

    def _request(self, size: int) -> Any:
        if size not in self._requests:
            model = self._model.clone()
            shape = [size, *(dimension.get_length() for dimension in list(model.input(0).partial_shape)[1:])]
            model.reshape({0: shape})
            settings = _OPENVINO_SETTINGS | {"INFERENCE_PRECISION_HINT": self._hint}
            self._requests[size] = _openvino_core().compile_model(model, "CPU", settings).create_infer_request()
        return self._requests[size]


_ANY = -1
"""OpenVINO's value for a batch of any size."""
# By default, OpenVINO takes all cores, or pins its one thread to the first of them, the same one in every process. The
# precision is always set, since by default it is bfloat16 if the processor supports it, not the requested float32.
_OPENVINO_SETTINGS = {
    "INFERENCE_NUM_THREADS": 1,
    "NUM_STREAMS": 1,
    "PERFORMANCE_HINT": "LATENCY",
    "ENABLE_CPU_PINNING": False,
}


@functools.cache
def _openvino_core() -> Any:
    # Its import sends telemetry, unless it finds no module of this name.
    sys.modules.setdefault("openvino_telemetry", cast(ModuleType, None))
    import openvino

    return openvino.Core()

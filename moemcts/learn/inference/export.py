"""Exports networks as ONNX models: planes `[N, C, H, W]` in, `logits` and `value` out, for any N."""

from __future__ import annotations

import copy
import tempfile
import threading
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from moemcts.errors import MissingExtra, MoemctsError, first_line
from moemcts.evaluation import Evaluation
from moemcts.game import FloatArray
from moemcts.learn.inference.backends import INPUT, OUTPUTS, Precision
from moemcts.learn.inference.full_precision import full_precision_inference
from moemcts.learn.inference.torch_evaluator import folded

OPSET = 17
TOLERANCE = 1e-4
"""Maximum error of an exported float32 network against torch, relative to the largest output if that is above one."""
# The state of torch's exporter is global: it fails in a thread while another thread exports.
_EXPORT = threading.Lock()


def onnx_bytes(network: nn.Module, observation_shape: tuple[int, ...], *, regroup: bool = True) -> bytes:
    """Returns the network as an ONNX model with batch norms folded and a dynamic batch size.

    With `regroup`, convolutions with few outputs are rewritten in a form that float32 kernels are faster at; it is of
    no use to a model that is to be quantised. Raises MissingExtra without the package onnx, MoemctsError for a network
    that ONNX cannot express.
    """
    model = _LogitsAndValue(folded(network).to("cpu"))
    if regroup:
        _regroup_narrow_convolutions(model)
    try:
        with _EXPORT, tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            path = Path(folder) / "network.onnx"
            # Tracing is deprecated in favour of torch.export, which takes ten times as long for the same graph and
            # needs another package.
            warnings.simplefilter("ignore")
            torch.onnx.export(
                model,
                (torch.zeros(2, *observation_shape),),
                path,
                dynamo=False,
                input_names=[INPUT],
                output_names=list(OUTPUTS),
                dynamic_axes={name: {0: "batch"} for name in (INPUT, *OUTPUTS)},
                opset_version=OPSET,
            )
            return path.read_bytes()
    except torch.onnx.OnnxExporterError as error:
        if "onnx is not installed" in str(error):
            raise MissingExtra("onnx", "fast") from None
        raise MoemctsError(f"{type(network).__name__} cannot be exported to ONNX: {first_line(error)}") from error
    except RuntimeError as error:
        raise MoemctsError(f"{type(network).__name__} cannot be exported to ONNX: {first_line(error)}") from error


def with_metadata(model: bytes, metadata: Mapping[str, str]) -> bytes:
    """Returns the model with metadata that any ONNX viewer shows; raises MissingExtra without the package onnx."""
    try:
        import onnx
    except ModuleNotFoundError:
        raise MissingExtra("onnx", "fast") from None
    proto = onnx.load_model_from_string(model)
    onnx.helper.set_model_props(proto, dict(metadata))
    content: bytes = proto.SerializeToString()
    return content


def torch_evaluation(network: nn.Module, planes: FloatArray) -> Evaluation:
    """Returns the outputs of the network itself, in evaluation mode and without folding batch norms."""
    was_training = network.training
    device = next((parameter.device for parameter in network.parameters()), torch.device("cpu"))
    with full_precision_inference(device):
        output = network.eval()(torch.from_numpy(planes).to(device))
    network.train(was_training)
    return Evaluation(output[0].float().cpu().numpy(), output[1].float().cpu().numpy())


def largest_error(expected: Evaluation, found: Evaluation) -> float:
    """Returns the largest absolute difference of logits and values, relative to the largest of each if above one.

    Infinite if shapes differ or a number is not finite.
    """
    return _error(expected, found, lambda numbers: float(np.abs(numbers).max()))


def mean_error(expected: Evaluation, found: Evaluation) -> float:
    """Returns the root mean square difference of logits or of values, relative to their own if above one.

    The larger of the two is returned. Infinite if shapes differ or a number is not finite.
    """
    return _error(expected, found, lambda numbers: float(np.sqrt(np.square(numbers, dtype=np.float64).mean())))


def _error(expected: Evaluation, found: Evaluation, size: Callable[[FloatArray], float]) -> float:
    errors = [0.0]
    for right, ours in ((expected.logits, found.logits), (expected.value, found.value)):
        if right.shape != ours.shape or not np.isfinite(ours).all():
            return float("inf")
        if right.size:
            errors.append(size(right - ours) / max(1.0, size(right)))
    return max(errors)


CHECKS: dict[Precision, tuple[Callable[[Evaluation, Evaluation], float], float]] = {
    "float32": (largest_error, TOLERANCE),
    "bf16": (mean_error, 0.1),
}
"""The error measure and its limit for a network to count as the one that torch runs, by precision. Numbers in bfloat16
have 8 binary digits, and a dozen layers lose two more, individual numbers many more on planes that no game has: this
rejects networks that compute something else, while `Fidelity` measures how much of a policy is kept."""


def check_error(error: float, what: str, tolerance: float = TOLERANCE) -> None:
    """Raises MoemctsError if the error of an exported network is above the tolerance."""
    if not error <= tolerance:
        raise MoemctsError(
            f"{what} gives other results than torch: expected errors up to {tolerance:g}, got {error:.3g}; use "
            "backend=torch and precision=float32"
        )


class _LogitsAndValue(nn.Module):
    """A network without the outputs that no search uses."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        output = self.network(planes)
        return output[0], output[1]


def _regroup_narrow_convolutions(model: nn.Module) -> None:
    for module in list(model.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.Conv2d) and _is_narrow(child):
                setattr(module, name, _as_transposed(child))


def _is_narrow(conv: nn.Conv2d) -> bool:
    # onnxruntime gathers the neighbourhood of every cell, then multiplies; the transposed form multiplies first and
    # sums the neighbours, which writes less for few outputs. Measured on 3x3 and 5x5 kernels: 1.5 to 17 times as fast
    # within these limits, slower beyond 16 outputs, where blocked kernels take over.
    return (
        conv.out_channels <= 8
        and 4 * conv.out_channels <= conv.in_channels
        and conv.kernel_size[0] > 1
        and conv.kernel_size[0] == conv.kernel_size[1]
        and conv.stride == conv.dilation == (1, 1)
        and conv.groups == 1
        and conv.padding == (conv.kernel_size[0] // 2,) * 2
        and conv.padding_mode == "zeros"
    )


def _as_transposed(conv: nn.Conv2d) -> nn.ConvTranspose2d:
    """Returns the same function as a transposed convolution, with a mirrored kernel."""
    kernel = conv.kernel_size[0]
    same = nn.ConvTranspose2d(
        conv.in_channels, conv.out_channels, kernel, padding=kernel // 2, bias=conv.bias is not None
    )
    same.weight = nn.Parameter(conv.weight.detach().transpose(0, 1).flip(2, 3).contiguous(), requires_grad=False)
    if conv.bias is not None:
        same.bias = nn.Parameter(copy.deepcopy(conv.bias.detach()), requires_grad=False)
    return same

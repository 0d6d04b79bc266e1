"""Evaluates views with a network run by torch."""

from __future__ import annotations

import copy
import itertools

import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from moemcts.evaluation import Evaluation
from moemcts.game import FloatArray
from moemcts.learn.inference.backends import PlanesEvaluator, Precision
from moemcts.learn.inference.full_precision import full_precision_inference
from moemcts.learn.inference.graphs import SIZES, FixedBatches

DTYPES: dict[Precision, torch.dtype] = {"float32": torch.float32, "bf16": torch.bfloat16}
"""The precisions that torch runs networks in; batch norms are folded first, so that only the result is rounded."""


class TorchEvaluator(PlanesEvaluator):
    """Evaluates views with a network: planes in, logits and value out."""

    def __init__(self, network: nn.Module, device: str = "cpu", precision: Precision = "float32") -> None:
        """Takes a copy of the network, in which batch norms are folded into the convolutions before them."""
        self.device = torch.device(device)
        self._network = prepared(network, self.device, precision)
        self._dtype = DTYPES[precision]
        # Where launches cost more than what they compute, a CUDA graph replays them as one.
        self._fixed = FixedBatches(self._network, self.device, self._dtype) if self.device.type == "cuda" else None

    def evaluate_planes(self, planes: FloatArray) -> Evaluation:
        """Evaluates planes `[N, *observation_shape]`."""
        with full_precision_inference(self.device):
            if self._fixed is not None and len(planes) <= SIZES[-1]:
                return Evaluation(*(output.numpy() for output in self._fixed(planes)))
            # Converted on the device: a conversion in the same call as the transfer is done on the CPU.
            on_device = torch.from_numpy(planes).to(self.device).to(self._dtype)
            logits, value = self._network(on_device)[:2]
            return Evaluation(to_array(logits), to_array(value))


def prepared(network: nn.Module, device: torch.device, precision: Precision = "float32") -> nn.Module:
    """Returns a copy for inference on a device, with weights in the precision; it expects planes in it too."""
    copied = folded(network).to(device, DTYPES[precision])
    # Channels last is 1.05 to 1.5 times as fast on a CPU, for batches of 8 to 256 of small networks.
    return copied.to(memory_format=torch.channels_last)


def folded(network: nn.Module) -> nn.Module:
    """Returns a copy for inference, with every batch norm that directly follows a convolution folded into it."""
    fused = copy.deepcopy(network).eval().requires_grad_(False)
    for module in fused.modules():
        if not isinstance(module, nn.Sequential):
            continue
        layers = list(module)
        for i, (layer, following) in enumerate(itertools.pairwise(layers)):
            if isinstance(layer, nn.Conv2d) and isinstance(following, nn.BatchNorm2d):
                module[i] = fuse_conv_bn_eval(layer, following)
                module[i + 1] = nn.Identity()
    return fused


def to_array(tensor: Tensor) -> FloatArray:
    """Returns a tensor on the CPU as float32."""
    array: FloatArray = tensor.float().cpu().numpy()
    return array

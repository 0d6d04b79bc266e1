"""Runs experts that share a body as one body with a set of heads per expert."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from moemcts.evaluation import Evaluation, Evaluator
from moemcts.experts import Evaluators
from moemcts.game import FloatArray, IntArray, Views
from moemcts.learn.inference.backends import Precision
from moemcts.learn.inference.full_precision import full_precision_inference
from moemcts.learn.inference.stacked import StackedExperts
from moemcts.learn.inference.torch_evaluator import DTYPES, TorchEvaluator, prepared, to_array
from moemcts.learn.networks.heads import TwoHeads
from moemcts.learn.networks.shared_body import share_a_body


class SharedBody(Evaluators):
    """Experts with equal bodies: the body evaluates a batch once, and each row goes on to its own expert's heads."""

    def __init__(self, networks: Sequence[nn.Module], device: str = "cpu", precision: Precision = "float32") -> None:
        """Takes copies of the networks, in which batch norms are folded; raises ValueError if their bodies differ."""
        if not share_a_body(networks):
            raise ValueError(f"expected several networks with equal bodies, got {len(networks)}")
        self.device = torch.device(device)
        self._dtype = DTYPES[precision]
        copies = [prepared(network, self.device, precision) for network in networks]
        self._networks = [network for network in copies if isinstance(network, TwoHeads)]
        for network in self._networks[1:]:
            network.body = self._networks[0].body

    def __len__(self) -> int:
        return len(self._networks)

    def evaluate_by(self, experts: IntArray, views: Views) -> Evaluation:
        return self.evaluate_planes_by(experts, views.observations())

    def evaluate_planes_by(self, experts: IntArray, planes: FloatArray) -> Evaluation:
        """Evaluates planes `[N, *observation_shape]`, row `i` by expert `experts[i]`."""
        with full_precision_inference(self.device):
            features = self._networks[0].body(torch.from_numpy(planes).to(self.device, self._dtype))
            present = np.unique(experts)
            groups = [np.flatnonzero(experts == expert) for expert in present]
            parts = [
                self._networks[int(expert)].heads(features if len(present) == 1 else features[rows])
                for expert, rows in zip(present, groups, strict=True)
            ]
        order = np.argsort(np.concatenate(groups), kind="stable")
        return Evaluation(_rows([part.logits for part in parts], order), _rows([part.value for part in parts], order))


def torch_experts(
    networks: Sequence[nn.Module], device: str = "cpu", precision: Precision = "float32"
) -> Sequence[Evaluator]:
    """Returns the networks as evaluators, which share one body if theirs are equal."""
    if share_a_body(networks):
        return SharedBody(networks, device, precision)
    return [TorchEvaluator(network, device, precision) for network in networks]


def stacked_experts(
    networks: Sequence[nn.Module], device: str = "cpu", precision: Precision = "float32"
) -> Sequence[Evaluator]:
    """Returns the networks as evaluators that are computed all at once; as `torch_experts` if they share a body."""
    if len(networks) == 1 or share_a_body(networks):
        return torch_experts(networks, device, precision)
    return StackedExperts(networks, device, precision)


def _rows(parts: Sequence[Tensor], order: IntArray) -> FloatArray:
    rows: FloatArray = to_array(torch.cat(list(parts)))[order]
    return rows

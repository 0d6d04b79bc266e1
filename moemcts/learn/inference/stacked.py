"""Experts of equal architecture, stacked into one network with an extra dimension: one launch for all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from moemcts.evaluation import Evaluation
from moemcts.experts import Evaluators
from moemcts.game import FloatArray, IntArray, Views
from moemcts.learn.inference.backends import Precision
from moemcts.learn.inference.full_precision import full_precision_inference
from moemcts.learn.inference.torch_evaluator import DTYPES, prepared, to_array

PADDING_MULTIPLE = 8
"""Rows per expert are padded to a multiple of this, so that a GPU meets few different sizes."""


class StackedExperts(Evaluators):
    """K experts with stacked weights: rows are distributed to them, and all are computed at once.

    Made for GPUs, which K launches of a K-th of a batch each leave idle. On a CPU, which a handful of rows keeps busy,
    it is no faster than one after the other.
    """

    def __init__(self, networks: Sequence[nn.Module], device: str = "cpu", precision: Precision = "float32") -> None:
        """Takes copies of the networks, with batch norms folded; raises ValueError if their architectures differ."""
        self.device = torch.device(device)
        self._dtype = DTYPES[precision]
        copies = [prepared(network, self.device, precision) for network in networks]
        kinds = {repr(network) for network in copies}
        if len(kinds) != 1:
            raise ValueError(f"expected experts of one architecture, got {len(kinds)}")
        self._num_experts = len(copies)
        self._network = copies[0]
        self._weights, self._buffers = stack_module_state(copies)

    def __len__(self) -> int:
        return self._num_experts

    def evaluate_by(self, experts: IntArray, views: Views) -> Evaluation:
        return self.evaluate_planes_by(experts, views.observations())

    def evaluate_planes_by(self, experts: IntArray, planes: FloatArray) -> Evaluation:
        """Evaluates planes `[N, *observation_shape]`, row `i` by expert `experts[i]`."""
        counts = np.bincount(experts, minlength=self._num_experts)
        depth = -(-int(counts.max(initial=1)) // PADDING_MULTIPLE) * PADDING_MULTIPLE
        # The destination of each row: its expert's next free place.
        order = np.argsort(experts, kind="stable")
        slots = np.empty(len(experts), dtype=np.int64)
        slots[order] = np.arange(len(experts)) - np.repeat(np.cumsum(counts) - counts, counts)
        distributed = np.zeros((self._num_experts, depth, *planes.shape[1:]), dtype=np.float32)
        distributed[experts, slots] = planes
        with full_precision_inference(self.device):
            logits, value = vmap(self._call)(
                self._weights, self._buffers, torch.from_numpy(distributed).to(self.device, self._dtype)
            )
            return Evaluation(to_array(logits)[experts, slots], to_array(value)[experts, slots])

    def _call(self, weights: dict[str, Tensor], buffers: dict[str, Tensor], planes: Tensor) -> tuple[Tensor, Tensor]:
        logits, value = functional_call(self._network, (weights, buffers), (planes,))[:2]
        return logits, value

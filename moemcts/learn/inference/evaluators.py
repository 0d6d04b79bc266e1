"""Creates evaluators of networks, whatever backend runs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import nn

from moemcts.errors import unknown_name
from moemcts.learn.inference.backends import BACKENDS, PRECISIONS, Backend, PlanesEvaluator, Precision, require_backend
from moemcts.learn.inference.backends import Inference as Inference
from moemcts.learn.inference.choice import BATCH_SIZE as BATCH_SIZE
from moemcts.learn.inference.choice import Choice as Choice
from moemcts.learn.inference.choice import NetworkGroup, choose
from moemcts.learn.inference.factory import build_evaluator
from moemcts.learn.inference.positions import Sample

AUTO = "auto"


def resolve(
    backend: str,
    precision: str,
    network: nn.Module | Sequence[nn.Module],
    observation_shape: tuple[int, ...],
    *,
    batch_size: int = BATCH_SIZE,
    device: str = "cpu",
    positions: Callable[[], Sample] | None = None,
    quantised: Sequence[bytes] | None = None,
) -> Choice:
    """Returns what the names stand for, with `auto` resolved by `choice.choose`, and what it was compared with.

    Several networks are those of a team, and `positions` are some of their game, to test whether they keep their
    policy. Raises UsageError for unknown names, or names that do not go together, MissingExtra for a backend that is
    not installed if its precision is to be chosen.
    """
    chosen_backend = None if backend == AUTO else parse_backend(backend)
    chosen_precision = None if precision == AUTO else parse_precision(precision)
    if chosen_backend and chosen_precision:
        return Choice(Inference(chosen_backend, chosen_precision).checked(device), {}, {})
    if chosen_backend:
        require_backend(Inference(chosen_backend).checked(device).backend)
    if chosen_precision == "int8" and quantised is None:
        # Without models there is nothing to measure; opening them raises an error that says how to make them.
        return Choice(Inference("onnxruntime", "int8"), {}, {})
    networks = [network] if isinstance(network, nn.Module) else network
    group = NetworkGroup(
        networks=networks,
        observation_shape=observation_shape,
        positions=positions,
        quantised=quantised,
        device=device,
    )
    return choose(group, backend=chosen_backend, precision=chosen_precision, batch_size=batch_size)


def parse_backend(name: str) -> Backend:
    """Returns the backend of that name; raises UsageError if there is none."""
    for backend in BACKENDS:
        if name == backend:
            return backend
    raise unknown_name("backend", name, (*BACKENDS, AUTO))


def parse_precision(name: str) -> Precision:
    """Returns the precision of that name; raises UsageError if there is none."""
    for precision in PRECISIONS:
        if name == precision:
            return precision
    raise unknown_name("precision", name, (*PRECISIONS, AUTO))


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

    `precision="int8"` needs the model that `quantise.quantised` made of it. A float32 model is compared with torch on a
    few positions before it is returned. Raises MissingExtra if a library is not installed, MoemctsError if the model's
    outputs differ from the network's, UsageError as `resolve`.
    """
    models = None if quantised is None else [quantised]
    chosen = resolve(
        backend, precision, network, observation_shape, batch_size=batch_size, device=device, quantised=models
    ).inference
    model = quantised if chosen.precision == "int8" else None
    return build_evaluator(network, observation_shape, chosen, model=model, device=device, name=name)

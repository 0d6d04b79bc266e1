"""What training and search expect of a network."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from moemcts.errors import MoemctsError, one_line
from moemcts.game import GameSpec
from moemcts.learn.networks.outputs import Outputs

TOLERANCE = 1e-5
"""How far a value may exceed 1 in float32."""


def check_network(network: object, spec: GameSpec) -> Outputs:
    """Checks the outputs of a network for one empty position, which it returns, and for two.

    Raises MoemctsError unless they are what `Outputs` requires for the game, so that mistakes are known before hours of
    training. NaN is left to training, which reports where it began.
    """
    name = f"network {type(network).__name__}"
    if not isinstance(network, nn.Module):
        raise MoemctsError(f"{name} is invalid: expected a torch.nn.Module")
    was_training = network.training
    try:
        _check_outputs(network.eval(), name, spec, 2)
        return _check_outputs(network, name, spec, 1)
    finally:
        network.train(was_training)


def missing_outputs(networks: Sequence[Outputs]) -> list[str]:
    """Returns the names of the fields of `Outputs` that are None in all of these."""
    return [name for name in Outputs._fields if all(getattr(outputs, name) is None for outputs in networks)]


def _check_outputs(network: nn.Module, name: str, spec: GameSpec, count: int) -> Outputs:
    """Returns the outputs of a network for `count` empty positions; raises as `check_network`."""
    input_shape = [count, *spec.observation_shape]
    try:
        with torch.no_grad():
            output = network(torch.zeros(input_shape))
    except Exception as error:
        raise MoemctsError(f"{name} is invalid: on observations {input_shape} it raised {one_line(error)}") from error
    if not isinstance(output, tuple) or len(output) not in range(2, 5):
        raise MoemctsError(f"{name} is invalid: expected a tuple of logits and value, got {type(output).__name__}")
    outputs = Outputs(*output)
    values = [[count], [count, spec.num_players]]
    expected = {"logits": [[count, spec.num_actions]], "value": values, "wdl": [[*shape, 3] for shape in values]}
    for part, shapes in {**expected, "plies": [[count]]}.items():
        found = getattr(outputs, part)
        shape = list(found.shape) if isinstance(found, Tensor) else type(found).__name__
        if shape not in shapes and (found is not None or part in ("logits", "value")):
            words = " or ".join(map(str, shapes))
            raise MoemctsError(
                f"{name} is invalid: expected {part} {words} for observations {input_shape} of {spec.name}, got {shape}"
            )
    if bool((outputs.value.abs() > 1 + TOLERANCE).any()):
        raise MoemctsError(f"{name} is invalid: expected values in [-1, 1], got {outputs.value.flatten().tolist()}")
    return outputs

"""Resolves the backend, precision and device of a run when it is created."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moemcts.gates import SinglePhase
from moemcts.plugins import plugins

if TYPE_CHECKING:
    from moemcts.learn.inference.backends import Inference

BATCH_SIZE = 16


def inference_for(
    game: str,
    network: str,
    backend: str,
    precision: str | None,
    *,
    batch_size: int = BATCH_SIZE,
    device: str = "cpu",
) -> Inference:
    """Returns what `auto` means on this machine for a network that is yet to be trained; no precision means float32.

    Times a freshly initialised network, and checks on positions played by the game's default agent whether a lower
    precision preserves its policy.
    """
    from moemcts.learn.inference.evaluators import resolve
    from moemcts.learn.inference.positions import default_positions

    rules = plugins().game(game)
    untrained = plugins().network(network, rules.spec.observation_shape, rules.spec.num_actions).eval()
    return resolve(
        backend,
        precision or "float32",
        untrained,
        rules.spec.observation_shape,
        batch_size=batch_size,
        device=device,
        positions=lambda: default_positions(rules, SinglePhase(), plugins().agent(plugins().player(rules), rules)),
    ).inference


def device_for(name: str) -> str:
    """Returns the device that `auto` means here, others unchanged; raises UsageError if it does not exist."""
    from moemcts.learn.training.ranks import device_of

    return str(device_of(name)) if name != "cpu" else name

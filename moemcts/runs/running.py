"""What runs the networks of a run, decided when it is created."""

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
    """Returns what `auto` means here for a network that is still to be trained; no precision is float32.

    A fresh one is timed, and whether fewer digits keep a policy is seen on its own, in positions of the game's default
    agent.
    """
    from moemcts.learn.inference.evaluators import resolve
    from moemcts.learn.inference.positions import usual_positions

    played = plugins().game(game)
    made = plugins().network(network, played.spec.observation_shape, played.spec.num_actions).eval()
    return resolve(
        backend,
        precision or "float32",
        made,
        played.spec.observation_shape,
        batch_size=batch_size,
        device=device,
        positions=lambda: usual_positions(played, SinglePhase(), plugins().agent(plugins().player(played), played)),
    ).inference


def device_for(name: str) -> str:
    """Returns what `auto` means here for a device, others as they are; raises UsageError where there is none."""
    from moemcts.learn.training.ranks import device_of

    return str(device_of(name)) if name != "cpu" else name

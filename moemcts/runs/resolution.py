"""An experiment's settings with what its game and this machine decide written out, so that they stay the same."""

from __future__ import annotations

from moemcts.errors import UsageError
from moemcts.naming import AUTO, settled
from moemcts.plugins import plugins
from moemcts.runs.arms import NO_GATE, SINGLE
from moemcts.runs.running import device_for, inference_for
from moemcts.runs.settings import ExperimentConfig
from moemcts.runs.start import with_start


def with_gates(config: ExperimentConfig) -> ExperimentConfig:
    """Returns the configuration with its gates, all that these found by playing, and what they are called.

    Raises UsageError where two of them are the same then.
    """
    game, config = plugins().game(config.game), config.filled()
    gates = [plugins().complete_gate(gate, game) for gate in config.gates]
    for gate, name in zip(gates, config.gates, strict=True):
        if (same := config.gates[gates.index(gate)]) != name:
            raise UsageError(f"expected different gates, got {same!r} and {name!r}, which are both {gate!r} here")
    # Names of other gates, from the file of another run, are forgotten.
    return config.model_copy(update={"gates": gates, "gate_names": config.gates if gates != config.gates else []})


def with_networks(config: ExperimentConfig) -> ExperimentConfig:
    """Returns the configuration with the network of what trainings begin with, and with what the game decides of
    further networks, as of the first, written out; raises as `with_start`.
    """
    config = with_start(config, NO_GATE, config.schemes)
    game = plugins().game(config.game)

    def complete(networks: list[str]) -> list[str]:
        return [plugins().complete_network(network, game) for network in networks]

    update = {"other_networks": complete(config.other_networks), "single_networks": complete(config.single_networks)}
    return config.model_copy(update=update)


def with_field(config: ExperimentConfig) -> ExperimentConfig:
    """Returns the configuration with the field's reference as it names the same agent elsewhere."""
    field = config.match.field
    if field in ("", SINGLE):
        return config
    found = settled(field, plugins().game(config.game))
    return config.model_copy(update={"match": config.match.model_copy(update={"field": found})})


def with_inference(config: ExperimentConfig) -> ExperimentConfig:
    """Returns the configuration with the quickest in place of `auto`, so that a run never changes its mind.

    Raises UsageError where there is no such device here.
    """
    match, device = config.match, device_for(config.match.device)
    update: dict[str, str | None] = {"device": device}
    if AUTO in (match.backend, match.precision):
        chosen = inference_for(config.game, config.network, match.backend, match.precision, device=device)
        precision = None if match.precision is None else chosen.precision
        update |= {"backend": chosen.backend, "precision": precision}
    return config.model_copy(update={"match": match.model_copy(update=update)})

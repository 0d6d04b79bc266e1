"""Resolves an experiment's settings that depend on its game or on the machine, so that they stay fixed."""

from __future__ import annotations

from moemcts.errors import UsageError
from moemcts.naming import AUTO, resolve_reference
from moemcts.plugins import plugins
from moemcts.runs.arms import NO_GATE, SINGLE
from moemcts.runs.hardware import device_for, inference_for
from moemcts.runs.initial_experts import with_start
from moemcts.runs.settings import ExperimentConfig


def with_gates(config: ExperimentConfig) -> ExperimentConfig:
    """Returns the configuration with completed gates, including what they determine by playing, and their names.

    Raises UsageError if two of them are the same once completed.
    """
    game, config = plugins().game(config.game), config.filled()
    gates = [plugins().complete_gate(gate, game) for gate in config.gates]
    for gate, name in zip(gates, config.gates, strict=True):
        if (same := config.gates[gates.index(gate)]) != name:
            raise UsageError(f"expected different gates, got {same!r} and {name!r}, which are both {gate!r} here")
    # Names of other gates, copied from another run's file, are dropped.
    return config.model_copy(update={"gates": gates, "gate_names": config.gates if gates != config.gates else []})


def with_networks(config: ExperimentConfig) -> ExperimentConfig:
    """Returns the configuration with completed networks; raises as `with_start`.

    The first is that of the initial experts, if there are any; further networks get the options that the game decides.
    """
    config = with_start(config, NO_GATE, config.schemes)
    game = plugins().game(config.game)

    def complete(networks: list[str]) -> list[str]:
        return [plugins().complete_network(network, game) for network in networks]

    update = {"other_networks": complete(config.other_networks), "single_networks": complete(config.single_networks)}
    return config.model_copy(update=update)


def with_field(config: ExperimentConfig) -> ExperimentConfig:
    """Returns the configuration with a field reference that names the same agent from anywhere."""
    field = config.match.field
    if field in ("", SINGLE):
        return config
    found = resolve_reference(field, plugins().game(config.game))
    return config.model_copy(update={"match": config.match.model_copy(update={"field": found})})


def with_inference(config: ExperimentConfig) -> ExperimentConfig:
    """Returns the configuration with `auto` replaced by the fastest choice, so that it stays fixed for the run.

    Raises UsageError if the device does not exist on this machine.
    """
    match, device = config.match, device_for(config.match.device)
    update: dict[str, str | None] = {"device": device}
    if AUTO in (match.backend, match.precision):
        chosen = inference_for(config.game, config.network, match.backend, match.precision, device=device)
        precision = None if match.precision is None else chosen.precision
        update |= {"backend": chosen.backend, "precision": precision}
    return config.model_copy(update={"match": match.model_copy(update=update)})

"""Extends an experiment by arms, games or training seeds; existing results are kept, and resuming makes the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from moemcts.dotted import lookup, merge
from moemcts.errors import MoemctsError, UsageError
from moemcts.plugins import plugins
from moemcts.runs.arms import NO_GATE, Arm
from moemcts.runs.config_file import written_settings
from moemcts.runs.copies import copied_gate, copy_gate
from moemcts.runs.experiment.run import Experiment
from moemcts.runs.experiment.trainings import TRAINING
from moemcts.runs.resolution import with_field, with_inference
from moemcts.runs.settings import ExperimentConfig, validate

_OPTIONS = {
    "gates": "--gate",
    "schemes": "--scheme",
    "other_networks": "--network",
    "single_networks": "--single-network",
}
"""The command-line option that adds arms, by setting."""


def extend_experiment(
    experiment: Experiment,
    *,
    gates: Sequence[str] = (),
    schemes: Sequence[str] = (),
    networks: Sequence[str] = (),
    single_networks: Sequence[str] = (),
    changes: Mapping[str, Any] | None = None,
) -> Experiment:
    """Returns an experiment extended by gates, schemes and networks, with changed settings by dotted path.

    Existing arms keep their names, whatever distinguishes them from the new ones. Nothing is written until
    `save_extension`. Raises UsageError for additions that already exist, for fewer games or seeds than before, and if
    the files of existing arms would have to be renamed; ForeignData if existing results do not match the new settings;
    and as `Run.check_networks`.
    """
    config, game = experiment.config, experiment.game
    added = {
        "gates": {gate: plugins().complete_gate(gate, game) for gate in gates},
        "schemes": {scheme: scheme for scheme in schemes},
        "other_networks": {network: plugins().complete_network(network, game) for network in networks},
        "single_networks": {network: plugins().complete_network(network, game) for network in single_networks},
    }
    existing = {"gates": config.gates, "schemes": config.schemes}
    for key, names in added.items():
        for name, complete in names.items():
            if complete in existing.get(key, config.all_networks):
                known = "" if complete == name else f", which it has as {complete!r}"
                raise UsageError(
                    f"expected something that {experiment.folder} does not have yet, got {_OPTIONS[key]} "
                    f"{name!r}{known}; leave that out"
                )
    values = config.resolved_settings()
    merge(values, changes or {})
    values |= {key: [*getattr(config, key), *names.values()] for key, names in added.items()}
    gate_names = [*(config.gate_names or config.gates), *gates]
    values["gate_names"] = gate_names if gate_names != values["gates"] else []
    larger = _with_settings(experiment, values)
    larger.check_networks()
    _check_larger(experiment, larger)
    if config.begun_with is None and any(_renamed(experiment, larger)):
        num_gates = len([gate for gate in config.gates if gate != NO_GATE])
        larger = _with_settings(
            experiment, values | {"begun_with": {"gates": num_gates, "schemes": len(config.schemes)}}
        )
    for arm, now in _renamed(experiment, larger):
        raise UsageError(
            f"with the new arms, the files of {arm.name!r} in {experiment.folder} would have to be renamed to "
            f"{now.label!r}; start another run, on the same data with --data {experiment.folder / 'data'}"
        )
    larger.matches.boards.check()
    larger.check(remedy="leave that out, or start another run with --out")
    return larger


def save_extension(experiment: Experiment) -> None:
    """Writes the settings of an extended experiment into its folder.

    Raises MoemctsError if another process holds the run or has extended it meanwhile, and if new experts would have no
    samples to learn from.
    """
    with experiment.locked():
        pending = experiment.pending_parts()
        if pending and pending[0].task == TRAINING:
            # Checked before anything is written, as arms cannot be removed again.
            experiment.check_samples()
        for gate in experiment.gates:
            # Existing copies stay: the original file may have changed.
            if copied_gate(experiment.folder, gate, experiment.gates) == gate:
                copy_gate(experiment.folder, gate)
        written = written_settings(experiment.folder)
        _check_nothing_is_lost(experiment, written)
        for file in experiment.openings:
            # An existing copy stays, as its games begin there, whatever has become of the original file.
            if lookup(written, f"{file.section}.openings") != str(file.named):
                file.make_copy()
        experiment.keep_settings()


def _check_larger(experiment: Experiment, larger: Experiment) -> None:
    """Raises UsageError if an experiment has fewer games or seeds than before, which would hide existing results."""
    for name, before, now in (
        ("num_seeds", experiment.config.num_seeds, larger.config.num_seeds),
        ("match.games", experiment.config.match.games, larger.config.match.games),
        ("match.raw_games", experiment.config.match.raw_games, larger.config.match.raw_games),
    ):
        if now < before:
            raise UsageError(
                f"expected {name} of at least {before}, which {experiment.folder} was begun with, got {now}; for "
                "a smaller run, give another --out"
            )


def _check_nothing_is_lost(larger: Experiment, written: Mapping[str, Any]) -> None:
    """Checks that overwriting the settings loses no arms.

    Raises MoemctsError if the written settings name arms that the extended experiment lacks: another command has
    extended the run meanwhile.
    """
    for key in _OPTIONS:
        if lost := [name for name in written.get(key, ()) if name not in getattr(larger.config, key)]:
            raise MoemctsError(
                f"{larger.folder} has gained {', '.join(lost)} from another command in the meantime; run this one again"
            )


def _with_settings(experiment: Experiment, values: Mapping[str, Any]) -> Experiment:
    return Experiment(experiment.folder, with_inference(with_field(validate(values, ExperimentConfig))))


def _renamed(experiment: Experiment, larger: Experiment) -> Iterator[tuple[Arm, Arm]]:
    """Yields the arms whose names or labels change, each as before and as in the extended experiment."""
    now = {_experts_of(arm): arm for arm in larger.arms}
    for arm in experiment.arms:
        extended = now.get(_experts_of(arm), arm)
        if (extended.name, extended.label) != (arm.name, arm.label):
            yield arm, extended


def _experts_of(arm: Arm) -> tuple[str, str, str]:
    return arm.gate, arm.scheme, arm.network

"""What a training taught its experts, as a report: the papers' tables of losses, and the curves on the way."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moemcts.evaluation import Evaluator
from moemcts.naming import experts_in
from moemcts.report.curves import curve_figures, metrics
from moemcts.report.losses import accuracy_table, loss_table
from moemcts.report.page import Figure, Report, Section
from moemcts.report.plots import phase_shares
from moemcts.store import read_toml

if TYPE_CHECKING:
    from moemcts.learn.assessment import PhaseLosses
    from moemcts.runs.sources import Sources
    from moemcts.runs.training import Training

BASELINE = "baseline"


def training_report(training: Training, sources: Sources, speed: dict[str, Any]) -> Report:
    """Returns the report of a finished training; `speed` is that of its last part."""
    config, gate = training.config, training.experts().gate
    losses, num_samples = _losses(training, sources)
    kind = "test" if sources.test else "validation" if sources.validation else "held-out"
    where = f"on {num_samples:,} {kind} samples"
    weights = {"policy_weight": config.training.policy_weight, "value_weight": config.training.value_weight}
    counts = sources.training.phase_counts(gate)
    figures = [] if gate.num_phases == 1 else [_shares(gate.phase_names, counts, len(sources.training))]
    return Report(
        title=f"{config.game}: {config.network} by {config.gate}",
        summary="\n\n".join(filter(None, [_summary(losses, where, weights), _leak(training, sources)])),
        sections=[
            Section("Losses", tables=[loss_table(losses, where, **weights), accuracy_table(losses, where)]),
            Section("On the way", figures=[*_curves(training), *figures]),
            Section("How it was made", _making(training, sources, speed)),
        ],
        numbers={
            "config": config.model_dump(mode="json"),
            "measured_on": kind,
            "losses": [{**row.to_json(), "loss": _whole(row, weights)} for row in losses],
            "training_samples": {"all": len(sources.training), **counts},
            "speed": speed,
        },
    )


def _losses(training: Training, sources: Sources) -> tuple[list[PhaseLosses], int]:
    from moemcts.learn.assessment import MIXTURE, phase_losses, team_evaluators

    config, experts, baseline = training.config, training.experts(), training.baseline()
    held_out = sources.held_out(config.training.validation_fraction, config.seed)
    evaluators: dict[str, Evaluator] = {} if baseline is None else {BASELINE: baseline}
    if training.gate.num_phases == 1:
        evaluators["network"] = experts
    elif config.scheme.partition("?")[0] == "single":
        evaluators[MIXTURE] = experts
    else:
        evaluators |= team_evaluators(experts)
    return phase_losses(evaluators, held_out, experts.gate), len(held_out)


def _summary(losses: Sequence[PhaseLosses], where: str, weights: dict[str, float]) -> str:
    """Returns what all experts together have reached, beside the baseline."""
    lines = [_words(losses[-1], where, weights)]
    if losses[0].name == BASELINE:
        lines.append(_words(losses[0], where, weights))
    return "\n\n".join(lines)


def _leak(training: Training, sources: Sources) -> str:
    """Returns a warning where the baseline has learned from games that are held out here."""
    if not training.config.baseline or sources.test or sources.validation:
        return ""
    manifest = read_toml(experts_in(Path(training.config.baseline)) / "manifest.toml")
    if manifest["data"] != sources.training.id or manifest["seed"] == training.config.seed:
        return ""
    return (
        f"The baseline was trained on the same data with seed {manifest['seed']}, not {training.config.seed}: other "
        "games were held out from it, it has learned from some of these. Compare on a test set, or with equal seeds."
    )


def _words(row: PhaseLosses, where: str, weights: dict[str, float]) -> str:
    loss, accuracy = row.loss("all", **weights), row.accuracy["all"]
    if loss is None or accuracy is None:
        return f"{row.name}: nothing measured {where}."
    return f"{row.name}: loss {loss:.4f}, policy accuracy {100 * accuracy:.1f} % {where}."


def _whole(row: PhaseLosses, weights: dict[str, float]) -> dict[str, float | None]:
    return {phase: row.loss(phase, **weights) for phase in row.policy}


def _curves(training: Training) -> list[Figure]:
    baseline = Path(training.config.baseline) / "training" / "metrics.jsonl"
    return curve_figures(training.gate.phase_names, metrics(training.metrics), metrics(baseline))


def _shares(names: Sequence[str], counts: dict[str, float], num_samples: int) -> Figure:
    image = phase_shares({"training data": [counts[name] for name in names]}, names)
    return Figure("shares", image, f"Phases of the {num_samples:,} samples of the training data.")


def _making(training: Training, sources: Sources, speed: dict[str, Any]) -> str:
    environment = json.loads((training.folder / "env.json").read_text())
    sets = {"training": sources.training, "validation": sources.validation, "test": sources.test}
    data = ", ".join(f"{name} {one.id} ({len(one):,} samples)" for name, one in sets.items() if one is not None)
    pace = (
        f"; {speed['positions_per_second']:,.0f} positions/s from disk to optimiser step, "
        f"{100 * speed['waiting']:.1f} % of the time waiting for data"
        if speed
        else ""
    )
    return "\n".join(
        [
            f"- {training.describe()}; seed {training.config.seed}{pace}",
            f"- data: {data}",
            f"- moemcts {environment['moemcts']}, torch {environment['torch']}, Python {environment['python']}, "
            f"{environment['system']}",
            f"- `{' '.join(environment['command'])}`",
            "- all settings: `config.toml`; all measurements: `training/metrics.jsonl`",
        ]
    )

"""The report of a training: the papers' tables of losses, and loss curves."""

from __future__ import annotations

from moemcts.learn.assessment import PhaseLosses
from moemcts.report.curves import FinalLosses, curve_figures
from moemcts.report.experiment import loss_weights
from moemcts.report.losses import accuracy_table, loss_table
from moemcts.report.outcomes import TrainingOutcomes
from moemcts.report.page import Figure, Report, Section
from moemcts.report.plots import phase_shares


def training_report(outcomes: TrainingOutcomes) -> Report:
    """Returns the report of a finished training."""
    where = f"on {outcomes.num_measured:,} {outcomes.measured_on} samples"
    weights, losses = loss_weights(outcomes.settings), outcomes.losses
    seed = outcomes.settings["seed"]
    curves = curve_figures(
        outcomes.phase_names,
        outcomes.metrics,
        outcomes.baseline_metrics,
        seed=seed,
        final_losses=_baseline_losses(outcomes),
    )
    return Report(
        title=outcomes.title,
        summary="\n\n".join(filter(None, [*_summary(outcomes, where, weights), outcomes.warning])),
        sections=[
            Section("Losses", tables=[loss_table(losses, where, **weights), accuracy_table(losses, where)]),
            Section("On the way", figures=[*curves, *_phase_figures(outcomes)]),
            Section("How it was made", outcomes.making),
        ],
        numbers={
            "config": outcomes.settings,
            "measured_on": outcomes.measured_on,
            "losses": [{**row.to_json(), "loss": _total_losses(row, weights)} for row in losses],
            "training_samples": {"all": outcomes.num_samples, **outcomes.counts},
            "speed": outcomes.speed,
        },
    )


def _baseline_losses(outcomes: TrainingOutcomes) -> FinalLosses | None:
    """Returns the baseline's final losses on each phase, if there is a baseline."""
    if not outcomes.has_baseline:
        return None
    losses = _total_losses(outcomes.losses[0], loss_weights(outcomes.settings))
    return FinalLosses(name="baseline", samples=outcomes.measured_on, losses=losses)


def _summary(outcomes: TrainingOutcomes, where: str, weights: dict[str, float]) -> list[str]:
    """Returns a summary of all experts together, followed by that of the baseline."""
    shown = [outcomes.losses[-1], *outcomes.losses[: int(outcomes.has_baseline)]]
    return [_describe_losses(row, where, weights) for row in shown]


def _describe_losses(row: PhaseLosses, where: str, weights: dict[str, float]) -> str:
    loss, accuracy = row.loss("all", **weights), row.accuracy["all"]
    if loss is None or accuracy is None:
        return f"{row.name}: nothing measured {where}."
    return f"{row.name}: loss {loss:.4f}, policy accuracy {100 * accuracy:.1f} % {where}."


def _total_losses(row: PhaseLosses, weights: dict[str, float]) -> dict[str, float | None]:
    return {phase: row.loss(phase, **weights) for phase in row.policy}


def _phase_figures(outcomes: TrainingOutcomes) -> list[Figure]:
    names = outcomes.phase_names
    if len(names) == 1:
        return []
    image = phase_shares({"training data": [outcomes.counts[name] for name in names]}, names)
    return [Figure("shares", image, f"Phases of the {outcomes.num_samples:,} samples of the training data.")]

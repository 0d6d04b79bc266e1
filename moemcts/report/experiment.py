"""The report of an experiment: who wins and by how much, what each expert learned, and what the phases are."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from moemcts.learn.assessment import PhaseLosses
from moemcts.report.curves import FinalLosses, curve_figures
from moemcts.report.losses import accuracy_table, loss_table
from moemcts.report.outcomes import Outcomes, Phases, TrainedTeam
from moemcts.report.page import Figure, Report, Section
from moemcts.report.plots import phase_shares, phase_timeline
from moemcts.report.tables import Cell, Table, format_fixed


def experiment_report(outcomes: Outcomes) -> Report:
    """Returns the report of a finished experiment."""
    searched, raw = outcomes.searched, outcomes.raw
    singles = {name: _single_numbers(name, outcomes) for name in outcomes.singles}
    sections = [searched.section("With search", "searched")]
    if raw is not None:
        sections.append(raw.section("Without search", "raw"))
    sections += [_single_section(name, outcomes) for name in outcomes.singles]
    sections += [_team_section(team, outcomes) for team in outcomes.teams]
    sections += [_phases_section(phases, outcomes.searched.seeds[0]) for phases in outcomes.phases]
    sections.append(Section("How it was made", outcomes.making))
    return Report(
        title=outcomes.title,
        summary="\n\n".join(_summary(outcomes)),
        sections=sections,
        numbers={
            "config": outcomes.settings,
            "searched": searched.numbers(),
            "raw": {} if raw is None else raw.numbers(),
            "single": singles.pop(next(iter(singles))),
            **({"other_singles": singles} if singles else {}),
            "losses": {team.name: [row.to_json() for row in team.losses] for team in outcomes.teams},
        },
    )


def _summary(outcomes: Outcomes) -> list[str]:
    searched = outcomes.searched
    return [*filter(None, [*searched.caveats(), *searched.summary(), *searched.scope(), outcomes.warning])]


def _team_section(team: TrainedTeam, outcomes: Outcomes) -> Section:
    num_seeds = len(outcomes.searched.seeds)
    seeds = f"mean of {num_seeds} training seeds" if num_seeds > 1 else "one training seed"
    where = f"on samples that no network learned from, {seeds}"
    weights = loss_weights(outcomes.settings)
    subject = team.name if team.is_single else f"the experts by {team.name}"
    single = {phase: team.single.loss(phase, **weights) for phase in team.single.policy}
    final_losses = FinalLosses(name="single network", samples=outcomes.measured_on, losses=single)
    # A single network for all phases is not a mixture, although its row is named so in files.
    losses = [*team.losses[:-1], replace(team.losses[-1], name=team.name)] if team.is_single else team.losses
    return Section(
        f"What {subject} learned",
        tables=[loss_table(losses, where, **weights), accuracy_table(losses, where)],
        figures=curve_figures(
            team.phase_names, team.metrics, seed=outcomes.searched.seeds[0], final_losses=final_losses, label=team.label
        ),
    )


def _single_section(name: str, outcomes: Outcomes) -> Section:
    numbers = _single_numbers(name, outcomes)
    rows = [
        [row.name, *_format_row([loss, row.policy["all"], row.value["all"], row.accuracy["all"]])]
        for row, loss in _with_total_loss(outcomes.singles[name], outcomes)
    ]
    if len(rows) > 1:
        spread = [numbers[name] for name in ("loss", "policy", "value", "accuracy")]
        means, deviations = (_format_row([term[key] for term in spread]) for key in ("mean", "deviation"))
        rows.append(["mean ± deviation", *(f"{mean} ± {error}" for mean, error in zip(means, deviations, strict=True))])
    table = Table(
        ["training", "loss", "policy", "value", "policy accuracy %"],
        rows,
        "Whole loss as in training, cross-entropy of the policy, squared error of the value, and the share of samples "
        "whose action is likeliest, on samples that the network did not learn from"
        + ("; the deviation is that of seeds." if len(rows) > 1 else "."),
    )
    network = name.partition(" ")[2]
    return Section(f"What the single {network or 'network'} learned", tables=[table])


def _format_row(numbers: Sequence[float | None]) -> list[Cell]:
    """Formats losses, and the accuracy that comes last as percent."""
    *losses, accuracy = numbers
    return [*map(format_fixed, losses), format_fixed(accuracy and 100 * accuracy, 2)]


def _with_total_loss(rows: Sequence[PhaseLosses], outcomes: Outcomes) -> list[tuple[PhaseLosses, float | None]]:
    weights = loss_weights(outcomes.settings)
    return [(row, row.loss("all", **weights)) for row in rows]


def _single_numbers(name: str, outcomes: Outcomes) -> dict[str, Any]:
    rows = _with_total_loss(outcomes.singles[name], outcomes)
    columns = {
        "loss": [loss for _, loss in rows],
        **{name: [getattr(row, name)["all"] for row, _ in rows] for name in ("policy", "value", "accuracy")},
    }
    return {"num_seeds": len(rows), **{name: _spread(values) for name, values in columns.items()}}


def _spread(values: Sequence[float | None]) -> dict[str, float | None]:
    """Returns the mean and sample standard deviation of values; None if there are too few."""
    measured = [value for value in values if value is not None]
    return {
        "mean": statistics.fmean(measured) if measured else None,
        "deviation": statistics.stdev(measured) if len(measured) > 1 else 0.0 if measured else None,
    }


def loss_weights(settings: Any) -> dict[str, float]:
    """Returns the weights of the policy and value losses in a run's settings."""
    return {name: settings["training"][name] for name in ("policy_weight", "value_weight")}


def _phases_section(phases: Phases, seed: int) -> Section:
    shares = phase_shares({"training data": [phases.counts[name] for name in phases.names]}, phases.names)
    figures = [
        Figure(f"shares-{phases.label}", shares, f"Phases of the {phases.num_samples:,} training samples."),
        *_timeline_figures(phases, seed),
    ]
    return Section(f"The phases of {phases.gate}", phases.text, figures=figures)


def _timeline_figures(phases: Phases, seed: int) -> list[Figure]:
    game = phases.timeline
    if game is None:
        return []
    image = phase_timeline(
        game.weights,
        phases.names,
        values=game.values,
        plies=game.plies,
        start=game.first_ply,
        stop=game.last_ply,
        title=f"One game by {phases.gate}",
        value_label="value of the experts",
    )
    opening = f" after an opening of {game.first_ply} plies" if game.first_ply else ""
    caption = (
        f"The first game of seed {seed}{opening}, seen by player {game.player} where it had to move, {len(game.plies)} "
        f"times: the phases, and what the experts expected of it. It ended as a {game.outcome} at ply {game.last_ply}."
    )
    return [Figure(f"timeline-{phases.label}", image, caption)]

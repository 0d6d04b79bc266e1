"""What an experiment found, as a report: who wins, by how much, what each expert learned, and what the phases are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from moemcts.arena.games import GameRecord
from moemcts.arena.intervals import SeedEstimate, seed_interval, wilson_interval
from moemcts.arena.match import MatchResult, Tally
from moemcts.arena.verdict import verdict
from moemcts.game import State
from moemcts.report.curves import curve_figures, metrics
from moemcts.report.duels import against_single, duel_numbers, duel_summary
from moemcts.report.losses import accuracy_table, loss_table
from moemcts.report.page import Figure, Report, Section
from moemcts.report.plots import Whisker, phase_shares, phase_timeline, win_rates
from moemcts.report.tables import Table, p_text, points
from moemcts.runs.arms import SINGLE, Arm
from moemcts.runs.held_out import held_out_losses

if TYPE_CHECKING:
    from moemcts.learn.assessment import PhaseLosses
    from moemcts.runs.experiment import Experiment, Outcomes


def findings(experiment: Experiment, outcomes: Outcomes) -> Report:
    """Returns the report of a finished experiment."""
    is_duel = experiment.field == SINGLE
    contest = against_single if is_duel else _contest
    sections = [contest("With search", "searched", outcomes.searched, experiment)]
    if outcomes.raw:
        sections.append(contest("Without search", "raw", outcomes.raw, experiment))
    losses = held_out_losses(experiment, outcomes)
    sections += [_learning(arm, losses[arm.name], experiment) for arm in experiment.teams]
    sections += [_phases(gate, experiment, outcomes) for gate in experiment.gates]
    sections.append(Section("How it was made", _making(experiment)))
    return Report(
        title=f"{experiment.config.game}: {', '.join(experiment.gates) or 'a single network'}",
        summary=(duel_summary if is_duel else _summary)(experiment, outcomes),
        sections=sections,
        numbers={
            "config": experiment.config.model_dump(mode="json"),
            "searched": (duel_numbers if is_duel else _numbers)(outcomes.searched),
            "raw": (duel_numbers if is_duel else _numbers)(outcomes.raw),
            "losses": {arm: [row.to_json() for row in rows] for arm, rows in losses.items()},
        },
    )


def difference(results: Sequence[MatchResult], arm: str) -> SeedEstimate:
    """Returns how much more often an arm wins than the single network, over paired games and training seeds."""
    each = [result.difference(arm) for result in results]
    return seed_interval([one.win_differences for one in each], [one.boards for one in each])


def pooled(results: Iterable[MatchResult], arm: str) -> Tally:
    """Returns the games of an arm over all training seeds."""
    return Tally.of([game.outcome for result in results for game in result.games(arm)])


def _summary(experiment: Experiment, outcomes: Outcomes) -> str:
    single = pooled(outcomes.searched, SINGLE)
    lines = [f"The single network wins {_share(single)} of {single.num_games} games."]
    for arm in experiment.teams:
        tally, found = pooled(outcomes.searched, arm.name), difference(outcomes.searched, arm.name)
        low, high = found.interval
        words = verdict(100 * found.mean, (100 * low, 100 * high), found.num_observations)
        lines.append(f"Experts by {arm.name} win {_share(tally)}: {words}.")
    if len(outcomes.searched) == 1 and experiment.teams:
        lines.append("With one training seed this holds for these networks alone, not for others trained the same way.")
    return "\n\n".join(lines)


def _share(tally: Tally) -> str:
    low, high = tally.win_interval
    return f"{100 * tally.win_rate:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"


def _contest(title: str, kind: str, results: Sequence[MatchResult], experiment: Experiment) -> Section:
    arms = results[0].arms
    rows = []
    for arm in arms:
        tally = pooled(results, arm)
        row: list[Any] = [arm, tally.num_games]
        for count in (tally.wins, tally.ties, tally.losses):
            interval = wilson_interval(count, tally.num_games)
            row.append(f"{100 * count / max(tally.num_games, 1):.1f} {points(interval)}")
        if arm == SINGLE:
            row += [None, None]
        else:
            found = difference(results, arm)
            row += [f"{100 * found.mean:+.1f} {points(found.interval, signed=True)}", p_text(found.p_value)]
        rows.append([*row, f"{_mean_plies(results, arm):.0f}"])
    config = experiment.config
    searched = f"{config.search.simulations} simulations per move" if kind == "searched" else "the policy's best action"
    caption = (
        f"{searched}; against {experiment.field} in all other seats, seats rotated, the same boards and seeds "
        f"for every arm; {len(results)} training seed{'s' * (len(results) > 1)}. Shares in percent with 95 % Wilson "
        "intervals over all games; the difference in wins is paired, with a 95 % interval over training seeds and "
        "boards, and p is from the same t. The Wilson intervals hold for these networks, not for others like them."
    )
    columns = ["arm", "games", "wins %", "ties %", "losses %", "wins against single, points", "p", "plies"]
    return Section(
        title,
        tables=[Table(columns, rows, caption), _seats(results)],
        figures=[
            Figure(
                f"wins-{kind}",
                win_rates(_whiskers(results), title=f"Games won, {title.lower()}"),
                f"{title}: games won of {rows[0][1]} per arm, with 95 % Wilson intervals; small: each training seed.",
            )
        ],
    )


def _mean_plies(results: Sequence[MatchResult], arm: str) -> float:
    return float(np.mean([game.plies for result in results for game in result.games(arm)]))


def _seats(results: Sequence[MatchResult]) -> Table:
    seats = range(results[0].num_seats)
    rows = []
    for arm in results[0].arms:
        cells = []
        for seat in seats:
            games = [game.outcome for result in results for game in result.games(arm) if game.focus == seat]
            tally = Tally.of(games)
            cells.append(f"{100 * tally.win_rate:.1f} {points(tally.win_interval)}" if games else None)
        rows.append([arm, *cells])
    return Table(["wins % by seat", *(f"seat {seat}" for seat in seats)], rows, "Seats of many games are not equal.")


def _whiskers(results: Sequence[MatchResult]) -> list[Whisker]:
    rows = []
    for arm in results[0].arms:
        tally = pooled(results, arm)
        low, high = tally.win_interval
        note = f"{tally.num_games} games"
        rows.append(Whisker(label=arm, value=tally.win_rate, low=low, high=high, note=note, is_baseline=arm == SINGLE))
        for seed, result in enumerate(results if len(results) > 1 else []):
            one = result.summary(arm).tally
            rows.append(
                Whisker(
                    label=f"seed {seed}",
                    value=one.win_rate,
                    low=one.win_interval[0],
                    high=one.win_interval[1],
                    is_baseline=arm == SINGLE,
                    is_part=True,
                )
            )
    return rows


def _learning(arm: Arm, losses: Sequence[PhaseLosses], experiment: Experiment) -> Section:
    config = experiment.config
    weights = {"policy_weight": config.training.policy_weight, "value_weight": config.training.value_weight}
    seeds = f"mean of {config.num_seeds} training seeds" if config.num_seeds > 1 else "one training seed"
    where = f"on samples that no network learned from, {seeds}"
    entries, baseline = (
        metrics(experiment.training_folder(one, 0) / "metrics.jsonl") for one in (arm, experiment.arm(SINGLE))
    )
    return Section(
        f"What the experts by {arm.name} learned",
        tables=[loss_table(losses, where, **weights), accuracy_table(losses, where)],
        figures=curve_figures(experiment.gate(arm.gate).phase_names, entries, baseline, arm.label),
    )


def _phases(gate: str, experiment: Experiment, outcomes: Outcomes) -> Section:
    arm = next(arm.name for arm in experiment.teams if arm.gate == gate)
    made = outcomes.experts[arm, 0].gate
    names = list(made.phase_names)
    counts = outcomes.sources.training.phase_counts(made)
    label = "".join(c if c.isalnum() else "-" for c in gate)
    record = outcomes.searched[0].games(arm)[0]
    player = record.focus or 0
    states = [state for state in _states(experiment, record) if player in state.active_players]
    views = experiment.game.views([(state, player) for state in states])
    value = outcomes.experts[arm, 0].evaluate(views).value
    timeline = phase_timeline(
        made.weights(views),
        names,
        values=[float(v) for v in (value if value.ndim == 1 else value[:, 0])],
        plies=[state.ply for state in states],
        title=f"One game by {gate}",
        value_label="value of the experts",
    )
    shares = phase_shares({"training data": [counts[name] for name in names]}, names)
    return Section(
        f"The phases of {gate}",
        (type(made).__doc__ or "").split("\n\n")[0].replace("\n", " "),
        figures=[
            Figure(f"shares-{label}", shares, f"Phases of the {len(outcomes.sources.training):,} training samples."),
            Figure(
                f"timeline-{label}",
                timeline,
                f"The first game of seed 0, seen by player {player}: its phases, and what the experts expected of it. "
                f"It ended as a {record.outcome} after {record.plies} plies.",
            ),
        ],
    )


def _states(experiment: Experiment, record: GameRecord) -> list[State]:
    """Returns the positions of a recorded game."""
    openings = experiment.openings(0, experiment.config.match.games)
    start = next(opening.start for opening in openings if opening.name == record.opening)
    state = experiment.game.initial_state(start) if isinstance(start, int) else start
    states = [state]
    for joint in record.moves:
        state = state.play(joint)
        states.append(state)
    return states


def _making(experiment: Experiment) -> str:
    environment = json.loads((experiment.folder / "env.json").read_text())
    return "\n".join(
        [
            f"- {experiment.describe()}",
            f"- schemes `{', '.join(experiment.config.schemes)}`, network `{experiment.config.network}`, "
            f"seed {experiment.config.seed}",
            f"- moemcts {environment['moemcts']}, torch {environment['torch']}, Python {environment['python']}, "
            f"{environment['system']}",
            f"- `{' '.join(environment['command'])}`",
            "- all settings: `config.toml`; all games: `matches/`; all measurements: `training/*/metrics.jsonl`",
        ]
    )


def _numbers(results: Sequence[MatchResult]) -> dict[str, Any]:
    if not results:
        return {}
    arms = results[0].arms
    return {
        "arms": {arm: pooled(results, arm).to_json() for arm in arms},
        "differences": {
            arm: {
                "wins": found.mean,
                "interval": list(found.interval),
                "num_pairs": found.num_observations,
                "seed_means": list(found.seed_means),
                "p_value": found.p_value,
            }
            for arm in arms
            if arm != SINGLE
            for found in [difference(results, arm)]
        },
        "by_seed": [result.to_json() for result in results],
    }

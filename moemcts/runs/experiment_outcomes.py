"""What an experiment made, as its report reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from moemcts.arena.match import MatchResult
from moemcts.arena.verdict import counted
from moemcts.report.contest import Unplayed
from moemcts.report.outcomes import Learned, Outcomes, Phases
from moemcts.runs.arms import file_labels
from moemcts.runs.experiment import RAW, SEARCHED, Experiment
from moemcts.runs.held_out import losses_of, mean_losses
from moemcts.runs.learning import measurements
from moemcts.runs.phases import describe_phases, timeline_of
from moemcts.runs.sources import Sources
from moemcts.runs.times import describe_times

if TYPE_CHECKING:
    from moemcts.experts import ExpertSet


def outcomes_of(run: Experiment) -> Outcomes:
    """Returns what was made; the experiment must be done."""
    sources, first = run.sources(), run.seeds[0]
    experts = {arm.name: run.trained(arm, first) for arm in run.teams}
    searched, raw = (run.results(kind) for kind in (SEARCHED, RAW))
    singles, limit = [arm.name for arm in run.arms if arm.is_single], run.config.search.simulations
    return Outcomes(
        title=f"{run.config.game}: {', '.join(run.gate_names.values()) or 'a single network'}",
        making=_making(run),
        settings=run.config.model_dump(mode="json"),
        searched=run.field.contest(searched, f"{limit} simulations per move", singles, run.seeds)
        if searched
        else Unplayed(seeds=tuple(run.seeds)),
        measured_on=sources.kind,
        raw=run.field.contest(raw, "The policy's best action", singles, run.seeds) if raw else None,
        singles={
            arm.name: [row for seed in run.seeds for row in losses_of(run, arm, seed)]
            for arm in (run.single, *run.other_singles)
        },
        teams=tuple(
            Learned(
                name=arm.name,
                label=arm.label,
                is_single=arm.is_single,
                phase_names=experts[arm.name].gate.phase_names,
                losses=mean_losses(run, arm),
                single=losses_of(run, arm, first)[0],
                metrics=measurements(run.training_folder(arm, first)),
            )
            for arm in run.teams
        ),
        phases=tuple(_phases(run, gate, sources, experts, searched[0]) for gate in run.gates),
    )


def _phases(
    run: Experiment, gate: str, sources: Sources, experts: Mapping[str, ExpertSet], result: MatchResult
) -> Phases:
    arm = next(arm.name for arm in run.teams if arm.gate == gate)
    record = result.games(arm)[0]
    openings = {opening.name: opening.start for opening in run.boards.openings(run.seeds[0], run.config.match.games)}
    timeline = timeline_of(record, openings[record.opening], run.game, experts[arm])
    names = list(run.gate_names.values())
    name = run.gate_names[gate]
    label = file_labels(names)[names.index(name)]
    return describe_phases(name, label, experts[arm].gate, sources.training, timeline)


def _making(run: Experiment) -> str:
    config = run.config
    found = [f"- gate `{name}` is `{gate}` here\n" for gate, name in run.gate_names.items() if gate != name]
    found += [f"- {run.boards.beginnings}\n"] if run.contestants() else []
    times = describe_times(run.folder)
    took = f"- took {times}; {counted(run.num_workers, 'worker')}\n" if times else ""
    return (
        f"- {run.describe()}\n{''.join(found)}"
        f"- schemes `{', '.join(config.schemes)}`, network `{config.network}`, seed {config.seed}\n"
        f"{run.describe_environment()}\n{took}"
        "- all settings: `config.toml`; all games: `matches/`; all measurements: `training/*/metrics.jsonl`"
    )

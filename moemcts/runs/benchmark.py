"""Runs the units of a suite, each in its own folder: an experiment, further games, and the rows of both."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from moemcts.errors import DamagedFile, ForeignData
from moemcts.experts import QUEUE, ROUTINGS
from moemcts.plugins import plugins
from moemcts.report.contest import Contest
from moemcts.report.leaderboard import check_row
from moemcts.runs.arms import SINGLE, Arm
from moemcts.runs.config_file import CONFIG
from moemcts.runs.experiment.growth import extend_experiment, save_extension
from moemcts.runs.experiment.run import Experiment
from moemcts.runs.provenance import provenance
from moemcts.runs.run import changes
from moemcts.runs.suite import OWN, Unit, prefix_errors
from moemcts.runs.times import TIMES, Timed, starts
from moemcts.search import SearchAgent
from moemcts.store import json_round_trip, read_json, write_json
from moemcts.work import Report
from moemcts.work.progress import Advance, MessageProgress, Progress

_QUEUED = 64
"""Positions that the routing `queue` waits for before it evaluates a batch."""
_BEGUN = "unit.json"
"""The file with the settings that a unit was begun with."""
_RUN = "run"
"""The folder of a unit's experiment."""
_GROWING = ("gates", "schemes")
"""Settings that a suite may extend after it was begun."""
_GAMES = "match.games"


class UnitRunner:
    """Runs whatever part of a unit is not done yet in its folder and returns its rows."""

    def __init__(self, folder: Path, *, allow_programs: bool = False) -> None:
        """With `allow_programs`, the settings of experiments that were already begun may start programs."""
        self._folder = folder
        self._allow_programs = allow_programs

    def check(self, unit: Unit) -> None:
        """Checks that a unit can be run.

        Raises UsageError if its experiment names something that does not exist, and ForeignData if it was begun with
        other settings, which its folder would continue to use; fewer gates, schemes or games are allowed.
        """
        with prefix_errors(unit):
            self._check(unit)

    def _check(self, unit: Unit) -> None:
        folder = self._folder / unit.name
        Experiment(folder / _RUN, unit.config())
        if not (before := self._begun(unit)):
            return
        now = json_round_trip(unit.decided_by())
        fewer = {key for key in _GROWING if {*before.get(key, ())} <= {*now[key]}}
        fewer |= {_GAMES} if before.get(_GAMES, 0) <= now.get(_GAMES, 0) else set()
        kept = {key: value for key, value in before.items() if key not in fewer}
        if differences := changes(kept, {key: value for key, value in now.items() if key not in fewer}):
            raise ForeignData(
                f"{folder} was begun with other settings: {differences}; "
                "put the suite's file back, give another --out, or remove that folder"
            )
        if before != now and (folder / _RUN / CONFIG).exists():
            self._grown(self._load(folder / _RUN), unit)

    def __call__(self, unit: Unit, report: Report) -> list[dict[str, Any]]:
        """Reports the current task as a short message."""
        with prefix_errors(unit):
            return self._done(unit, MessageProgress(report))

    def _done(self, unit: Unit, progress: Progress) -> list[dict[str, Any]]:
        kept = self._folder / unit.name / "rows.json"
        rows = _read_rows(kept) if kept.exists() else []
        is_played = {(row["simulations"], row["routing"]) for row in rows} == {*unit.played}
        begun, now = self._begun(unit), json_round_trip(unit.decided_by())
        if not is_played or begun != now:
            if not begun:
                write_json(self._folder / unit.name / _BEGUN, now)
            if rows and not (self._folder / unit.name / TIMES).exists():
                # Units begun before times were recorded have only the duration in their rows.
                earlier = 3600 * max(row["hours"] for row in rows)
                write_json(self._folder / unit.name / TIMES, {"starts": [{"earlier": earlier}]})
            rows = self._rows(unit, progress)
            write_json(kept, rows)
            # Written last: until then the rows are those of the earlier settings, which had fewer arms or games.
            write_json(self._folder / unit.name / _BEGUN, now)
        return rows

    def _begun(self, unit: Unit) -> dict[str, Any]:
        """Returns the settings that a unit was begun with; empty if it was not."""
        begun = self._folder / unit.name / _BEGUN
        if not begun.exists():
            return {}
        if not isinstance(before := read_json(begun), dict):
            raise DamagedFile(f"{begun} does not say which settings this was begun with; remove {begun.parent}")
        return before

    def _load(self, folder: Path) -> Experiment:
        return Experiment.load(folder, allow_programs=self._allow_programs)

    def _grown(self, experiment: Experiment, unit: Unit) -> Experiment:
        """Returns a unit's experiment extended by what the suite has gained since it was begun; writes nothing."""
        config = unit.config()
        written = experiment.config.gate_names or experiment.config.gates
        gates = [gate for gate in config.gates if gate not in written]
        schemes = [scheme for scheme in config.schemes if scheme not in experiment.config.schemes]
        games = {} if config.match.games == experiment.config.match.games else {_GAMES: config.match.games}
        if not (gates or schemes or games):
            return experiment
        return extend_experiment(experiment, gates=gates, schemes=schemes, changes=games)

    def _rows(self, unit: Unit, progress: Progress) -> list[dict[str, Any]]:
        folder, config = self._folder / unit.name / _RUN, unit.config()
        times = Timed(progress, folder.parent)
        fresh = not (folder / CONFIG).exists()
        begun = Experiment.create(folder, config) if fresh else self._load(folder)
        if (experiment := self._grown(begun, unit)) is not begun:
            save_extension(experiment)
        with experiment.locked():
            experiment.work(times)
        outcomes = experiment.outcomes()
        # The folder may be older than the suite's file: rows state what was actually played.
        own = (experiment.config.search.simulations or 0, OWN)
        further = [pair for pair in unit.played if pair != own]
        rows = [_row(unit, arm, *own, outcomes.searched) for arm in experiment.teams]
        for budget, routing in further:
            for arm in experiment.teams:
                with times.task("further games", "games") as advance:
                    contest = self._further(experiment, arm, budget, routing, advance)
                rows.append(_row(unit, arm, budget, routing, contest))
        with times.task("routings", "sets of experts"):
            measured = {arm.name: self._measured(experiment, arm) for arm in experiment.teams}
        losses = {team.name: {row.name: row for row in team.losses} for team in outcomes.teams}
        weights = {
            "policy_weight": config.training.policy_weight,
            "value_weight": config.training.value_weight,
        }
        # Includes starts that were killed.
        seconds = math.fsum(spent for start in starts(folder.parent) for spent in start.values())
        for row in rows:
            arm_name = row.pop("arm")
            table = losses[arm_name]
            row |= {
                **measured[arm_name],
                "loss_single": table[SINGLE].loss("all", **weights),
                "loss_mixture": list(table.values())[-1].loss("all", **weights),
                "hours": round(seconds / 3600, 5),
                "first_start": fresh,
                **provenance(),
            }
        return rows

    def _measured(self, experiment: Experiment, arm: Arm) -> dict[str, Any]:
        """Returns a set's training cost relative to the single network and how routings split its batches."""
        from moemcts.learn.routings import measure_routings

        config = experiment.config
        held_out = experiment.sources().held_out(config.training.validation_fraction, config.seed)
        team = experiment.trainings.experts(arm, config.seed)
        scheme = plugins().scheme(arm.scheme)
        return {
            "cost": round(scheme.cost(team.gate.num_phases), 3),
            "routings": {
                measures.routing: measures.to_json() for measures in measure_routings(team, held_out, seed=config.seed)
            },
        }

    def _further(self, experiment: Experiment, arm: Arm, budget: int, routing: str, advance: Advance) -> Contest:
        """Plays games of a set of experts with another budget or routing, and everything else as in its experiment."""
        config, matches, trainings = experiment.config, experiment.matches, experiment.trainings
        field, single = matches.field, trainings.single
        search = config.search.model_copy(update={"simulations": budget})
        model = matches.opponent_model()
        agents = {}
        for player in (single, arm):
            other_routing = "" if player is single or routing == OWN else routing
            agents[player.name] = SearchAgent(
                experiment.game,
                trainings.experts(
                    player,
                    config.seed,
                    config.match.backend,
                    config.match.precision,
                    ROUTINGS.get(other_routing),
                    config.match.device,
                ),
                search,
                opponents=model,
                queue=_QUEUED if other_routing == QUEUE else None,
                name=player.name,
            )
        schedule = matches.boards.schedule(
            {player.name: agents[player.name] for player in field.contestants([single, arm])},
            field.agents(agents, experiment.game.spec.num_players - 1),
            config.match.games,
            config.seed,
            {
                "search": search.model_dump(mode="json"),
                "routing": routing,
                **trainings.weights_of([single, arm], config.seed),
            },
        )
        label = f"further-{arm.label}-{budget}-{routing}"
        result = matches.boards.play(schedule, config.seed, label=label, baseline=single.name, advance=advance)
        return field.contest([result], f"{budget} simulations per move", [single.name], [config.seed])


def _row(unit: Unit, arm: Arm, budget: int, routing: str, contest: Contest) -> dict[str, Any]:
    """Returns the row of an arm: what was played, and its lead over the single network in points."""
    points = contest.points(arm.name)
    return {
        "arm": arm.name,
        "suite": unit.suite,
        "game": unit.game.name,
        "gate": arm.gate_name,
        "scheme": arm.scheme,
        "simulations": budget,
        "routing": routing,
        "seed": unit.seed,
        "games": len(contest.games(arm.name)),
        "points": round(points.mean, 2),
        "low": round(points.low, 2),
        "high": round(points.high, 2),
        "most": points.most,
        "variance": round(points.variance, 4),
    }


def _read_rows(path: Path) -> list[dict[str, Any]]:
    if not isinstance(found := read_json(path), list):
        raise DamagedFile(f"{path}: expected a list of rows; remove it to make them again")
    return [check_row(row, f"{path}, row {number}") for number, row in enumerate(found, 1)]

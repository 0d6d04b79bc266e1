"""A suite of experiments over games, gates, schemes, budgets and seeds; each game and seed is a run of its own."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from moemcts.arena.match import MatchResult
from moemcts.errors import MoemctsError, UsageError, unknown_name
from moemcts.naming import with_options
from moemcts.plugins import plugins
from moemcts.report.outcomes import Outcomes
from moemcts.runs.arms import SINGLE, Arm, file_label
from moemcts.runs.experiment import Experiment
from moemcts.runs.match import Match, MatchPlan
from moemcts.runs.origin import origin
from moemcts.runs.settings import ExperimentConfig, layered, load_preset, merge, validate, validate_tables
from moemcts.store import read_json, read_toml, write_json
from moemcts.work import Report
from moemcts.work.progress import Silence

EACH = "each"
"""The routing of an experiment itself: every position by its own expert."""


class SuiteGame(BaseModel):
    """A game of a suite."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    name: str
    """With options, as users write it."""
    gates: tuple[str, ...] = ()
    """In place of those of the size."""
    routings: tuple[str, ...] = ()
    """In place of those of the size."""
    settings: Mapping[str, Any] = Field(default_factory=dict)
    """Settings of its experiments, by dotted path, over those of the size."""


class SuiteSize(BaseModel):
    """A suite at one size."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    summary: str
    games: tuple[SuiteGame, ...] = Field(min_length=1)
    gates: tuple[str, ...] = ("plies",)
    schemes: tuple[str, ...] = ("separated",)
    budgets: tuple[int, ...] = Field(default=(50,), min_length=1)
    """Simulations per move."""
    routings: tuple[str, ...] = (EACH,)
    """How batches go to experts in games; `each` is what an experiment plays. What they do to batches is measured for
    all there are."""
    seeds: int = Field(default=1, ge=1)
    preset: str = "smoke"
    settings: Mapping[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True)
class Unit:
    """One game and seed of a suite: what one worker does."""

    size: SuiteSize
    game: SuiteGame
    seed: int
    suite: str

    @property
    def name(self) -> str:
        """The name of its folder."""
        return f"{file_label(self.game.name)}-{self.seed}"

    def config(self) -> ExperimentConfig:
        """Returns the settings of its experiment; raises UsageError where they name what there is not."""
        preset = self.size.preset
        own = {key: value for key, value in plugins().game_preset(self.game.name, preset).items() if key != "needs"}
        values = merge({}, layered(self.game.name, load_preset(preset), own))
        merge(
            values,
            {
                **self.size.settings,
                **self.game.settings,
                "game": self.game.name,
                "gates": list(self.game.gates or self.size.gates),
                "schemes": list(self.size.schemes),
                "search.simulations": self.size.budgets[0],
                "seed": self.seed,
                "num_seeds": 1,
                "workers": 1,
            },
        )
        return validate(values, ExperimentConfig)


def read_suite(file: Path, size: str) -> list[Unit]:
    """Returns the units of a suite's file at one size; raises MoemctsError and UsageError for what is wrong there."""
    if not file.exists():
        raise MoemctsError(
            f"expected a suite in {file}, there is none; benchmarks/suite.toml comes with the source code, or write one"
        )
    tables = read_toml(file)
    if size not in tables:
        raise unknown_name("size of a suite", size, tables)
    found = validate_tables(tables[size], SuiteSize)
    units = [Unit(found, game, seed, size) for game in found.games for seed in range(found.seeds)]
    names = [unit.name for unit in units]
    if len(set(names)) < len(names):
        raise UsageError(f"{file}: expected different games, got one of them twice")
    for unit in units:
        unit.config()
    return units


class DoUnit:
    """Does a unit in its folder, as far as it is not done; returns its rows."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, unit: Unit, report: Report) -> list[dict[str, Any]]:
        kept = self._folder / unit.name / "rows.json"
        if not kept.exists():
            write_json(kept, self._rows(unit))
        rows: list[dict[str, Any]] = read_json(kept)
        return rows

    def _rows(self, unit: Unit) -> list[dict[str, Any]]:
        folder, config = self._folder / unit.name / "run", unit.config()
        started = time.monotonic()
        fresh = not (folder / "config.toml").exists()
        experiment = Experiment.create(folder, config) if fresh else Experiment.load(folder)
        with experiment.opened():
            experiment.work(Silence())
        outcomes = experiment.outcomes()
        hours = (time.monotonic() - started) / 3600
        rows = [
            row
            for arm in experiment.teams
            for row in [self._row(unit, arm, unit.size.budgets[0], EACH, _own(outcomes, arm.name))]
        ]
        for budget in unit.size.budgets:
            for routing in unit.game.routings or unit.size.routings:
                if (budget, routing) == (unit.size.budgets[0], EACH):
                    continue
                for arm in experiment.teams:
                    found = self._further(unit, experiment, arm, budget, routing)
                    rows.append(self._row(unit, arm, budget, routing, found))
        measured = {arm.name: self._measured(experiment, arm) for arm in experiment.teams}
        losses = {team.name: {row.name: row for row in team.losses} for team in outcomes.teams}
        weights = {
            "policy_weight": config.training.policy_weight,
            "value_weight": config.training.value_weight,
        }
        for row in rows:
            arm_name = row.pop("arm")
            table = losses[arm_name]
            row |= {
                **measured[arm_name],
                "loss_single": table[SINGLE].loss("all", **weights),
                "loss_mixture": list(table.values())[-1].loss("all", **weights),
                "hours": round(hours, 5),
                "first_start": fresh,
                **origin(),
            }
        return rows

    def _measured(self, experiment: Experiment, arm: Arm) -> dict[str, Any]:
        """Returns what a set of experts costs to train, the single network 1, and what routings do to its batches."""
        from moemcts.learn.routings import measure_routings

        config = experiment.config
        held_out = experiment.sources().held_out(config.training.validation_fraction, config.seed)
        team = experiment.experts(arm, 0)
        scheme = plugins().scheme(arm.scheme)
        return {
            "cost": round(scheme.cost(team.gate.num_phases), 3),
            "routings": {one.routing: one.to_json() for one in measure_routings(team, held_out, seed=config.seed)},
        }

    def _row(
        self, unit: Unit, arm: Arm, budget: int, routing: str, found: tuple[int, float, float, float]
    ) -> dict[str, Any]:
        num_games, points, low, high = found
        return {
            "arm": arm.name,
            "suite": unit.suite,
            "game": unit.game.name,
            "gate": arm.gate_name,
            "scheme": arm.scheme,
            "simulations": budget,
            "routing": routing,
            "seed": unit.seed,
            "games": num_games,
            "points": round(points, 2),
            "low": round(low, 2),
            "high": round(high, 2),
        }

    def _further(
        self, unit: Unit, experiment: Experiment, arm: Arm, budget: int, routing: str
    ) -> tuple[int, float, float, float]:
        """Plays a set of experts with another budget or routing; returns games and points over the single network."""
        config = experiment.config
        options = {"simulations": budget, "backend": config.match.backend, "leaves": config.search.leaves_per_tree}
        single, team = (
            with_options(f"experts:{experiment.folder / 'experts' / f'{one.label}-0'}", options | extra)
            for one, extra in ((experiment.single, {}), (arm, {} if routing == EACH else {"routing": routing}))
        )
        has_field = experiment.field.name != SINGLE
        plan = MatchPlan(
            game=unit.game.name,
            agents=(single, team) if has_field else (team,),
            against=experiment.field.name if has_field else single,
            num_games=config.match.games,
            seed=unit.seed,
            random_plies=config.match.random_plies,
            max_parallel=config.match.parallel,
        )
        label = f"{arm.label}-{budget}-{routing}.jsonl"
        result = Match(plan).play(experiment.folder / "matches" / label)
        if not isinstance(result, MatchResult):
            raise TypeError("expected a match against a field")
        if has_field:
            found = result.difference(team)
            low, high = found.wins.interval
            return len(result.games(team)), 100 * found.wins.mean, 100 * low, 100 * high
        score = result.summary(team).score
        low, high = score.interval
        return len(result.games(team)), 100 * (score.mean - 0.5), 100 * (low - 0.5), 100 * (high - 0.5)


def _own(outcomes: Outcomes, arm: str) -> tuple[int, float, float, float]:
    """Returns the games of an arm in its own experiment, and by how many points it is above the single network."""
    numbers = outcomes.searched.numbers()
    if "differences" in numbers:
        found = numbers["differences"][arm]
        low, high = found["interval"]
        return len(outcomes.searched.games(arm)), 100 * found["wins"], 100 * low, 100 * high
    one = numbers["arms"][arm]
    low, high = one["score_interval"]
    return one["num_games"], 100 * (one["score"] - 0.5), 100 * (low - 0.5), 100 * (high - 0.5)


def labels(units: Sequence[Unit]) -> str:
    """Returns what a suite is, in words."""
    size = units[0].size
    games = ", ".join(game.name for game in size.games)
    return f"{size.summary}: {len(size.games)} games ({games}), {size.seeds} seed{'s' * (size.seeds > 1)}"

"""One experiment in its folder: data, then experts, then matches, then a report; every part can be resumed."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import tomli_w

from moemcts.agents import Agent, PolicyAgent
from moemcts.arena.match import MatchResult, match
from moemcts.arena.openings import openings_from_seeds
from moemcts.config import parse_reference
from moemcts.errors import MoemctsError, UsageError
from moemcts.experiment.config import ExperimentConfig, validate
from moemcts.experiment.environment import environment
from moemcts.experiment.jobs import Job, num_cores, run_jobs
from moemcts.experiment.players import default_model, opponents_named
from moemcts.experiment.progress import Advance, Progress
from moemcts.experiment.sources import Sources, open_sources
from moemcts.experiment.training import play_games, resolved, train_experts
from moemcts.game import Game
from moemcts.gates import PhaseGate
from moemcts.plugins import plugins
from moemcts.search import SearchAgent
from moemcts.search.engine import Opponents
from moemcts.store import exclusive, read_toml, write_json, write_text

if TYPE_CHECKING:
    from moemcts.experts import ExpertSet
    from moemcts.report.page import Report

SINGLE = "none"
"""The gate whose one expert is the single network."""
FIELD = "field"
"""The arm of the agent that sits in all other seats: what chance and seats alone give."""
BOARDS_PER_SEED = 1_000_000
"""Start positions that are set aside for the games of one training seed."""


@dataclass(frozen=True)
class Outcomes:
    """What an experiment made, for its report."""

    sources: Sources
    experts: Mapping[tuple[str, int], ExpertSet]
    """By gate and training seed."""
    searched: list[MatchResult]
    """One match per training seed."""
    raw: list[MatchResult]
    """Matches of the networks without search; none if they were not asked for."""


class Experiment:
    """A single network against one set of experts per gate, in a folder."""

    def __init__(self, folder: Path, config: ExperimentConfig) -> None:
        """Raises UsageError where the configuration names something that does not exist."""
        self.folder = folder
        self.config = config
        self.game: Game = plugins().game(config.game)
        for gate in self.gates:
            self.gate(gate)
        self.agent(config.data.agent or plugins().default_agent(self.game))
        self.field()
        self.opponent_model()
        plugins().curriculum(config.scheme)
        plugins().network(config.network, self.game.spec.observation_shape, self.game.spec.num_actions)

    @classmethod
    def create(cls, folder: Path, config: ExperimentConfig, *, write: bool = True) -> Experiment:
        """Starts an experiment in a new or empty folder; raises UsageError where there is one already."""
        if (folder / "config.toml").exists():
            raise UsageError(f"{folder} holds a run already; go on with it: moemcts run --resume {folder}")
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"expected a folder for the run, but {folder} is a file")
        experiment = cls(folder, resolved(config))
        if write:
            write_text(folder / "config.toml", experiment.config_text())
            write_json(folder / "env.json", environment())
        return experiment

    @classmethod
    def load(cls, folder: Path) -> Experiment:
        """Opens an experiment to go on with; raises MoemctsError where there is none."""
        if not (folder / "config.toml").exists():
            raise MoemctsError(f"expected a run with a config.toml in {folder}, found none")
        return cls(folder, validate(read_toml(folder / "config.toml"), ExperimentConfig))

    @property
    def gates(self) -> list[str]:
        """The gates that make experts, as users write them; the single network is not among them."""
        return [gate for gate in self.config.gates if gate != SINGLE]

    def config_text(self) -> str:
        """Returns the configuration, fully resolved, as TOML."""
        return tomli_w.dumps(self.config.model_dump(mode="json", exclude_none=True))

    def describe(self) -> str:
        """Returns one line on what is compared."""
        config = self.config
        experts = ", ".join(self.gates) or "no experts"
        return (
            f"{config.game}: a single {config.network} against experts ({experts}; {config.scheme}), "
            f"{config.data.samples:,} samples, {config.num_seeds} training seed{'s' * (config.num_seeds > 1)}, "
            f"{config.match.games} games per arm and seed at {config.search.simulations} simulations"
        )

    def gate(self, reference: str) -> PhaseGate:
        """Returns a gate of this experiment's game."""
        return plugins().gate(reference, self.game)

    def agent(self, reference: str) -> Agent:
        """Returns an agent of this experiment's game."""
        return plugins().agent(reference, self.game)

    def field(self) -> Agent:
        """Returns who sits in the seats that are not ours."""
        return self.agent(self.config.match.field or plugins().default_agent(self.game))

    def opponent_model(self) -> Opponents:
        """Returns who the search believes to face."""
        config = self.config.match
        return opponents_named(config.opponent_model or config.field or default_model(self.game), self.game)

    def arm_names(self) -> list[str]:
        """Returns who is compared: the single network and the experts of each gate."""
        return ["single", *self.gates]

    def passes_per_expert_set(self) -> float:
        """Returns how often training one set of experts sees the data, in passes of the configured epochs."""
        from moemcts.learn.trainer import plan

        curriculum = plugins().curriculum(self.config.scheme)
        passes = []
        for reference in self.gates:
            num_phases = self.gate(reference).num_phases
            steps = plan([curriculum(phase, num_phases) for phase in range(num_phases)])
            seen = [step.stage.epochs * np.count_nonzero(step.stage.weights) / num_phases for step in steps]
            passes.append(float(sum(seen)))
        return sum(passes) / len(passes) if passes else 1.0

    def run(self, progress: Progress) -> Report:
        """Does whatever is not done yet and writes the report.

        Raises MoemctsError if another process works in the folder.
        """
        with exclusive(self.folder):
            return self._run(progress)

    def generate(self, advance: Advance) -> None:
        """Plays the games to learn from, as far as they are not there yet."""
        if self.config.data.folder:
            num_samples = len(self.sources().training)
            advance(num_samples, num_samples)
            return
        play_games(self.config, self.game, self.folder / "data", advance)

    def do(self, job: Job, advance: Advance) -> None:
        """Does one training or match, as far as it is not done yet."""
        if job.kind == "train":
            self._train(job.gate, job.seed, advance)
        else:
            self._match(job.kind, job.seed, advance)

    def outcomes(self) -> Outcomes:
        """Returns what was made; the experiment must be done."""
        seeds = range(self.config.num_seeds)
        nothing: Advance = lambda done, total: None  # noqa: E731
        return Outcomes(
            sources=self.sources(),
            experts={(gate, seed): self._experts(gate, seed) for gate in (SINGLE, *self.gates) for seed in seeds},
            searched=[self._match("searched", seed, nothing) for seed in seeds],
            raw=[self._match("raw", seed, nothing) for seed in seeds if self.config.match.raw_games],
        )

    def sources(self) -> Sources:
        """Opens the samples."""
        return open_sources(self.config.data, self.folder / "data", self.game)

    def training_folder(self, gate: str, seed: int) -> Path:
        """Returns where the training of a set of experts keeps its measurements."""
        return self.folder / "training" / f"{_label(gate)}-{seed}"

    def experts_folder(self, gate: str, seed: int) -> Path:
        """Returns where a set of experts is."""
        return self.folder / "experts" / f"{_label(gate)}-{seed}"

    def _run(self, progress: Progress) -> Report:
        from moemcts.experiment.findings import findings
        from moemcts.report.page import write_report

        started = time.monotonic()
        with progress.task("games to learn from", "samples") as advance:
            self.generate(advance)
        trainings = [
            Job("train", gate, seed) for seed in range(self.config.num_seeds) for gate in (SINGLE, *self.gates)
        ]
        self._run_jobs([job for job in trainings if not self._is_trained(job)], "training", "steps", progress)
        kinds: list[Literal["raw", "searched"]] = ["raw", "searched"] if self.config.match.raw_games else ["searched"]
        matches = [Job(kind, "", seed) for kind in kinds for seed in range(self.config.num_seeds)]
        self._run_jobs(matches, "matches", "games", progress)
        report = findings(self, self.outcomes())
        write_report(self.folder / "report", report)
        write_json(self.folder / "done.json", {"seconds_of_last_start": round(time.monotonic() - started, 1)})
        return report

    def _run_jobs(self, jobs: Sequence[Job], name: str, unit: str, progress: Progress) -> None:
        if not jobs:
            return
        with progress.task(name, unit) as advance:
            run_jobs(self.folder, jobs, self.do, self.config.workers or num_cores(), advance)

    def _is_trained(self, job: Job) -> bool:
        return (self.experts_folder(job.gate, job.seed) / "manifest.toml").exists()

    def _experts(self, gate: str, seed: int) -> ExpertSet:
        from moemcts.learn.checkpoint import load_experts

        return load_experts(self.experts_folder(gate, seed), self.game, plugins())

    def _train(self, reference: str, seed: int, advance: Advance) -> None:
        train_experts(
            self.config,
            self.game,
            reference,
            self.sources(),
            training_folder=self.training_folder(reference, seed),
            experts_folder=self.experts_folder(reference, seed),
            on_progress=lambda state: advance(state.step, state.num_steps),
            scheme="single" if reference == SINGLE else None,
            seed=seed,
        )

    def _match(self, kind: Literal["raw", "searched"], seed: int, advance: Advance) -> MatchResult:
        config = self.config.match
        num_games = config.games if kind == "searched" else config.raw_games
        arms = self._searched_arms(seed) if kind == "searched" else self._raw_arms(seed)
        first = (self.config.seed * self.config.num_seeds + seed + 1) * BOARDS_PER_SEED
        manifests = [self.experts_folder(gate, seed) / "manifest.toml" for gate in (SINGLE, *self.gates)]
        return match(
            self.game,
            arms,
            self.field(),
            num_games=num_games,
            openings=openings_from_seeds(num_games, first=first),
            seed=first,
            baseline="single",
            max_parallel=config.parallel,
            path=self.folder / "matches" / f"{kind}-{seed}.jsonl",
            identity={
                "search": self.config.search.model_dump(mode="json") if kind == "searched" else None,
                "experts": [hashlib.sha256(manifest.read_bytes()).hexdigest() for manifest in manifests],
            },
            on_progress=lambda state: advance(state.num_finished, num_games * len(arms)),
        )

    def _searched_arms(self, seed: int) -> dict[str, Agent]:
        model = self.opponent_model()
        return {
            name: SearchAgent(self.game, experts, self.config.search, opponents=model, name=name)
            for name, experts in self._teams(seed).items()
        }

    def _raw_arms(self, seed: int) -> dict[str, Agent]:
        arms: dict[str, Agent] = {name: PolicyAgent(team, name=name) for name, team in self._teams(seed).items()}
        return arms | {FIELD: self.field()}

    def _teams(self, seed: int) -> dict[str, ExpertSet]:
        return {"single": self._experts(SINGLE, seed)} | {gate: self._experts(gate, seed) for gate in self.gates}


def _label(gate: str) -> str:
    """Returns a gate's reference as a file name."""
    name, options = parse_reference(gate)
    words = "".join(f"-{key}-{value}" for key, value in options.items())
    return "single" if gate == SINGLE else name + "".join(c if c.isalnum() else "-" for c in words)

"""One experiment in its folder: data, then experts, then matches, then a report; every part can be resumed."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import tomli_w

from moemcts.agents import Agent, PolicyAgent
from moemcts.arena.match import MatchResult, match
from moemcts.arena.openings import Opening, starts
from moemcts.errors import MoemctsError, UsageError
from moemcts.game import Game
from moemcts.gates import PhaseGate
from moemcts.naming import check_backend, default_model, opponents_named
from moemcts.plugins import plugins
from moemcts.runs.arms import NO_GATE, SINGLE, Arm, make_arms
from moemcts.runs.environment import environment
from moemcts.runs.kept_gates import keep_gate, kept_gate
from moemcts.runs.settings import ExperimentConfig, validate
from moemcts.runs.sources import Sources, open_sources
from moemcts.runs.training import play_games, resolved, train_experts
from moemcts.search import SearchAgent
from moemcts.search.engine import Opponents
from moemcts.store import exclusive, read_toml, write_json, write_text
from moemcts.work.jobs import Job, num_cores, run_jobs
from moemcts.work.progress import Advance, Progress

if TYPE_CHECKING:
    from moemcts.experts import ExpertSet
    from moemcts.report.page import Report

FIELD = "field"
"""The arm of the agent that sits in all other seats: what chance and seats alone give."""
BOARDS_PER_SEED = 1_000_000
"""Start positions that are set aside for the games of one training seed."""


@dataclass(frozen=True)
class Outcomes:
    """What an experiment made, for its report."""

    sources: Sources
    experts: Mapping[tuple[str, int], ExpertSet]
    """By the name of the arm and training seed."""
    searched: list[MatchResult]
    """One match per training seed."""
    raw: list[MatchResult]
    """Matches of the networks without search; none if they were not asked for."""


class Experiment:
    """A single network against one set of experts per gate and scheme, in a folder."""

    def __init__(self, folder: Path, config: ExperimentConfig) -> None:
        """Raises UsageError where the configuration names something that does not exist."""
        self.folder = folder
        self.config = config
        self.game: Game = plugins().game(config.game)
        self.arms = make_arms(config.gates, config.schemes)
        for scheme in config.schemes:
            plugins().scheme(scheme)
        for arm in self.arms:
            plugins().scheme(arm.scheme).check(self.gate(arm.gate))
        self.agent(config.data.agent or plugins().default_agent(self.game))
        self.field_agent()
        self.opponent_model()
        plugins().network(config.network, self.game.spec.observation_shape, self.game.spec.num_actions)
        check_backend(config.match.backend)

    @classmethod
    def create(cls, folder: Path, config: ExperimentConfig, *, write: bool = True) -> Experiment:
        """Starts an experiment in a new or empty folder; raises UsageError where there is one already."""
        if (folder / "config.toml").exists():
            raise UsageError(f"{folder} holds a run already; go on with it: moemcts run --resume {folder}")
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"expected a folder for the run, but {folder} is a file")
        experiment = cls(folder, _with_backend(resolved(config)))
        if write:
            for gate in experiment.gates:
                keep_gate(folder, gate)
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
        """The gates that make experts, as users write them; the single network's is not among them."""
        return [gate for gate in self.config.gates if gate != NO_GATE]

    @property
    def teams(self) -> list[Arm]:
        """The arms of several experts."""
        return self.arms[1:]

    def config_text(self) -> str:
        """Returns the configuration, fully resolved, as TOML."""
        return tomli_w.dumps(self.config.model_dump(mode="json", exclude_none=True))

    def describe(self) -> str:
        """Returns one line on what is compared."""
        config = self.config
        data = config.data.folder or f"{config.data.samples:,} samples"
        experts = "; ".join([", ".join(self.gates) or "no experts", ", ".join(config.schemes)])
        seeds = f"{config.num_seeds} training seed{'s' * (config.num_seeds > 1)}"
        return (
            f"{config.game}: a single {config.network} against experts ({experts}), "
            f"{data}, {seeds}, "
            f"{config.match.games} games per arm and seed at {config.search.simulations} simulations"
        )

    def gate(self, reference: str) -> PhaseGate:
        """Returns a gate of this experiment's game; a saved one from the run's own copy."""
        return plugins().gate(kept_gate(self.folder, reference), self.game)

    def agent(self, reference: str) -> Agent:
        """Returns an agent of this experiment's game."""
        return plugins().agent(reference, self.game)

    @property
    def field(self) -> str:
        """Who sits in the seats that are not an arm's: an agent's reference, or the arm SINGLE."""
        name = self.config.match.field or plugins().default_agent(self.game)
        return SINGLE if name == "random" and not self.config.match.field else name

    def field_agent(self) -> Agent | None:
        """Returns who sits in the seats that are not an arm's, or None where it is the single network."""
        return None if self.field == SINGLE else self.agent(self.field)

    def opponent_model(self) -> Opponents:
        """Returns who the search believes to face."""
        config = self.config.match
        field = "self" if self.field == SINGLE else config.field
        return opponents_named(config.opponent_model or field or default_model(self.game), self.game)

    def contestants(self) -> list[Arm]:
        """Returns the arms that play: all, but not the single network against itself."""
        return self.teams if self.field == SINGLE and self.teams else self.arms

    def openings(self, seed: int, num_games: int) -> list[Opening]:
        """Returns where the games of a training seed start, each for one game in every seat."""
        config = self.config.match
        return starts(
            self.game,
            -(-num_games // self.game.spec.num_players),
            path=Path(config.openings) if config.openings else None,
            random_plies=config.random_plies,
            seed=self._first_board(seed),
        )

    def passes(self) -> float:
        """Returns how often the trainings of one seed see the data, in passes of the configured epochs."""
        return sum(plugins().scheme(arm.scheme).cost(self.gate(arm.gate).num_phases) for arm in self.arms)

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
            self._train(self.arm(job.arm), job.seed, advance)
        else:
            self._match(job.kind, job.seed, advance)

    def outcomes(self) -> Outcomes:
        """Returns what was made; the experiment must be done."""
        seeds = range(self.config.num_seeds)
        nothing: Advance = lambda done, total: None  # noqa: E731
        return Outcomes(
            sources=self.sources(),
            experts={(arm.name, seed): self._experts(arm, seed) for arm in self.arms for seed in seeds},
            searched=[self._match("searched", seed, nothing) for seed in seeds],
            raw=[self._match("raw", seed, nothing) for seed in seeds if self.config.match.raw_games],
        )

    def sources(self) -> Sources:
        """Opens the samples."""
        return open_sources(self.config.data, self.folder / "data", self.game)

    def arm(self, name: str) -> Arm:
        """Returns the arm of that name."""
        return next(arm for arm in self.arms if arm.name == name)

    def training_folder(self, arm: Arm, seed: int) -> Path:
        """Returns where the training of a set of experts keeps its measurements."""
        return self.folder / "training" / f"{arm.label}-{seed}"

    def experts_folder(self, arm: Arm, seed: int) -> Path:
        """Returns where a set of experts is."""
        return self.folder / "experts" / f"{arm.label}-{seed}"

    def _run(self, progress: Progress) -> Report:
        from moemcts.report.findings import findings
        from moemcts.report.page import write_report

        started = time.monotonic()
        with progress.task("games to learn from", "samples") as advance:
            self.generate(advance)
        trainings = [Job("train", arm.name, seed) for seed in range(self.config.num_seeds) for arm in self.arms]
        self._run_jobs([job for job in trainings if not self._is_trained(job)], "training", "steps", progress)
        kinds: list[Literal["raw", "searched"]] = ["raw", "searched"] if self.config.match.raw_games else ["searched"]
        matches = [Job(kind, "", seed) for kind in kinds for seed in range(self.config.num_seeds)]
        self._run_jobs(matches, "matches", "games", progress)
        report = findings(self, self.outcomes())
        write_report(self.folder / "report", report)
        write_json(self.folder / "done.json", {"seconds_of_last_start": round(time.monotonic() - started, 1)})
        return report

    def _first_board(self, seed: int) -> int:
        return (self.config.seed * self.config.num_seeds + seed + 1) * BOARDS_PER_SEED

    def _run_jobs(self, jobs: Sequence[Job], name: str, unit: str, progress: Progress) -> None:
        if not jobs:
            return
        with progress.task(name, unit) as advance:
            run_jobs(self.folder, jobs, self.do, self.config.workers or num_cores(), advance)

    def _is_trained(self, job: Job) -> bool:
        return (self.experts_folder(self.arm(job.arm), job.seed) / "manifest.toml").exists()

    def _experts(self, arm: Arm, seed: int, backend: str = "torch") -> ExpertSet:
        from moemcts.learn.checkpoint import load_experts
        from moemcts.learn.inference.evaluators import Inference, named_backend

        folder = self.experts_folder(arm, seed)
        return load_experts(folder, self.game, plugins(), inference=Inference(named_backend(backend)))

    def _train(self, arm: Arm, seed: int, advance: Advance) -> None:
        train_experts(
            self.config,
            self.game,
            arm,
            self.gate(arm.gate),
            self.sources(),
            training_folder=self.training_folder(arm, seed),
            experts_folder=self.experts_folder(arm, seed),
            on_progress=lambda state: advance(state.step, state.num_steps),
            seed=seed,
        )

    def _match(self, kind: Literal["raw", "searched"], seed: int, advance: Advance) -> MatchResult:
        config = self.config.match
        num_games = config.games if kind == "searched" else config.raw_games
        agents = self._searching(seed) if kind == "searched" else self._raw(seed)
        field = self.field_agent() or agents[SINGLE]
        arms = {arm.name: agents[arm.name] for arm in self.contestants()}
        if kind == "raw" and self.field != SINGLE:
            arms[FIELD] = field
        manifests = [self.experts_folder(arm, seed) / "manifest.toml" for arm in self.arms]
        return match(
            self.game,
            arms,
            field,
            num_games=num_games,
            openings=self.openings(seed, num_games),
            seed=self._first_board(seed),
            baseline=SINGLE if SINGLE in arms else None,
            max_parallel=config.parallel,
            path=self.folder / "matches" / f"{kind}-{seed}.jsonl",
            identity={
                "search": self.config.search.model_dump(mode="json") if kind == "searched" else None,
                "experts": [hashlib.sha256(manifest.read_bytes()).hexdigest() for manifest in manifests],
            }
            | ({} if config.backend == "torch" else {"backend": config.backend}),
            on_progress=lambda state: advance(state.num_finished, num_games * len(arms)),
        )

    def _searching(self, seed: int) -> dict[str, Agent]:
        model = self.opponent_model()
        return {
            name: SearchAgent(self.game, team, self.config.search, opponents=model, name=name)
            for name, team in self._playing(seed).items()
        }

    def _raw(self, seed: int) -> dict[str, Agent]:
        return {name: PolicyAgent(team, name=name) for name, team in self._playing(seed).items()}

    def _playing(self, seed: int) -> dict[str, ExpertSet]:
        return {arm.name: self._experts(arm, seed, self.config.match.backend) for arm in self.arms}


def _with_backend(config: ExperimentConfig) -> ExperimentConfig:
    """Returns the configuration with the quickest backend in place of `auto`, so that a run never changes its mind."""
    from moemcts.learn.inference.evaluators import AUTO, resolve

    if config.match.backend != AUTO:
        return config
    spec = plugins().game(config.game).spec
    network = plugins().network(config.network, spec.observation_shape, spec.num_actions)
    chosen = resolve(AUTO, "float32", network, spec.observation_shape).backend
    return config.model_copy(update={"match": config.match.model_copy(update={"backend": chosen})})

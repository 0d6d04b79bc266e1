"""One experiment in its folder: data, then experts, then matches; every part can be resumed."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moemcts.agents import Agent, PolicyAgent
from moemcts.arena.games import Conditions
from moemcts.arena.match import MatchResult
from moemcts.arena.openings import Opening, starts
from moemcts.arena.playing import Watch, play_match
from moemcts.arena.schedules import match_schedule
from moemcts.errors import UsageError
from moemcts.gates import PhaseGate
from moemcts.naming import AUTO, check_backend, opponents_named, settled
from moemcts.plugins import plugins
from moemcts.report.outcomes import Learned, Outcomes, Phases
from moemcts.runs.arms import NO_GATE, SINGLE, Arm, file_label, make_arms
from moemcts.runs.fields import make_field
from moemcts.runs.held_out import held_out_losses, single_losses
from moemcts.runs.kept_gates import kept_gate
from moemcts.runs.learning import check_data, data_part, measurements, train_experts, training_settings, with_players
from moemcts.runs.phases import describe_phases, timeline_of
from moemcts.runs.run import Part, Run
from moemcts.runs.running import inference_for
from moemcts.runs.settings import MOST_SEEDS, ExperimentConfig
from moemcts.runs.sources import Sources, open_sources
from moemcts.search import SearchAgent
from moemcts.search.engine import Opponents
from moemcts.work import Report, num_cores, workers
from moemcts.work.progress import Advance, Tally

if TYPE_CHECKING:
    from moemcts.experts import ExpertSet

BOARDS_PER_SEED = 1_000_000
"""Start positions that are set aside for the games of one training seed."""
SEARCHED, RAW = "searched", "raw"
"""The matches: with search, and of the networks alone."""


class Experiment(Run[ExperimentConfig]):
    """A single network against one set of experts per gate and scheme, and per network, in a folder."""

    kind = "experiment"
    noun = "run"
    config_type = ExperimentConfig

    def __init__(self, folder: Path, config: ExperimentConfig) -> None:
        """Raises UsageError where the configuration names something that does not exist."""
        super().__init__(folder, config)
        for network in config.other_networks:
            plugins().network(network, self.game.spec.observation_shape, self.game.spec.num_actions)
        self.arms = make_arms(config.networks, config.gates, config.schemes, config.gate_names)
        for scheme in config.schemes:
            plugins().scheme(scheme)
        for arm in self.arms:
            plugins().scheme(arm.scheme).check(self.gate(arm.gate))
        check_data(config, self.game)
        self.field = make_field(config.match.field, self.game)
        self.opponent_model()
        check_backend(config.match.backend, config.match.precision)

    @classmethod
    def resolved(cls, config: ExperimentConfig) -> ExperimentConfig:
        """Returns the configuration with what the game and this machine decide written out."""
        return _with_inference(super().resolved(_with_networks(_with_gates(_with_field(with_players(config))))))

    @property
    def gates(self) -> list[str]:
        """The gates that make experts; the single network's is not among them."""
        return [gate for gate in self.config.gates if gate != NO_GATE]

    @property
    def gate_names(self) -> dict[str, str]:
        """What tables call the gates that make experts: as users wrote them."""
        return {arm.gate: arm.gate_name for arm in self.teams}

    @property
    def single(self) -> Arm:
        """The arm of the single network that all others are compared with."""
        return self.arms[0]

    @property
    def other_singles(self) -> list[Arm]:
        """The arms of one network of another kind each."""
        return [arm for arm in self.arms[1:] if arm.gate == NO_GATE]

    @property
    def teams(self) -> list[Arm]:
        """The arms of several experts."""
        return [arm for arm in self.arms if arm.gate != NO_GATE]

    @property
    def seeds(self) -> range:
        """The training seeds, counted from that of the configuration."""
        return range(self.config.num_seeds)

    def describe(self) -> str:
        """Returns one line on what is compared."""
        config = self.config
        data = config.data.describe()
        experts = "; ".join([", ".join(self.gate_names.values()) or "no experts", ", ".join(config.schemes)])
        seeds = f"{config.num_seeds} training seed{'s' * (config.num_seeds > 1)}"
        return (
            f"{config.game}: a single {config.network} against experts ({experts}), "
            f"{''.join(f'and the same of {network}, ' for network in config.other_networks)}"
            f"{data}, {seeds}, "
            f"{config.match.games} games per arm and seed at {config.search.simulations} simulations"
        )

    def gate(self, reference: str) -> PhaseGate:
        """Returns a gate of this experiment's game; a saved one from the run's own copy."""
        return plugins().gate(kept_gate(self.folder, reference), self.game)

    def opponent_model(self) -> Opponents:
        """Returns who the search believes to face."""
        return opponents_named(self.config.match.opponent_model or self.field.model, self.game)

    def contestants(self) -> list[Arm]:
        """Returns the arms that play: all, but not the single network against itself."""
        return self.field.contestants(self.arms)

    def openings(self, seed: int, num_games: int) -> list[Opening]:
        """Returns where the games of a training seed start, each for one game in every seat."""
        config = self.config.match
        return starts(
            self.game,
            -(-num_games // self.game.spec.num_players),
            path=Path(config.openings) if config.openings else None,
            random_plies=config.random_plies,
            seed=self.first_board(seed),
        )

    def first_board(self, seed: int) -> int:
        """Returns the number of the first start position of a training seed's games."""
        return (self.config.seed * MOST_SEEDS + seed + 1) * BOARDS_PER_SEED

    def passes(self) -> float:
        """Returns how often the trainings of one seed see the data, in passes of the configured epochs."""
        return sum(plugins().scheme(arm.scheme).cost(self.gate(arm.gate).num_phases) for arm in self.arms)

    def parts(self) -> list[Part]:
        """Returns the data, a training per arm and seed, and a match per kind and seed."""
        data = data_part(self.config, self.game, self.folder)
        kinds = [RAW, SEARCHED] if self.config.match.raw_games else [SEARCHED]
        return [
            data,
            *(self._training(arm, seed, data) for seed in self.seeds for arm in self.arms),
            *(self._match_part(kind, seed) for kind in kinds for seed in self.seeds),
        ]

    def do_all(self, parts: Sequence[Part], advance: Advance) -> None:
        """Does parts of one task, in as many processes as the settings say."""
        tally = Tally(len(parts), advance)
        crew = workers(
            min(self.config.workers or num_cores(), len(parts)),
            hint=f"go on with moemcts run --resume {self.folder}, or set workers=1",
        )
        crew.map(_DoPart(self), [part.name for part in parts], on_report=tally.note, on_done=tally.finish)

    def sources(self) -> Sources:
        """Opens the samples."""
        return open_sources(self.config.data, self.folder / "data", self.game)

    def experts(self, arm: Arm, seed: int, backend: str = "torch", precision: str | None = None) -> ExpertSet:
        """Opens a set of experts."""
        from moemcts.learn.checkpoint import load_experts
        from moemcts.learn.inference.evaluators import Inference, named_backend, named_precision

        folder = self._experts_folder(arm, seed)
        inference = Inference(named_backend(backend), named_precision(precision or "float32"))
        return load_experts(folder, self.game, plugins(), inference=inference)

    def outcomes(self) -> Outcomes:
        """Returns what was made; the experiment must be done."""
        sources = self.sources()
        experts = {(arm.name, seed): self.experts(arm, seed) for arm in self.arms for seed in self.seeds}
        losses = held_out_losses(self.config, self.single, self.teams, sources, experts)
        searched, raw = (self._results(kind) for kind in (SEARCHED, RAW))
        singles = [arm.name for arm in self.arms if arm.is_single]
        return Outcomes(
            title=f"{self.config.game}: {', '.join(self.gate_names.values()) or 'a single network'}",
            making=self._making(),
            settings=self.config.model_dump(mode="json"),
            searched=self.field.contest(searched, f"{self.config.search.simulations} simulations per move", singles),
            raw=self.field.contest(raw, "the policy's best action", singles) if raw else None,
            singles={
                arm.name: single_losses(self.config, arm, sources, experts)
                for arm in (self.single, *self.other_singles)
            },
            single_metrics=measurements(self._training_folder(self.single, 0)),
            teams=tuple(
                Learned(
                    name=arm.name,
                    label=arm.label,
                    is_single=arm.is_single,
                    phase_names=experts[arm.name, 0].gate.phase_names,
                    losses=losses[arm.name],
                    metrics=measurements(self._training_folder(arm, 0)),
                )
                for arm in self.teams
            ),
            phases=tuple(self._phases(gate, sources, experts, searched[0]) for gate in self.gates),
        )

    def _phases(
        self, gate: str, sources: Sources, experts: Mapping[tuple[str, int], ExpertSet], result: MatchResult
    ) -> Phases:
        arm = next(arm.name for arm in self.teams if arm.gate == gate)
        record = result.games(arm)[0]
        openings = {opening.name: opening.start for opening in self.openings(0, self.config.match.games)}
        timeline = timeline_of(record, openings[record.opening], self.game, experts[arm, 0])
        name = self.gate_names[gate]
        return describe_phases(name, file_label(name), experts[arm, 0].gate, sources.training, timeline)

    def _making(self) -> str:
        config = self.config
        found = [f"- gate `{name}` is `{gate}` here\n" for gate, name in self.gate_names.items() if gate != name]
        return (
            f"- {self.describe()}\n{''.join(found)}"
            f"- schemes `{', '.join(config.schemes)}`, network `{config.network}`, seed {config.seed}\n"
            f"{self.describe_environment()}\n"
            "- all settings: `config.toml`; all games: `matches/`; all measurements: `training/*/metrics.jsonl`"
        )

    def _training(self, arm: Arm, seed: int, data: Part) -> Part:
        return Part(
            name=f"train-{arm.label}-{seed}",
            task="training",
            unit="steps",
            do=functools.partial(self._train, arm, seed),
            decided_by={
                **data.decided_by,
                "network": arm.network,
                "gate": arm.gate,
                "scheme": arm.scheme,
                **training_settings(self.config, seed),
            },
        )

    def _match_part(self, kind: str, seed: int) -> Part:
        config = self.config
        match = config.match.model_dump(mode="json", exclude={"games", "raw_games", "parallel"})
        return Part(
            name=f"{kind}-{seed}",
            task="matches",
            unit="games",
            do=functools.partial(self._play, kind, seed),
            decided_by={
                "game": config.game,
                "gates": config.gates,
                "schemes": config.schemes,
                "seed": config.seed,
                **({"other_networks": config.other_networks} if config.other_networks else {}),
                **{f"match.{key}": value for key, value in match.items()},
                **self.field.decided_by,
                **(
                    {f"search.{k}": v for k, v in config.search.model_dump(mode="json").items()}
                    if kind == SEARCHED
                    else {}
                ),
            },
            extent={"games": self._num_games(kind)},
        )

    def _train(self, arm: Arm, seed: int, advance: Advance) -> None:
        train_experts(
            self.config,
            self.game,
            arm,
            self.gate(arm.gate),
            self.sources(),
            training_folder=self._training_folder(arm, seed),
            experts_folder=self._experts_folder(arm, seed),
            on_progress=lambda state: advance(state.step, state.num_steps),
            seed=seed,
        )

    def _play(self, kind: str, seed: int, advance: Advance) -> None:
        self._match(kind, seed, advance)

    def _results(self, kind: str) -> list[MatchResult]:
        return [self._match(kind, seed, lambda done, total: None) for seed in self.seeds if self._num_games(kind)]

    def _match(self, kind: str, seed: int, advance: Advance) -> MatchResult:
        config, num_games = self.config.match, self._num_games(kind)
        agents = self._agents(kind, seed)
        arms = {arm.name: agents[arm.name] for arm in self.contestants()}
        if kind == RAW:
            arms |= self.field.extra(agents)
        manifests = [self._experts_folder(arm, seed) / "manifest.toml" for arm in self.arms]
        schedule = match_schedule(
            self.game,
            arms,
            self.field.agent(agents),
            num_games=num_games,
            openings=self.openings(seed, num_games),
            identity={
                "search": self.config.search.model_dump(mode="json") if kind == SEARCHED else None,
                "experts": [hashlib.sha256(manifest.read_bytes()).hexdigest() for manifest in manifests],
            }
            | ({} if config.backend == "torch" else {"backend": config.backend})
            | ({} if config.precision in (None, "float32") else {"precision": config.precision}),
        )
        records = play_match(
            self.game,
            schedule,
            Conditions(seed=self.first_board(seed), max_parallel=config.parallel),
            journal=self.folder / "matches" / f"{kind}-{seed}.jsonl",
            watch=Watch(on_progress=lambda state: advance(state.num_finished, num_games * len(arms))),
        )
        return MatchResult.of(schedule, records, baseline=self.single.name if self.single.name in arms else None)

    def _agents(self, kind: str, seed: int) -> dict[str, Agent]:
        match = self.config.match
        teams = {arm.name: self.experts(arm, seed, match.backend, match.precision) for arm in self.arms}
        if kind == RAW:
            return {name: PolicyAgent(team, name=name) for name, team in teams.items()}
        model = self.opponent_model()
        return {
            name: SearchAgent(self.game, team, self.config.search, opponents=model, name=name)
            for name, team in teams.items()
        }

    def _num_games(self, kind: str) -> int:
        return self.config.match.raw_games if kind == RAW else self.config.match.games

    def _training_folder(self, arm: Arm, seed: int) -> Path:
        return self.folder / "training" / f"{arm.label}-{seed}"

    def _experts_folder(self, arm: Arm, seed: int) -> Path:
        return self.folder / "experts" / f"{arm.label}-{seed}"


def _with_gates(config: ExperimentConfig) -> ExperimentConfig:
    """Returns the configuration with all that its gates found by playing, and with what they are called.

    Raises UsageError where two of them are the same then.
    """
    game = plugins().game(config.game)
    gates = [plugins().complete_gate(gate, game) for gate in config.gates]
    for gate, name in zip(gates, config.gates, strict=True):
        if (same := config.gates[gates.index(gate)]) != name:
            raise UsageError(f"expected different gates, got {same!r} and {name!r}, which are both {gate!r} here")
    # Names of other gates, from the file of another run, are forgotten.
    return config.model_copy(update={"gates": gates, "gate_names": config.gates if gates != config.gates else []})


def _with_networks(config: ExperimentConfig) -> ExperimentConfig:
    """Returns the configuration with what the game decides of its further networks, as of the first, written out."""
    game = plugins().game(config.game)
    return config.model_copy(
        update={"other_networks": [plugins().complete_network(network, game) for network in config.other_networks]}
    )


def _with_field(config: ExperimentConfig) -> ExperimentConfig:
    """Returns the configuration with the field's reference as it names the same agent elsewhere."""
    field = config.match.field
    if field in ("", SINGLE):
        return config
    found = settled(field, plugins().game(config.game))
    return config.model_copy(update={"match": config.match.model_copy(update={"field": found})})


def _with_inference(config: ExperimentConfig) -> ExperimentConfig:
    """Returns the configuration with the quickest in place of `auto`, so that a run never changes its mind."""
    match = config.match
    if AUTO not in (match.backend, match.precision):
        return config
    chosen = inference_for(config.game, config.network, match.backend, match.precision)
    precision = None if match.precision is None else chosen.precision
    update = {"backend": chosen.backend, "precision": precision}
    return config.model_copy(update={"match": match.model_copy(update=update)})


class _DoPart:
    """Does the parts of an experiment by name; where it is sent to, the experiment is opened from its folder."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment

    def __call__(self, name: str, report: Report) -> None:
        self._experiment.do(name, lambda done, total: report((done, total)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _part_doer, (self._experiment.folder,)


def _part_doer(folder: Path) -> _DoPart:
    # Whoever started this process has allowed what the settings name.
    return _DoPart(Experiment.load(folder, allow_programs=True))

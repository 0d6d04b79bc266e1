"""One experiment in its folder: data, then experts, then matches; every part can be resumed."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from moemcts.agents import Agent, PolicyAgent
from moemcts.arena.match import MatchResult
from moemcts.arena.records import Lineup
from moemcts.arena.schedules import MatchSchedule
from moemcts.arena.verdict import counted
from moemcts.game import Game
from moemcts.gates import PhaseGate
from moemcts.naming import check_backend, opponents_named
from moemcts.plugins import plugins
from moemcts.report.contest import Unplayed
from moemcts.report.outcomes import Learned, Outcomes, Phases
from moemcts.runs.arms import NO_GATE, Arm, file_labels
from moemcts.runs.boards import Absent, Boards
from moemcts.runs.fields import make_field
from moemcts.runs.held_out import losses_of, losses_part, mean_losses, num_processes
from moemcts.runs.kept_gates import kept_gate
from moemcts.runs.kept_openings import with_whole_paths
from moemcts.runs.learning import check_data, data_part, measurements, train_experts, training_settings, with_players
from moemcts.runs.phase_samples import check_samples
from moemcts.runs.phases import describe_phases, timeline_of
from moemcts.runs.resolution import with_field, with_gates, with_inference, with_networks
from moemcts.runs.run import DoPart, Part, Run
from moemcts.runs.settings import ExperimentConfig
from moemcts.runs.sources import Sources, open_sources
from moemcts.runs.times import Timed, describe_times
from moemcts.search import SearchAgent
from moemcts.search.engine import Opponents
from moemcts.work import Workers, num_cores, workers
from moemcts.work.progress import Advance, Progress, Tally, unheard

if TYPE_CHECKING:
    from moemcts.experts import ExpertSet, Routing

TRAINING, MATCHES = "training", "matches"
"""The tasks of the parts that train, and of those that are matches."""
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
        self.boards = Boards(folder, self.game, config)
        """Where its games are played."""
        self.arms = config.arms()
        for scheme in config.schemes:
            plugins().scheme(scheme)
        for arm in self.arms:
            plugins().scheme(arm.scheme).check(self.gate(arm.gate))
        check_data(config, self.game)
        self.field = make_field(config.match.field, self.game)
        self.opponent_model()
        check_backend(config.match.backend, config.match.precision, config.match.device)

    @classmethod
    def prepare(cls, folder: Path, config: ExperimentConfig) -> Self:
        """Returns a new experiment of which nothing is written yet; raises as `Run.prepare` and `Boards.check`."""
        experiment = super().prepare(folder, config)
        experiment.boards.check()
        return experiment

    @classmethod
    def resolved(cls, config: ExperimentConfig) -> ExperimentConfig:
        """Returns the configuration with what the game and this machine decide written out."""
        config = with_networks(with_gates(with_field(with_players(with_whole_paths(config)))))
        return with_inference(super().resolved(config))

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
        """The training seeds: that of the configuration and those after it."""
        return self.config.training_seeds

    def describe(self) -> str:
        """Returns one line on what is compared."""
        config = self.config
        data = config.data.describe()
        gates = ", ".join(self.gate_names.values())
        experts = f" against experts ({gates}; {', '.join(config.schemes)})" if gates else ", no gate: no experts"
        seeds = f"{config.num_seeds} training seed{'s' * (config.num_seeds > 1)}"
        others = [f"and the same of {network}, " for network in config.other_networks]
        others += [f"and a single {network}, " for network in config.single_networks]
        played = f"{config.match.games} games per arm and seed at {config.search.simulations} simulations"
        games = played if self.contestants() else "no games: there is nobody for the single network to play"
        return f"{config.game}: a single {config.network}{experts}, {''.join(others)}{data}, {seeds}, {games}"

    def gate(self, reference: str) -> PhaseGate:
        """Returns a gate of this experiment's game; a saved one from the run's own copy."""
        return plugins().gate(kept_gate(self.folder, reference, self.gates), self.game)

    def opponent_model(self) -> Opponents:
        """Returns who the search believes to face."""
        return opponents_named(self.config.match.opponent_model or self.field.model, self.game)

    def contestants(self) -> list[Arm]:
        """Returns the arms that play: all, but not the single network against itself."""
        return self.field.contestants(self.arms)

    def players(self, kind: str) -> list[str]:
        """Returns who plays the games of a kind: the arms that play, and who else is measured beside networks."""
        arms = [arm.name for arm in self.contestants()]
        return [*arms, *self.field.extra] if kind == RAW else arms

    def passes(self) -> float:
        """Returns how often the trainings of one seed see the data, in passes of the configured epochs."""
        return sum(plugins().scheme(arm.scheme).cost(self.gate(arm.gate).num_phases) for arm in self.arms)

    def parts(self) -> list[Part]:
        """Returns the data, a training and its losses per arm and seed, and games per kind, seed and who plays them."""
        data = data_part(self.config, self.game, self.folder)
        learned = [(arm, seed, self._training(arm, seed, data)) for seed in self.seeds for arm in self.arms]
        kinds = [RAW, SEARCHED] if self.config.match.raw_games else [SEARCHED]
        return [
            data,
            *(training for _, _, training in learned),
            *(losses_part(self, arm, seed, training) for arm, seed, training in learned),
            *(
                self._games(kind, seed, player)
                for kind in kinds
                for seed in self.seeds
                for player in self.players(kind)
            ),
        ]

    @property
    def num_workers(self) -> int:
        """In how many processes its parts are done."""
        return self.config.workers or num_cores()

    def work(self, progress: Progress) -> None:
        """Does all parts that are not done yet, and writes down how long that took."""
        super().work(Timed(progress, self.folder))

    def do_all(self, parts: Sequence[Part], advance: Advance) -> None:
        """Does parts of one task in as many processes as the settings say: side by side, or each shared by all."""
        if parts[0].task == TRAINING:
            self.check_samples()
        tally = Tally([part.size for part in parts], advance)
        alone = [part for part in parts if part.share is None]
        hint = f"go on with moemcts run --resume {self.folder}, or set workers=1"
        crew = workers(num_processes(self, alone), hint=hint)
        crew.map(DoPart(self), [part.name for part in alone], on_report=tally.note, on_done=tally.finish)
        everybody = workers(self.num_workers, hint=hint)
        shared = [(part, part.share) for part in parts if part.share is not None]
        for number, (part, share) in enumerate(shared, len(alone)):
            with self.noted(part):
                share(tally.of(number), everybody)
            tally.finish(number)

    def sources(self) -> Sources:
        """Opens the samples."""
        return open_sources(self.config.data, self.folder / "data", self.game)

    def check_samples(self) -> None:
        """Raises MoemctsError where an expert of any arm would have no samples to learn from."""
        check_samples(self, [(arm, self.gate(arm.gate)) for arm in self.teams], self.sources, self.seeds)

    def experts(
        self,
        arm: Arm,
        seed: int,
        backend: str = "torch",
        precision: str | None = None,
        routing: Routing | None = None,
        device: str = "cpu",
    ) -> ExpertSet:
        """Opens a set of experts; raises UsageError where there is no such device here."""
        from moemcts.learn.checkpoint import load_experts
        from moemcts.learn.inference.evaluators import Inference, named_backend, named_precision

        folder = self._experts_folder(arm, seed)
        inference = Inference(named_backend(backend), named_precision(precision or "float32"))
        return load_experts(folder, self.game, plugins(), device=device, routing=routing, inference=inference)

    def trained(self, arm: Arm, seed: int) -> ExpertSet:
        """Opens a set of experts as torch has them, on the device that trained them where that is here."""
        from moemcts.learn.training.ranks import device_here

        return self.experts(arm, seed, device=device_here(self.config.training.device))

    def weights_of(self, arms: Sequence[Arm], seed: int) -> dict[str, Any]:
        """Returns what decides the games of arms and a training seed beside the settings."""
        manifests = [self._experts_folder(arm, seed) / "manifest.toml" for arm in arms]
        return {"experts": [hashlib.sha256(manifest.read_bytes()).hexdigest() for manifest in manifests]}

    def games_of(self, kind: str, seed: int, player: str) -> MatchSchedule:
        """Returns the games of a kind and a training seed that one of `players` plays."""
        return self._schedule(kind, seed, player, self._agents)

    def _schedule(self, kind: str, seed: int, player: str, make: Callable[..., Mapping[str, Agent]]) -> MatchSchedule:
        seated = self.field.seated(self.arms)
        arms = [arm for arm in self.arms if arm.name == player or arm in seated]
        agents = make(arms, kind, seed)
        search = self.config.search.model_dump(mode="json") if kind == SEARCHED else None
        return self.boards.schedule(
            {player: {**self.field.extra, **agents}[player]},
            self.field.agents(agents, self.game.spec.num_players - 1),
            self._num_games(kind),
            seed,
            {"search": search, **self.weights_of(arms, seed)},
            functools.partial(_remade, self.folder, kind, seed, player),
        )

    def outcomes(self) -> Outcomes:
        """Returns what was made; the experiment must be done."""
        sources, first = self.sources(), self.seeds[0]
        experts = {arm.name: self.trained(arm, first) for arm in self.teams}
        searched, raw = (self._results(kind) for kind in (SEARCHED, RAW))
        singles, limit = [arm.name for arm in self.arms if arm.is_single], self.config.search.simulations
        return Outcomes(
            title=f"{self.config.game}: {', '.join(self.gate_names.values()) or 'a single network'}",
            making=self._making(),
            settings=self.config.model_dump(mode="json"),
            searched=self.field.contest(searched, f"{limit} simulations per move", singles, self.seeds)
            if searched
            else Unplayed(seeds=tuple(self.seeds)),
            measured_on=sources.kind,
            raw=self.field.contest(raw, "The policy's best action", singles, self.seeds) if raw else None,
            singles={
                arm.name: [row for seed in self.seeds for row in losses_of(self, arm, seed)]
                for arm in (self.single, *self.other_singles)
            },
            teams=tuple(
                Learned(
                    name=arm.name,
                    label=arm.label,
                    is_single=arm.is_single,
                    phase_names=experts[arm.name].gate.phase_names,
                    losses=mean_losses(self, arm),
                    single=losses_of(self, arm, first)[0],
                    metrics=measurements(self._training_folder(arm, first)),
                )
                for arm in self.teams
            ),
            phases=tuple(self._phases(gate, sources, experts, searched[0]) for gate in self.gates),
        )

    def _phases(self, gate: str, sources: Sources, experts: Mapping[str, ExpertSet], result: MatchResult) -> Phases:
        arm = next(arm.name for arm in self.teams if arm.gate == gate)
        record = result.games(arm)[0]
        openings = {
            opening.name: opening.start for opening in self.boards.openings(self.seeds[0], self.config.match.games)
        }
        timeline = timeline_of(record, openings[record.opening], self.game, experts[arm])
        names = list(self.gate_names.values())
        name = self.gate_names[gate]
        label = file_labels(names)[names.index(name)]
        return describe_phases(name, label, experts[arm].gate, sources.training, timeline)

    def _making(self) -> str:
        config = self.config
        found = [f"- gate `{name}` is `{gate}` here\n" for gate, name in self.gate_names.items() if gate != name]
        found += [f"- {self.boards.beginnings}\n"] if self.contestants() else []
        times = describe_times(self.folder)
        took = f"- took {times}; {counted(self.num_workers, 'worker')}\n" if times else ""
        return (
            f"- {self.describe()}\n{''.join(found)}"
            f"- schemes `{', '.join(config.schemes)}`, network `{config.network}`, seed {config.seed}\n"
            f"{self.describe_environment()}\n{took}"
            "- all settings: `config.toml`; all games: `matches/`; all measurements: `training/*/metrics.jsonl`"
        )

    def _training(self, arm: Arm, seed: int, data: Part) -> Part:
        return Part(
            name=f"train-{arm.label}-{seed}",
            task=TRAINING,
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

    def _games(self, kind: str, seed: int, player: str) -> Part:
        config, own = self.config, self._arm(player)
        return Part(
            name=self._match_label(kind, seed, player),
            task=MATCHES,
            unit="games",
            size=self._num_games(kind),
            do=functools.partial(self._play, kind, seed, player),
            decided_by={
                "game": config.game,
                "seed": config.seed,
                **({} if own is None else {"network": own.network, "gate": own.gate, "scheme": own.scheme}),
                **self.boards.decided_by,
                **self.field.decided_by,
                **(
                    {f"search.{k}": v for k, v in config.search.model_dump(mode="json").items()}
                    if kind == SEARCHED
                    else {}
                ),
            },
            extent={"games": self._num_games(kind)},
            share=functools.partial(self._play, kind, seed, player) if self._fills_all(kind) else None,
        )

    def _fills_all(self, kind: str) -> bool:
        """Returns whether one's games are a full load for every worker, so that it is worth starting them for these."""
        return self._num_games(kind) >= self.num_workers * self.config.match.parallel

    def _match_label(self, kind: str, seed: int, player: str) -> str:
        own = self._arm(player)
        return f"{kind}-{own.label if own else player}-{seed}"

    def _arm(self, player: str) -> Arm | None:
        return next((arm for arm in self.arms if arm.name == player), None)

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

    def _play(self, kind: str, seed: int, player: str, advance: Advance, crew: Workers | None = None) -> None:
        self._match(kind, seed, player, advance, crew)

    def _results(self, kind: str) -> list[MatchResult]:
        return [
            MatchResult.joined(
                [self._read(kind, seed, player) for player in self.players(kind)], baseline=self.single.name
            )
            for seed in self.seeds
            if self._num_games(kind) and self.contestants()
        ]

    def _read(self, kind: str, seed: int, player: str) -> MatchResult:
        """Returns a match that is over; only where games of it are missing do its agents have to play."""
        schedule = self._schedule(kind, seed, player, lambda arms, *_: {arm.name: Absent(arm.name) for arm in arms})
        found = self.boards.read(schedule, seed, label=self._match_label(kind, seed, player))
        return found or self._match(kind, seed, player)

    def _match(
        self, kind: str, seed: int, player: str, advance: Advance = unheard, crew: Workers | None = None
    ) -> MatchResult:
        schedule, label = self.games_of(kind, seed, player), self._match_label(kind, seed, player)
        return self.boards.play(schedule, seed, label=label, advance=advance, crew=crew)

    def _agents(self, arms: Sequence[Arm], kind: str, seed: int) -> dict[str, Agent]:
        match = self.config.match
        device = match.device
        teams = {arm.name: self.experts(arm, seed, match.backend, match.precision, device=device) for arm in arms}
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


def _remade(folder: Path, kind: str, seed: int, player: str) -> tuple[Game, Sequence[Lineup]]:
    """Returns the game and the lineups of a match, made anew where this is called."""
    # Whoever started this process has allowed what the settings name, and looked at the networks.
    experiment = Experiment.read(folder, allow_programs=True)
    return experiment.game, experiment.games_of(kind, seed, player).lineups

"""An experiment in its folder: data, then experts, then matches; every part can be resumed."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from moemcts.arena.match import MatchResult
from moemcts.arena.records import Lineup
from moemcts.arena.verdict import format_count
from moemcts.game import Game
from moemcts.plugins import plugins
from moemcts.report.contest import NoContest
from moemcts.report.outcomes import Outcomes, Phases, TrainedTeam
from moemcts.runs.arms import NO_GATE, Arm, file_labels
from moemcts.runs.copies import with_absolute_paths
from moemcts.runs.experiment.boards import Boards
from moemcts.runs.experiment.held_out import losses_of, losses_part, mean_losses, num_processes
from moemcts.runs.experiment.matches import RAW, SEARCHED, ArmMatches
from moemcts.runs.experiment.trainings import TRAINING, ArmTrainings
from moemcts.runs.learning import check_data, check_given_data, data_part, with_data_paths, with_players
from moemcts.runs.phase_samples import check_samples
from moemcts.runs.phases import describe_phases, timeline_of
from moemcts.runs.resolution import with_field, with_gates, with_inference, with_networks
from moemcts.runs.run import Part, PartRunner, Run
from moemcts.runs.settings import ExperimentConfig
from moemcts.runs.sources import Sources
from moemcts.runs.times import Timed, describe_times
from moemcts.work import num_cores, workers
from moemcts.work.progress import Advance, Progress, TotalProgress

if TYPE_CHECKING:
    from moemcts.experts import ExpertSet


class Experiment(Run[ExperimentConfig]):
    """An experiment: for each network, a single network against one set of experts per gate and scheme."""

    kind = "experiment"
    noun = "run"
    config_type = ExperimentConfig

    def __init__(self, folder: Path, config: ExperimentConfig) -> None:
        """Raises UsageError if the configuration names something that does not exist."""
        super().__init__(folder, config)
        self.arms = config.arms()
        self.trainings = ArmTrainings(folder, config, self.game, self.arms)
        """The trainings of its arms."""
        for scheme in config.schemes:
            plugins().scheme(scheme)
        for arm in self.arms:
            plugins().scheme(arm.scheme).check(self.trainings.gate(arm.gate))
        check_data(config, self.game)
        self.matches = ArmMatches(
            Boards(folder, self.game, config), self.trainings, functools.partial(_games_of, folder)
        )
        """The matches of its arms."""

    @classmethod
    def prepare(cls, folder: Path, config: ExperimentConfig) -> Self:
        """Returns a new experiment without writing anything.

        Raises as `Run.prepare`, `check_given_data` and `Boards.check`.
        """
        experiment = super().prepare(folder, config)
        check_given_data(experiment.config, experiment.game)
        experiment.matches.boards.check()
        return experiment

    @classmethod
    def resolved(cls, config: ExperimentConfig) -> ExperimentConfig:
        """Returns the configuration with everything that the game and the machine decide filled in."""
        config = with_networks(with_gates(with_field(with_players(with_data_paths(with_absolute_paths(config))))))
        return with_inference(super().resolved(config))

    @property
    def gates(self) -> list[str]:
        """The gates that have experts, without that of the single network."""
        return self.trainings.gates

    @property
    def gate_names(self) -> dict[str, str]:
        """The names of these gates in tables, as the user wrote them."""
        return {arm.gate: arm.gate_name for arm in self.teams}

    @property
    def other_singles(self) -> list[Arm]:
        """The single-network arms of the other networks."""
        return [arm for arm in self.arms[1:] if arm.gate == NO_GATE]

    @property
    def teams(self) -> list[Arm]:
        """The arms with a gate other than `none`."""
        return [arm for arm in self.arms if arm.gate != NO_GATE]

    def describe(self) -> str:
        """Returns a line that describes what is compared."""
        config = self.config
        data = config.data.describe()
        gates = ", ".join(self.gate_names.values())
        experts = f" against experts ({gates}; {', '.join(config.schemes)})" if gates else ", no gate: no experts"
        seeds = f"{config.num_seeds} training seed{'s' * (config.num_seeds > 1)}"
        others = [f"and the same of {network}, " for network in config.other_networks]
        others += [f"and a single {network}, " for network in config.single_networks]
        played = f"{config.match.games} games per arm and seed at {config.search.simulations} simulations"
        games = played if self.matches.contestants() else "no games: there is nobody for the single network to play"
        return f"{config.game}: a single {config.network}{experts}, {''.join(others)}{data}, {seeds}, {games}"

    def passes(self) -> float:
        """Returns the passes over the data by all trainings of one seed, in units of the configured epochs."""
        return sum(plugins().scheme(arm.scheme).cost(self.trainings.gate(arm.gate).num_phases) for arm in self.arms)

    def parts(self) -> list[Part]:
        """Returns the data, a training and its losses per arm and seed, and the games per kind, seed and player."""
        data = data_part(self.config, self.game, self.folder)
        learned = [
            (arm, seed, self.trainings.part(arm, seed, data)) for seed in self.trainings.seeds for arm in self.arms
        ]
        return [
            data,
            *(training for _, _, training in learned),
            *(losses_part(self.trainings, arm, seed, training) for arm, seed, training in learned),
            *self.matches.parts(self.num_workers),
        ]

    @property
    def num_workers(self) -> int:
        """The number of worker processes."""
        return self.config.workers or num_cores()

    def work(self, progress: Progress) -> None:
        """Does all parts that are not done yet and records how long they take."""
        super().work(Timed(progress, self.folder))

    def do_all(self, parts: Sequence[Part], advance: Advance) -> None:
        """Does the parts of one task in worker processes: several parts at once, or each shared by all workers."""
        if parts[0].task == TRAINING:
            self.check_samples()
        alone = [part for part in parts if part.share is None]
        shared = [(part, part.share) for part in parts if part.share is not None]
        total = TotalProgress([part.size for part in (*alone, *(part for part, _ in shared))], advance)
        hint = f"go on with {self.resume_command}, or set workers=1"
        pool = workers(num_processes(self.trainings, alone, self.num_workers), hint=hint)
        pool.map(PartRunner(self), [part.name for part in alone], on_report=total.update, on_done=total.finish)
        all_workers = workers(self.num_workers, hint=hint)
        for number, (part, share) in enumerate(shared, len(alone)):
            with self.recording(part):
                share(total.callback(number), all_workers)
            total.finish(number)

    def check_samples(self) -> None:
        """Raises MoemctsError if an expert of any arm would have no samples to learn from."""
        trainings = self.trainings
        teams = [(arm, trainings.gate(arm.gate)) for arm in self.teams]
        check_samples(self, teams, trainings.sources, trainings.seeds)

    def sources(self) -> Sources:
        """Opens the datasets."""
        return self.trainings.sources()

    def outcomes(self) -> Outcomes:
        """Returns the outcomes; the experiment must be done."""
        trainings, field = self.trainings, self.matches.field
        sources, seeds, first = trainings.sources(), trainings.seeds, trainings.seeds[0]
        experts = {arm.name: trainings.trained(arm, first) for arm in self.teams}
        searched, raw = (self.matches.results(kind) for kind in (SEARCHED, RAW))
        singles, limit = [arm.name for arm in self.arms if arm.is_single], self.config.search.simulations
        return Outcomes(
            title=f"{self.config.game}: {', '.join(self.gate_names.values()) or 'a single network'}",
            making=self._making(),
            settings=self.config.model_dump(mode="json"),
            searched=field.contest(searched, f"{limit} simulations per move", singles, seeds)
            if searched
            else NoContest(seeds=tuple(seeds)),
            measured_on=sources.kind,
            warning=trainings.warning(sources),
            raw=field.contest(raw, "The policy's best action", singles, seeds) if raw else None,
            singles={
                arm.name: [row for seed in seeds for row in losses_of(trainings, arm, seed)]
                for arm in (trainings.single, *self.other_singles)
            },
            teams=tuple(
                TrainedTeam(
                    name=arm.name,
                    label=arm.label,
                    is_single=arm.is_single,
                    phase_names=experts[arm.name].gate.phase_names,
                    losses=mean_losses(trainings, arm),
                    single=losses_of(trainings, arm, first)[0],
                    metrics=trainings.measurements(arm, first),
                )
                for arm in self.teams
            ),
            phases=tuple(self._phases(gate, sources, experts, searched[0]) for gate in self.gates),
        )

    def _phases(self, gate: str, sources: Sources, experts: Mapping[str, ExpertSet], result: MatchResult) -> Phases:
        arm = next(arm.name for arm in self.teams if arm.gate == gate)
        record = result.games(arm)[0]
        openings = {
            opening.name: opening.start
            for opening in self.matches.boards.openings(self.trainings.seeds[0], self.config.match.games)
        }
        timeline = timeline_of(record, openings[record.opening], self.game, experts[arm])
        names = list(self.gate_names.values())
        name = self.gate_names[gate]
        label = file_labels(names)[names.index(name)]
        return describe_phases(name, label, experts[arm].gate, sources.training, timeline)

    def _making(self) -> str:
        config = self.config
        details = [f"- gate `{name}` is `{gate}` here\n" for gate, name in self.gate_names.items() if gate != name]
        details += [f"- {self.matches.boards.opening_settings}\n"] if self.matches.contestants() else []
        times = describe_times(self.folder)
        took = f"- took {times}; {format_count(self.num_workers, 'worker')}\n" if times else ""
        return (
            f"- {self.describe()}\n{''.join(details)}"
            f"- schemes `{', '.join(config.schemes)}`, network `{config.network}`, seed {config.seed}\n"
            f"{self.describe_environment()}\n{took}"
            "- all settings: `config.toml`; all games: `matches/`; all measurements: `training/*/metrics.jsonl`"
        )


def _games_of(folder: Path, kind: str, seed: int, player: str) -> tuple[Game, Sequence[Lineup]]:
    """Returns the game and the lineups of a match, recreated in the calling process."""
    # The parent process has already allowed the settings' programs and checked the networks.
    experiment = Experiment.read(folder, allow_programs=True)
    return experiment.game, experiment.matches.games_of(kind, seed, player).lineups

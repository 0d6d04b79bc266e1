"""A training: one set of experts in its folder, from data to experts; what `moemcts train` runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from moemcts import weights
from moemcts.gates import PhaseGate
from moemcts.naming import experts_in
from moemcts.plugins import plugins
from moemcts.report.outcomes import TrainingOutcomes
from moemcts.runs.arms import Arm
from moemcts.runs.copies import copied_gate, copied_start
from moemcts.runs.initial_experts import with_start
from moemcts.runs.leaks import leak_warning, training_folder_of
from moemcts.runs.learning import (
    check_data,
    check_given_data,
    data_part,
    read_measurements,
    train_experts,
    training_decided_by,
    with_data_paths,
    with_players,
)
from moemcts.runs.phase_samples import check_samples
from moemcts.runs.run import Part, Run
from moemcts.runs.settings import TrainingConfig
from moemcts.runs.sources import Sources, open_sources
from moemcts.store import MANIFEST, read_toml
from moemcts.work.progress import Advance, Progress

if TYPE_CHECKING:
    from moemcts.evaluation import Evaluator
    from moemcts.experts import ExpertSet
    from moemcts.learn.assessment import PhaseLosses
    from moemcts.learn.data.dataset import Dataset
    from moemcts.learn.training.progress import Progress as TrainingProgress

BASELINE = "baseline"
"""The name of the baseline's row."""


class Training(Run[TrainingConfig]):
    """Experts of one gate, trained on a dataset or on games played for it.

    Processes started by `torchrun` all do the same work; only the first one writes.
    """

    kind = "training"
    noun = "training"
    config_type = TrainingConfig

    def __init__(self, folder: Path, config: TrainingConfig) -> None:
        """Raises UsageError if the configuration names something that does not exist."""
        from moemcts.learn.training.ranks import ALONE

        super().__init__(folder, config)
        self._ranks = ALONE
        self._speed: dict[str, Any] = {}
        self.gate: PhaseGate = plugins().gate(copied_gate(folder, config.gate), self.game)
        plugins().scheme(config.scheme).check(self.gate)
        check_data(config, self.game)
        self.baseline()

    @classmethod
    def prepare(cls, folder: Path, config: TrainingConfig) -> Self:
        """Returns a new training without writing anything; raises as `Run.prepare` and `check_given_data`."""
        training = super().prepare(folder, config)
        check_given_data(training.config, training.game)
        return training

    @classmethod
    def resolved(cls, config: TrainingConfig) -> TrainingConfig:
        """Returns the configuration with everything that the game and the machine decide filled in."""
        config = with_players(with_data_paths(with_start(config, config.gate, [config.scheme])))
        gate = plugins().complete_gate(config.gate, plugins().game(config.game))
        baseline = str(weights.folder_of(config.baseline).absolute()) if config.baseline else ""
        return super().resolved(config.model_copy(update={"gate": gate, "baseline": baseline}))

    @property
    def gates(self) -> list[str]:
        """The gate of the experts."""
        return [self.config.gate]

    def describe(self) -> str:
        """Returns a line that describes what is trained."""
        config = self.config
        data = config.data.describe()
        phases = ", ".join(self.gate.phase_names)
        return f"{config.game}: {config.network} by {config.gate} ({phases}; {config.scheme}), from {data}"

    def parts(self) -> list[Part]:
        """Returns the parts `data` and `train`."""
        data = data_part(self.config, self.game, self.folder)
        train = Part(
            name="train",
            task="training",
            unit="steps",
            do=self._train,
            decided_by=training_decided_by(self.config, self._arm, self.config.seed, data),
        )
        return [data, train]

    def work(self, progress: Progress) -> None:
        """Does all parts that are not done yet, together with the other processes of the training."""
        from moemcts.learn.training.ranks import connected

        with connected(self.config.training.device) as self._ranks:
            super().work(progress)
        if self._speed:
            progress.say(f"{describe_speed(self._speed)}")

    def pending_parts(self) -> list[Part]:
        """Returns the parts that are not done yet; waits so that all processes agree before any of them starts one."""
        waiting = super().pending_parts()
        self._ranks.wait()
        return waiting

    def do(self, name: str, advance: Advance) -> None:
        """Does the part with that name; the first process records it."""
        part = next(part for part in self.parts() if part.name == name)
        if self._ranks.is_first:
            super().do(name, advance)
        elif part.name == "train":
            part.do(advance)
        self._ranks.wait()

    def sources(self) -> Sources:
        """Opens the datasets."""
        return open_sources(self.config.data, self.folder / "data", self.game)

    def experts(self) -> ExpertSet:
        """Loads the trained experts, on the training device if it is available."""
        return self._load(self.folder / "experts")

    def baseline(self) -> ExpertSet | None:
        """Loads the experts to compare with, if any."""
        return self._load(experts_in(Path(self.config.baseline))) if self.config.baseline else None

    def outcomes(self) -> TrainingOutcomes:
        """Returns the outcomes; the training must be done."""
        config, sources, experts = self.config, self.sources(), self.experts()
        held_out = sources.held_out(config.training.validation_fraction, config.seed)
        baseline = read_measurements(training_folder_of(experts_in(Path(config.baseline)))) if config.baseline else []
        return TrainingOutcomes(
            title=f"{config.game}: {config.network} by {config.gate}",
            making=self._making(sources),
            settings=config.model_dump(mode="json"),
            measured_on=sources.kind,
            num_measured=len(held_out),
            losses=self._losses(experts, held_out),
            has_baseline=bool(config.baseline),
            warning=self._warning(sources),
            phase_names=tuple(experts.gate.phase_names),
            counts=sources.training.phase_counts(experts.gate),
            num_samples=len(sources.training),
            metrics=read_measurements(self.folder / "training"),
            baseline_metrics=baseline,
            speed=self._speed,
        )

    @property
    def _arm(self) -> Arm:
        return Arm("experts", self.config.gate, self.config.scheme, self.config.network)

    def _load(self, folder: Path) -> ExpertSet:
        from moemcts.learn.checkpoint import load_experts
        from moemcts.learn.training.ranks import device_or_cpu

        return load_experts(folder, self.game, plugins(), device=device_or_cpu(self.config.training.device))

    def _train(self, advance: Advance) -> None:
        def on_progress(state: TrainingProgress) -> None:
            self._speed = {
                "positions_per_second": round(state.samples_per_second, 1),
                "waiting": round(state.waiting, 4),
            }
            advance(state.step, state.num_steps)

        sources = self.sources()
        check_samples(self, [(self._arm, self.gate)], lambda: sources, [self.config.seed])
        train_experts(
            self.config,
            self.game,
            self._arm,
            self.gate,
            sources,
            training_folder=self.folder / "training",
            experts_folder=self.folder / "experts",
            start=copied_start(self.folder, self.config.start),
            on_progress=on_progress,
            ranks=self._ranks,
        )

    def _losses(self, experts: ExpertSet, held_out: Dataset) -> list[PhaseLosses]:
        from moemcts.learn.assessment import phase_losses, team_evaluators

        baseline = self.baseline()
        evaluators: dict[str, Evaluator] = {} if baseline is None else {BASELINE: baseline}
        manifest = read_toml(self.folder / "experts" / MANIFEST)
        if len({entry["sha256"] for entry in manifest["experts"]}) == 1:
            # The same network may also serve several phases.
            evaluators["network"] = experts
        else:
            evaluators |= team_evaluators(experts)
        return phase_losses(evaluators, held_out, experts.gate)

    def _warning(self, sources: Sources) -> str:
        """Returns a warning if initial experts or the baseline were trained on samples held out here, else ""."""
        config = self.config
        named = {"What the training began with": Path(config.start)} if config.start else {}
        named |= {"The baseline": experts_in(Path(config.baseline))} if config.baseline else {}
        fraction = config.training.validation_fraction
        warnings = (
            leak_warning(who, experts, sources, seed=config.seed, fraction=fraction) for who, experts in named.items()
        )
        return "\n\n".join(filter(None, warnings))

    def _making(self, sources: Sources) -> str:
        sets = {"training": sources.training, "validation": sources.validation, "test": sources.test}
        data = ", ".join(
            f"{name} {dataset.id} ({len(dataset):,} samples)" for name, dataset in sets.items() if dataset is not None
        )
        pace = f"; {describe_speed(self._speed)}" if self._speed else ""
        return (
            f"- {self.describe()}; seed {self.config.seed}{pace}\n"
            f"- data: {data}\n"
            f"{self.describe_environment()}\n"
            "- all settings: `config.toml`; all measurements: `training/metrics.jsonl`"
        )


def describe_speed(speed: dict[str, Any]) -> str:
    """Returns a description of the training speed."""
    return (
        f"{speed['positions_per_second']:,.0f} positions/s from disk to optimiser step, "
        f"{100 * speed['waiting']:.1f} % of the time waiting for data"
    )

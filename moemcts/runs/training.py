"""One set of experts in its folder: data, then experts, then a report; what `moemcts train` does."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import tomli_w

from moemcts.errors import MoemctsError, UsageError
from moemcts.game import Game
from moemcts.gates import PhaseGate
from moemcts.naming import experts_in
from moemcts.plugins import plugins
from moemcts.runs.arms import Arm
from moemcts.runs.environment import environment
from moemcts.runs.kept_gates import keep_gate, kept_gate
from moemcts.runs.settings import LearningConfig, TrainingConfig, validate
from moemcts.runs.sources import Sources, open_sources
from moemcts.store import exclusive, read_toml, write_json, write_text
from moemcts.work.progress import Progress

if TYPE_CHECKING:
    from moemcts.experts import ExpertSet
    from moemcts.learn.training.progress import OnProgress
    from moemcts.learn.training.progress import Progress as TrainingProgress
    from moemcts.learn.training.ranks import Ranks
    from moemcts.report.page import Report


Config = TypeVar("Config", bound=LearningConfig)


class Training:
    """Experts of one gate, made from a dataset or from games that are played for it."""

    def __init__(self, folder: Path, config: TrainingConfig) -> None:
        """Raises UsageError where the configuration names something that does not exist."""
        self.folder = folder
        self.config = config
        self.game: Game = plugins().game(config.game)
        self.gate: PhaseGate = plugins().gate(kept_gate(folder, config.gate), self.game)
        plugins().scheme(config.scheme).check(self.gate)
        plugins().network(config.network, self.game.spec.observation_shape, self.game.spec.num_actions)
        if config.data.folder:
            self.sources()
        else:
            plugins().agent(config.data.agent or plugins().default_agent(self.game), self.game)
        self.baseline()

    @classmethod
    def create(cls, folder: Path, config: TrainingConfig) -> Self:
        """Starts a training in a new or empty folder; raises UsageError where there is one already."""
        if (folder / "config.toml").exists():
            raise UsageError(f"{folder} holds a run already; go on with it: moemcts train --resume {folder}")
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"expected a folder for the training, but {folder} is a file")
        training = cls(folder, resolved(config))
        keep_gate(folder, config.gate)
        write_text(folder / "config.toml", training.config_text())
        write_json(folder / "env.json", environment())
        return training

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Opens a training to go on with; raises MoemctsError where there is none."""
        if not (folder / "config.toml").exists():
            raise MoemctsError(f"expected a training with a config.toml in {folder}, found none")
        values = read_toml(folder / "config.toml")
        if "gates" in values:
            raise UsageError(f"{folder} is an experiment; go on with it: moemcts run --resume {folder}")
        return cls(folder, validate(values, TrainingConfig))

    def config_text(self) -> str:
        """Returns the configuration, fully resolved, as TOML."""
        return tomli_w.dumps(self.config.model_dump(mode="json", exclude_none=True))

    def describe(self) -> str:
        """Returns one line on what is trained."""
        config = self.config
        data = config.data.folder or f"{config.data.samples:,} samples"
        phases = ", ".join(self.gate.phase_names)
        return f"{config.game}: {config.network} by {config.gate} ({phases}; {config.scheme}), from {data}"

    def run(self, progress: Progress) -> Report | None:
        """Does whatever is not done yet; writes and returns the report.

        Of several processes that `torchrun` started all call this, and all but the first get None. Raises MoemctsError
        if another process works in the folder.
        """
        from moemcts.learn.training.ranks import connected, launched

        started = time.monotonic()
        with exclusive(self.folder) if launched().is_first else contextlib.nullcontext():
            with connected(self.config.training.device) as ranks:
                if ranks.is_first and not self.config.data.folder:
                    with progress.task("games to learn from", "samples") as advance:
                        play_games(self.config, self.game, self.data_folder, advance)
                ranks.wait()
                sources = self.sources()
                speed = self._train(sources, progress, ranks)
            if not ranks.is_first:
                return None
            report = self._report(sources, speed)
            write_json(self.folder / "done.json", {"seconds_of_last_start": round(time.monotonic() - started, 1)})
            return report

    @property
    def data_folder(self) -> Path:
        """Where the games that are played for this training are."""
        return self.folder / "data"

    @property
    def metrics(self) -> Path:
        """The measurements, a line of JSON each."""
        return self.folder / "training" / "metrics.jsonl"

    def sources(self) -> Sources:
        """Opens the samples."""
        return open_sources(self.config.data, self.data_folder, self.game)

    def experts(self) -> ExpertSet:
        """Opens what was trained, on the device that trained it."""
        return self._load(self.folder / "experts")

    def baseline(self) -> ExpertSet | None:
        """Opens the experts to compare with."""
        return self._load(experts_in(Path(self.config.baseline))) if self.config.baseline else None

    def _load(self, folder: Path) -> ExpertSet:
        from moemcts.learn.checkpoint import load_experts
        from moemcts.learn.training.ranks import ALONE, device_of

        device = device_of(self.config.training.device, ALONE)
        return load_experts(folder, self.game, plugins(), device=str(device))

    def _train(self, sources: Sources, progress: Progress, ranks: Ranks) -> dict[str, Any]:
        """Trains the experts; returns how fast that was, nothing where they were trained already."""
        speed: dict[str, Any] = {}
        with progress.task("training", "steps") as advance:

            def follow(state: TrainingProgress) -> None:
                speed.update(positions_per_second=round(state.samples_per_second, 1), waiting=round(state.waiting, 4))
                advance(state.step, state.num_steps)

            train_experts(
                self.config,
                self.game,
                Arm("experts", self.config.gate, self.config.scheme),
                self.gate,
                sources,
                training_folder=self.folder / "training",
                experts_folder=self.folder / "experts",
                on_progress=follow,
                ranks=ranks,
            )
        if speed:
            progress.say(
                f"{speed['positions_per_second']:,.0f} positions/s from disk to optimiser step, "
                f"{100 * speed['waiting']:.1f} % of the time waiting for data"
            )
        return speed

    def _report(self, sources: Sources, speed: dict[str, Any]) -> Report:
        from moemcts.report.page import write_report
        from moemcts.report.training import training_report

        report = training_report(self, sources, speed)
        write_report(self.folder / "report", report)
        return report


def resolved(config: Config) -> Config:
    """Returns the configuration with what the game decides written out."""
    network = plugins().complete_network(config.network, plugins().game(config.game))
    return config.model_copy(update={"network": network})


def play_games(config: LearningConfig, game: Game, out: Path, advance: Any) -> None:
    """Plays the games to learn from, as far as they are not there yet."""
    from moemcts.learn.data.generation import generate

    agent = plugins().agent(config.data.agent or plugins().default_agent(game), game)
    generate(
        game,
        [agent] * game.spec.num_players,
        config.data.samples,
        seed=config.seed,
        out=out,
        reference=config.game,
        keep=config.data.keep,
        on_progress=advance,
    )


def train_experts(
    config: LearningConfig,
    game: Game,
    arm: Arm,
    gate: PhaseGate,
    sources: Sources,
    *,
    training_folder: Path,
    experts_folder: Path,
    on_progress: OnProgress,
    ranks: Ranks | None = None,
    seed: int = 0,
) -> None:
    """Trains one expert per phase and writes them with their manifest; goes on with what was interrupted.

    `seed` is added to that of the configuration.
    """
    from moemcts.learn.checkpoint import save_experts
    from moemcts.learn.training.ranks import ALONE
    from moemcts.learn.training.trainer import Trainer

    ranks = ranks or ALONE
    shape, num_actions = game.spec.observation_shape, game.spec.num_actions
    settings = config.training.model_copy(update={"seed": config.seed + seed})
    team = (
        plugins()
        .scheme(arm.scheme)
        .fit(
            Trainer(
                settings,
                on_progress=on_progress,
                ranks=ranks,
                references={"network": config.network, "gate": arm.gate, "scheme": arm.scheme},
            ),
            lambda: plugins().network(config.network, shape, num_actions),
            sources.training,
            gate,
            training_folder,
            validation=sources.validation,
            test=sources.test,
        )
    )
    if ranks.is_first:
        save_experts(
            experts_folder,
            [one.network for one in team.trained],
            game=game,
            game_reference=config.game,
            gate=team.gate,
            gate_reference=arm.gate,
            network_reference=config.network,
            scheme=arm.scheme,
            seed=settings.seed,
            data=sources.training.id,
            measurements=[one.measurement for one in team.trained],
        )
    ranks.wait()

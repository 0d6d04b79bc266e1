"""What runs that train experts share: games to learn from, trainings, and what they measured."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moemcts.game import Game
from moemcts.gates import PhaseGate
from moemcts.plugins import plugins
from moemcts.runs.arms import Arm
from moemcts.runs.run import Part
from moemcts.runs.settings import LearningConfig
from moemcts.runs.sources import Sources, dataset_ids, open_sources
from moemcts.work.progress import Advance

if TYPE_CHECKING:
    from moemcts.learn.training.progress import OnProgress
    from moemcts.learn.training.ranks import Ranks


def data_part(config: LearningConfig, game: Game, folder: Path) -> Part:
    """Returns the part that plays the games to learn from, or that looks at the dataset that is named."""
    data = config.data
    decided_by: dict[str, Any] = {"game": config.game, "seed": config.seed}
    if data.folder:
        do = functools.partial(_count, config, game, folder)
        decided_by |= {f"{kind} data": found for kind, found in dataset_ids(data, folder / "data").items()}
    else:
        do = functools.partial(play_games, config, game, folder / "data")
        decided_by |= {"data.samples": data.samples, "data.agent": data.agent, "data.keep": data.keep}
    return Part(name="data", task="games to learn from", unit="samples", do=do, decided_by=decided_by)


def training_settings(config: LearningConfig, seed: int) -> dict[str, Any]:
    """Returns the settings that decide a training, by dotted path; `seed` is added to that of the configuration."""
    settings = config.training.model_copy(update={"seed": config.seed + seed}).identity()
    return {f"training.{key}": value for key, value in settings.items()}


def play_games(config: LearningConfig, game: Game, out: Path, advance: Advance) -> None:
    """Plays the games to learn from, as far as they are not there yet."""
    from moemcts.learn.data.generation import generate

    agent = plugins().agent(config.data.agent or plugins().player(game), game)
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
    scheme = plugins().scheme(arm.scheme)
    team = scheme.fit(
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


def measurements(folder: Path) -> list[Mapping[str, Any]]:
    """Returns what a training measured that counts: measurements after which it was put back are left out."""
    from moemcts.learn.training.metrics_log import read_log

    return [entry for entry in read_log(folder / "metrics.jsonl") if not entry.get("spike")]


def _count(config: LearningConfig, game: Game, folder: Path, advance: Advance) -> None:
    num_samples = len(open_sources(config.data, folder / "data", game).training)
    advance(num_samples, num_samples)

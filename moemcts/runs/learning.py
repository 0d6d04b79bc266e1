"""What runs that train experts share: training games, trainings, and their measurements."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from moemcts.agents import Agent
from moemcts.errors import UsageError
from moemcts.game import Game
from moemcts.gates import PhaseGate
from moemcts.naming import experts_of, resolve_agent, resolve_reference
from moemcts.plugins import plugins
from moemcts.runs.arms import Arm
from moemcts.runs.initial_experts import load_start_networks
from moemcts.runs.run import Part
from moemcts.runs.settings import LearningConfig
from moemcts.runs.sources import Sources, check_sources, dataset_ids, open_sources
from moemcts.work.progress import Advance

if TYPE_CHECKING:
    from moemcts.learn.data.reading import Reader
    from moemcts.learn.training.progress import OnProgress
    from moemcts.learn.training.ranks import Ranks

Config = TypeVar("Config", bound=LearningConfig)


def data_part(config: LearningConfig, game: Game, folder: Path) -> Part:
    """Returns the part that plays or imports the training games, or that opens the dataset given instead."""
    data = config.data
    decided_by: dict[str, Any] = {"game": config.game, "seed": config.seed}
    unit = "samples"
    if data.folder:
        do = functools.partial(_count_samples, config, game, folder)
    elif data.games:
        do, unit = functools.partial(_import_games, config, game, folder / "data"), "bytes"
        decided_by |= {"data.games": data.games, "data.reader": data.reader}
    else:
        do = functools.partial(play_games, config, game, folder / "data")
        decided_by |= {"data.samples": data.to_play, "data.agent": data.agent, "data.keep": data.keep}
        if data.random_plies:
            decided_by["data.random_plies"] = data.random_plies
        if data.against:
            decided_by["data.against"] = data.against
        decided_by |= experts_of([name for name in (data.agent, data.against) if name])
    if data.is_given and data.samples:
        decided_by["data.samples"] = data.samples
    decided_by |= {f"{kind} data": dataset for kind, dataset in dataset_ids(data, folder / "data").items()}
    return Part(name="data", task="games to learn from", unit=unit, do=do, decided_by=decided_by)


def check_data(config: LearningConfig, game: Game) -> None:
    """Raises UsageError or MoemctsError if the agents or the reader that provide the games cannot be made."""
    if config.data.games:
        reader_of(config, game)
    elif not config.data.folder:
        data_agents(config, game)


def check_given_data(config: LearningConfig, game: Game) -> None:
    """Checks that the games given for training and evaluation can be used.

    Raises UsageError if they do not exist, and ForeignData if they belong to another game.
    """
    if config.data.games:
        games_file(config)
    check_sources(config.data, game)


def training_decided_by(config: LearningConfig, arm: Arm, seed: int, data: Part) -> dict[str, Any]:
    """Returns the settings that decide a training of an arm and seed on a part's samples, by dotted path."""
    settings = config.training.model_copy(update={"seed": seed}).identity()
    return {
        **data.decided_by,
        "network": arm.network,
        "gate": arm.gate,
        "scheme": arm.scheme,
        **{f"training.{key}": value for key, value in settings.items()},
        **({"start": config.start} if config.start else {}),
    }


def play_games(config: LearningConfig, game: Game, out: Path, advance: Advance) -> None:
    """Plays those training games that are not there yet."""
    from moemcts.learn.data.generation import generate

    generate(
        game,
        data_agents(config, game),
        config.data.to_play,
        seed=config.seed,
        out=out,
        reference=config.game,
        keep=config.data.keep,
        only_first=bool(config.data.against),
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
    start: Path,
    on_progress: OnProgress,
    ranks: Ranks | None = None,
    seed: int | None = None,
) -> None:
    """Trains one expert per phase and writes them with their manifest; resumes an interrupted training.

    If the configuration has a `start`, training starts from the experts in the folder `start`. `seed` defaults to that
    of the configuration.
    """
    from moemcts.learn.checkpoint import save_experts
    from moemcts.learn.loop.training import require_staged
    from moemcts.learn.training.ranks import ALONE
    from moemcts.learn.training.trainer import Trainer

    ranks = ranks or ALONE
    shape, num_actions = game.spec.observation_shape, game.spec.num_actions
    settings = config.training.model_copy(update={"seed": config.seed if seed is None else seed})
    trainer = Trainer(
        settings,
        on_progress=on_progress,
        ranks=ranks,
        references={"network": arm.network, "gate": arm.gate, "scheme": arm.scheme},
    )
    held_out = {"validation": sources.validation, "test": sources.test}
    scheme = plugins().scheme(arm.scheme)
    if config.start:
        networks = load_start_networks(start, game, arm.gate, gate)
        team = require_staged(scheme, arm.scheme).fit_from(
            trainer, networks, sources.training, gate, training_folder, **held_out
        )
    else:

        def make_network() -> Any:
            return plugins().network(arm.network, shape, num_actions)

        team = scheme.fit(trainer, make_network, sources.training, gate, training_folder, **held_out)
    if ranks.is_first:
        save_experts(
            experts_folder,
            [expert.network for expert in team.trained],
            game=game,
            game_reference=config.game,
            gate=team.gate,
            gate_reference=arm.gate,
            network_reference=arm.network,
            scheme=arm.scheme,
            seed=settings.seed,
            data=sources.training.id,
            data_parts=sorted(sources.training.parts),
            measurements=[expert.measurement for expert in team.trained],
        )
    ranks.wait()


def read_measurements(folder: Path) -> list[Mapping[str, Any]]:
    """Returns a training's measurements, except those after which it was rolled back."""
    from moemcts.learn.training.metrics_log import read_log

    return [entry for entry in read_log(folder / "metrics.jsonl") if not entry.get("spike")]


def data_agents(config: LearningConfig, game: Game) -> list[Agent]:
    """Returns the agents that play the training games, one per seat; with opponents, the one to learn from is first."""
    from moemcts.learn.data.varied import seat_agents

    data = config.data
    player = resolve_agent(data.agent or plugins().player(game), game)
    opponent = resolve_agent(data.against, game) if data.against else None
    return seat_agents([player], game.spec.num_players, against=opponent, random_plies=data.random_plies)


def with_players(config: Config) -> Config:
    """Returns the configuration with resolved references of the agents that play the training games.

    References of experts then state what is chosen on this machine, such as the backend, and have absolute paths.
    """
    data, game = config.data, plugins().game(config.game)
    named = {"agent": data.agent, "against": data.against}
    update = {
        key: resolve_reference(reference, game) for key, reference in named.items() if reference and not data.is_given
    }
    return config.model_copy(update={"data": data.model_copy(update=update)}) if update else config


def with_data_paths(config: Config) -> Config:
    """Returns the configuration with absolute paths of given games and datasets."""
    named = {key: getattr(config.data, key) for key in ("folder", "games", "validation", "test")}
    update = {key: str(Path(place).absolute()) for key, place in named.items() if place}
    return config.model_copy(update={"data": config.data.model_copy(update=update)})


def reader_of(config: LearningConfig, game: Game) -> Reader:
    """Returns the reader of the file of games that a run learns from."""
    return plugins().reader(config.data.reader or plugins().reader_of(Path(config.data.games), game), game)


def games_file(config: LearningConfig) -> Path:
    """Returns the file of games that a run learns from; raises UsageError if it does not exist."""
    file = Path(config.data.games)
    if not file.is_file():
        raise UsageError(f"expected a file of games at {file}, found none")
    return file


def _import_games(config: LearningConfig, game: Game, out: Path, advance: Advance) -> None:
    # Existing output is complete: a reader writes all or nothing.
    if not out.exists():
        reader_of(config, game).read([games_file(config)], out, reference=config.game, on_progress=advance)


def _count_samples(config: LearningConfig, game: Game, folder: Path, advance: Advance) -> None:
    num_samples = len(open_sources(config.data, folder / "data", game).training)
    advance(num_samples, num_samples)

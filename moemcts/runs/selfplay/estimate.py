"""Estimates how long self-play will take and how much disk space it needs, from a second of real work."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from moemcts.agents import RandomAgent
from moemcts.game import Game, State
from moemcts.naming import SELF
from moemcts.runs.experiment.estimate import (
    BATCH,
    BYTES_PER_WEIGHT,
    FIGURE_SECONDS,
    OPTIMISER_IMPORT,
    REPORT_IMPORT,
    STAGE_OVERHEAD,
    TRAINING_COST,
    WORKER_START,
    Estimate,
    assumed_conditions,
    bytes_of_training,
    bytes_per_sample,
    cheaper_search,
    decision_seconds,
    encoding_rate,
    network_rate,
    sample_games,
    untrained_evaluator,
)
from moemcts.search import SearchAgent
from moemcts.work import num_cores
from moemcts.work.ray_workers import LOCAL_RAY

if TYPE_CHECKING:
    from moemcts.runs.selfplay.run import SelfPlay
    from moemcts.runs.selfplay.settings import SelfPlayConfig

BYTES_PER_ACTION = 12
"""Size of each action's share of the visits, stored with a sample."""


def selfplay_estimate(run: SelfPlay) -> Estimate:
    """Returns an estimate for all generations, ignoring what is already done.

    Rates are measured on this machine; games are assumed to be as long as random ones.
    """
    from moemcts.learn.loop.window import replay_window
    from moemcts.learn.training.stages import plan

    config, game = run.config, run.game
    random_games = sample_games(game, [RandomAgent()] * game.spec.num_players)
    states, decisions_per_game = random_games.states, random_games.samples_per_game
    rate, num_parameters = network_rate(game, config.network, states, min(config.games.parallel, BATCH))
    evaluator = untrained_evaluator(
        game, config.network, config.games.backend, config.games.precision, config.games.device
    )
    search, times = cheaper_search(config.search, rate)
    agent = SearchAgent(game, evaluator, search, opponents=run.players.opponent_model())
    seconds_per_simulation = times * decision_seconds(game, agent, random_games.games) / _full_simulations(config)
    # Decisions per game made by the newest experts, and how many of them are learned from.
    own_decisions = decisions_per_game * _own_share(run)
    samples_per_game = own_decisions * _searched_share(config)
    samples = config.games.samples or config.games.games * samples_per_game
    num_simulations = (
        config.generations * samples / samples_per_game * own_decisions * _simulations_per_decision(config)
    )
    window_sizes = [
        len(replay_window(generation, lambda _: round(samples), config.replay))
        for generation in range(1, config.generations + 1)
    ]
    workers = config.workers if isinstance(config.workers, int) and config.workers else num_cores()
    num_learned = _num_learned(run, samples, window_sizes)
    num_trainings = config.generations * len(plan(run.scheme.all_stages(run.gate.num_phases)))
    num_kept = len({*range(0, config.generations + 1, config.keep), *run.measured})
    bytes_of_expert = num_kept * num_parameters * BYTES_PER_WEIGHT + bytes_of_training(num_parameters)
    playing = _num_starts(config) * WORKER_START + num_simulations * seconds_per_simulation / workers
    training = num_learned * (TRAINING_COST / rate + 1 / encoding_rate(game, states)) + STAGE_OVERHEAD * num_trainings
    matches = _match_simulations(run, workers) * decisions_per_game * seconds_per_simulation
    return Estimate(
        data=playing,
        training=OPTIMISER_IMPORT + training,
        matches=matches,
        assumed_conditions=assumed_conditions(config.training),
        report=REPORT_IMPORT + 6 * FIGURE_SECONDS,
        at_once=_overlap_seconds(config, workers, playing, training + matches) if config.games.ahead else 0.0,
        num_bytes=int(
            samples * (max(window_sizes) + 1) * _bytes_per_searched(game, states)
            + run.gate.num_phases * bytes_of_expert
        ),
    )


def _num_starts(config: SelfPlayConfig) -> int:
    """Returns how often worker processes are started for games; games ahead start new ones per generation."""
    if config.games.ahead:
        return config.generations
    return 0 if config.workers == 1 or (config.workers == 0 and num_cores() == 1) else 1


def _overlap_seconds(config: SelfPlayConfig, workers: int, playing: float, learning: float) -> float:
    """Returns the seconds saved by playing games ahead during training and evaluation.

    `playing` and `learning` are the total seconds of each on its own. The first games have no training to overlap with,
    and the last training has no games.
    """
    is_elsewhere = isinstance(config.workers, str) and config.workers != LOCAL_RAY
    busy = (config.training.threads or 1) + (0 if is_elsewhere else workers)
    # Processes slow each other down if there are more of them than cores.
    slowdown = max(1.0, busy / num_cores())
    saved = min(playing, learning) * max(0.0, 2 - slowdown)
    return saved * (config.generations - 1) / config.generations


def _full_simulations(config: SelfPlayConfig) -> int:
    """Returns the simulations of a full search, whose visits are learned from."""
    return config.search.simulations or config.search.nodes or 100


def _own_share(run: SelfPlay) -> float:
    """Returns the share of decisions made by the newest experts."""
    games = run.config.games
    return 1.0 if games.opponents == SELF else 1 - games.opponent_share * (1 - 1 / run.game.spec.num_players)


def _simulations_per_decision(config: SelfPlayConfig) -> float:
    if not config.games.searched:
        return 1
    full, share = _full_simulations(config), _searched_share(config)
    return share * full + (1 - share) * (config.games.fast_simulations or full // 4)


def _searched_share(config: SelfPlayConfig) -> float:
    """Returns the share of decisions that are learned from; all if there is no search."""
    return config.games.full_share if config.games.searched else 1.0


def _num_learned(run: SelfPlay, samples: float, window_sizes: Sequence[int]) -> float:
    """Returns the number of samples that all generations learn from.

    Each generation has `samples` samples; `window_sizes` are the generations in each replay window.
    """
    config, passes = run.config, run.scheme.cost(run.gate.num_phases)
    if config.learning.steps is not None:
        return config.generations * config.learning.steps * config.training.batch_size * passes
    newest, drawn = config.replay.newest, config.replay.drawn
    # An upper bound: if there are too few of the newest samples for their share, less is learned from.
    most = min(drawn or math.inf, samples / newest if newest else math.inf)
    return sum(min(most, samples * size) for size in window_sizes) * config.training.epochs * passes


def _match_simulations(run: SelfPlay, workers: int) -> float:
    """Returns the simulations per process in all matches, counting one decision per game."""
    config, gauntlet, promotion = run.config, run.config.gauntlet, run.config.promotion
    full = _full_simulations(config) if config.games.searched else 1
    sharing = workers if isinstance(config.workers, int) and not config.games.ahead else 1

    def simulated(num_matches: int, num_games: int, simulations: int | None, parallel: int) -> float:
        num_processes = max(1, min(sharing, -(-num_games // parallel)))
        return num_matches * num_games * (full if simulations is None else max(simulations, 1)) / num_processes

    num_measured = len(run.measured) * (len(gauntlet.opponents) + gauntlet.previous)
    num_promotions = config.generations * (promotion.rule != "none")
    promotion_parallel = promotion.parallel or config.games.parallel
    return simulated(num_measured, gauntlet.games, gauntlet.simulations, gauntlet.parallel) + simulated(
        num_promotions, promotion.games, promotion.simulations, promotion_parallel
    )


def _bytes_per_searched(game: Game, states: Sequence[State]) -> float:
    """Returns the bytes on disk per sample, including the visits of its search."""
    legal = sum(len(state.legal_actions(state.active_players[0])) for state in states) / len(states)
    return bytes_per_sample(game, states) + BYTES_PER_ACTION * legal

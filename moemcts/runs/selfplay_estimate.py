"""How long self-play will take and how much disk it needs, from a second of real work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moemcts.agents import RandomAgent
from moemcts.naming import SELF
from moemcts.runs.estimate import (
    BATCH,
    FIGURE,
    TRAINING_COST,
    Estimate,
    decision_seconds,
    network_rate,
    play_some,
    untrained,
)
from moemcts.search import SearchAgent
from moemcts.work import num_cores

if TYPE_CHECKING:
    from moemcts.runs.selfplay import SelfPlay

BYTES_PER_SAMPLE, BYTES_PER_ACTION = 40, 12
"""Of what is stored beside the position: the decision, and each action's share of the visits."""
STATES = 6
"""Times the weights that a training has on the disk while it runs: two states with their optimiser."""


def selfplay_estimate(run: SelfPlay) -> Estimate:
    """Returns an estimate for all generations, whatever is already done.

    Rates are measured on this machine; the length of games is that of games at random.
    """
    from moemcts.learn.loop.window import window

    config, game = run.config, run.game
    random_games = play_some(game, [RandomAgent()] * game.spec.num_players)
    states, moves = random_games.states, random_games.samples_per_game
    share = 1.0
    if config.games.opponents != SELF:
        share -= config.games.opponent_share * (1 - 1 / game.spec.num_players)
    samples_per_game = moves * share * config.games.full_share
    samples = config.games.samples or config.games.games * samples_per_game
    games = samples / samples_per_game
    rate, num_parameters = network_rate(game, config.network, states, min(config.games.parallel, BATCH))
    evaluator = untrained(game, config.network, config.games.backend, config.games.precision, config.games.device)
    agent = SearchAgent(game, evaluator, config.search, opponents=run.players.opponent_model())
    workers = config.workers if isinstance(config.workers, int) and config.workers else num_cores()
    full = config.search.simulations or config.search.nodes or 100
    each = decision_seconds(game, agent, random_games.games) / full
    fast = config.games.fast_simulations or full // 4
    full = full if config.games.searched else 1
    per_move = config.games.full_share * full + (1 - config.games.full_share) * fast
    played = config.generations * games * moves * share * per_move * each
    counts = dict.fromkeys(range(1, config.generations + 1), round(samples))
    windows = [len(window(one, counts, config.replay)) for one in counts]
    drawn = [min(config.replay.drawn or samples * size, samples * size) for size in windows]
    passes = config.training.epochs * run.scheme.cost(run.gate.num_phases)
    if config.learning.steps is not None:
        learned = config.generations * config.learning.steps * config.training.batch_size * passes
        learned /= config.training.epochs
    else:
        learned = sum(drawn) * passes
    matches = len(run.measured) * config.gauntlet.games * (len(config.gauntlet.opponents) + config.gauntlet.previous)
    judged = full if config.gauntlet.simulations is None else max(config.gauntlet.simulations, 1)
    deciding = config.promotion.games * config.generations * (config.promotion.rule != "none")
    promoting = full if config.promotion.simulations is None else max(config.promotion.simulations, 1)
    judges = workers if isinstance(config.workers, int) and not config.games.ahead else 1

    def playing(num_games: int, parallel: int) -> int:
        """Returns how many processes share a match."""
        return max(1, min(judges, -(-num_games // parallel)))

    searched = matches * judged / playing(config.gauntlet.games, config.gauntlet.parallel)
    together = config.promotion.parallel or config.games.parallel
    searched += deciding * promoting / playing(config.promotion.games, together)
    packed = game.pack(states)
    legal = sum(len(state.legal_actions(state.active_players[0])) for state in states) / len(states)
    per_sample = packed.offsets[-1] / len(states) + BYTES_PER_SAMPLE + BYTES_PER_ACTION * legal
    num_experts = run.gate.num_phases * (len({*range(0, config.generations + 1, config.keep), *run.measured}) + STATES)
    return Estimate(
        data=played / workers,
        training=learned * TRAINING_COST / rate,
        matches=searched * moves * each,
        report=6 * FIGURE,
        num_bytes=int(samples * (max(windows) + 1) * per_sample + num_experts * num_parameters * 4),
    )

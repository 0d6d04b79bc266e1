"""How long an experiment will take and how much disk it needs, from a second of real work."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from moemcts.agents import Agent, Seat
from moemcts.evaluation import UniformEvaluator
from moemcts.game import CHANCE, Game, State
from moemcts.play import Table, play
from moemcts.plugins import plugins
from moemcts.search import Search, SearchConfig
from moemcts.search.engine import Opponents
from moemcts.work import num_cores

if TYPE_CHECKING:
    from moemcts.runs.experiment import Experiment

BATCH = 128
TRAINING_COST = 3.5
"""A training step costs about this many forward passes: one forward, two backward, the loss and the optimiser."""


START = 3.0
"""Seconds that a worker process needs before it works, most of them to import torch."""
FIGURE = 0.5
"""Seconds that a figure of the report takes, as SVG and as PNG."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Seconds per part, and bytes on the disk."""

    data: float
    training: float
    matches: float
    report: float
    num_bytes: int

    def describe(self) -> str:
        """Returns one line for people."""
        parts = {name: getattr(self, name) for name in ("data", "training", "matches", "report")}
        shares = ", ".join(f"{name} {duration(seconds)}" for name, seconds in parts.items())
        return f"estimate: {duration(sum(parts.values()))} ({shares}), {_size(self.num_bytes)} on disk"


def estimate(experiment: Experiment) -> Estimate:
    """Returns an estimate for the whole experiment, whatever part of it is already done.

    The rates are measured on this machine; the length of games is that of the agents that make the data.
    """
    config, game = experiment.config, experiment.game
    agent = experiment.agent(config.data.agent or plugins().player(game))
    states, seconds, num_samples, num_games = sample_games(game, agent)
    seconds_per_sample, samples_per_game = seconds / num_samples, num_samples / num_games
    to_play = 0 if config.data.folder else config.data.samples
    to_learn, held_out = _sizes(experiment)
    rate_learned, num_parameters = network_rate(game, config.network, states, BATCH)
    num_parts = config.num_seeds * len(experiment.arms)
    workers = min(config.workers or num_cores(), num_parts)
    # A pool of processes is started for the trainings and another one for the matches.
    start = START if workers > 1 else 0.0
    passes = experiment.passes() * config.training.epochs * config.num_seeds
    rows_learned = passes * (to_learn * TRAINING_COST + held_out)
    rows_measured = (
        config.num_seeds * held_out * sum(experiment.gate(arm.gate).num_phases + 2 for arm in experiment.teams)
    )
    num_figures = 2 + 2 * len(experiment.teams) + 2 * len(experiment.gates)
    packed = game.pack(states)
    return Estimate(
        data=to_play / config.data.keep * seconds_per_sample,
        training=start + rows_learned / rate_learned / workers,
        matches=start + _matches(experiment, states, samples_per_game, seconds_per_sample) / workers,
        report=rows_measured / rate_learned + num_figures * FIGURE,
        num_bytes=int(
            to_play * (packed.offsets[-1] / len(states) + 40)
            + num_parameters * 4 * 3 * experiment.passes() * config.num_seeds * 2
        ),
    )


def duration(seconds: float) -> str:
    """Returns a time in words."""
    if seconds < 1:
        return "under 1 s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:,.1f} h"


def _size(num_bytes: int) -> str:
    return f"{num_bytes / 1e6:,.0f} MB" if num_bytes >= 1e6 else "under 1 MB"


def _sizes(experiment: Experiment) -> tuple[int, int]:
    """Returns how many samples are learned from, and how many are measured each time."""
    config = experiment.config
    fraction, most = config.training.validation_fraction, config.training.measured_samples
    if not config.data.folder:
        num_samples, held_out = config.data.samples, int(config.data.samples * fraction)
    else:
        sources = experiment.sources()
        num_samples = len(sources.training)
        held_out = len(sources.validation) if sources.validation else int(num_samples * fraction)
    return num_samples, min(held_out, most or held_out)


def _matches(experiment: Experiment, states: list[State], samples_per_game: float, seconds_per_sample: float) -> float:
    """Returns the seconds that all games take in one process."""
    config, game = experiment.config, experiment.game
    num_arms, num_players = len(experiment.contestants()), game.spec.num_players
    limit = config.search.simulations or config.search.nodes or 100
    moves_per_game = samples_per_game / num_players
    num_games = config.num_seeds * num_arms * config.match.games
    side_by_side = min(config.match.parallel, num_arms * config.match.games)
    batch = max(1, side_by_side * config.search.leaves_per_tree)
    rate, _ = network_rate(game, config.network, states, min(batch, BATCH))
    searched = (
        num_games
        * moves_per_game
        * limit
        * (1 / search_rate(game, config.search, experiment.opponent_model(), states) + 1 / rate)
    )
    field = (num_games + config.num_seeds * num_arms * config.match.raw_games) * samples_per_game
    return searched + field * seconds_per_sample


def sample_games(game: Game, agent: Agent) -> tuple[list[State], float, int, float]:
    """Returns positions, the seconds they took, decisions made, and games finished (parts of games count)."""
    states, num_samples, num_games, started = [], 0, 0.0, time.perf_counter()
    index = 0
    while time.perf_counter() - started < 0.4 or not num_games:
        num_players = game.spec.num_players
        table = Table(
            state=game.initial_state(index),
            agents=[agent] * num_players,
            seats=[Seat(player, np.random.default_rng([index, player])) for player in range(num_players)],
            chance=np.random.default_rng([index, num_players]),
        )
        for (step,) in play(game, [table]):
            if step.players != (CHANCE,):
                states.append(step.state)
                num_samples += len(step.players)
        num_games += 1
        index += 1
    return states[:: max(1, len(states) // 512)], time.perf_counter() - started, num_samples, num_games


def network_rate(game: Game, reference: str, states: list[State], batch: int) -> tuple[float, int]:
    """Returns how many positions a new network evaluates per second in batches, and how many parameters it has."""
    import torch

    network = plugins().network(reference, game.spec.observation_shape, game.spec.num_actions).eval()
    pairs = [(state, state.active_players[0]) for state in states][:batch]
    planes = torch.from_numpy(game.views(pairs).observations())
    with torch.inference_mode():
        network(planes)
        num_rows, started = 0, time.perf_counter()
        while time.perf_counter() - started < 0.2:
            network(planes)
            num_rows += len(planes)
    return num_rows / (time.perf_counter() - started), sum(p.numel() for p in network.parameters())


def search_rate(game: Game, config: SearchConfig, opponents: Opponents, states: list[State]) -> float:
    """Returns how many descents a search makes per second, evaluations left out."""
    search = Search(game, config, opponents=opponents)
    pairs = [(state, state.active_players[0]) for state in states][:32]
    evaluator = UniformEvaluator(game.spec)
    num_simulations, started = 0, time.perf_counter()
    while time.perf_counter() - started < 0.2:
        search.reset(game.views(pairs), list(range(len(pairs))))
        num_simulations += sum(result.num_simulations for result in search.run(evaluator))
    return num_simulations / (time.perf_counter() - started)

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
from moemcts.search import Search
from moemcts.work import num_cores

if TYPE_CHECKING:
    from moemcts.runs.experiment import Experiment

BATCH = 128
TRAINING_COST = 3.5
"""A training step costs about this many forward passes: one forward, two backward, the loss and the optimiser."""


@dataclass(frozen=True)
class Estimate:
    """Seconds per part, and bytes on the disk."""

    data: float
    training: float
    matches: float
    num_bytes: int

    def describe(self) -> str:
        """Returns one line for people."""
        parts = {"data": self.data, "training": self.training, "matches": self.matches}
        total = sum(parts.values())
        shares = ", ".join(f"{name} {_duration(seconds)}" for name, seconds in parts.items())
        return f"estimate: {_duration(total)} ({shares}), {self.num_bytes / 1e6:,.0f} MB on disk"


def estimate(experiment: Experiment) -> Estimate:
    """Returns an estimate for the whole experiment, whatever part of it is already done.

    The rates are measured on this machine; the length of games is that of the agents that make the data.
    """
    config, game = experiment.config, experiment.game
    agent = experiment.agent(config.data.agent or plugins().player(game))
    states, seconds, num_samples, num_games = _sample_games(game, agent)
    network_rate, num_parameters = _network_rate(game, config.network, states)
    search_rate = _search_rate(experiment, states)
    num_trainings = experiment.passes()
    epochs = config.training.epochs * num_trainings * config.num_seeds
    moves_per_game = num_samples / max(num_games, 1) / game.spec.num_players
    num_arms = len(experiment.contestants())
    searched = config.match.games * num_arms * config.num_seeds * moves_per_game
    simulations = searched * (config.search.simulations or config.search.nodes or 100)
    field = (
        (config.match.games + config.match.raw_games) * num_arms * config.num_seeds * num_samples / max(num_games, 1)
    )
    packed = game.pack(states)
    to_play = 0 if config.data.folder else config.data.samples
    to_learn = len(experiment.sources().training) if config.data.folder else config.data.samples
    workers = min(config.workers or num_cores(), config.num_seeds * len(experiment.arms))
    return Estimate(
        data=to_play / config.data.keep * seconds / num_samples,
        training=epochs * to_learn * TRAINING_COST / network_rate / workers,
        matches=(simulations * (1 / search_rate + 1 / network_rate) + field * seconds / num_samples) / workers,
        num_bytes=int(
            to_play * (packed.offsets[-1] / len(states) + 40)
            + num_parameters * 4 * 3 * num_trainings * config.num_seeds * 2
        ),
    )


def _sample_games(game: Game, agent: Agent) -> tuple[list[State], float, int, float]:
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


def _network_rate(game: Game, reference: str, states: list[State]) -> tuple[float, int]:
    import torch

    network = plugins().network(reference, game.spec.observation_shape, game.spec.num_actions).eval()
    pairs = [(state, state.active_players[0]) for state in states][:BATCH]
    planes = torch.from_numpy(game.views(pairs).observations())
    with torch.inference_mode():
        network(planes)
        num_rows, started = 0, time.perf_counter()
        while time.perf_counter() - started < 0.2:
            network(planes)
            num_rows += len(planes)
    return num_rows / (time.perf_counter() - started), sum(p.numel() for p in network.parameters())


def _search_rate(experiment: Experiment, states: list[State]) -> float:
    game = experiment.game
    search = Search(game, experiment.config.search, opponents=experiment.opponent_model())
    pairs = [(state, state.active_players[0]) for state in states][:32]
    evaluator = UniformEvaluator(game.spec)
    num_simulations, started = 0, time.perf_counter()
    while time.perf_counter() - started < 0.2:
        search.reset(game.views(pairs), list(range(len(pairs))))
        num_simulations += sum(result.num_simulations for result in search.run(evaluator))
    return num_simulations / (time.perf_counter() - started)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"

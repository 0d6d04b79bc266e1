"""Estimates how long an experiment will take and how much disk space it needs, from a second of real work."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from moemcts.agents import Agent, PolicyAgent, Seat
from moemcts.evaluation import Evaluator
from moemcts.game import CHANCE, Game, Player, State, first_state
from moemcts.learn.training.config import TrainerConfig
from moemcts.play import Table, chance_of, play, seats_of
from moemcts.plugins import plugins
from moemcts.runs.experiment.held_out import is_worth_processes, num_evaluations
from moemcts.runs.experiment.matches import MATCHES
from moemcts.runs.experiment.run import Experiment
from moemcts.runs.learning import data_agents, games_file, reader_of
from moemcts.runs.learning_cost import learning_cost
from moemcts.runs.settings import DataConfig
from moemcts.runs.times import duration
from moemcts.runs.training import Training
from moemcts.search import SearchAgent, SearchConfig

MEASURE_SECONDS = 0.1
"""Seconds of the shortest measurement; others take small multiples of this."""
BATCH = 128
PARALLEL_GAMES = 8
"""Games that are played at once to measure the agents."""
BATCHED_GAMES = 32
"""Games whose decisions are searched in one batch to measure the cost of a search."""
MAX_NETWORK_SECONDS = 1.0
"""Seconds of network time for measuring a search; beyond this, fewer simulations are measured."""
MIN_SIMULATIONS = 16
"""The least number of simulations that are measured, however slow the network is."""
IMPORT_RATE = 400_000.0
"""Positions per second that readers import, on one or two cores."""
STAGE_OVERHEAD = 0.5
"""Overhead of a stage in seconds: start-up, saving, and a slow first step."""
TRAINING_COST = 3.5
"""Approximate cost of a training step in forward passes: one forward, two backward, the loss and the optimiser."""
BYTES_PER_SAMPLE = 40
"""Size of the decision stored with a position."""
BYTES_PER_WEIGHT = 4
"""Weights are stored as float32."""
STATE_COPIES = 6
"""Disk space of a running training, in multiples of the weights: two checkpoints, each with both optimiser moments."""


WORKER_START = 3.0
"""Start-up time of a worker process in seconds, mostly to import torch."""
OPTIMISER_IMPORT = 4.0
"""Seconds to import what torch's optimisers may need."""
REPORT_IMPORT = 2.0
"""Seconds to import the report's libraries for figures and intervals."""
FIGURE_SECONDS = 0.5
"""Seconds to draw a figure of the report as SVG and as PNG."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Seconds per part of a run, and bytes on disk."""

    data: float
    training: float
    losses: float | None = None
    """For evaluation on held-out samples; None for runs that do not report these losses."""
    matches: float | None = None
    """None for runs without matches."""
    report: float
    assumed_conditions: str = ""
    """Description of the conditions that the training time holds for, if they differ from the actual ones."""
    at_once: float = 0.0
    """Seconds in which two of the parts overlap."""
    num_bytes: int

    @property
    def total(self) -> float:
        """Seconds from start to finish."""
        return sum(self._parts().values()) - self.at_once

    def describe(self, of: str = "") -> str:
        """Returns the estimate as a line of text; `of` names what it is for, if that is not obvious."""
        shares = ", ".join(f"{name} {duration(seconds)}" for name, seconds in self._parts().items())
        shares += f"; {duration(self.at_once)} of it in parallel" if self.at_once else ""
        title = f"estimate of {of}" if of else "estimate"
        conditions = f"; training is estimated for {self.assumed_conditions}" if self.assumed_conditions else ""
        return f"{title}: {duration(self.total)} ({shares}), {_size(self.num_bytes)} on disk{conditions}"

    def _parts(self) -> dict[str, float]:
        """Returns the seconds of each part that the run has."""
        known = {name: getattr(self, name) for name in ("data", "training", "losses", "matches", "report")}
        return {name: seconds for name, seconds in known.items() if seconds is not None}


def estimate(experiment: Experiment) -> Estimate:
    """Returns an estimate for the whole experiment, ignoring parts that are already done.

    Rates are measured on this machine; match games are assumed to be as long as those of the agents that play the
    training data.
    """
    config, game = experiment.config, experiment.game
    sampled = sample_games(game, data_agents(config, game))
    sizes = sizes_of(experiment)
    rates = {name: network_rate(game, name, sampled.states, BATCH) for name in config.all_networks}
    costs = {
        arm: learning_cost(
            plugins().scheme(arm.scheme),
            experiment.trainings.gate(arm.gate),
            game,
            sampled.games,
            config.training.epochs,
            interval=interval_of(config.training, sizes.learned),
        )
        for arm in experiment.arms
    }
    learned = {arm: cost.passes * sizes.learned for arm, cost in costs.items()}
    measured = {arm: cost.measurements * sizes.measured for arm, cost in costs.items()}
    seconds = config.num_seeds * sum(
        (learned[arm] * TRAINING_COST + measured[arm]) / rates[arm.network][0] + STAGE_OVERHEAD * costs[arm].trainings
        for arm in experiment.arms
    )
    num_encoded = config.num_seeds * sum([*learned.values(), *measured.values()])
    workers = min(experiment.num_workers, config.num_seeds * len(experiment.arms))
    # One pool of processes is started for the trainings and others for the matches; the first step is slow.
    start = WORKER_START if workers > 1 else 0.0
    matches = [part for part in experiment.parts() if part.task == MATCHES]
    num_shared = sum(part.share is not None for part in matches)
    players = experiment.num_workers if num_shared else min(experiment.num_workers, max(1, len(matches)))
    starts = max(1, num_shared) if players > 1 else 0
    rated = config.num_seeds * sizes.rated
    raters = workers if is_worth_processes(rated * len(experiment.arms)) else 1
    rating = sum(
        num_evaluations(arm, experiment.trainings.gate(arm.gate)) / rates[arm.network][0] for arm in experiment.arms
    )
    num_weights = config.num_seeds * sum(cost.trainings * rates[arm.network][1] for arm, cost in costs.items())
    num_figures = 2 + 2 * len(experiment.teams) + 2 * len(experiment.gates)
    return Estimate(
        data=data_seconds(config.data, sampled, sizes),
        training=start + OPTIMISER_IMPORT + (seconds + num_encoded / encoding_rate(game, sampled.states)) / workers,
        matches=starts * WORKER_START + _match_seconds(experiment, sampled, rates) / players,
        losses=(WORKER_START if raters > 1 else 0.0) + rated * rating / raters,
        assumed_conditions=assumed_conditions(config.training),
        report=REPORT_IMPORT + num_figures * FIGURE_SECONDS,
        num_bytes=int(
            (config.data.to_play + sizes.imported) * bytes_per_sample(game, sampled.states)
            + bytes_of_training(num_weights)
        ),
    )


def data_seconds(config: DataConfig, sampled: GameStatistics | None, sizes: Sizes) -> float:
    """Returns the seconds to play the training games, if they are as those sampled, and to import given ones."""
    playing = 0.0
    if sampled is not None:
        playing = config.to_play / config.keep / sampled.learned_share * sampled.seconds_per_sample
    return playing + sizes.imported / IMPORT_RATE


def bytes_per_sample(game: Game, states: Sequence[State]) -> float:
    """Returns the bytes on disk per sample for positions like these, excluding the policy."""
    return float(game.pack(states).offsets[-1] / len(states) + BYTES_PER_SAMPLE)


def bytes_of_training(num_weights: int) -> int:
    """Returns the bytes on disk of a training of that many weights, summed over its stages."""
    return STATE_COPIES * num_weights * BYTES_PER_WEIGHT


def assumed_conditions(config: TrainerConfig) -> str:
    """Returns the conditions assumed for the training time, if the training will differ from them, else "".

    The speed-up by more threads or another device is not measured.
    """
    from moemcts.learn.training.ranks import device_or_cpu

    device = device_or_cpu(config.device) if config.device == "auto" else config.device
    is_otherwise = (config.threads or 1) > 1 or device != "cpu"
    return "one thread of this processor" if is_otherwise else ""


def _size(num_bytes: int) -> str:
    return f"{num_bytes / 1e6:,.0f} MB" if num_bytes >= 1e6 else "under 1 MB"


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Numbers of samples: trained on, measured during training, evaluated for the tables, and imported."""

    learned: float
    measured: float
    rated: float
    imported: float = 0.0


def interval_of(config: TrainerConfig, num_samples: float) -> float | None:
    """Returns the passes over all samples between measurements; None for one measurement per epoch."""
    if config.validation_interval is None:
        return None
    return config.validation_interval * config.batch_size / max(num_samples, 1)


def sizes_of(run: Experiment | Training) -> Sizes:
    """Returns the sizes of a run, as far as they are known before its games are played."""
    config, data = run.config, run.config.data
    fraction, most = config.training.validation_fraction, config.training.measured_samples
    validation = test = None
    # Imported samples are counted from the dataset: the file may be gone.
    if has_samples(run):
        sources = run.sources()
        total = len(sources.training)
        validation, test = (None if part is None else len(part) for part in (sources.validation, sources.test))
        imported = float(total + (validation or 0) + (test or 0)) if data.games else 0.0
    else:
        imported = float(reader_of(config, run.game).expected([games_file(config)])) if data.games else 0.0
        total = int(min(data.samples or imported, imported)) if imported else data.to_play
    held_out = int(total * fraction) if validation is None else validation
    measured = [held_out] if test is None else [held_out, test]
    return Sizes(
        learned=total - held_out if validation is None else total,
        # During training the held-out samples are measured, and a test set too.
        measured=sum(min(part, most or part) for part in measured),
        rated=measured[-1],
        imported=imported,
    )


def has_samples(run: Experiment | Training) -> bool:
    """Returns whether the training samples already exist."""
    data = run.config.data
    return bool(data.folder or (data.games and (run.folder / "data").exists()))


def _match_seconds(experiment: Experiment, sampled: GameStatistics, rates: Mapping[str, tuple[float, int]]) -> float:
    """Returns the seconds of all games in one process; `rates` holds the `network_rate` of each network."""
    config, game = experiment.config, experiment.game
    arms, num_players = experiment.matches.contestants(), game.spec.num_players
    # Without a field agent, the single network answers the experts. With one, an agent that searches is assumed to last
    # longest in a game, so its decisions are those of the most active player.
    has_field = experiment.matches.field.has_agent
    own = sampled.most_per_game if has_field else sampled.samples_per_game
    opponents, match = experiment.matches.opponent_model(), config.match
    # Seconds per decision, summed over the arms, with and without search.
    searching = deciding = 0.0
    for reference, num_arms in Counter(arm.network for arm in arms).items():
        evaluator = untrained_evaluator(game, reference, match.backend, match.precision, match.device)
        search, times = cheaper_search(config.search, rates[reference][0])
        agent = SearchAgent(game, evaluator, search, opponents=opponents)
        searching += num_arms * times * decision_seconds(game, agent, sampled.games)
        deciding += num_arms * decision_seconds(game, PolicyAgent(evaluator), sampled.games)
    # Games per arm.
    searched, raw = (config.num_seeds * num_games for num_games in (match.games, match.raw_games))
    answered = (searched + raw) * len(arms) * (sampled.samples_per_game - own)
    field = sampled
    if has_field and (config.data.agent or config.match.field):
        # The agents that play the data and the field may differ in speed.
        field = sample_games(game, experiment.matches.field.agents({}, num_players))
    return own * (searched * searching + raw * deciding) + answered * field.seconds_per_sample


@dataclass(frozen=True, kw_only=True)
class GameStatistics:
    """Statistics of some games of the agents that play the data."""

    states: list[State]
    """Positions with a player to move, thinned out to about 512 over all games."""
    games: list[list[State]]
    seconds_per_sample: float
    samples_per_game: float
    """Mean number of decisions per game, over all players."""
    most_per_game: float
    """Mean number of decisions per game of the player who decides most often."""
    learned_share: float
    """Share of the decisions made by the agent in the first seat."""


def sample_games(game: Game, agents: Sequence[Agent]) -> GameStatistics:
    """Returns statistics of games that some agents, one per seat, play for a short time; at least one game."""
    games: list[list[State]] = []
    decisions: list[Counter[Player]] = []
    num_samples, num_learned, started = 0, 0, time.perf_counter()
    num_players = game.spec.num_players
    while time.perf_counter() - started < 4 * MEASURE_SECONDS or not games:
        seeds = range(len(games), len(games) + PARALLEL_GAMES)
        tables = [
            Table(
                state=first_state(game, seed),
                agents=agents,
                seats=seats_of(num_players, seed),
                chance=chance_of(num_players, seed),
            )
            for seed in seeds
        ]
        positions_of: dict[int, list[State]] = {id(table): [] for table in tables}
        decisions_of: dict[int, Counter[Player]] = {id(table): Counter() for table in tables}
        for steps in play(game, tables):
            for step in steps:
                if step.players != (CHANCE,):
                    positions_of[id(step.table)].append(step.state)
                    decisions_of[id(step.table)].update(step.players)
                    num_samples += len(step.players)
                    num_learned += sum(agents[player] is agents[0] for player in step.players)
        games += positions_of.values()
        decisions += decisions_of.values()
    seconds = time.perf_counter() - started
    states = [state for positions in games for state in positions]
    return GameStatistics(
        states=states[:: max(1, len(states) // 512)],
        games=games,
        seconds_per_sample=seconds / num_samples,
        samples_per_game=num_samples / len(games),
        most_per_game=sum(max(counts.values()) for counts in decisions) / len(games),
        learned_share=num_learned / num_samples,
    )


def network_rate(game: Game, reference: str, states: list[State], batch: int) -> tuple[float, int]:
    """Returns how many positions an untrained network evaluates per second in batches, and its number of parameters."""
    import torch

    network = plugins().network(reference, game.spec.observation_shape, game.spec.num_actions).eval()
    pairs = [(state, state.active_players[0]) for state in states][:batch]
    planes = torch.from_numpy(game.views(pairs).observations())
    with torch.inference_mode():
        network(planes)
        num_rows, started = 0, time.perf_counter()
        while time.perf_counter() - started < 2 * MEASURE_SECONDS:
            network(planes)
            num_rows += len(planes)
    return num_rows / (time.perf_counter() - started), sum(p.numel() for p in network.parameters())


def encoding_rate(game: Game, states: list[State]) -> float:
    """Returns how many stored positions are encoded per second."""
    chosen = states[:BATCH]
    packed, players = game.pack(chosen), np.array([state.active_players[0] for state in chosen], dtype=np.int64)
    num_rows, started = 0, time.perf_counter()
    while time.perf_counter() - started < MEASURE_SECONDS:
        game.unpack(packed, players).observations()
        num_rows += len(chosen)
    return num_rows / (time.perf_counter() - started)


def untrained_evaluator(game: Game, reference: str, backend: str, precision: str | None, device: str) -> Evaluator:
    """Returns an evaluator with an untrained network, run with the given backend, precision and device.

    Uses float32 instead of int8, which needs trained weights.
    """
    from moemcts.learn.inference.evaluators import Inference, parse_backend, parse_precision
    from moemcts.learn.inference.factory import build_evaluator

    network = plugins().network(reference, game.spec.observation_shape, game.spec.num_actions).eval()
    used_precision = "float32" if precision in (None, "int8") else precision
    inference = Inference(parse_backend(backend), parse_precision(used_precision))
    return build_evaluator(network, game.spec.observation_shape, inference, device=device, name=reference)


def cheaper_search(search: SearchConfig, rate: float) -> tuple[SearchConfig, float]:
    """Returns a search that is cheap to measure, and how many times as long the given search takes.

    `rate` is the network's number of positions per second: a large network on a CPU would need minutes for what
    `decision_seconds` measures.
    """
    limits = {name: limit for name in ("simulations", "nodes") if (limit := getattr(search, name)) is not None}
    times = min(limits.values(), default=0) / max(MIN_SIMULATIONS, MAX_NETWORK_SECONDS * rate / BATCHED_GAMES)
    if times <= 1:
        return search, 1.0
    return search.model_copy(update={name: max(1, round(limit / times)) for name, limit in limits.items()}), times


def decision_seconds(game: Game, agent: Agent, games: Sequence[Sequence[State]]) -> float:
    """Returns the mean seconds per decision of an agent over successive decisions in games, with reuse of its search.

    Untrained weights rarely distinguish moves, so a search with early stopping ends earlier with trained ones.
    """
    turns = [_turns_of_one_player(states) for states in games[:BATCHED_GAMES]]
    seats = [Seat(player, np.random.default_rng(number)) for number, (player, _) in enumerate(turns)]
    seconds = num_decisions = 0.0
    for turn in range(max(len(states) for _, states in turns)):
        ongoing = [number for number, (_, states) in enumerate(turns) if turn < len(states)]
        views = game.views([(turns[number][1][turn], turns[number][0]) for number in ongoing])
        started = time.perf_counter()
        agent.act(views, [seats[number] for number in ongoing])
        elapsed = time.perf_counter() - started
        if turn == 1:
            # The first decision of a game, and of an agent, is not representative.
            seconds = num_decisions = 0.0
        seconds, num_decisions = seconds + elapsed, num_decisions + len(ongoing)
        if turn and seconds >= 3 * MEASURE_SECONDS:
            break
    return seconds / num_decisions


def _turns_of_one_player(states: Sequence[State]) -> tuple[Player, list[State]]:
    """Returns the player to move in the middle of a game, and the states from there on in which that player moves."""
    middle = states[len(states) // 3 :]
    player = middle[0].active_players[0]
    return player, [state for state in middle if player in state.active_players]

"""Positions of every phase, to calibrate quantised networks on and to compare networks on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from moemcts.agents import Agent
from moemcts.game import CHANCE, BoolArray, FloatArray, Game, IntArray, Player, State, Views, first_state
from moemcts.gates import PhaseGate
from moemcts.learn.data.dataset import Dataset, chunks_of
from moemcts.learn.fingerprint import encoding_fingerprint, gate_fingerprint
from moemcts.play import Table, chance_of, play, seats_of
from moemcts.store import digest

PER_PHASE = 256
"""Positions per phase, half of them for calibration and half for comparison."""
NUM_FIDELITY_POSITIONS = 192
"""Positions on which a network's policy is judged before it is run in lower precision."""
NUM_GAMES = 16
"""Games that are played concurrently."""
MAX_GAMES = 128


@dataclass(frozen=True)
class Positions:
    """N encoded views."""

    planes: FloatArray
    """`[N, *observation_shape]`."""
    legal: BoolArray
    """`[N, A]`."""
    phases: IntArray
    """The phase with the largest weight, `[N]`."""

    def __len__(self) -> int:
        return len(self.phases)

    def take(self, rows: IntArray | BoolArray) -> Positions:
        """Returns the positions of the given rows, in that order."""
        return Positions(self.planes[rows], self.legal[rows], self.phases[rows])

    def halves(self) -> tuple[Positions, Positions]:
        """Returns two halves, each with every other position of each phase."""
        first = np.zeros(len(self), dtype=np.bool_)
        for phase in np.unique(self.phases):
            first[np.flatnonzero(self.phases == phase)[::2]] = True
        return self.take(first), self.take(~first)

    def counts(self, num_phases: int) -> list[int]:
        """Returns the number of positions of each phase."""
        return [int(count) for count in np.bincount(self.phases, minlength=num_phases)]


@dataclass(frozen=True)
class Sample:
    """Positions that are generated lazily."""

    id: str
    """Identifies what they are generated from; equal for samples that are alike."""
    draw: Callable[[], Positions]


def positions_of_dataset(dataset: Dataset, gate: PhaseGate, *, per_phase: int = PER_PHASE, seed: int = 0) -> Positions:
    """Returns up to `per_phase` random samples of each phase; none of a phase that does not occur."""
    phases = dataset.phase_weights(gate).argmax(axis=1)
    rng = np.random.default_rng(seed)
    chosen = [rng.permutation(np.flatnonzero(phases == phase))[:per_phase] for phase in range(gate.num_phases)]
    rows = np.concatenate(chosen)
    return _encode([dataset.views(part) for part in chunks_of(rows)], phases[rows])


def positions_of_play(
    game: Game, gate: PhaseGate, agents: Sequence[Agent], *, per_phase: int = PER_PHASE, seed: int = 0
) -> Positions:
    """Returns up to `per_phase` positions of each phase, from games that the agents play in turn, each with itself.

    Games are played until every phase has at least `2 * per_phase` positions, or there were `MAX_GAMES`. A phase that
    does not occur has none.
    """
    pairs_by_phase: list[list[tuple[State, Player]]] = [[] for _ in range(gate.num_phases)]
    for i, start in enumerate(range(0, MAX_GAMES, NUM_GAMES)):
        if i >= len(agents) and min(map(len, pairs_by_phase)) >= 2 * per_phase:
            break
        for pairs in _play_games(game, agents[i % len(agents)], range(start, start + NUM_GAMES), seed):
            for pair, phase in zip(pairs, gate.weights(game.views(pairs)).argmax(axis=1), strict=True):
                pairs_by_phase[phase].append(pair)
    rng = np.random.default_rng(seed)
    kept = [[pairs[i] for i in sorted(rng.permutation(len(pairs))[:per_phase])] for pairs in pairs_by_phase]
    phases = np.repeat(np.arange(gate.num_phases), [len(pairs) for pairs in kept])
    return _encode([game.views(pairs) for pairs in kept if pairs], phases)


def default_positions(game: Game, gate: PhaseGate, agent: Agent) -> Sample:
    """Returns a few hundred positions of an agent's games, to test on them whether networks keep their policy."""
    per_phase = max(NUM_FIDELITY_POSITIONS // gate.num_phases, 1)
    of = [game.spec.name, encoding_fingerprint(game), gate_fingerprint(gate, game), agent.name, per_phase]
    return Sample(
        id=digest(json.dumps(of).encode())[:16],
        draw=lambda: positions_of_play(game, gate, [agent], per_phase=per_phase),
    )


def _play_games(game: Game, agent: Agent, numbers: range, seed: int) -> Iterator[list[tuple[State, Player]]]:
    """Yields the views of games that an agent plays in lockstep in every seat, one list per round."""
    num_players = game.spec.num_players
    tables = (
        Table(
            state=first_state(game, number),
            agents=[agent] * num_players,
            seats=seats_of(num_players, seed, number),
            chance=chance_of(num_players, seed, number),
        )
        for number in numbers
    )
    for steps in play(game, tables):
        if pairs := [(step.state, player) for step in steps for player in step.players if player != CHANCE]:
            yield pairs


def _encode(batches: Sequence[Views], phases: IntArray) -> Positions:
    return Positions(
        np.concatenate([views.observations() for views in batches]),
        np.concatenate([views.legal_mask() for views in batches]),
        phases,
    )

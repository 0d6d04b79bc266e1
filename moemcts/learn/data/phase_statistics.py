"""Statistics of a gate's phases in a dataset, and the agreement of two gates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from moemcts.gates import PhaseGate
from moemcts.learn.data.dataset import Dataset, chunks_of


@dataclass(frozen=True, kw_only=True)
class PhaseCount:
    """One phase in a dataset."""

    name: str
    share: float
    """Share of the total weight."""
    mean_ply: float
    """Weighted mean; 0 for a phase that does not occur."""


@dataclass(frozen=True, kw_only=True)
class PhaseStatistics:
    """Statistics of a gate's phases in a dataset; the phase of a position is the one with the largest weight."""

    num_positions: int
    phases: list[PhaseCount]
    changes_per_game: float
    """How often the phase changes between consecutive positions of a player; a mean over games and players."""
    returns_per_game: float
    """How often it changes to an earlier phase."""
    mean_top_weight: float
    """1 for a hard gate."""


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How two gates divide the same positions."""

    shares: list[list[float]]
    """Row `i`: of the positions in phase `i` of the first gate, the share in each phase of the second."""
    adjusted_rand: float
    """Adjusted Rand index: 1 where both divide alike, 0 as by chance (Hubert and Arabie 1985)."""


def phase_statistics(dataset: Dataset, gate: PhaseGate) -> PhaseStatistics:
    """Returns the statistics of a gate's phases."""
    weights = dataset.phase_weights(gate).astype(np.float64)
    plies, players = _plies_and_players(dataset)
    totals = weights.sum(axis=0)
    mean_plies = weights.T @ plies / np.maximum(totals, 1e-12)
    games = dataset.games()
    order = np.lexsort((plies, players, games))
    phases = weights.argmax(axis=1)[order]
    is_next = (np.diff(games[order]) == 0) & (np.diff(players[order]) == 0)
    num_sequences = int((~is_next).sum()) + 1 if len(dataset) else 1
    steps = np.diff(phases)[is_next]
    return PhaseStatistics(
        num_positions=len(dataset),
        phases=[
            PhaseCount(name=name, share=float(total / max(len(dataset), 1)), mean_ply=float(ply))
            for name, total, ply in zip(gate.phase_names, totals, mean_plies, strict=True)
        ],
        changes_per_game=float((steps != 0).sum() / num_sequences),
        returns_per_game=float((steps < 0).sum() / num_sequences),
        mean_top_weight=float(weights.max(axis=1).mean()) if len(dataset) else 1.0,
    )


def agreement(dataset: Dataset, gate: PhaseGate, other: PhaseGate) -> Agreement:
    """Returns how the phases of two gates coincide."""
    counts = np.zeros((gate.num_phases, other.num_phases))
    pair = (dataset.phase_weights(gate).argmax(axis=1), dataset.phase_weights(other).argmax(axis=1))
    np.add.at(counts, pair, 1)
    rows = counts.sum(axis=1, keepdims=True)
    return Agreement(
        shares=(counts / np.maximum(rows, 1)).tolist(),
        adjusted_rand=_adjusted_rand(counts),
    )


def _adjusted_rand(counts: np.ndarray) -> float:
    def pairs(numbers: np.ndarray) -> float:
        return float((numbers * (numbers - 1) / 2).sum())

    together, rows, columns = pairs(counts), pairs(counts.sum(axis=1)), pairs(counts.sum(axis=0))
    expected = rows * columns / max(pairs(counts.sum(keepdims=True)), 1.0)
    maximum = (rows + columns) / 2
    return 1.0 if maximum == expected else (together - expected) / (maximum - expected)


def _plies_and_players(dataset: Dataset) -> tuple[np.ndarray, np.ndarray]:
    plies, players = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for rows in chunks_of(np.arange(len(dataset))):
        views = dataset.views(rows)
        plies.append(views.plies())
        players.append(views.players())
    return np.concatenate(plies), np.concatenate(players)

"""Summary of a dataset: games, results, lengths, repeated positions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from moemcts.learn.data.dataset import Dataset, chunks_of


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Statistics of one dataset."""

    num_samples: int
    num_games: int
    results: tuple[Mapping[str, float], ...]
    """Per seat: mean return, and the shares of games won, tied and lost, that is with a return above, at and below
    zero. For a game of one player: the lowest, mean and highest return."""
    lengths: Mapping[str, float]
    """Plies per game: shortest, median, mean and longest."""
    repeated: float
    """Share of samples with the same position and viewing player as an earlier sample."""
    searched: float
    """Share of samples with search visits."""


def summary(dataset: Dataset) -> Summary:
    """Returns the statistics of a dataset, which must not be empty."""
    rows = np.arange(len(dataset))
    players, games = dataset.players(rows), dataset.games()
    _, first = np.unique(games, return_index=True)
    # Column 0 is for the viewing player: seat `k` is `k - player` columns further on.
    returns = dataset.returns(first)
    num_seats = returns.shape[1]
    seats = (np.arange(num_seats) - players[first][:, None]) % num_seats
    by_seat = np.take_along_axis(returns, seats, axis=1)
    plies = np.concatenate([np.zeros(0, dtype=np.int64), *(dataset.views(part).plies() for part in chunks_of(rows))])
    lengths = (plies + dataset.plies_to_end())[first]
    return Summary(
        num_samples=len(dataset),
        num_games=len(first),
        results=tuple(map(_result_shares if num_seats > 1 else _score_summary, by_seat.T)),
        lengths={
            "shortest": float(lengths.min()),
            "median": float(np.median(lengths)),
            "mean": float(lengths.mean()),
            "longest": float(lengths.max()),
        },
        repeated=_repeated(dataset),
        searched=float(dataset.are_searched(rows).mean()),
    )


def _result_shares(returns: np.ndarray) -> dict[str, float]:
    won, tied, lost = (float(np.mean(condition)) for condition in (returns > 0, returns == 0, returns < 0))
    return {"won": won, "tied": tied, "lost": lost, "mean": float(returns.mean())}


def _score_summary(returns: np.ndarray) -> dict[str, float]:
    return {"lowest": float(returns.min()), "mean": float(returns.mean()), "highest": float(returns.max())}


def _repeated(dataset: Dataset) -> float:
    """Returns the share of samples with the same position and viewing player as an earlier one."""
    different: set[tuple[bytes, int]] = set()
    for rows in chunks_of(np.arange(len(dataset))):
        packed, players = dataset.positions(rows), dataset.players(rows).tolist()
        data, ends = packed.data.tobytes(), packed.offsets.tolist()
        different.update((data[a:b], player) for a, b, player in zip(ends, ends[1:], players, strict=False))
    return 1 - len(different) / max(len(dataset), 1)

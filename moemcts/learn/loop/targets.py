"""Value targets: results, values of later searches, or both; computed when samples are opened."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from moemcts.game import FloatArray, GameSpec, IntArray, seats_from
from moemcts.learn.data.records import Records
from moemcts.learn.loop.config import TargetsConfig


def value_targets(records: Records, config: TargetsConfig, spec: GameSpec) -> FloatArray:
    """Returns the value target of each sample, `[N, P]`, column `k` for the player `k` seats further on.

    With `v` the search's value, `G` the game's return, both from the same position on, and `d` the plies to the next
    decision, the target of a position is `T = r + discount^d * ((1 - lambda) * v' + lambda * T')`, where `r` is the
    reward in between and a prime marks the next position; with `steps` it is `r + discount^d * v` of that many
    decisions later. Only the difference of either to `G` is computed, in which `r` cancels out. A player's values are
    known where it decided; if only one player's is unknown and returns have a fixed sum, it is the remainder. Positions
    in which a player's value is unknown are skipped for that player. With a discount, plies in which chance moves count
    like others.
    """
    returns = np.asarray(records.returns, dtype=np.float64)
    if config.is_result or records.values is None or not len(records):
        return records.returns
    seats = seats_from(records.player, returns.shape[1])
    positions = _Positions(records, returns, seats, spec)
    corrections = positions.corrections(config, spec.discount)
    target = returns + np.take_along_axis(corrections[positions.of_sample], seats, axis=1)
    expected = np.take_along_axis(positions.values[positions.of_sample], seats, axis=1)
    share = np.where(np.isnan(expected), 0.0, config.search_share)
    mixed = (1 - share) * target + share * np.nan_to_num(expected)
    return np.asarray(mixed.clip(-1, 1), dtype=np.float32)


class _Positions:
    """The positions of games in order, with each player's expected value and return from there on."""

    def __init__(self, records: Records, returns: NDArray[np.float64], seats: IntArray, spec: GameSpec) -> None:
        game = np.asarray(records.game, dtype=np.int64)
        position = np.asarray(records.position, dtype=np.int64)
        # Positions of a game are numbered in the order in which they occurred.
        found, first, self.of_sample = np.unique(position, return_index=True, return_inverse=True)
        self._game = game[first]
        self._plies_to_end = np.asarray(records.plies_to_end, dtype=np.int64)[first]
        num_players = returns.shape[1]
        self.values = np.full((len(found), num_players), np.nan)
        self._returns = np.zeros((len(found), num_players))
        self._returns[np.repeat(self.of_sample, num_players), seats.ravel()] = returns.ravel()
        values = np.asarray(records.values, dtype=np.float64)
        self.values[self.of_sample, records.player] = values
        if spec.utility_sum is not None:
            unknown = np.isnan(self.values)
            is_only_unknown = unknown & (unknown.sum(axis=1, keepdims=True) == 1)
            remainder = spec.utility_sum - np.nansum(self.values, axis=1, keepdims=True)
            self.values = np.where(is_only_unknown, remainder, self.values)

    def corrections(self, config: TargetsConfig, discount: float) -> NDArray[np.float64]:
        """Returns the difference between each position's target and its return, `[M, P]`."""
        corrections = np.zeros_like(self.values)
        for player in range(self.values.shape[1]):
            known = np.flatnonzero(~np.isnan(self.values[:, player]))
            value_errors = self.values[known, player] - self._returns[known, player]
            if config.steps is not None:
                known_corrections = self._n_step(known, value_errors, config.steps, discount)
            else:
                known_corrections = self._td_lambda(known, value_errors, config.td_lambda, discount)
            corrections[known, player] = known_corrections
        return corrections

    def _n_step(
        self, known: IntArray, value_errors: NDArray[np.float64], steps: int, discount: float
    ) -> NDArray[np.float64]:
        found = np.zeros(len(known))
        rows = np.arange(max(len(known) - steps, 0))
        rows = rows[self._game[known[rows]] == self._game[known[rows + steps]]]
        found[rows] = self._discount_factor(known[rows], known[rows + steps], discount) * value_errors[rows + steps]
        return found

    def _td_lambda(
        self, known: IntArray, value_errors: NDArray[np.float64], td_lambda: float, discount: float
    ) -> NDArray[np.float64]:
        # All games at once, backwards from their last decisions: as many passes as the longest game has decisions.
        game = self._game[known]
        ends = np.flatnonzero(np.append(game[1:] != game[:-1], True)) if len(game) else np.zeros(0, dtype=np.int64)
        starts = np.concatenate([[0], ends[:-1] + 1]).astype(np.int64)
        found = np.zeros(len(known))
        rows = ends
        while True:
            is_left = rows > starts
            rows, starts = rows[is_left] - 1, starts[is_left]
            if not len(rows):
                return found
            factor = self._discount_factor(known[rows], known[rows + 1], discount)
            found[rows] = factor * ((1 - td_lambda) * value_errors[rows + 1] + td_lambda * found[rows + 1])

    def _discount_factor(self, rows: IntArray, later: IntArray, discount: float) -> NDArray[np.float64]:
        return np.asarray(discount ** (self._plies_to_end[rows] - self._plies_to_end[later]), dtype=np.float64)

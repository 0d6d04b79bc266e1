"""Views of games written in Python, encoded one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from moemcts.errors import UnlawfulGame
from moemcts.validation import legal_actions, ply_of

if TYPE_CHECKING:
    from moemcts.game import BoolArray, FloatArray, GameSpec, IntArray, View


class ViewList:
    """A batch of views of a game whose states are Python objects."""

    def __init__(self, spec: GameSpec, views: Sequence[View]) -> None:
        self._spec = spec
        self._views = views

    def __len__(self) -> int:
        return len(self._views)

    def __getitem__(self, row: int) -> View:
        # As in native views: -1 in an array of rows means "not found", never the last row.
        if not 0 <= row < len(self._views):
            raise IndexError(f"expected a row of at least 0 and below {len(self._views)}, got {row}")
        return self._views[row]

    def __iter__(self) -> Iterator[View]:
        return iter(self._views)

    def take(self, rows: Sequence[int] | IntArray) -> ViewList:
        return ViewList(self._spec, [self[int(row)] for row in rows])

    def observations(self) -> FloatArray:
        """Returns the observation of every view as `Views` does.

        Raises UnlawfulGame for a wrong shape or a value that is not finite.
        """
        shape = self._spec.observation_shape
        planes = np.empty((len(self._views), *shape), dtype=np.float32)
        for row, (state, player) in enumerate(self._views):
            given = state.observation(player)
            # NumPy would broadcast a scalar or a single plane.
            if np.shape(given) != shape:
                raise self._unlawful(f"expected observations of shape {shape}, got {np.shape(given)}", row)
            planes[row] = given
        if not np.isfinite(planes).all():
            is_wrong = ~np.isfinite(planes).reshape(len(planes), -1).all(axis=1)
            raise self._unlawful("expected observations of finite numbers, got others", int(is_wrong.argmax()))
        return planes

    def players(self) -> IntArray:
        return np.array([player for _, player in self._views], dtype=np.int64)

    def plies(self) -> IntArray:
        return np.array([ply_of(self._spec, state) for state, _ in self._views], dtype=np.int64)

    def legal_mask(self) -> BoolArray:
        """Returns the legal actions as `Views` does; raises UnlawfulGame for one outside the game's range."""
        mask = np.zeros((len(self._views), self._spec.num_actions), dtype=np.bool_)
        for row, (state, player) in enumerate(self._views):
            if player in state.active_players:
                mask[row, legal_actions(self._spec, state, player)] = True
        return mask

    def _unlawful(self, reason: str, row: int) -> UnlawfulGame:
        state, player = self._views[row]
        return UnlawfulGame(f"{reason} of player {player} at ply {state.ply}", self._spec.name)

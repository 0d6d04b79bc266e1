"""Samples as they are stored: compact positions, each with a player's action and final return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from moemcts.agents import Decision, Policy
from moemcts.game import (
    Action,
    BoolArray,
    FloatArray,
    Game,
    IntArray,
    Packed,
    Player,
    State,
    discounts,
    from_own_seats,
)
from moemcts.ragged import gather_rows


@dataclass(frozen=True)
class Visits:
    """Visit shares of searches, one ragged row per sample: a policy target richer than one action.

    The row of a sample without a policy is empty; no row has an action twice.
    """

    offsets: IntArray
    """Row `i` is `offsets[i]:offsets[i + 1]` of the other arrays."""
    actions: IntArray
    """Of any integer type."""
    shares: FloatArray

    def take(self, rows: IntArray) -> Visits:
        """Returns the given rows, in that order."""
        offsets, index = gather_rows(self.offsets, rows)
        return Visits(offsets, self.actions[index], self.shares[index])

    def where_known(self, played: IntArray) -> Visits:
        """Returns the visits with rows without shares set to the action played, `[N]`."""
        counts = np.diff(self.offsets)
        unknown = np.flatnonzero(counts == 0)
        places = self.offsets[unknown]
        return Visits(
            np.concatenate([[0], np.cumsum(np.maximum(counts, 1))]),
            np.insert(self.actions.astype(np.int64), places, played[unknown]),
            np.insert(self.shares, places, 1.0),
        )

    def are_known(self, rows: IntArray) -> BoolArray:
        """Returns which of the rows have shares."""
        return np.asarray(self.offsets[rows + 1] > self.offsets[rows])

    @classmethod
    def join(cls, parts: Sequence[Visits]) -> Self:
        """Returns the rows of all parts, concatenated."""
        return cls(
            _join_offsets([part.offsets for part in parts]),
            np.concatenate([small_actions(part.actions) for part in parts]),
            np.concatenate([part.shares for part in parts]),
        )

    @classmethod
    def of(cls, rows: Sequence[tuple[IntArray, FloatArray]]) -> Self:
        """Returns the given rows of actions and shares, concatenated."""
        return cls(
            np.cumsum([0, *(len(actions) for actions, _ in rows)], dtype=np.int64),
            np.concatenate([np.zeros(0, dtype=np.int64), *(actions for actions, _ in rows)]),
            np.concatenate([np.zeros(0, dtype=np.float32), *(shares for _, shares in rows)]),
        )


@dataclass(frozen=True, kw_only=True)
class Records:
    """N samples of finished games, in the order in which they were played."""

    positions: Packed
    position: IntArray
    """The position of each sample, `[N]`: samples of several players may share one."""
    player: IntArray
    """Viewing player, `[N]`."""
    action: IntArray
    """Action of that player, `[N]`."""
    returns: FloatArray
    """Returns of the players from the position on, `[N, P]`; column `k` is for the player `k` seats further on."""
    plies_to_end: IntArray
    """Plies to the end of the game, `[N]`; 1 at the last decision."""
    game: IntArray
    """Game number, `[N]`."""
    visits: Visits | None = None
    """Visit shares of the players' searches; None if no sample has any."""
    values: FloatArray | None = None
    """Values that the players expected, `[N]`, nan where unknown; None if no sample has one."""

    def __len__(self) -> int:
        return len(self.action)

    def first(self, num_samples: int) -> Records:
        """Returns the first samples, with all positions up to the last of them."""
        if num_samples >= len(self):
            return self
        num_positions = int(self.position[num_samples - 1]) + 1 if num_samples else 0
        offsets = self.positions.offsets[: num_positions + 1]
        per_sample = {name: getattr(self, name)[:num_samples] for name in PER_SAMPLE}
        visits = None
        if self.visits is not None:
            ends = self.visits.offsets[: num_samples + 1]
            visits = Visits(ends, self.visits.actions[: ends[-1]], self.visits.shares[: ends[-1]])
        values = None if self.values is None else self.values[:num_samples]
        positions = Packed(self.positions.data[: offsets[-1]], offsets)
        return Records(positions=positions, visits=visits, values=values, **per_sample)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Returns the arrays that are written to disk, in compact types."""
        arrays = {name: getattr(self, name).astype(dtype) for name, dtype in PER_SAMPLE.items()}
        arrays |= {"position_data": self.positions.data, "position_offsets": self.positions.offsets}
        if self.visits is not None:
            arrays |= {f"visit_{field.name}": getattr(self.visits, field.name) for field in fields(Visits)}
            arrays["visit_actions"] = small_actions(self.visits.actions)
        if self.values is not None:
            arrays["value"] = self.values.astype(np.float32)
        return arrays

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Returns the records from what `arrays` returned, without copying the bytes of the positions."""
        visits = None
        if "visit_offsets" in arrays:
            visits = Visits(*(arrays[f"visit_{field.name}"] for field in fields(Visits)))
        return cls(
            positions=Packed(arrays["position_data"], arrays["position_offsets"]),
            visits=visits,
            values=arrays.get("value"),
            **{name: arrays[name] for name in PER_SAMPLE},
        )

    @classmethod
    def join(cls, parts: Sequence[Records]) -> Self:
        """Returns the samples of all parts, concatenated."""
        parts = [part for part in parts if len(part)] or parts[:1]
        starts = np.cumsum([0, *(len(part.positions) for part in parts)])
        joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in PER_SAMPLE}
        joined["position"] = np.concatenate([part.position + start for part, start in zip(parts, starts, strict=False)])
        data = np.concatenate([part.positions.data for part in parts])
        offsets = _join_offsets([part.positions.offsets for part in parts])
        return cls(positions=Packed(data, offsets), visits=join_visits(parts), values=join_values(parts), **joined)


PER_SAMPLE = {
    "position": np.int32,
    "player": np.int16,
    "action": np.int32,
    "returns": np.float32,
    "plies_to_end": np.int32,
    "game": np.int64,
}
"""The arrays with one row per sample, and their types on disk."""


def join_visits(parts: Sequence[Records]) -> Visits | None:
    """Returns the visits of all parts, with empty rows for parts that have none; None if no part has any."""
    if all(part.visits is None for part in parts):
        return None
    return Visits.join([part.visits or Visits.of([_NO_SHARES] * len(part)) for part in parts])


def join_values(parts: Sequence[Records]) -> FloatArray | None:
    """Returns the values of all parts, nan for parts that have none; None if no part has any."""
    if all(part.values is None for part in parts):
        return None
    values = [np.full(len(part), np.nan, dtype=np.float32) if part.values is None else part.values for part in parts]
    return np.concatenate(values)


def small_actions(actions: IntArray) -> IntArray:
    """Returns actions as uint16 if all of them fit, else as int32."""
    if actions.dtype == np.uint16:
        return actions
    fits = not len(actions) or 0 <= actions.min() <= actions.max() < 2**16
    return actions.astype(np.uint16 if fits else np.int32)


_NO_SHARES: tuple[IntArray, FloatArray] = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))


class GameLog:
    """The decisions of one game, collected until its end gives their returns."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.num_samples = 0
        self._states: list[State] = []
        self._plies: list[int] = []
        self._decisions: list[tuple[int, Player, Action]] = []
        self._policies: list[Policy | None] = []
        self._values: list[float | None] = []
        self._steps: list[tuple[int, FloatArray, NDArray[np.float64]]] = []
        """The number of positions before each step that pays or is discounted, its rewards and its discounts."""

    def add(self, state: State, decisions: Sequence[tuple[Player, Decision]]) -> None:
        """Adds the decisions of players in a position."""
        if not decisions:
            return
        position = len(self._states)
        self._states.append(state)
        self._plies.append(state.ply)
        self._decisions += [(position, player, decision.action) for player, decision in decisions]
        self._policies += [decision.policy for _, decision in decisions]
        self._values += [decision.value for _, decision in decisions]
        self.num_samples += len(decisions)

    def pay(self, before: State, after: State, discount: float) -> None:
        """Adds the rewards and the discounts of the step between two positions."""
        rewards = after.rewards()
        factors = discounts(before, after, discount, len(rewards))
        if rewards.any() or (factors != 1).any():
            self._steps.append((len(self._states), rewards, factors))

    def finish(self, game: Game, final: State, outcome: FloatArray | None = None) -> Records:
        """Returns the samples of the game, which ended with `final`, each with the return from its position on.

        `outcome` `[P]` replaces the returns of `final` if the game was stopped early.
        """
        position, player, action = np.array(self._decisions, dtype=np.int64).reshape(-1, 3).T
        returns = self._returns_from_positions(final.returns() if outcome is None else outcome)[position]
        return Records(
            positions=game.pack(self._states) if self._states else Packed.of([]),
            position=position,
            player=player,
            action=action,
            returns=from_own_seats(returns, player),
            plies_to_end=final.ply - np.array(self._plies, dtype=np.int64)[position],
            game=np.full(len(action), self.number, dtype=np.int64),
            visits=_visits(self._policies),
            values=_values(self._values),
        )

    def _returns_from_positions(self, outcome: FloatArray) -> FloatArray:
        """Returns the returns from each position on, `[M, P]`: `v(parent) = rewards(child) + discount * v(child)`."""
        value = np.asarray(outcome, dtype=np.float64)
        returns = np.tile(value, (len(self._states), 1))
        for num_positions, rewards, factors in reversed(self._steps):
            value = rewards + factors * value
            returns[:num_positions] = value
        return returns.astype(np.float32)


def _visits(policies: Sequence[Policy | None]) -> Visits | None:
    """Returns the visits of all samples, None if no sample has any."""
    if not any(policies):
        return None
    return Visits.of([_NO_SHARES if policy is None else (policy.actions, policy.shares) for policy in policies])


def _values(values: Sequence[float | None]) -> FloatArray | None:
    if all(value is None for value in values):
        return None
    return np.array([np.nan if value is None else value for value in values], dtype=np.float32)


def _join_offsets(parts: Sequence[IntArray]) -> IntArray:
    starts = np.cumsum([0, *(int(part[-1]) for part in parts)])
    shifted = [part[1:] + start for part, start in zip(parts, starts, strict=False)]
    return np.concatenate([[0], *shifted]).astype(np.int64)

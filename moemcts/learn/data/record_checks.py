"""Checks samples from outside: those that no game can have produced are rejected when they are opened."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from moemcts.errors import DamagedFile, MoemctsError
from moemcts.game import Game, IntArray
from moemcts.learn.data.records import PER_SAMPLE, Records, Visits

NUM_REPLAYED = 10_000
"""Samples of a shard, evenly spaced, whose action must be legal in their position."""
CHUNK = 4096
NEAR = 1e-3
"""Tolerance of the sum of shares and of the range of returns and values, which are stored in single precision."""


def check_records(records: Records, game: Game, where: Path) -> None:
    """Raises DamagedFile, naming `where` and the first fault, unless the samples can be those of the game.

    Numbers are checked in all samples, legality in up to `NUM_REPLAYED`.
    """
    try:
        fault = _find_fault(records, game)
    except (ValueError, TypeError, IndexError, KeyError, OverflowError) as error:
        fault = f"{type(error).__name__} {error}"
    if fault:
        raise DamagedFile(f"{where} holds no samples of {game.spec.name}: {fault}")


def check_new_records(records: Records, game: Game) -> None:
    """Raises MoemctsError for samples with impossible numbers, mostly an agent's fault, before they are written."""
    if fault := _find_number_fault(records, game):
        name = game.spec.name
        raise MoemctsError(f"games of {name} gave an invalid sample: {fault}; see moemcts check {name}")


def _find_fault(records: Records, game: Game) -> str:
    return _find_number_fault(records, game) or _find_illegal_action(records, game)


def _find_number_fault(records: Records, game: Game) -> str:
    return _find_shape_fault(records, game) or _find_range_fault(records, game) or _find_search_fault(records, game)


def _find_shape_fault(records: Records, game: Game) -> str:
    num_samples = len(records)
    for name, dtype in PER_SAMPLE.items():
        array = getattr(records, name)
        shape = (num_samples, game.spec.num_players) if name == "returns" else (num_samples,)
        if array.shape != shape or array.dtype.kind != np.dtype(dtype).kind:
            return f"expected {name} of shape {shape} and type {np.dtype(dtype)}, got {array.shape} and {array.dtype}"
    packed = records.positions
    if packed.data.ndim != 1 or packed.data.dtype != np.uint8 or packed.offsets.dtype != np.int64:
        return (
            f"expected positions as bytes with offsets of 64 bits, got {packed.data.dtype} and {packed.offsets.dtype}"
        )
    return _find_offset_fault("positions", packed.offsets, len(packed.data))


def _find_offset_fault(name: str, offsets: IntArray, length: int) -> str:
    if offsets.ndim != 1 or not len(offsets) or offsets[0] != 0 or offsets[-1] != length:
        return f"expected offsets of {name} from 0 to {length}, got {offsets[:1]} to {offsets[-1:]}"
    if (np.diff(offsets) < 0).any():
        return f"expected offsets of {name} in ascending order"
    return ""


def _find_range_fault(records: Records, game: Game) -> str:
    spec = game.spec
    below = {"position": len(records.positions), "player": spec.num_players, "action": spec.num_actions}
    for name in ("position", "player", "action", "plies_to_end", "game"):
        array = getattr(records, name)
        wrong = (array < 0) | (array >= below.get(name, np.inf))
        if wrong.any():
            limit = f" and below {below[name]}" if name in below else ""
            return f"expected every {name} to be at least 0{limit}, got {array[wrong][0]} in row {int(wrong.argmax())}"
    # False for NaN too.
    wrong = ~(np.abs(records.returns) <= 1 + NEAR).all(axis=1)
    if wrong.any():
        return f"expected returns from -1 to 1, got {records.returns[wrong][0].tolist()} in row {int(wrong.argmax())}"
    return ""


def _find_search_fault(records: Records, game: Game) -> str:
    values, visits = records.values, records.visits
    if values is not None:
        if values.shape != (len(records),):
            return f"expected {len(records)} values, got {values.shape}"
        if (np.abs(values[~np.isnan(values)]) > 1 + NEAR).any():
            return f"expected values from -1 to 1, got {np.nanmin(values):g} to {np.nanmax(values):g}"
    return "" if visits is None else _find_visit_fault(visits, len(records), game.spec.num_actions)


def _find_visit_fault(visits: Visits, num_samples: int, num_actions: int) -> str:
    if len(visits.offsets) != num_samples + 1 or len(visits.shares) != len(visits.actions):
        return f"expected visits of {num_samples} samples, got {len(visits.offsets) - 1}"
    if fault := _find_offset_fault("visits", visits.offsets, len(visits.actions)):
        return fault
    if ((visits.actions < 0) | (visits.actions >= num_actions)).any():
        return f"expected visited actions below {num_actions}"
    totals = np.concatenate([[0.0], np.cumsum(visits.shares, dtype=np.float64)])
    sums = np.diff(totals[visits.offsets])
    is_known = np.diff(visits.offsets) > 0
    if not (visits.shares >= 0).all() or not (np.abs(sums[is_known] - 1) <= NEAR).all():
        return "expected the shares of visits to be positive and to sum to one"
    return ""


def _find_illegal_action(records: Records, game: Game) -> str:
    rows = np.arange(len(records))
    if len(rows) > NUM_REPLAYED:
        rows = np.unique(np.linspace(0, len(rows) - 1, NUM_REPLAYED).astype(np.int64))
    for start in range(0, len(rows), CHUNK):
        part = rows[start : start + CHUNK]
        packed = records.positions.take(records.position[part].astype(np.int64))
        legal = game.unpack(packed, records.player[part].astype(np.int64)).legal_mask()
        actions = records.action[part]
        wrong = ~legal[np.arange(len(part)), actions]
        if wrong.any():
            return f"action {actions[wrong][0]} of row {part[wrong][0]} is not legal in its position"
    return ""

"""Reads and writes recorded games in the schema of the reference's traces.

The traces are games of MultiAgentLearning/playground (Resnick et al., Pommerman, 2018), recorded step by step. They are
not part of this repository: `MOEMCTS_TRACES` names their folder, and tests that need them are skipped without it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from moemcts_pommerman import native

FIXTURES = Path(__file__).parent / "fixtures"
TRACES = Path(os.environ.get("MOEMCTS_TRACES", Path(__file__).parents[4] / "shared" / "data" / "pommerman"))

Arrays = dict[str, Any]


def load(path: Path) -> Arrays:
    """Returns the arrays of a file, with `meta` as a dictionary."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    return arrays | {"meta": json.loads(bytes(arrays["meta"]).decode())}


def rules_of(meta: dict[str, Any]) -> Any:
    """Returns the rules that a file was recorded with."""
    overrides = {**{key: meta.get(key) for key in ("first_collapse", "max_steps")}, **meta.get("env_overrides", {})}
    return native.Rules(meta["env_id"], **overrides)


def state_of(arrays: Arrays, row: int, rules: Any) -> Any:
    """Returns the recorded state of a row."""
    bombs = arrays["bombs"][arrays["bomb_off"][row] : arrays["bomb_off"][row + 1]]
    flames = arrays["flames"][arrays["flame_off"][row] : arrays["flame_off"][row + 1]]
    board, items, agents = (arrays[name][row] for name in ("board", "items", "agents"))
    return native.State.from_arrays(rules, int(arrays["step"][row]), board, items, agents, bombs, flames)


class Recorder:
    """Collects games row by row."""

    def __init__(self, env: str, **overrides: int) -> None:
        self.meta = {"schema": "pommerman-trace-v1", "env_id": env, "env_overrides": overrides, "tags": []}
        self.rules = native.Rules(env, **overrides)
        self._rows: list[Arrays] = []
        self._starts = [0]

    def add(self, states: Sequence[Any], actions: Sequence[Sequence[int]], outcomes: Sequence[Any], tag: str) -> None:
        """Adds a game: one state more than actions and outcomes (rewards, done, result)."""
        none = [-1] * self.rules.num_players
        quiet = ([0] * self.rules.num_players, False, 3)
        for state, action, outcome in zip(states, [*actions, none], [quiet, *outcomes], strict=True):
            self._rows.append(
                state.arrays() | dict(zip(("actions", "rewards", "done", "result"), (action, *outcome), strict=True))
            )
        self._starts.append(len(self._rows))
        self.meta["tags"].append(tag)  # type: ignore[attr-defined]

    def arrays(self) -> Arrays:
        """Returns all added games, in the schema of the reference's traces."""
        rows = self._rows
        types = {"step": np.int16, "actions": np.int8, "rewards": np.int8, "done": np.uint8, "result": np.uint8}
        arrays: Arrays = {
            name: np.stack([np.asarray(row[name], dtype=types.get(name)) for row in rows])
            for name in ("step", "board", "items", "agents", "actions", "rewards", "done", "result")
        }
        for name, offsets in (("bombs", "bomb_off"), ("flames", "flame_off")):
            arrays[name] = np.concatenate([row[name] for row in rows])
            arrays[offsets] = np.cumsum([0, *(len(row[name]) for row in rows)]).astype(np.int32)
        return arrays | {"game_off": np.array(self._starts, np.int32), "meta": self.meta}


def save(path: Path, arrays: Arrays) -> None:
    """Writes arrays; `meta` as the bytes of its JSON."""
    meta = np.frombuffer(json.dumps(arrays["meta"]).encode(), dtype=np.uint8)
    np.savez_compressed(path, **(arrays | {"meta": meta}))

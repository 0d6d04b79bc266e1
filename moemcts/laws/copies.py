"""The laws of positions in other processes, since games are played and searched in several."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Mapping

from moemcts.game import Game
from moemcts.laws import Laws

LAW = "keys are the same in every process"
PATIENCE = 60.0
"""Timeout of the other process, in seconds."""
_HASH_SEED = "PYTHONHASHSEED"
_KEYS = """
import json, pickle, sys
told = json.loads(sys.stdin.buffer.readline())
sys.path[:] = told["path"]
if told["is_pickled"]:
    game = pickle.load(sys.stdin.buffer)
else:
    from moemcts.plugins import plugins
    game = plugins().game(told["name"])
kind = [type(game).__module__, type(game).__qualname__]
json.dump([kind, [game.parse_state(text).key() for text in told["texts"]]], sys.stdout)
"""


def check_copies(game: Game, keys: Mapping[str, int], laws: Laws) -> None:
    """Checks the keys of positions, given by their texts, in a process with a different hash seed.

    The game is pickled or, if that fails, created by name. The law is left out if neither gives the same game.
    """
    kind = [type(game).__module__, type(game).__qualname__]
    try:
        found_kind, found = _elsewhere(game, list(keys))
    except (OSError, subprocess.TimeoutExpired, ValueError):
        found_kind, found = None, []
    if found_kind != kind:
        laws.leave_out(LAW, "the game can neither be pickled nor be made from its name in another process")
        return
    for (text, key), other in zip(keys.items(), found, strict=True):
        laws.expect(
            LAW, key == other, f"{text} has {key} here and {other} in another process; Python's hash of text differs"
        )


def _elsewhere(game: Game, texts: list[str]) -> tuple[list[str], list[int]]:
    """Returns the game's type and the keys of positions in another process; raises ValueError if that fails."""
    try:
        pickled = pickle.dumps(game)
    except Exception:
        pickled = b""
    told = {"path": sys.path, "name": game.spec.name, "is_pickled": bool(pickled), "texts": texts}
    # Differs from this process's seed.
    seed = "1" if os.environ.get(_HASH_SEED) != "1" else "2"
    done = subprocess.run(
        [sys.executable, "-c", _KEYS],
        input=json.dumps(told).encode() + b"\n" + pickled,
        capture_output=True,
        check=False,
        timeout=PATIENCE,
        env=os.environ | {_HASH_SEED: seed},
    )
    kind, keys = json.loads(done.stdout)
    return kind, keys

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
TIMEOUT = 60.0
"""Timeout of the other process, in seconds."""
_HASH_SEED = "PYTHONHASHSEED"
_SCRIPT = """
import json, pickle, sys
request = json.loads(sys.stdin.buffer.readline())
sys.path[:] = request["path"]
if request["is_pickled"]:
    game = pickle.load(sys.stdin.buffer)
else:
    from moemcts.plugins import plugins
    game = plugins().game(request["name"])
kind = [type(game).__module__, type(game).__qualname__]
json.dump([kind, [game.parse_state(text).key() for text in request["texts"]]], sys.stdout)
"""


def check_copies(game: Game, keys: Mapping[str, int], laws: Laws) -> None:
    """Checks the keys of positions, given by their texts, in a process with a different hash seed.

    The game is pickled or, if that fails, created by name. The law is left out if neither gives the same game.
    """
    kind = [type(game).__module__, type(game).__qualname__]
    try:
        other_kind, other_keys = _keys_in_other_process(game, list(keys))
    except (OSError, subprocess.TimeoutExpired, ValueError):
        other_kind, other_keys = None, []
    if other_kind != kind:
        laws.skip(LAW, "the game can neither be pickled nor be made from its name in another process")
        return
    for (text, key), other in zip(keys.items(), other_keys, strict=True):
        laws.expect(
            LAW, key == other, f"{text} has {key} here and {other} in another process; Python's hash of text differs"
        )


def _keys_in_other_process(game: Game, texts: list[str]) -> tuple[list[str], list[int]]:
    """Returns the game's type and the keys of positions in another process; raises ValueError if that fails."""
    try:
        pickled = pickle.dumps(game)
    except Exception:
        pickled = b""
    request = {"path": sys.path, "name": game.spec.name, "is_pickled": bool(pickled), "texts": texts}
    # Differs from this process's seed.
    hash_seed = "1" if os.environ.get(_HASH_SEED) != "1" else "2"
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT],
        input=json.dumps(request).encode() + b"\n" + pickled,
        capture_output=True,
        check=False,
        timeout=TIMEOUT,
        env=os.environ | {_HASH_SEED: hash_seed},
    )
    kind, keys = json.loads(done.stdout)
    return kind, keys

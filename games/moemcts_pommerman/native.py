"""The native part of the game, `moemcts._core`, with the names that this package uses."""

from __future__ import annotations

import importlib
from typing import Any

_core: Any = importlib.import_module("moemcts._core")

Rules: Any = _core.PommermanRules
State: Any = _core.PommermanState
Views: Any = _core.PommermanViews
Search: Any = _core.PommermanSearch
Scripted: Any = _core.PommermanScripted
Player: Any = _core.PommermanPlayer

ids: Any = _core.pommerman_ids
planes: Any = _core.pommerman_planes
transform: Any = _core.pommerman_transform
transform_actions: Any = _core.pommerman_transform_actions
games: Any = _core.pommerman_games
replay: Any = _core.pommerman_replay
decisions: Any = _core.pommerman_decisions

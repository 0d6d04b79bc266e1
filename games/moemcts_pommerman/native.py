"""Aliases of the native classes and functions that this package uses."""

from __future__ import annotations

from moemcts.native import core

Rules = core.PommermanRules
State = core.PommermanState
Views = core.PommermanViews
Search = core.PommermanSearch
Scripted = core.PommermanScripted
Player = core.PommermanPlayer

ids = core.pommerman_ids
planes = core.pommerman_planes
transform = core.pommerman_transform
transform_actions = core.pommerman_transform_actions
games = core.pommerman_games
replay = core.pommerman_replay
decisions = core.pommerman_decisions

"""Plugin of Pommerman."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moemcts.errors import UsageError
from moemcts.game import Game
from moemcts.hookspecs import Registration, hookimpl
from moemcts_pommerman.agents import ScriptedAgent
from moemcts_pommerman.game import GAME_NAMES, Corners, Pommerman, Timeout, variant
from moemcts_pommerman.gates import MixednessGate, OpponentGate, StepGate

if TYPE_CHECKING:
    from moemcts.search import SearchAgent
    from moemcts_pommerman.pageboard import PommermanBoard

_GAMES = tuple(GAME_NAMES.values())
_FFA, _TEAM, _RADIO, _DUEL = _GAMES

# Terciles over the views of living players in 300 games of SimpleAgents: for the free-for-all of the reference's
# package (MultiAgentLearning/playground), for the others by tests/games/pommerman/measure_cuts.py.
STEP_CUTS = {_FFA: (93, 252), _TEAM: (90, 251), _RADIO: (90, 253), _DUEL: (80, 237)}
MIXEDNESS_CUTS = {_FFA: (5, 8), _TEAM: (5, 8), _DUEL: (3, 7)}
# In fog the upper tercile is "no visible opponent": visible ones are at most 4 + 4 cells away.
FOG_CUTS = (5, 9)
ROLLOUT_PLIES = 20
"""10 plies win less often, and 40 do not win more often: `docs/results.md`."""
_NUM_OPPONENTS = {_FFA: 3, _TEAM: 2, _RADIO: 2}


@hookimpl
def register_games() -> Sequence[Registration]:
    presets = tomllib.loads(resources.files("moemcts_pommerman").joinpath("presets.toml").read_text())
    registration = partial(Registration, presets=presets)
    return [
        registration(_FFA, _free_for_all, "Pommerman, everyone against everyone on 11 x 11"),
        registration(_TEAM, _team, "Pommerman, two against two"),
        registration(_RADIO, _radio, "Pommerman, two against two in fog; messages outside the search"),
        registration(_DUEL, _duel, "Pommerman, one against one on 8 x 8"),
    ]


@hookimpl
def register_papers() -> Sequence[Mapping[str, Any]]:
    return [tomllib.loads(resources.files("moemcts_pommerman").joinpath("papers.toml").read_text())]


@hookimpl
def register_gates() -> Sequence[Registration]:
    return [
        Registration("steps", _steps, "cuts by steps played", _GAMES, default=True),
        Registration("mixedness", _mixedness, "cuts by the distance to the nearest living opponent", _GAMES),
        Registration("opponents", _opponents, "a phase for each number of living opponents", tuple(_NUM_OPPONENTS)),
    ]


@hookimpl
def register_agents() -> Sequence[Registration]:
    return [
        Registration("simple", partial(_scripted, "simple"), "the reference's SimpleAgent", _GAMES, default=True),
        Registration("uniform", partial(_scripted, "random"), "the reference's RandomAgent, native", _GAMES),
        Registration("stop", partial(_scripted, "stop"), "never moves", _GAMES),
        Registration("planner", _planner, f"searches without a network, by rollouts of {ROLLOUT_PLIES} plies", _GAMES),
    ]


@hookimpl
def register_boards() -> Sequence[Registration]:
    return [Registration("pommerman", _board, "the board as tiles, what players have below", _GAMES)]


@hookimpl
def register_weights() -> Sequence[Registration]:
    summary = "one network, trained on games of SimpleAgents"
    return [Registration(_FFA, partial(_weights, _FFA), summary, (_FFA,), default=True)]


FIRST_COLLAPSE = 500
"""The step at which the reference's walls begin to collapse."""


def _weights(name: str) -> Path:
    return Path(str(resources.files("moemcts_pommerman").joinpath("weights", name)))


def _board(game: Game) -> PommermanBoard:
    from moemcts_pommerman.pageboard import PommermanBoard

    return PommermanBoard(game)


def _free_for_all(
    *,
    env: str = "PommeFFACompetition-v0",
    collapse: bool | None = None,
    first_collapse: int | None = None,
    max_steps: int | None = None,
    timeout: Timeout = "tie",
    corners: Corners = "standard",
    discount: float = 1.0,
) -> Pommerman:
    return _make_variant(_FFA, env, collapse, first_collapse, max_steps, corners, discount, timeout)


def _team(
    *,
    env: str | None = None,
    fog: bool | None = None,
    collapse: bool | None = None,
    first_collapse: int | None = None,
    max_steps: int | None = None,
    corners: Corners = "standard",
    discount: float = 1.0,
) -> Pommerman:
    default = "PommeTeamCompetition-v0" if fog else "PommeTeam-v0"
    game = _make_variant(_TEAM, env or default, collapse, first_collapse, max_steps, corners, discount)
    if fog is not None and fog != bool(game.rules.view):
        raise UsageError(
            f"{env!r} is played {'in fog' if game.rules.view else 'in the open'}, which contradicts fog={fog}"
        )
    return game


def _radio(
    *,
    env: str = "PommeRadioCompetition-v2",
    collapse: bool | None = None,
    first_collapse: int | None = None,
    max_steps: int | None = None,
    corners: Corners = "standard",
    discount: float = 1.0,
) -> Pommerman:
    return _make_variant(_RADIO, env, collapse, first_collapse, max_steps, corners, discount)


def _duel(
    *,
    env: str = "OneVsOne-v0",
    collapse: bool | None = None,
    first_collapse: int | None = None,
    max_steps: int | None = None,
    timeout: Timeout = "tie",
    corners: Corners = "standard",
    discount: float = 1.0,
) -> Pommerman:
    return _make_variant(_DUEL, env, collapse, first_collapse, max_steps, corners, discount, timeout)


def _make_variant(
    name: str,
    env: str,
    collapse: bool | None,
    first_collapse: int | None,
    max_steps: int | None,
    corners: Corners,
    discount: float,
    timeout: Timeout = "tie",
) -> Pommerman:
    """Returns a variant of game `name`; raises UsageError if the environment or the options contradict it."""
    if collapse is not None and first_collapse is not None and collapse != bool(first_collapse):
        raise UsageError(f"collapse={collapse} contradicts first_collapse={first_collapse}")
    if collapse is not None and first_collapse is None:
        first_collapse = FIRST_COLLAPSE if collapse else 0
    game = variant(
        env,
        first_collapse=first_collapse,
        max_steps=max_steps,
        timeout=timeout,
        corners=corners,
        discount=discount,
    )
    if game.spec.name != name:
        raise UsageError(f"expected an environment for game {name!r}, but {env!r} is for {game.spec.name!r}")
    return game


def _steps(game: Game, *, cuts: Sequence[int] = ()) -> StepGate:
    names = () if cuts else ("opening", "middlegame", "endgame")
    return StepGate(cuts or STEP_CUTS[game.spec.name], names)


def _mixedness(game: Game, *, cuts: Sequence[int] = ()) -> MixednessGate:
    default = FOG_CUTS if isinstance(game, Pommerman) and game.rules.view else MIXEDNESS_CUTS[game.spec.name]
    return MixednessGate(cuts or default, () if cuts else ("close", "near", "far"))


def _opponents(game: Game, *, cuts: Sequence[int] = ()) -> OpponentGate:
    num_opponents = _NUM_OPPONENTS[game.spec.name]
    names = () if cuts else ("three opponents", "two opponents", "one opponent")[3 - num_opponents :]
    return OpponentGate(cuts or range(1, num_opponents), names, num_opponents=num_opponents)


def _scripted(script: str, game: Game) -> ScriptedAgent:
    return ScriptedAgent(script)


def _planner(
    game: Game, *, simulations: int = 50, rollout_plies: int = ROLLOUT_PLIES, opponents: str = "simple"
) -> SearchAgent:
    from moemcts.evaluation import UniformEvaluator
    from moemcts.search import SearchAgent, SearchConfig

    config = SearchConfig(simulations=simulations, rollout_plies=rollout_plies)
    return SearchAgent(game, UniformEvaluator(game.spec), config, opponents=ScriptedAgent(opponents), name="planner")

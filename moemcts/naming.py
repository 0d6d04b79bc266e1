"""Agents as users name them: registered ones, and the experts in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moemcts.agents import Agent, PolicyAgent
from moemcts.errors import MoemctsError, UsageError, unknown_name
from moemcts.experts import ROUTINGS
from moemcts.game import Game
from moemcts.plugins import plugins
from moemcts.references import parse_reference
from moemcts.search import SearchAgent, SearchConfig
from moemcts.search.engine import Opponents

LIMITS = ("simulations", "nodes", "seconds")
EXPERT_OPTIONS = (*LIMITS, "leaves", "routing", "opponents", "c_init", "noise", "backend", "precision")
TEAM_OPTIONS = ("only", "else")
EXPERTS = "experts:"
"""What may stand before a folder of experts."""


def resolve_agent(reference: str, game: Game, limits: Mapping[str, Any] | None = None) -> Agent:
    """Returns the agent named by a registered name or by the folder of experts, each with options.

    `runs/X/experts/steps-0?simulations=200` searches with these experts; 0 simulations plays their policy. `limits`
    (simulations, nodes, seconds) are those of experts that name none. `experts:FOLDER?only=endgame&else=OTHER` plays
    with one expert of a folder, and with those of another in all other phases.
    `backend` and `precision` say what runs their networks. `auto`, the default, takes the quickest here, and the
    agent's name says which one that is: games are the same only where it is the same.
    """
    name, options = parse_reference(reference)
    is_folder = name.startswith(EXPERTS)
    name = name.removeprefix(EXPERTS)
    if not is_folder and (name in plugins().agents or not Path(name).exists()):
        return plugins().agent(reference, game)
    for option in options:
        if option not in (*EXPERT_OPTIONS, *TEAM_OPTIONS):
            raise unknown_name("option of an expert agent", option, (*EXPERT_OPTIONS, *TEAM_OPTIONS))
    if not any(name in options for name in LIMITS):
        options |= limits or {}
    if "simulations" not in options and any(name in options for name in LIMITS):
        options["simulations"] = None
    if ("only" in options) != ("else" in options):
        raise UsageError(f"expected only=PHASE and else=FOLDER together in {reference!r}")
    options["baseline"] = options.pop("else", None)
    return _expert_agent(Path(name), game, reference, **options)


def experts_in(folder: Path) -> Path:
    """Returns where the experts are: in the folder itself or, of a training, in its `experts`.

    Raises MoemctsError where there are none, or several sets of them.
    """
    for place in (folder, folder / "experts"):
        if (place / "manifest.toml").exists():
            return place
    teams = sorted(str(manifest.parent) for manifest in folder.glob("experts/*/manifest.toml"))
    hint = f"; it holds {', '.join(teams)}" if teams else ""
    raise MoemctsError(f"expected a folder of experts, got {folder}{hint}")


def opponents_named(name: str, game: Game) -> Opponents:
    """Returns who the search believes to face; `self` searches for every seat."""
    return None if name == "self" else plugins().agent(name, game)


def check_backend(name: str) -> None:
    """Raises UsageError for a backend there is none of, MissingExtra for one that is not installed."""
    from moemcts.learn.inference.backends import require
    from moemcts.learn.inference.evaluators import named_backend

    if name != "auto":
        require(named_backend(name))


def _expert_agent(
    folder: Path,
    game: Game,
    label: str,
    *,
    simulations: int | None = 100,
    leaves: int = 4,
    routing: str = "",
    opponents: str = "",
    c_init: float = 2.5,
    noise: float = 0.0,
    nodes: int | None = None,
    seconds: float | None = None,
    only: Any = (),
    baseline: str | None = None,
    backend: str = "auto",
    precision: str = "float32",
) -> Agent:
    from moemcts.learn.checkpoint import load_networks
    from moemcts.learn.inference.evaluators import resolve

    if routing and routing not in ROUTINGS:
        raise unknown_name("routing", routing, ROUTINGS)
    loaded = load_networks(experts_in(folder), game, plugins())
    inference = resolve(backend, precision, loaded.networks[0], game.spec.observation_shape)
    experts = loaded.expert_set(inference, routing=ROUTINGS.get(routing))
    if baseline is not None:
        others = load_networks(experts_in(Path(baseline)), game, plugins())
        phases = only if isinstance(only, list) else [only]
        experts = experts.only([str(phase) for phase in phases], others.expert_set(inference))
    if backend == "auto":
        label += f"{'&' if '?' in label else '?'}backend={inference.backend}"
    if simulations == 0:
        return PolicyAgent(experts, name=label)
    try:
        config = SearchConfig(
            simulations=simulations,
            nodes=nodes,
            seconds=seconds,
            leaves_per_tree=leaves,
            c_init=c_init,
            noise_fraction=noise,
        )
    except ValueError as error:
        raise UsageError(f"{label}: {error}") from None
    model = opponents_named(opponents or default_model(game), game)
    return SearchAgent(game, experts, config, opponents=model, name=label)


def default_model(game: Game) -> str:
    """Returns the game's default agent, or `self` where it has none."""
    name = plugins().default_agent(game)
    return "self" if name == "random" else name

"""How a reference becomes an agent, and what else a file of its games must agree with: registered names, experts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from moemcts import weights
from moemcts.agents import Agent, Named, PolicyAgent, Translated
from moemcts.errors import MoemctsError, UsageError, unknown_name
from moemcts.experts import ROUTINGS
from moemcts.game import Game
from moemcts.plugins import Plugins, checked_options, plugins, told
from moemcts.references import extend_reference, format_reference, parse_reference
from moemcts.search import SearchAgent, SearchConfig
from moemcts.search.config import FirstPlayUrgency
from moemcts.search.engine import Opponents
from moemcts.store import read_toml

LIMITS = ("simulations", "nodes", "seconds")
TIMES = ("seconds", "movetime")
"""Options that limit an agent by the clock."""
QUEUE = "queue"
"""The routing that looks across batches, beside those of `ROUTINGS`."""
AUTO = "auto"
"""The backend and the precision that are chosen here."""
EXPERTS = "experts:"
"""What may stand before a folder of experts."""
SELF = "self"
"""In place of who the search believes to face: it searches for every seat."""


@dataclass(frozen=True)
class Contestant:
    """An agent as a user names it."""

    reference: str
    agent: Agent
    resolved: str
    """The reference that also names what was chosen here, such as what runs the networks: elsewhere it makes the same
    agent."""

    @property
    def is_timed(self) -> bool:
        """Whether the clock limits it: then games that run beside each other take time from each other."""
        return is_timed(self.reference)

    @property
    def named(self) -> Agent:
        """The agent, under its reference."""
        return Named(self.agent, self.reference)


def contestants(
    references: Sequence[str],
    game: Game,
    limits: Mapping[str, Any] | None = None,
    *,
    resolved: Mapping[str, str] | None = None,
) -> dict[str, Contestant]:
    """Returns agents by their references; `resolved` are references that say more, from another process.

    Raises UsageError for doubles.
    """
    if len(set(references)) < len(references):
        raise UsageError(f"expected different agents, got {', '.join(references)}")
    found = {}
    for reference in references:
        given = (resolved or {}).get(reference, reference)
        agent = resolve_agent(given, game, limits)
        known = given if given != reference else _more(agent, reference)
        found[reference] = Contestant(reference, agent, known)
    return found


def is_timed(reference: str) -> bool:
    """Returns whether the clock limits the agent of a reference."""
    return any(option in TIMES for option in parse_reference(reference)[1])


def says_more(reference: str, other: str) -> bool:
    """Returns whether a reference is another one with further options."""
    (name, options), (other_name, other_options) = parse_reference(reference), parse_reference(other)
    # In place of `auto` stands what it was taken for.
    kept = {option: value for option, value in other_options.items() if value != AUTO or option not in options}
    return name == other_name and options != other_options and options == options | kept


def _more(agent: Agent, reference: str) -> str:
    """Returns the name of an agent where that is its reference with more options, as experts name their backend."""
    return agent.name if says_more(agent.name, reference) else reference


def with_options(reference: str, options: Mapping[str, Any]) -> str:
    """Returns a reference with options in place of, or beside, its own."""
    name, given = parse_reference(reference)
    return format_reference(name, {**given, **options})


def names_experts(reference: str) -> bool:
    """Returns whether a reference names experts, and not an agent that is registered under the name."""
    name, _ = parse_reference(reference)
    is_said = name.startswith(EXPERTS) or weights.is_reference(name)
    return is_said or (name not in plugins().agents and folder_of(reference).exists())


def settled(reference: str, game: Game) -> str:
    """Returns the reference that names the same agent from everywhere: it says what was chosen here, such as what runs
    experts, and a folder of them as a whole path.
    """
    resolved = contestants([reference], game)[reference].resolved
    name, _ = parse_reference(resolved)
    if weights.is_reference(name) or not names_experts(resolved):
        return resolved
    return f"{folder_of(resolved).absolute()}{resolved.removeprefix(name)}"


def folder_of(reference: str) -> Path:
    """Returns the folder that a reference to experts names; see `moemcts.weights.folder_of`."""
    return weights.folder_of(parse_reference(reference)[0].removeprefix(EXPERTS))


def identity_of(references: Sequence[str]) -> dict[str, Any]:
    """Returns what else decides the games of these agents: their weights."""
    return {"experts": {name: _manifests(name) for name in references}}


def experts_of(references: Sequence[str]) -> dict[str, list[str]]:
    """Returns what decides a part of a run in which these agents play: the weights of those that are experts."""
    return {f"experts of {name}": _manifests(name) for name in references if names_experts(name)}


def _manifests(reference: str) -> list[str]:
    """Returns the hashes of the manifests of all experts that an agent plays with, which hold those of the weights."""
    _, options = parse_reference(reference)
    folders = [folder_of(reference), *([folder_of(str(options["else"]))] if "else" in options else [])]
    manifests = [place for folder in folders for place in (folder, folder / "experts") if place.is_dir()]
    files = [place / "manifest.toml" for place in manifests if (place / "manifest.toml").exists()]
    return [hashlib.sha256(file.read_bytes()).hexdigest()[:16] for file in files]


def resolve_agent(reference: str, game: Game, limits: Mapping[str, Any] | None = None) -> Agent:
    """Returns the agent named by a registered name or by experts, each with options.

    Experts are named by their folder, by `weights:NAME` where they come with a plugin, by `hf:OWNER/NAME` or a URL.
    `runs/X/experts/steps-0?simulations=200` searches with these experts; 0 simulations plays their policy. `limits`
    (simulations, nodes, seconds) are those of experts that name none. `experts:FOLDER?only=endgame&else=OTHER` plays
    with one expert of a folder, and with those of another in all other phases. `routing=queue` lets leaves wait until
    the batch of their expert is full, `batch` positions; `gate=NAME` says by which other gate of as many phases they
    are chosen.
    `backend` and `precision` say what runs their networks. `auto`, the default of both, takes the quickest here that
    keeps the policy, and the agent's name says what that is: games are the same only where it is the same. Beside a
    named backend the precision is float32 unless it is named too. `in_flight=2` searches half of the games while the
    leaves of the others are evaluated, on a core of its own or a GPU.
    """
    name, options = parse_reference(reference)
    if not names_experts(reference):
        if "/" in name and name not in plugins().agents:
            raise UsageError(f"no agent or folder of experts {name!r}; `moemcts agents` lists the agents")
        agents = Plugins.for_game(plugins().agents, game.spec.name)
        if name not in agents and f"{name.partition(':')[0]}:" not in agents:
            trained = Plugins.for_game(plugins().weights, game.spec.name)
            raise unknown_name("agent", name, [*agents, *(weights.WEIGHTS + one for one in trained)])
        return plugins().agent(reference, game)
    if not any(name in options for name in LIMITS):
        options |= limits or {}
    if "simulations" not in options and any(name in options for name in LIMITS):
        options["simulations"] = None
    # `else` is no word that Python takes for an option.
    renamed = {"baseline" if option == "else" else option: value for option, value in options.items()}
    if ("only" in options) != ("else" in options):
        raise UsageError(f"expected only=PHASE and else=FOLDER together in {reference!r}")
    known = checked_options("an expert agent", _expert_agent, renamed)
    return _expert_agent(folder_of(reference), game, reference, **known)


def experts_in(named: str | Path) -> Path:
    """Returns where the experts are that a folder or a reference to it names: there or, of a training, in `experts`.

    Raises MoemctsError where there are none, or several sets of them.
    """
    folder = weights.folder_of(named)
    for place in (folder, folder / "experts"):
        if (place / "manifest.toml").exists():
            return place
    teams = sorted(str(manifest.parent) for manifest in folder.glob("experts/*/manifest.toml"))
    hint = "there is no such folder" if not folder.exists() else "it is a file" if folder.is_file() else ""
    if not hint:
        hint = f"it holds {', '.join(teams)}" if teams else "it holds no manifest.toml"
    raise MoemctsError(f"expected a folder of experts, got {folder}; {hint}")


def encoded_as(experts: Path, game: Game) -> Game:
    """Returns the game with the planes that a folder of experts was made for, where it differs in these alone."""
    from moemcts.learn.fingerprint import encoding_fingerprint, stored_alike
    from moemcts.store import read_toml

    manifest = read_toml(experts / "manifest.toml")
    if manifest.get("encoding") == encoding_fingerprint(game):
        return game
    try:
        other = plugins().game(str(manifest.get("game", "")))
    except UsageError:
        # What is wrong with the folder is said by who reads it.
        return game
    return other if stored_alike(game, other) else game


def phases_of(experts: str, game: Game) -> list[str]:
    """Returns the phases that the experts of a reference are for."""
    from moemcts.learn.checkpoint import load_experts

    folder = experts_in(folder_of(experts))
    return list(load_experts(folder, encoded_as(folder, game), plugins()).gate.phase_names)


def game_of(experts: str) -> Game:
    """Returns the game that the experts of a reference were made for."""
    folder = experts_in(folder_of(experts))
    return plugins().game(str(read_toml(folder / "manifest.toml").get("game", "")))


def player_of(game: Game) -> str:
    """Returns the reference of who plays a game where the user names nobody.

    That are the experts that come with the game, else its default agent, else `random`.
    """
    return weights.default_weights(game) or plugins().player(game)


def opponents_named(name: str, game: Game) -> Opponents:
    """Returns who the search believes to face; `self` searches for every seat."""
    return None if name == SELF else plugins().agent(name, game)


def usual_opponents(game: Game) -> str:
    """Returns who the search believes to face where nobody is named: the game's default agent, or `self`."""
    return plugins().default_agent(game) or SELF


def check_backend(name: str, precision: str | None = None) -> None:
    """Raises UsageError for a backend or precision there is none of, or that do not go together, MissingExtra for one
    that is not installed.
    """
    from moemcts.learn.inference.backends import Inference, require
    from moemcts.learn.inference.evaluators import named_backend, named_precision

    digits = "float32" if precision is None or precision == AUTO else named_precision(precision)
    if name != AUTO:
        backend = named_backend(name)
        require(backend)
        Inference(backend, digits).checked()


def _expert_agent(
    folder: Path,
    game: Game,
    label: str,
    *,
    simulations: int | None = 100,
    leaves: int = 4,
    routing: str = "",
    batch: int = 64,
    gate: Sequence[str] = (),
    opponents: str = "",
    c_init: float | None = None,
    first_play_urgency: FirstPlayUrgency | None = None,
    policy_temperature: float | None = None,
    uniform_share: float | None = None,
    rollout_plies: int | None = None,
    cache_size: int | None = None,
    noise: float | None = None,
    nodes: int | None = None,
    seconds: float | None = None,
    only: Sequence[str] = (),
    baseline: str | None = None,
    backend: str = AUTO,
    precision: str = "",
    in_flight: int = 1,
    pruning_visits: int | None = None,
    stop_tolerance: float | None = None,
) -> Agent:
    from moemcts.learn.checkpoint import load_networks
    from moemcts.learn.inference.backends import Inference
    from moemcts.learn.inference.folder import has_models
    from moemcts.learn.inference.positions import usual_positions

    if routing and routing not in (*ROUTINGS, QUEUE):
        raise unknown_name("routing", routing, (*ROUTINGS, QUEUE))
    seen, game = game, encoded_as(experts_in(folder), game)
    loaded = load_networks(experts_in(folder), game, plugins())
    if gate:
        # The commas are those of the gate's own options.
        loaded = loaded.by_gate(plugins().gate(",".join(gate), game))
    inference = loaded.choice(
        backend,
        # What the names of agents say that took float32: the backend alone.
        precision or (AUTO if backend == AUTO else "float32"),
        positions=lambda: usual_positions(game, loaded.gate, plugins().agent(plugins().player(game), game)),
    ).inference
    experts = loaded.expert_set(inference, routing=ROUTINGS.get(routing))
    if baseline is not None:
        others = load_networks(experts_in(folder_of(baseline)), game, plugins())
        # Of these, `auto` knows nothing but what they are run by; without models it is float32.
        is_unfit = inference.precision == "int8" != precision and not has_models(others.folder, "int8")
        experts = experts.only(only, others.expert_set(Inference(inference.backend) if is_unfit else inference))
    chosen: dict[str, str] = {"backend": inference.backend} if backend == AUTO else {}
    if precision == AUTO or (not precision and inference.precision != "float32"):
        chosen["precision"] = inference.precision
    named, label = label, _saying_more(label, chosen)
    if simulations == 0:
        return _as_seen(PolicyAgent(experts, name=label), seen, game)
    said = {
        "c_init": c_init,
        "first_play_urgency": first_play_urgency,
        "policy_temperature": policy_temperature,
        "uniform_share": uniform_share,
        "rollout_plies": rollout_plies,
        "cache_size": cache_size,
        "noise_fraction": noise,
        "pruning_visits": pruning_visits,
        "stop_tolerance": stop_tolerance,
    }
    settings = {**plugins().search_settings(game), **{name: value for name, value in said.items() if value is not None}}
    limits = {"simulations": simulations, "nodes": nodes, "seconds": seconds}
    try:
        config = SearchConfig.model_validate({**limits, "leaves_per_tree": leaves, **settings})
    except ValidationError as error:
        raise UsageError(f"{named}: {told(error)}") from None
    model = opponents_named(opponents or usual_opponents(game), game)
    queue = batch if routing == QUEUE else None
    try:
        agent = SearchAgent(game, experts, config, opponents=model, queue=queue, in_flight=in_flight, name=label)
    except ValueError as error:
        raise UsageError(f"{label}: {error}") from None
    return _as_seen(agent, seen, game)


def _as_seen(agent: Agent, seen: Game, own: Game) -> Agent:
    return agent if own is seen else Translated(agent, seen, own)


def _saying_more(label: str, chosen: Mapping[str, str]) -> str:
    """Returns an agent's reference with what was chosen for it, in place of `auto` where that is written."""
    name, options = parse_reference(label)
    written = [option for option in chosen if option in options]
    if written:
        return format_reference(name, {**options, **chosen})
    return extend_reference(label, chosen)

"""Resolves references to agents, and makes references that name the same agent elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from moemcts import weights
from moemcts.agents import Agent, Named
from moemcts.errors import UsageError
from moemcts.game import Game
from moemcts.naming.experts import AUTO, LIMITS, SHORT_NAMES, ExpertSettings, expert_options
from moemcts.naming.folders import folder_of, names_experts
from moemcts.naming.limits import with_limits
from moemcts.options import checked_options, checked_values, defaults_of
from moemcts.plugins import plugins
from moemcts.references import WEIGHTS, extend_reference, format_reference, parse_reference

TIMES = ("seconds", "movetime")
"""Options with a time limit."""


@dataclass(frozen=True)
class Contestant:
    """An agent and the reference that names it."""

    reference: str
    agent: Agent
    resolved: str
    """The reference with all automatic choices made explicit, such as the backend: it names the same agent
    elsewhere."""

    @property
    def is_timed(self) -> bool:
        """Whether it has a time limit: if so, games played in parallel slow down each other."""
        return is_timed(self.reference)

    @property
    def named(self) -> Agent:
        """The agent, with its reference as its name."""
        return Named(self.agent, self.reference)


def contestants(
    references: Sequence[str],
    game: Game,
    limits: Mapping[str, Any] | None = None,
    *,
    resolved: Mapping[str, str] | None = None,
) -> dict[str, Contestant]:
    """Returns agents by their references; `resolved` has more explicit references, from another process.

    Raises UsageError for duplicates, including different references to the same agent.
    """
    if len(set(references)) < len(references):
        raise UsageError(f"expected different agents, got {', '.join(references)}")
    by_reference = {}
    for reference in references:
        explicit = (resolved or {}).get(reference, reference)
        agent = resolve_agent(explicit, game, limits)
        if explicit == reference:
            explicit = _explicit_reference(agent, _with_limits(reference, game, limits))
        by_reference[reference] = Contestant(reference, agent, explicit)
    _check_different(list(by_reference.values()), game, limits or {})
    return by_reference


def is_timed(reference: str) -> bool:
    """Returns whether the agent of a reference has a time limit."""
    return any(option in TIMES for option in parse_reference(reference)[1])


def is_more_specific(reference: str, other: str) -> bool:
    """Returns whether a reference equals another one with further options."""
    (name, options), (other_name, other_options) = parse_reference(reference), parse_reference(other)
    # `auto` counts as equal to the choice made for it.
    required = {option: value for option, value in other_options.items() if value != AUTO or option not in options}
    return name == other_name and options != other_options and options == options | required


def _check_different(agents: Sequence[Contestant], game: Game, limits: Mapping[str, Any]) -> None:
    """Raises UsageError if two references name the same agent."""
    identities: list[Any] = []
    for agent in agents:
        identity = _canonical(agent.resolved, game, limits)
        if identity in identities:
            other = agents[identities.index(identity)]
            both = max(other.resolved, agent.resolved, key=len)
            raise UsageError(
                f"expected different agents, got {other.reference!r} and {agent.reference!r}, which are both {both!r}"
            )
        identities.append(identity)


def _canonical(reference: str, game: Game, limits: Mapping[str, Any]) -> Any:
    """Returns a reference with all defaults filled in: equal for references that name the same agent."""
    if names_experts(reference):
        return folder_of(reference).resolve(), _parse_settings(reference, game, limits).canonical(game)
    name, options = parse_reference(_with_limits(reference, game, limits))
    agents = plugins().agents.for_game(game.spec.name)
    make, num_given = agents.entry(name).make, 1 + agents.is_member(name)
    return name, defaults_of(make) | checked_options(f"agent {name!r}", make, options, num_given=num_given)


def _explicit_reference(agent: Agent, reference: str) -> str:
    """Returns the agent's name if that is its reference with further options, such as the backend of experts."""
    return agent.name if is_more_specific(agent.name, reference) else reference


def _with_limits(reference: str, game: Game, limits: Mapping[str, Any] | None) -> str:
    """Returns the reference of a registered agent with the limits that it takes; that of experts is unchanged."""
    if not limits or names_experts(reference):
        return reference
    _, options = parse_reference(reference)
    completed = with_limits(options, reference, game, limits)
    return extend_reference(reference, {name: value for name, value in completed.items() if name not in options})


def with_options(reference: str, options: Mapping[str, Any]) -> str:
    """Returns a reference with options added or replaced."""
    name, existing = parse_reference(reference)
    return format_reference(name, {**existing, **options})


def resolve_reference(reference: str, game: Game) -> str:
    """Returns a reference that names the same agent from everywhere: automatic choices, such as the backend, are
    explicit, and a folder of experts is an absolute path.
    """
    resolved = contestants([reference], game)[reference].resolved
    name, _ = parse_reference(resolved)
    if weights.is_reference(name) or not names_experts(resolved):
        return resolved
    return f"{folder_of(resolved).absolute()}{resolved.removeprefix(name)}"


def resolve_agent(reference: str, game: Game, limits: Mapping[str, Any] | None = None) -> Agent:
    """Returns the agent that a reference names: a registered agent or experts, with options.

    Experts are named by their folder, by `weights:NAME` if they come with a plugin, by `hf:OWNER/NAME` or by a URL.
    `runs/X/experts/steps-0?simulations=200` searches with these experts; 0 simulations plays their policy. `limits`
    (simulations, nodes, seconds) apply to agents that take them and whose reference has none.

    `experts:FOLDER?only=endgame&else=OTHER` plays with one expert of a folder, and with those of another in all other
    phases; `value=OTHER` combines the policy of these experts with the values of others. `routing=queue` queues leaves
    until there is a full batch for their expert, of `batch` positions; `gate=NAME` selects experts by another gate with
    the same number of phases.

    `backend` and `precision` determine how networks are run. `auto`, the default of both, selects the fastest here that
    preserves the policy, and the agent's name includes the choice: games are reproducible only with the same choice.
    With an explicit backend, the precision defaults to float32. `device=cuda` runs networks on a GPU. Settings of the
    search (`SearchConfig`) have their own names, except `leaves` for `leaves_per_tree` and `noise` for
    `noise_fraction`: `solver=true&reuse=true`.
    """
    name, _ = parse_reference(reference)
    if not name.strip():
        raise UsageError(
            f"expected an agent, a folder of experts or weights:NAME, got {reference!r}; `moemcts agents` lists agents"
        )
    if not names_experts(reference):
        if "/" in name and not {name, name.partition(":")[0]} & plugins().agents.keys():
            raise UsageError(f"no agent or folder of experts named {name!r}; `moemcts agents` lists the agents")
        agents = plugins().agents.for_game(game.spec.name)
        if name not in agents and f"{name.partition(':')[0]}:" not in agents:
            trained = plugins().weights.for_game(game.spec.name)
            raise agents.unknown(name, [WEIGHTS + one for one in trained])
        return plugins().agent(_with_limits(reference, game, limits), game)
    return _parse_settings(reference, game, limits or {}).make_agent(folder_of(reference), game, reference)


def _parse_settings(reference: str, game: Game, limits: Mapping[str, Any]) -> ExpertSettings:
    """Returns the settings of the agent in a reference to experts."""
    options = with_limits(parse_reference(reference)[1], reference, game, limits)
    if "simulations" not in options and any(name in options for name in LIMITS):
        options["simulations"] = None
    if ("only" in options) != ("else" in options):
        raise UsageError(f"expected only=PHASE and else=FOLDER together in {reference!r}")
    if setting := next((option for option in options if option in SHORT_NAMES), None):
        raise UsageError(f"an expert agent: {setting} is {SHORT_NAMES[setting]} here; write {SHORT_NAMES[setting]}=...")
    types = {name: option.kind for name, option in expert_options().items()}
    return ExpertSettings.from_options(checked_values("an expert agent", types, options), game)


def check_backend(name: str, precision: str | None = None, device: str = "cpu") -> None:
    """Raises UsageError for an unknown backend or precision, or an unsupported combination of these or with the device,
    MissingExtra for a backend that is not installed. Whether the device exists is not checked.
    """
    from moemcts.learn.inference.backends import Inference, require_backend
    from moemcts.learn.inference.evaluators import parse_backend, parse_precision

    digits = "float32" if precision is None or precision == AUTO else parse_precision(precision)
    if name != AUTO:
        backend = parse_backend(name)
        require_backend(backend)
        Inference(backend, digits).checked(device)

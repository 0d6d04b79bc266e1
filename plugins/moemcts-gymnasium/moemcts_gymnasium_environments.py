"""Gymnasium environments: creation, copies, and detection of random numbers in their steps."""

from __future__ import annotations

import copy
import difflib
import math
import pickle
import random
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np

from moemcts.errors import UsageError, first_line

NUM_PROBES = 3
"""Number of episodes tried to examine the steps of an environment."""
NUM_STEPS = 50
"""Maximum number of steps of each of these."""
TOLERANCE = 1e-4
"""Largest deviation of a sum of probabilities from 1, as in the search."""


def make_environment(name: str) -> Any:
    """Returns an environment without a step limit.

    Raises UsageError if the name is unknown, or if Gymnasium cannot create it.
    """
    if name not in gymnasium.registry:
        near = difflib.get_close_matches(name, gymnasium.registry, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        if ":" in name:
            hint = "; no module is imported by a name: give yours an entry point in the group 'moemcts'"
        raise UsageError(f"Gymnasium has no environment named {name!r}{hint}")
    spec = copy.copy(gymnasium.spec(name))
    # The game counts the steps itself, and always resets first.
    spec.max_episode_steps, spec.order_enforce = None, False
    try:
        return gymnasium.make(spec, disable_env_checker=True)
    except Exception as error:
        raise UsageError(f"gymnasium:{name}: Gymnasium cannot make it: {first_line(error)}") from None


def copied(env: Any) -> tuple[Any, list[Any]]:
    """Returns a copy of an environment that shares its constant parts, and the generators that its steps can use."""
    shared = (*spaces_of(env), env.unwrapped.spec, table_of(env.unwrapped))
    known = {id(part): part for part in shared}
    twin = copy.deepcopy(env, known)
    # Spaces are shared, and so are their generators.
    return twin, [*_sources(known), *(space.np_random.bit_generator for space in spaces_of(env))]


def table_of(env: Any) -> Any:
    """Returns the transition table of an environment; None if its attribute `P` is missing or something else.

    The table of a wrapped environment is not used. The observation has to be the number of the state, as otherwise the
    initial state would be unknown.
    """
    table = getattr(env, "P", None)
    is_table = isinstance(table, Mapping) and all(isinstance(row, Mapping) for row in table.values())
    is_table &= isinstance(env.observation_space, gymnasium.spaces.Discrete)
    return table if is_table and table else None


def fault_of(table: Mapping[int, Any], env: Any) -> str | None:
    """Returns why the transition table of an environment cannot be searched, or None if it can."""
    actions = _actions_of(env)
    rows = [outcomes for row in table.values() for outcomes in row.values()]
    goes_on = {state for outcomes in rows for _, state, _, is_over in outcomes if not is_over}
    for number, row in table.items():
        if missing := [action for action in actions if action not in row]:
            return f"has no action {missing[0]} in state {number}"
        for action in actions:
            if not row[action] and number not in goes_on:
                # A state in which every episode is over needs no outcomes.
                continue
            chances = [float(chance) for chance, *_ in row[action]]
            if not all(chance >= 0 for chance in chances) or not math.isclose(sum(chances), 1, abs_tol=TOLERANCE):
                return f"has chances {chances} of what comes of action {action} in state {number}, expected a sum of 1"
            for _, state, reward, is_over in row[action]:
                if not (state in table or (is_over and env.observation_space.contains(state))):
                    return f"leads from {number} to {state}, no state of it"
                if not math.isfinite(reward):
                    return f"pays {reward} for action {action} in state {number}"
    return None


def fault_of_steps(table: Mapping[int, Any], env: Any, num_steps: int) -> str | None:
    """Returns how steps of an environment deviate from its table, or None if they do not."""
    rng = np.random.default_rng(0)
    probe, _ = copied(env)
    step = num_steps
    for i in range(NUM_PROBES * NUM_STEPS):
        if step == num_steps:
            (number, _), step = probe.reset(seed=i), 0
        action = int(rng.choice(_actions_of(env)))
        observed, reward, is_over, *_ = probe.step(action)
        known = {(int(after), float(paid), bool(over)) for _, after, paid, over in table[int(number)][action]}
        if (outcome := (int(observed), float(reward), bool(is_over))) not in known:
            return f"lacks what came of action {action} in state {number}: state, reward and end {outcome}"
        number, step = observed, num_steps if is_over else step + 1
    return None


def _actions_of(env: Any) -> range:
    return range(env.action_space.start, env.action_space.start + env.action_space.n)


def spaces_of(env: Any) -> list[Any]:
    """Returns the spaces of an environment and, for a wrapper, of the environments inside."""
    inner = spaces_of(env.env) if isinstance(env, gymnasium.Wrapper) else []
    return [env.action_space, env.observation_space, *inner]


def probes(env: Any, seed: int) -> tuple[Any, Any, list[Any]]:
    """Returns two equal copies of an environment after `reset(seed)`, and all generators of the first."""
    twin = copy.deepcopy(env)
    # The generators of spaces are created lazily.
    for space in spaces_of(twin):
        space.seed(seed)
    twin.reset(seed=seed)
    known: dict[int, Any] = {}
    probe = copy.deepcopy(twin, known)
    return probe, twin, _sources(known)


def _sources(known: Mapping[int, Any]) -> list[Any]:
    """Returns the random generators among all copied objects."""
    # Every NumPy generator contains a bit generator.
    return [part for part in known.values() if isinstance(part, np.random.BitGenerator | random.Random)]


def states_of(generators: Sequence[Any]) -> tuple[Any, ...]:
    """Returns the states of generators and of Python's global one.

    NumPy's global one is not included: reading its state takes as long as a step of a small environment.
    """
    states = [
        generator.getstate() if isinstance(generator, random.Random) else generator.state for generator in generators
    ]
    return pickle.dumps(states), random.getstate()


def shared_state() -> bytes:
    """Returns the state of NumPy's global generator."""
    return pickle.dumps(np.random.get_state(legacy=False))  # noqa: NPY002

"""Environments of Gymnasium: made, copied, and looked at for random numbers in their steps."""

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
"""Episodes that are tried to see what the steps of an environment do."""
NUM_STEPS = 50
"""Steps of these at most."""
TOLERANCE = 1e-4
"""How far chances may be from a sum of 1, as in the search."""


def make_environment(name: str) -> Any:
    """Returns an environment that ends no episode at a limit of steps.

    Raises UsageError where there is none of that name, or Gymnasium cannot make it.
    """
    if name not in gymnasium.registry:
        near = difflib.get_close_matches(name, gymnasium.registry, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        if ":" in name:
            hint = "; no module is imported by a name: give yours an entry point in the group 'moemcts'"
        raise UsageError(f"Gymnasium has no environment named {name!r}{hint}")
    spec = copy.copy(gymnasium.spec(name))
    # The game counts the steps, and never makes one too early.
    spec.max_episode_steps, spec.order_enforce = None, False
    try:
        return gymnasium.make(spec, disable_env_checker=True)
    except Exception as error:
        raise UsageError(f"gymnasium:{name}: Gymnasium cannot make it: {first_line(error)}") from None


def copied(env: Any) -> tuple[Any, list[Any]]:
    """Returns a copy of an environment that shares what never changes, and all that its steps can draw numbers from."""
    shared = (*spaces_of(env), env.unwrapped.spec, table_of(env.unwrapped))
    known = {id(part): part for part in shared}
    twin = copy.deepcopy(env, known)
    # Spaces are shared, with what they draw from.
    return twin, [*_sources(known), *(space.np_random.bit_generator for space in spaces_of(env))]


def table_of(env: Any) -> Any:
    """Returns the table of transitions of an environment; None where there is none, whatever else it calls `P`.

    That of an environment in a wrapper is not the wrapper's. Where the start is not observed as the number of its
    state, nobody knows which state it is.
    """
    table = getattr(env, "P", None)
    is_table = isinstance(table, Mapping) and all(isinstance(row, Mapping) for row in table.values())
    is_table &= isinstance(env.observation_space, gymnasium.spaces.Discrete)
    return table if is_table and table else None


def fault_of(table: Mapping[int, Any], env: Any) -> str | None:
    """Returns why an environment's table of transitions cannot be searched, None where it can."""
    actions = _actions_of(env)
    rows = [ways for row in table.values() for ways in row.values()]
    goes_on = {state for ways in rows for _, state, _, is_over in ways if not is_over}
    for place, row in table.items():
        if missing := [action for action in actions if action not in row]:
            return f"has no action {missing[0]} in state {place}"
        for action in actions:
            if not row[action] and place not in goes_on:
                # Where all is over, nothing need come of anything.
                continue
            chances = [float(chance) for chance, *_ in row[action]]
            if not all(chance >= 0 for chance in chances) or not math.isclose(sum(chances), 1, abs_tol=TOLERANCE):
                return f"has chances {chances} of what comes of action {action} in state {place}, expected a sum of 1"
            for _, state, paid, is_over in row[action]:
                if not (state in table or (is_over and env.observation_space.contains(state))):
                    return f"leads from {place} to {state}, no state of it"
                if not math.isfinite(paid):
                    return f"pays {paid} for action {action} in state {place}"
    return None


def fault_of_steps(table: Mapping[int, Any], env: Any, num_steps: int) -> str | None:
    """Returns what steps of an environment do that is not in its table, None where that is nothing."""
    rng = np.random.default_rng(0)
    probe, _ = copied(env)
    step = num_steps
    for i in range(NUM_PROBES * NUM_STEPS):
        if step == num_steps:
            (place, _), step = probe.reset(seed=i), 0
        action = int(rng.choice(_actions_of(env)))
        seen, paid, is_over, *_ = probe.step(action)
        known = {(int(state), float(reward), bool(over)) for _, state, reward, over in table[int(place)][action]}
        if (came := (int(seen), float(paid), bool(is_over))) not in known:
            return f"lacks what came of action {action} in state {place}: state, reward and end {came}"
        place, step = seen, num_steps if is_over else step + 1
    return None


def _actions_of(env: Any) -> range:
    return range(env.action_space.start, env.action_space.start + env.action_space.n)


def spaces_of(env: Any) -> list[Any]:
    """Returns the spaces of an environment and of those in it, where it is a wrapper."""
    inner = spaces_of(env.env) if isinstance(env, gymnasium.Wrapper) else []
    return [env.action_space, env.observation_space, *inner]


def probes(env: Any, seed: int) -> tuple[Any, Any, list[Any]]:
    """Returns two equal copies of an environment after `reset(seed)`, and all that the first can draw numbers from."""
    twin = copy.deepcopy(env)
    # What a space draws from is made when it is first asked for.
    for space in spaces_of(twin):
        space.seed(seed)
    twin.reset(seed=seed)
    known: dict[int, Any] = {}
    probe = copy.deepcopy(twin, known)
    return probe, twin, _sources(known)


def _sources(known: Mapping[int, Any]) -> list[Any]:
    """Returns what numbers are drawn from of all that was copied."""
    # Every generator of NumPy has one of bits in it.
    return [part for part in known.values() if isinstance(part, np.random.BitGenerator | random.Random)]


def states_of(generators: Sequence[Any]) -> tuple[Any, ...]:
    """Returns where generators are, and Python's that all code shares.

    NumPy's that all code shares is not among them: to ask for its state takes as long as a step of a small environment.
    """
    own = [one.getstate() if isinstance(one, random.Random) else one.state for one in generators]
    return pickle.dumps(own), random.getstate()


def shared_state() -> bytes:
    """Returns where NumPy's generator is that all code shares."""
    return pickle.dumps(np.random.get_state(legacy=False))  # noqa: NPY002

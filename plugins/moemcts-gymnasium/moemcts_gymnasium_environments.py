"""Environments of Gymnasium: made, copied, and looked at for random numbers in their steps."""

from __future__ import annotations

import copy
import difflib
import pickle
import random
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np

from moemcts.errors import UsageError, first_line


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


def copied(env: Any) -> Any:
    """Returns a copy of an environment that shares what never changes."""
    shared = (*spaces_of(env), env.unwrapped.spec, table_of(env.unwrapped))
    return copy.deepcopy(env, {id(part): part for part in shared})


def table_of(env: Any) -> Any:
    """Returns the table of transitions of an environment; None where there is none, whatever else it calls `P`.

    That of an environment in a wrapper is not the wrapper's. Where the start is not observed as the number of its
    state, nobody knows which state it is.
    """
    table = getattr(env, "P", None)
    is_table = isinstance(table, Mapping) and all(isinstance(row, Mapping) for row in table.values())
    is_table &= isinstance(env.observation_space, gymnasium.spaces.Discrete)
    return table if is_table and table else None


def drawn(env: Any) -> Any:
    """Returns how far the environment's own generator has been drawn from; None where it has none yet."""
    generator = getattr(env.unwrapped, "_np_random", None)
    return None if generator is None else str(generator.bit_generator.state)


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
    copied: dict[int, Any] = {}
    probe = copy.deepcopy(twin, copied)
    # Every generator of NumPy has one of bits in it.
    return probe, twin, [part for part in copied.values() if isinstance(part, np.random.BitGenerator | random.Random)]


def states_of(generators: Sequence[Any]) -> bytes:
    """Returns where generators are, and those that all code shares."""
    own = [one.getstate() if isinstance(one, random.Random) else one.state for one in generators]
    return pickle.dumps((own, random.getstate(), np.random.get_state(legacy=False)))  # noqa: NPY002

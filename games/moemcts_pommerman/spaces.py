"""The reference's observation dictionaries and actions as gymnasium spaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import gymnasium
import numpy as np
from gymnasium import spaces

from moemcts_pommerman import native

Observation = dict[str, Any]
Form = Literal["planes", "dictionary"]
"""How environments show a state: as networks see it, or as the reference does."""
# Words of a message: the reference's action space says 0..7, its documentation 1..8.
_NUM_WORDS = 2
_VOCABULARY = 8
_MAX_ITEM = 13
_MAX_AMMO = 10
SILENCE = (0, 0)


def space_of(form: Form, rules: Any) -> gymnasium.Space[Any]:
    """Returns the space of observations in that form; raises ValueError where there is no such form."""
    if form not in get_args(Form):
        raise ValueError(f"expected observation 'planes' or 'dictionary', got {form!r}")
    return planes_space(rules) if form == "planes" else observation_space(rules)


def observation_space(rules: Any) -> spaces.Dict:
    """Returns the space of what `observe` returns.

    Keys and values are the reference's. Its enums are their numbers and its lists tuples, since spaces know neither.
    """
    n = rules.board_size
    strength = spaces.Discrete(_MAX_AMMO + 1)

    def numbers(high: float) -> spaces.Box:
        return spaces.Box(0.0, high, (n, n), np.float64)

    entries: dict[str, gymnasium.Space[Any]] = {
        "alive": spaces.Sequence(spaces.Discrete(4, start=10)),
        "board": spaces.Box(0, _MAX_ITEM, (n, n), np.uint8),
        "bomb_blast_strength": numbers(10),
        "bomb_life": numbers(9),
        "bomb_moving_direction": numbers(4),
        "flame_life": numbers(3),
        "game_type": spaces.Discrete(4, start=1),
        "game_env": spaces.Text(32, charset="abcdefghijklmnopqrstuvwxyzP0123456789.:"),
        "position": spaces.Tuple([spaces.Discrete(n), spaces.Discrete(n)]),
        "blast_strength": strength,
        "can_kick": spaces.Discrete(2),
        "teammate": spaces.Discrete(5, start=9),
        "ammo": strength,
        "enemies": spaces.Sequence(spaces.Discrete(5, start=9)),
        "step_count": spaces.Discrete(rules.max_steps + 2),
    }
    if rules.has_radio:
        entries["message"] = spaces.Tuple([spaces.Discrete(_VOCABULARY + 1) for _ in range(_NUM_WORDS)])
    return spaces.Dict(entries)


def observe(state: Any, player: int, message: Sequence[int] = SILENCE) -> Observation:
    """Returns what the reference's dictionary tells `player`; `message` is what the team mate sent.

    `board` is uint8, the other four maps `[n, n]` are float64; `bomb_life` counts 9 down to 1 and `flame_life` 3 down
    to 1, both 0 where there is none.
    """
    rules = state.rules
    seen = state.observed(player)
    observation: Observation = {
        key: value.astype(np.float64) if isinstance(value, np.ndarray) and key != "board" else value
        for key, value in seen.items()
    }
    observation["alive"] = tuple(seen["alive"])
    observation["enemies"] = tuple(seen["enemies"])
    observation["can_kick"] = int(seen["can_kick"])
    observation["game_type"] = rules.game_type
    # The reference's module of the environment: v1 collapses, v2 has radio.
    version = 2 if rules.has_radio else 1 if rules.first_collapse else 0
    observation["game_env"] = f"pommerman.envs.v{version}:Pomme"
    if rules.has_radio:
        observation["message"] = tuple(int(word) for word in message)
    return observation


def action_space(rules: Any) -> gymnasium.Space[Any]:
    """Returns the six moves, and for radio the move with two words of 0..7."""
    if rules.has_radio:
        return spaces.MultiDiscrete([6] + [_VOCABULARY] * _NUM_WORDS)
    return spaces.Discrete(6)


def split_action(action: Any) -> tuple[int, tuple[int, int]]:
    """Returns the move and the message of an action, which may be the move alone.

    Raises ValueError unless these are whole numbers, the move is 0..5, and what comes with it are two words of 0..7.
    """
    given = np.atleast_1d(np.asarray(action))
    are_whole = given.dtype.kind in "iuf" and given.shape in ((1,), (1 + _NUM_WORDS,)) and not np.any(given % 1)
    numbers = [int(number) for number in given] if are_whole and np.isfinite(given).all() else []
    if not numbers or not 0 <= numbers[0] <= 5 or not all(0 <= word < _VOCABULARY for word in numbers[1:]):
        words = f"a word of 0..{_VOCABULARY - 1}"
        raise ValueError(f"expected a move of 0..5, or [move, word, word] with {words} each, got {action!r}")
    if len(numbers) == 1:
        return numbers[0], SILENCE
    return numbers[0], (numbers[1], numbers[2])


def random_words(rng: np.random.Generator) -> tuple[int, int]:
    """Returns a message of two words, any as likely as any other."""
    first, second = rng.integers(_VOCABULARY, size=_NUM_WORDS).tolist()
    return first, second


def planes_space(rules: Any) -> spaces.Box:
    """Returns the space of the 23 planes that networks see."""
    # The largest number is that of the own bombs in all, at most 20, in fifths.
    return spaces.Box(-1.0, 4.0, (len(native.planes()), rules.board_size, rules.board_size), np.float32)

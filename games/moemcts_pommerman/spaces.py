"""The reference's observation dictionaries and actions as Gymnasium spaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import gymnasium
import numpy as np
from gymnasium import spaces

from moemcts_pommerman import native

Observation = dict[str, Any]
ObservationForm = Literal["planes", "dictionary"]
"""The observations of environments: network planes, or the reference's dictionaries."""
# Words of a message: 0..7 in the reference's action space, 1..8 in its documentation.
_NUM_WORDS = 2
_VOCABULARY = 8
_MAX_ITEM = 13
_MAX_AMMO = 10
SILENCE = (0, 0)


def space_of(form: ObservationForm, rules: Any) -> gymnasium.Space[Any]:
    """Returns the observation space of that form; raises ValueError for an unknown form."""
    if form not in get_args(ObservationForm):
        raise ValueError(f"expected observation 'planes' or 'dictionary', got {form!r}")
    return planes_space(rules) if form == "planes" else observation_space(rules)


def observation_space(rules: Any) -> spaces.Dict:
    """Returns the space of the results of `observe`.

    Keys and values are the reference's, with enums as numbers and lists as tuples, as spaces support neither.
    """
    n = rules.board_size
    strength = spaces.Discrete(_MAX_AMMO + 1)

    def float_map(high: float) -> spaces.Box:
        return spaces.Box(0.0, high, (n, n), np.float64)

    entries: dict[str, gymnasium.Space[Any]] = {
        "alive": spaces.Sequence(spaces.Discrete(4, start=10)),
        "board": spaces.Box(0, _MAX_ITEM, (n, n), np.uint8),
        "bomb_blast_strength": float_map(10),
        "bomb_life": float_map(9),
        "bomb_moving_direction": float_map(4),
        "flame_life": float_map(3),
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
    """Returns the reference's observation dictionary of `player`; `message` is what the teammate sent.

    `board` is uint8, the other four maps `[n, n]` are float64; `bomb_life` counts down from 9 to 1 and `flame_life`
    from 3 to 1, both 0 on other cells.
    """
    rules = state.rules
    observation: Observation = dict(state.observed(player))
    for key, value in observation.items():
        if isinstance(value, np.ndarray) and key != "board":
            observation[key] = value.astype(np.float64)
    observation["alive"] = tuple(observation["alive"])
    observation["enemies"] = tuple(observation["enemies"])
    observation["can_kick"] = int(observation["can_kick"])
    observation["game_type"] = rules.game_type
    # The reference's module of the environment: v1 has collapsing walls, v2 radio.
    version = 2 if rules.has_radio else 1 if rules.first_collapse else 0
    observation["game_env"] = f"pommerman.envs.v{version}:Pomme"
    if rules.has_radio:
        observation["message"] = tuple(int(word) for word in message)
    return observation


def action_space(rules: Any) -> gymnasium.Space[Any]:
    """Returns the space of the six moves or, with radio, of a move with two words of 0..7."""
    if rules.has_radio:
        return spaces.MultiDiscrete([6] + [_VOCABULARY] * _NUM_WORDS)
    return spaces.Discrete(6)


def split_action(action: Any) -> tuple[int, tuple[int, int]]:
    """Returns the move and the message of an action, which may be only the move.

    Raises ValueError unless these are integers, the move is 0..5, and the message consists of two words of 0..7.
    """
    array = np.atleast_1d(np.asarray(action))
    is_numeric = array.dtype.kind in "iuf" and array.shape in ((1,), (1 + _NUM_WORDS,))
    is_whole = is_numeric and np.isfinite(array).all() and not np.any(array % 1)
    numbers = [int(number) for number in array] if is_whole else []
    if not numbers or not 0 <= numbers[0] <= 5 or not all(0 <= word < _VOCABULARY for word in numbers[1:]):
        words = f"a word of 0..{_VOCABULARY - 1}"
        raise ValueError(f"expected a move of 0..5, or [move, word, word] with {words} each, got {action!r}")
    if len(numbers) == 1:
        return numbers[0], SILENCE
    return numbers[0], (numbers[1], numbers[2])


def random_words(rng: np.random.Generator) -> tuple[int, int]:
    """Returns a uniformly random message of two words."""
    first, second = rng.integers(_VOCABULARY, size=_NUM_WORDS).tolist()
    return first, second


def planes_space(rules: Any) -> spaces.Box:
    """Returns the space of the 23 planes that networks see."""
    # The largest value is the number of own bombs, at most 20, divided by 5.
    return spaces.Box(-1.0, 4.0, (len(native.planes()), rules.board_size, rules.board_size), np.float32)

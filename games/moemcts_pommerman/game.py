"""The games of Pommerman."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any, Literal, TypedDict

import numpy as np

from moemcts.errors import unknown_name
from moemcts.game import Action, FloatArray, Game, GameSpec, IntArray, Packed, Player, Symmetry
from moemcts_pommerman import native

Corners = Literal["standard", "shuffled"]
Timeout = Literal["tie", "loss"]
ACTION_NAMES = ("stop", "up", "down", "left", "right", "bomb")

# The reference's numbers of its game types, and the registered names of the games.
GAME_NAMES = {1: "pommerman", 2: "pommerman-team", 3: "pommerman-radio", 4: "pommerman-1v1"}

_SYMMETRY_NAMES = (
    "identity",
    "flip rows",
    "flip columns",
    "half turn",
    "transpose",
    "quarter turn clockwise",
    "quarter turn anticlockwise",
    "transpose at the other diagonal",
)


class RuleOptions(TypedDict, total=False):
    """Optional changes to the parameters of an environment."""

    first_collapse: int | None
    """The step at which the outermost ring turns into walls; 0 for never."""
    max_steps: int | None
    """The step after which a game is over."""


class Pommerman(Game[native.State]):
    """One of the reference's environments as a game of simultaneous moves.

    The returns are those that PommerLearn trains on: 1 for winners, -1 for losers, 0 for ties. In a free-for-all, the
    dead have lost at once; in teams, results are decided at the end. The reference's own rewards are returned by
    `PommermanState.step`; they treat the step limit as a loss for all, as do returns with `rules.timeout_is_loss`.
    """

    def __init__(self, rules: native.Rules, *, corners: Corners = "standard", discount: float = 1.0) -> None:
        """Creates the game with `native.Rules`; with a discount, earlier wins and later losses are better.

        Raises ValueError if `corners` is unknown, or the discount is not in (0, 1].
        """
        if corners not in ("standard", "shuffled"):
            raise ValueError(f"expected corners 'standard' or 'shuffled', got {corners!r}")
        self.rules = rules
        self.corners: Corners = corners
        size = rules.board_size
        self.spec = GameSpec(
            name=GAME_NAMES[rules.game_type],
            num_players=rules.num_players,
            num_actions=len(ACTION_NAMES),
            observation_shape=(len(native.planes()), size, size),
            max_plies=rules.max_steps,
            # Players who die or survive together have no fixed sum; one team's gain is the other's loss.
            utility_sum=0.0 if rules.has_teams else None,
            teams=((0, 2), (1, 3)) if rules.has_teams else (),
            discount=discount,
            plane_names=tuple(native.planes()),
        )

    def initial_state(self, seed: int = 0) -> native.State:
        return native.State.initial(self.rules, seed % 2**64, self.corners == "shuffled")

    def parse_state(self, text: str) -> native.State:
        """Returns the state of a base64-encoded record.

        Raises ValueError for any other text, and for a state of another game or of other rules.
        """
        try:
            record = base64.b64decode(text.strip(), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError) as error:
            raise ValueError(f"expected a Pommerman state in base64, got {text!r}") from error
        state = native.State.unpack(record)
        self._check_rules(state)
        return state

    def _check_rules(self, state: native.State) -> None:
        if state.rules != self.rules:
            differences = _describe_differences(self.rules, state.rules)
            raise ValueError(f"expected a position of {self.spec.name} with its rules, got one with {differences}")

    def format_state(self, state: native.State) -> str:
        return base64.urlsafe_b64encode(state.pack()).decode()

    def format_action(self, state: native.State, player: Player, action: Action) -> str:
        return ACTION_NAMES[action]

    def render(self, state: native.State) -> str:
        return state.to_text()

    def symmetries(self) -> Sequence[Symmetry]:
        """Returns the seven symmetries of the square; planes of bomb movements are transformed accordingly."""
        return [_symmetry(number, name) for number, name in enumerate(_SYMMETRY_NAMES) if number]

    def determinize(self, state: native.State, player: Player, seed: int = 0) -> native.State:
        """Returns the state as known to `player`.

        Hidden items are removed. In fog, cells out of sight are passages without bombs and flames, players out of sight
        are placed far away, and the others have the attributes that players start with: an approximation without
        memory.
        """
        return state.perceived(player)

    def views(self, pairs: Sequence[tuple[native.State, Player]]) -> native.Views:
        """Raises ValueError for states of other rules."""
        views = native.Views(list(pairs))
        for state, _ in pairs:
            self._check_rules(state)
        return views

    def pack(self, states: Sequence[native.State]) -> Packed:
        return Packed(*native.Views([(state, 0) for state in states]).pack())

    def unpack(self, packed: Packed, players: IntArray) -> native.Views:
        data, offsets = np.ascontiguousarray(packed.data), np.ascontiguousarray(packed.offsets, dtype=np.int64)
        return native.Views.unpack(self.rules, data, offsets, np.ascontiguousarray(players, dtype=np.int64))

    def search_type(self) -> Any:
        return native.Search


MAX_STEPS = 9999
"""The largest number of steps of a game."""


def variant(
    env: str,
    *,
    first_collapse: int | None = None,
    max_steps: int | None = None,
    timeout: Timeout = "tie",
    corners: Corners = "standard",
    discount: float = 1.0,
) -> Pommerman:
    """Returns the game of the reference's environment with this id, such as `PommeTeamCompetition-v1`.

    `first_collapse` (0 for never) and `max_steps` change its parameters, `timeout` is the result of survivors at the
    step limit, and `discount` is the discount factor per step. Raises UsageError for an unknown id, ValueError for
    invalid parameters.
    """
    if env not in native.ids():
        raise unknown_name("Pommerman environment", env, native.ids())
    if timeout not in ("tie", "loss"):
        raise ValueError(f"expected timeout 'tie' or 'loss', got {timeout!r}")
    for name, number, least in (("first_collapse", first_collapse, 0), ("max_steps", max_steps, 1)):
        if number is not None and not least <= number <= MAX_STEPS:
            raise ValueError(f"expected {name} from {least} to {MAX_STEPS}, got {number}")
    rules = native.Rules(env, first_collapse=first_collapse, max_steps=max_steps, timeout_is_loss=timeout == "loss")
    return Pommerman(rules, corners=corners, discount=discount)


def variant_ids() -> list[str]:
    """Returns the ids of all environments of the reference."""
    return native.ids()


def _symmetry(number: int, name: str) -> Symmetry:
    def planes(observations: FloatArray) -> FloatArray:
        return native.transform(number, np.ascontiguousarray(observations, dtype=np.float32))

    return Symmetry(name, planes, np.array(native.transform_actions(number), dtype=np.int64))


def _describe_differences(expected: native.Rules, actual: native.Rules) -> str:
    """Returns the differences between rules as text."""
    differences = []
    for name in ("game_type", "board_size", "view", "blast_cap", "first_collapse", "max_steps", "timeout_is_loss"):
        expected_value, actual_value = getattr(expected, name), getattr(actual, name)
        if actual_value != expected_value:
            differences.append(f"{name} {actual_value} instead of {expected_value}")
    return ", ".join(differences)

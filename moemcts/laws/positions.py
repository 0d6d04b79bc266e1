"""The laws of single positions: what their methods return, their text, and what a step may change."""

from __future__ import annotations

import hashlib
import itertools
import operator
from collections.abc import Callable, Sequence
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from moemcts.errors import MoemctsError, one_line
from moemcts.game import CHANCE, FloatArray, Game, IntArray, Player, State, View, Views
from moemcts.laws import MAX_SEED, TOLERANCE, Laws, checked_type, describe_position, evenly_spaced

NUM_REPEATS = 3
"""Number of times a position is queried again, since random answers may agree by chance."""
MAX_ACTIONS = 1_000
"""Maximum number of legal actions per position whose texts are checked; of more, evenly spaced ones are."""
MAX_NAMES = 10_000
"""Approximate maximum number of texts generated per position: parsing one generates those of all legal actions."""
DETERMINIZATION_SEEDS = (0, 1, MAX_SEED)
"""Seeds of determinizations."""
MAX_OBSERVED = 10_000
"""The absolute value of a number in an observation above which a note says that it is large."""
INVALID_TEXTS = ("", "?")
"""Texts that are unlikely to be valid positions or actions."""


class Snapshot(NamedTuple):
    """All that can be observed of a position."""

    ply: int
    active_players: tuple[Player, ...]
    legal_actions: tuple[tuple[int, ...], ...]
    """By active player."""
    chances: tuple[float | None, ...]
    """NaN is None, here and below, as it is not equal to itself."""
    returns: tuple[float | None, ...]
    rewards: tuple[float | None, ...]
    observations: tuple[bytes, ...]
    """A hash per player."""
    key: int

    def differing_fields(self, other: Snapshot) -> str:
        """Returns the names of the fields that differ; empty if there are none."""
        fields = zip(self._fields, self, other, strict=True)
        return ", ".join(name for name, value, other_value in fields if value != other_value)


def take_snapshot(game: Game, state: State) -> Snapshot:
    """Returns what can be observed of a position whose methods return the declared types."""
    players = tuple(state.active_players)
    return Snapshot(
        state.ply,
        players,
        tuple(tuple(map(int, state.legal_actions(player))) for player in players),
        _comparable(state.chances()) if players == (CHANCE,) else (),
        _comparable(state.returns()),
        _comparable(state.rewards()),
        tuple(_digest(state.observation(player)) for player in range(game.spec.num_players)),
        state.key(),
    )


def check_position(game: Game, state: State, laws: Laws) -> Snapshot:
    """Checks what a position's methods return; returns what can be observed of it."""
    checked_type("ply", state.ply, Integral)
    players = checked_type("active_players", state.active_players, tuple)
    is_chance = players == (CHANCE,)
    laws.expect(
        "active players ascend below num_players, chance moves alone",
        is_chance or (_ascend(players) and all(player < game.spec.num_players for player in players)),
        f"got {players} with {game.spec.num_players} players",
    )
    _check_rewards(game, state, laws)
    if is_chance:
        _check_chance(game, state, laws)
    for player in () if is_chance else players:
        _check_legal_actions(game, state, player, laws)
    for player in range(game.spec.num_players):
        _check_observation(game, state, player, laws)
    key = state.key()
    is_plain = isinstance(key, int) and 0 <= key < 2**64
    laws.expect("keys are 64-bit whole numbers", is_plain, f"got {key!r}, {type(key)}, not 0 to 2**64 - 1")
    snapshot = take_snapshot(game, state)
    _check_repeatable(game, state, snapshot, laws)
    _check_text(game, state, snapshot, laws)
    if players and not is_chance:
        for player, seed in itertools.product(players, DETERMINIZATION_SEEDS):
            _check_determinization(game, state, player, seed, laws)
        check_views(game, [(state, int(player)) for player in players], laws)
    changed = snapshot.differing_fields(take_snapshot(game, state))
    laws.expect(
        "only play leads to other positions", not changed, f"calling a position's methods changes its {changed}"
    )
    return snapshot


def check_step(game: Game, state: State, joint: Sequence[int], before: Snapshot, laws: Laws) -> State:
    """Checks a step from a position that was observed as `before`; returns the next position."""
    arrays = _returned_arrays(game, state)
    child: State = checked_type("play", state.play(list(joint)), State)
    changed = before.differing_fields(take_snapshot(game, state))
    laws.expect(
        "play does not change the position it is called on",
        not changed,
        f"{list(joint)} changes its {changed}; play returns a new position, which shares no list or array with "
        "this one",
    )
    _check_ply(state, joint, child, laws)
    # Invalid values of the next position are reported when that position is checked; here they only prevent
    # comparisons.
    try:
        after = take_snapshot(game, child)
        _check_repeatable(game, child, after, laws)
        twin = take_snapshot(game, checked_type("play", state.play(list(joint)), State))
        changed, other = after.differing_fields(take_snapshot(game, child)), after.differing_fields(twin)
    except (TypeError, ValueError, AttributeError):
        return child
    laws.expect(
        "positions share nothing that play changes",
        not changed,
        f"{list(joint)}, played again, changes the {changed} of where it led before; do positions share a list or an "
        "array?",
    )
    laws.expect(
        "play is not random",
        not other,
        f"{list(joint)}, played twice, leads to positions that differ in {other}; whatever is random is drawn by "
        "CHANCE",
    )
    overwritten = [call for call, array, digest in arrays if _digest(array) != digest]
    laws.expect(
        "arrays stay as they were returned",
        not overwritten,
        f"what {', '.join(overwritten)} returned has changed since; each call returns an array of its own",
    )
    return child


def check_joint(state: State, joint: Sequence[int], laws: Laws) -> None:
    """Checks that a joint action can be played."""
    _check_ply(state, joint, checked_type("play", state.play(list(joint)), State), laws)


def check_views(game: Game, pairs: Sequence[tuple[State, Player]], laws: Laws) -> None:
    """Checks views of positions, and their packed form as in datasets."""
    players = np.array([player for _, player in pairs], dtype=np.int64)
    _check_batch("views", game, game.views(pairs), pairs, laws)
    unpacked = game.unpack(game.pack([state for state, _ in pairs]), players)
    _check_batch("unpack(pack(x))", game, unpacked, pairs, laws)


def check_refusals(game: Game, state: State, laws: Laws) -> None:
    """Checks that invalid texts of positions and actions are rejected as user errors."""
    text = game.format_state(state)
    # Texts that are nearly valid may be accepted, if they happen to be valid.
    for invalid in (*INVALID_TEXTS, f"{text},1", text[: len(text) // 2], text[len(text) // 2 :], "0"):
        _check_refusal("parse_state", game.parse_state, invalid, laws)
    for invalid in INVALID_TEXTS:
        _check_refusal("parse_action", partial(game.parse_action, state, state.active_players[0]), invalid, laws)


def _check_ply(state: State, joint: Sequence[int], child: State, laws: Laws) -> None:
    plies = (state.ply, child.ply)
    laws.expect("plies count up", plies[1] == plies[0] + 1, f"{list(joint)} leads from ply {plies[0]} to {plies[1]}")


def _check_batch(what: str, game: Game, views: Views, pairs: Sequence[tuple[State, Player]], laws: Laws) -> None:
    laws.expect(f"{what}: one view per pair", len(views) == len(pairs), f"got {len(views)} of {len(pairs)}")
    found, players = views.players(), [player for _, player in pairs]
    same = np.array_equal(found, players)
    laws.expect(f"{what}: players as asked", same, lambda: f"got {found}, not {players}")
    plies, expected = views.plies(), [state.ply for state, _ in pairs]
    same = np.array_equal(plies, expected)
    laws.expect(f"{what}: the same plies as the state's", same, lambda: f"got {plies}, not {expected}")
    planes, mask = views.observations(), views.legal_mask()
    laws.expect(f"{what}: observations are float32", planes.dtype == np.float32, f"got {planes.dtype}")
    for row in range(len(pairs)):
        _check_view(what, game, View(*views[row]).state.key(), pairs[row], planes[row], np.flatnonzero(mask[row]), laws)


def _check_view(
    what: str, game: Game, key: int, pair: tuple[State, Player], planes: FloatArray, marked: IntArray, laws: Laws
) -> None:
    state, player = pair
    legal = list(state.legal_actions(player))

    def said(found: str) -> Callable[[], str]:
        return lambda: f"{found} of player {player} in {describe_position(game, state)}"

    same = np.array_equal(planes, state.observation(player))
    laws.expect(f"{what}: the same observations as the state's", same, said("got another"))
    same = np.array_equal(marked, legal)
    laws.expect(f"{what}: the same legal actions as the state's", same, lambda: said(f"got {marked}, not {legal},")())
    laws.expect(f"{what}: the same keys as the state's", key == state.key(), said(f"got {key}, not {state.key()},"))


def _returned_arrays(game: Game, state: State) -> list[tuple[str, Any, bytes]]:
    """Returns the arrays that a position returns: the name of the call, the array itself, and its hash."""
    calls = [("returns()", state.returns), ("rewards()", state.rewards)]
    players = range(game.spec.num_players)
    calls += [(f"observation({player})", partial(state.observation, player)) for player in players]
    return [(name, array := call(), _digest(array)) for name, call in calls]


def _check_repeatable(game: Game, state: State, snapshot: Snapshot, laws: Laws) -> None:
    for _ in range(NUM_REPEATS):
        changed = snapshot.differing_fields(take_snapshot(game, state))
        laws.expect("a position always gives the same answers", not changed, f"asked again, it differs in {changed}")


def _check_rewards(game: Game, state: State, laws: Laws) -> None:
    """Checks the rewards of the step into a position, and its decided players."""
    num_players, is_over = game.spec.num_players, not state.active_players
    returns = _checked_numbers("returns", state.returns(), num_players, laws)
    rewards = _checked_numbers("rewards", state.rewards(), num_players, laws)
    laws.expect(
        "rewards sum to zero where the returns have a fixed sum",
        game.spec.utility_sum is None or abs(float(rewards.sum())) < TOLERANCE,
        lambda: f"got {rewards}",
    )
    decided = [player for player in range(num_players) if state.is_decided(player)]
    has_early_returns = any(returns[player] and player in state.active_players for player in decided)
    hint = f"; returns() gives {returns}, but what is paid while a game goes on belongs to rewards()"
    laws.expect(
        "a decided player is never active again",
        not set(decided) & set(state.active_players),
        f"{decided} are decided, but {state.active_players} are active{hint if has_early_returns else ''}",
    )
    laws.expect(
        "all are decided at the end",
        not is_over or len(decided) == num_players,
        f"only {decided} of {num_players} are",
    )
    laws.expect(
        "returns are 0 for players whose return is not decided",
        all(not returns[player] for player in range(num_players) if player not in decided),
        lambda: (
            f"got {returns}, but only {decided} are decided; what is paid while a game goes on belongs to rewards()"
        ),
    )


def _checked_numbers(name: str, value: Any, num_players: int, laws: Laws) -> Any:
    """Returns the returns or rewards of a position, `[P]`, after checking them."""
    numbers = checked_type(name, value, np.ndarray)
    is_per_player = numbers.shape == (num_players,)
    laws.expect(f"{name} are one per player", is_per_player, f"expected {(num_players,)}, got {numbers.shape}")
    laws.expect(f"{name} are float32", numbers.dtype == np.float32, f"got {numbers.dtype}")
    laws.expect(f"{name} are numbers", bool(np.isfinite(numbers).all()), lambda: f"got {numbers}")
    return numbers


def _check_chance(game: Game, state: State, laws: Laws) -> None:
    outcomes, chances = list(state.legal_actions(CHANCE)), checked_type("chances", state.chances(), np.ndarray)
    laws.expect(
        "outcomes of chance are integers of at least 0, ascending",
        bool(outcomes) and _ascend(outcomes),
        f"got {outcomes}",
    )
    laws.expect(
        "chances are a distribution",
        chances.shape == (len(outcomes),) and bool((chances >= 0).all()) and abs(float(chances.sum()) - 1) < TOLERANCE,
        lambda: f"got {chances} for the outcomes {outcomes}",
    )
    for outcome in evenly_spaced(outcomes, MAX_ACTIONS):
        _checked_action_text(game, state, CHANCE, outcome, laws)


def _check_legal_actions(game: Game, state: State, player: Player, laws: Laws) -> None:
    returned = checked_type("legal_actions", state.legal_actions(player), Sequence, np.ndarray)
    legal = returned.tolist() if isinstance(returned, np.ndarray) else list(returned)
    laws.expect("every active player has a legal action", bool(legal), f"player {player} has none")
    laws.expect("legal actions are integers of at least 0, ascending", _ascend(legal), lambda: f"got {legal}")
    num_actions = game.spec.num_actions
    laws.expect(
        "legal actions are below num_actions", legal[-1] < num_actions, lambda: f"got {legal}, but only {num_actions}"
    )
    searched = list(map(int, state.search_actions(player)))
    searched_set = set(searched)
    laws.expect(
        "actions worth searching are a part of the legal ones",
        bool(searched) and searched == [action for action in legal if action in searched_set],
        lambda: f"got {searched} of {legal}",
    )
    _check_action_texts(game, state, player, legal, laws)


def _check_action_texts(game: Game, state: State, player: Player, legal: Sequence[int], laws: Laws) -> None:
    """Checks the texts of legal actions, and that they can be parsed."""
    texts: dict[str, int] = {}
    for action in evenly_spaced(legal, MAX_ACTIONS):
        text = _checked_action_text(game, state, player, action, laws)
        first = texts.setdefault(text, action)
        laws.expect(
            "no two actions are written the same way", first == action, f"{first} and {action} are both {text!r}"
        )
    for text in evenly_spaced(list(texts), max(1, MAX_NAMES // len(legal))):
        action, parsed = texts[text], game.parse_action(state, player, text)
        laws.expect("actions survive parse(format(x))", parsed == action, f"{action} became {text!r}, then {parsed}")


def _checked_action_text(game: Game, state: State, player: Player, action: int, laws: Laws) -> str:
    """Returns the text of an action, or of a chance outcome, which need not be parseable."""
    text: str = checked_type("format_action", game.format_action(state, player, action), str)
    laws.expect(
        "actions are written on one line, without spaces around them",
        bool(text) and text.strip() == "".join(text.splitlines()) == text,
        f"{action} became {text!r}",
    )
    return text


def _check_observation(game: Game, state: State, player: Player, laws: Laws) -> None:
    planes, shape = checked_type("observation", state.observation(player), np.ndarray), game.spec.observation_shape
    laws.expect("observations have the declared shape", planes.shape == shape, f"expected {shape}, got {planes.shape}")
    laws.expect("observations are float32", planes.dtype == np.float32, f"got {planes.dtype}")
    laws.expect(
        "observations are numbers", bool(np.isfinite(planes).all()), f"player {player} has NaN or infinity among them"
    )
    if np.abs(planes).max(initial=0) > MAX_OBSERVED:
        laws.skip(
            "networks can learn from observations",
            f"some numbers are beyond {MAX_OBSERVED:,}, with which training may diverge; divide them by their largest",
        )


def _check_text(game: Game, state: State, snapshot: Snapshot, laws: Laws) -> None:
    text = checked_type("format_state", game.format_state(state), str)
    laws.expect("a state is written on one line", "".join(text.splitlines()) == text, f"got {text!r}")
    parsed = checked_type("parse_state", game.parse_state(text), State)
    changed = snapshot.differing_fields(take_snapshot(game, parsed))
    laws.expect(
        "states survive parse(format(x))", not changed, f"{text!r} is read as a state that differs in {changed}"
    )
    laws.expect("positions are drawn as text", isinstance(game.render(state), str), f"render of {text!r}")


def _check_refusal(method: str, parse: Callable[[str], object], text: str, laws: Laws) -> None:
    raised = ""
    try:
        parse(text)
    except (ValueError, MoemctsError):
        pass
    except Exception as error:
        raised = one_line(error)
    laws.expect("text that cannot be read raises a ValueError", not raised, f"{method} of {text!r} raised {raised}")


def _check_determinization(game: Game, state: State, player: Player, seed: int, laws: Laws) -> None:
    determinized = checked_type("determinize", game.determinize(state, player, seed), State)
    text = partial(describe_position, game, determinized)
    players = tuple(determinized.active_players)
    laws.expect(
        "whoever perceives a position moves in it",
        player in players,
        f"player {player} perceives one in which {players or 'nobody'} moves",
    )
    legal, expected = (list(map(int, position.legal_actions(player))) for position in (determinized, state))
    laws.expect(
        "legal actions are the same in a perceived position",
        legal == expected,
        lambda: f"player {player} perceives {legal}, not {expected}",
    )
    laws.expect(
        "a perceived position looks the same to its player",
        np.array_equal(determinized.observation(player), state.observation(player)),
        lambda: f"player {player} perceives {text()}, of which it observes something else",
    )
    laws.expect(
        "equal seeds give equal perceived positions",
        game.determinize(state, player, seed).key() == determinized.key(),
        f"player {player} perceives two for the seed {seed}; what determinize draws depends on its seed alone",
    )


def _ascend(indices: Sequence[Any]) -> bool:
    """Returns whether these are strictly ascending non-negative integers."""
    # By type, as there may be very many indices but few types.
    are_whole = all(issubclass(kind, Integral) and not issubclass(kind, bool) for kind in set(map(type, indices)))
    return are_whole and all(map(operator.lt, (-1, *indices), indices))


def _comparable(numbers: Any) -> tuple[float | None, ...]:
    return tuple(None if np.isnan(number) else float(number) for number in numbers)


def _digest(planes: Any) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(planes).tobytes(), digest_size=16).digest()

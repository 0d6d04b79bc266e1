"""The laws of whole games: their ends, rewards, reproducibility and symmetries."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from moemcts.game import CHANCE, FloatArray, Game, State, Symmetry, discounts
from moemcts.laws import TOLERANCE, Laws, placed, random_joint, returned, spread, written
from moemcts.laws.positions import Seen, check_joint, check_position, check_refusals, check_step, check_views

NUM_REPLAYS = 5
"""Number of times each game is replayed, as rare randomness is not found at once."""
NUM_OTHERS = 8
"""Number of joint actions that are played in each position in addition to the one the game continues with."""
MAX_PACKED = 64
"""Number of views of a game, evenly spaced, that are packed together."""
MAPPED = "symmetries map games to games"


class Course(NamedTuple):
    """A game from start to end."""

    states: list[State]
    joints: list[list[int]]
    """The joint action played in each position but the last."""
    found: list[Seen]
    """What can be observed of each position."""


def checked_course(game: Game, rng: np.random.Generator, seed: int, laws: Laws) -> Course:
    """Returns a random game; each position is checked before any action is played in it.

    Some of the other legal actions are played as well.
    """
    state = first_position(game, seed, laws)
    (others,) = rng.spawn(1)
    course = Course([state], [], [])
    while True:
        number = len(course.joints)
        # Formatted before anything is played, since a faulty `play` may change the position.
        where = f"at ply {number} of game {seed}, in {written(game, state)}"
        with placed(where):
            course.found.append(check_position(game, state, laws))
            if not state.active_players:
                return course
            laws.expect(
                "no game is longer than max_plies",
                number < game.spec.max_plies,
                f"the game is not over after {game.spec.max_plies} plies",
            )
            joint = random_joint(state, state.active_players, rng)
        with placed(f"{where}, where {joint} is played"):
            following = check_step(game, state, joint, course.found[-1], laws)
        for other in _other_joints(state, joint, others):
            with placed(f"{where}, where {other} is played"):
                check_joint(state, other, laws)
        course.joints.append(joint)
        course.states.append(following)
        state = following


def check_course(game: Game, course: Course, seed: int, laws: Laws) -> None:
    """Checks properties of a whole game."""
    with placed(f"at the end of game {seed}, in {written(game, course.states[-1])}"):
        for _ in range(NUM_REPLAYS):
            _check_replay(game, course, seed, laws)
        _check_end(game, course.states, laws)
        _check_decided(game, course.states, laws)
        pairs = [(state, player) for state in course.states for player in state.active_players if player != CHANCE]
        check_views(game, spread(pairs, MAX_PACKED), laws)
        check_refusals(game, course.states[0], laws)


def first_position(game: Game, seed: int, laws: Laws) -> State:
    """Returns the start position of a game, in which a player has to move."""
    with placed(f"in initial_state({seed})"):
        state: State = returned("initial_state", game.initial_state(seed), State)
        players = returned("active_players", state.active_players, tuple)
        moves = "chance moves" if players else "nobody moves"
        laws.expect("a player moves first", bool(players) and players != (CHANCE,), f"{moves} in the first position")
        return state


def check_symmetries(game: Game, course: Course, laws: Laws) -> None:
    """Checks that symmetries map a game to another valid game."""
    states, joints = course.states, course.joints
    for symmetry in returned("symmetries", game.symmetries(), Sequence):
        actions = returned("symmetries", returned("symmetries", symmetry, Symmetry).actions, np.ndarray)
        laws.expect(
            "symmetries permute actions",
            np.array_equal(np.sort(actions, axis=None), np.arange(game.spec.num_actions)),
            f"{symmetry.name} maps to {actions.tolist()}",
        )
        planes = np.stack([state.observation(0) for state in states])
        laws.expect(
            "symmetries keep the shape of observations",
            symmetry.planes(planes).shape == planes.shape,
            f"{symmetry.name} gives {symmetry.planes(planes).shape}",
        )
        if not np.array_equal(symmetry.planes(_planes(game, states[0])), _planes(game, states[0])):
            laws.leave_out(MAPPED, f"the start looks different to symmetry {symmetry.name}")
        elif _hides_something(game, states[0]):
            laws.leave_out(MAPPED, "the start hides something, which no symmetry maps")
        else:
            _check_mapped_game(game, symmetry, states, joints, laws)


class Keys:
    """The keys of positions, with what can be observed of the first position of each key."""

    def __init__(self, game: Game, laws: Laws) -> None:
        self._game = game
        self._laws = laws
        self._first: dict[int, tuple[Seen, str]] = {}

    def note(self, state: State, found: Seen) -> None:
        """Checks that all positions with this key are alike in actions and in the observations of active players."""
        text = self._game.format_state(state)
        movers = _to_movers(found)
        other, its_text = self._first.setdefault(found.key, (movers, text))
        self._laws.expect(
            "positions that look different have different keys",
            other == movers,
            f"{its_text} and {text} have the key {found.key} and differ in {other.unlike(movers)}",
        )

    def kept(self, count: int) -> dict[str, int]:
        """Returns the keys of about `count` evenly spaced positions, by their texts."""
        texts = {text: key for key, (_, text) in self._first.items()}
        stride = max(1, len(texts) // count)
        return dict(itertools.islice(texts.items(), 0, None, stride))


def _other_joints(state: State, joint: Sequence[int], rng: np.random.Generator) -> list[list[int]]:
    """Returns joint actions other than `joint`, few enough to play, that together cover as many actions as possible."""
    players = state.active_players
    if players == (CHANCE,):
        # Outcomes with probability zero never occur.
        shares = zip(state.legal_actions(CHANCE), state.chances(), strict=True)
        legal = [[outcome for outcome, share in shares if share]]
    else:
        legal = [list(state.legal_actions(player)) for player in players]
    orders = [rng.permutation(actions).tolist() for actions in legal]
    count = min(NUM_OTHERS, max(map(len, orders)))
    joints = [[order[number % len(order)] for order in orders] for number in range(count)]
    return [other for other in joints if other != list(joint)]


def _to_movers(found: Seen) -> Seen:
    """Returns what active players observe of a position, independent of its history."""
    players = [player for player in found.active_players if player != CHANCE]
    observations = tuple(found.observations[player] for player in players)
    return found._replace(ply=0, rewards=(), observations=observations)


def _check_replay(game: Game, course: Course, seed: int, laws: Laws) -> None:
    states, again = course.states, [game.initial_state(seed)]
    for joint in course.joints:
        again.append(again[-1].play(joint))
    plies = [ply for ply, (one, other) in enumerate(zip(states, again, strict=True)) if one.key() != other.key()]
    laws.expect(
        "equal seeds give equal games",
        not plies,
        f"seed {seed} and the same moves gave two different games, from ply {min(plies, default=0)} on",
    )


def _check_end(game: Game, states: Sequence[State], laws: Laws) -> None:
    spec, final = game.spec, np.asarray(states[-1].returns())
    laws.expect("returns are in [-1, 1]", bool((np.abs(final) <= 1 + TOLERANCE).all()), f"got {final}")
    if spec.utility_sum is not None:
        laws.expect(
            "final returns sum to utility_sum",
            abs(float(final.sum()) - spec.utility_sum) < TOLERANCE,
            f"expected {spec.utility_sum}, got {final}; a game whose sum is not fixed says utility_sum=None",
        )
    if spec.teams:
        got = final + sum((np.asarray(state.rewards()) for state in states[1:]), np.zeros(spec.num_players))
        laws.expect(
            "team mates have the same returns",
            all(np.ptp(got[list(team)]) < TOLERANCE for team in spec.teams),
            f"got {got} for teams {spec.teams}",
        )
    if any(np.any(state.rewards()) for state in states[1:]):
        _check_values(game, states, laws)


def _check_decided(game: Game, states: Sequence[State], laws: Laws) -> None:
    for i, state in enumerate(states[:-1]):
        for player in (player for player in range(game.spec.num_players) if state.is_decided(player)):
            value = state.returns()[player]
            laws.expect(
                "a decided return is final, and its player is not active or paid again",
                all(later.returns()[player] == value and player not in later.active_players for later in states[i:])
                and not any(later.rewards()[player] for later in states[i + 1 :]),
                f"player {player} had {value} at ply {state.ply} of {states[-1].ply}",
            )


def _check_values(game: Game, states: Sequence[State], laws: Laws) -> None:
    """Checks the value of each position: the discounted sum of later rewards and of the final returns."""
    values = np.asarray(states[-1].returns(), dtype=np.float64)
    for before, after in reversed(list(itertools.pairwise(states))):
        values = after.rewards() + discounts(before, after, game.spec.discount, game.spec.num_players) * values
        laws.expect(
            "values are in [-1, 1] where steps pay",
            bool((np.abs(values) <= 1 + TOLERANCE).all()),
            f"{values} are still to come at ply {before.ply}; rewards and returns are divided by the largest such sum",
        )


def _check_mapped_game(
    game: Game, symmetry: Symmetry, states: Sequence[State], joints: Sequence[list[int]], laws: Laws
) -> None:
    mapped = states[0]
    for state, joint in itertools.zip_longest(states, joints):
        _check_same_outcome(game, symmetry, state, mapped, laws)
        for player in state.active_players:
            if player == CHANCE:
                # Symmetries do not define the mapping of chance outcomes.
                return
            expected = sorted(int(symmetry.actions[action]) for action in state.legal_actions(player))
            found = [int(action) for action in mapped.legal_actions(player)]
            laws.expect(
                "symmetries map legal actions to legal actions",
                found == expected,
                f"{symmetry.name} expects {expected}, the mapped position has {found}",
            )
        laws.expect(
            "symmetries map observations to those of mapped positions",
            np.array_equal(symmetry.planes(_planes(game, state)), _planes(game, mapped)),
            f"{symmetry.name} at {game.format_state(state)}",
        )
        if joint is not None:
            mapped = mapped.play([int(symmetry.actions[action]) for action in joint])


def _check_same_outcome(game: Game, symmetry: Symmetry, state: State, mapped: State, laws: Laws) -> None:
    laws.expect(
        "symmetries keep who moves, what is paid and who wins",
        tuple(mapped.active_players) == tuple(state.active_players)
        and np.allclose(mapped.rewards(), state.rewards(), atol=TOLERANCE)
        and np.allclose(mapped.returns(), state.returns(), atol=TOLERANCE),
        lambda: f"{symmetry.name} at {game.format_state(state)}: {_outcome(state)} became {_outcome(mapped)}",
    )


def _outcome(state: State) -> str:
    movers = ", ".join(map(str, state.active_players)) or "nobody"
    return f"{movers} to move, rewards {state.rewards()}, returns {state.returns()}"


def _hides_something(game: Game, state: State) -> bool:
    """Returns whether the position has another determinization for an active player."""
    return any(game.determinize(state, player, seed=0).key() != state.key() for player in state.active_players)


def _planes(game: Game, state: State) -> FloatArray:
    return np.stack([state.observation(player) for player in range(game.spec.num_players)])

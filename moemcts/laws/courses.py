"""The laws of whole games: how they end, what they pay, that they can be played again, and their symmetries."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from moemcts.game import CHANCE, FloatArray, Game, State, Symmetry, discounts
from moemcts.laws import TOLERANCE, Laws, random_joint, returned
from moemcts.laws.positions import Seen, check_position, check_step

NUM_REPLAYS = 5
"""Times that each game is played again: rules that draw seldom are not found at once."""
MAPPED = "symmetries map games to games"


class Course(NamedTuple):
    """A game from its start to its end."""

    states: list[State]
    joints: list[list[int]]
    """What was played in each position but the last."""
    found: list[Seen]
    """What can be seen of each position."""


def checked_course(game: Game, rng: np.random.Generator, seed: int, laws: Laws) -> Course:
    """Returns a game at random, each position of which is checked before anything is played in it."""
    state = returned("initial_state", game.initial_state(seed), State)
    course = Course([state], [], [])
    players = returned("active_players", state.active_players, tuple)
    laws.expect("a player moves first", players != (CHANCE,), "the first position is chance's")
    while True:
        course.found.append(check_position(game, state, laws))
        if not state.active_players:
            return course
        laws.expect(
            "no game is longer than max_plies",
            len(course.joints) < game.spec.max_plies,
            f"{game.spec.max_plies} plies and not over",
        )
        course.joints.append(random_joint(state, state.active_players, rng))
        state = check_step(game, state, course.joints[-1], course.found[-1], laws)
        course.states.append(state)


def check_course(game: Game, course: Course, seed: int, laws: Laws) -> None:
    """Checks a game from its start to its end."""
    states, joints = course.states, course.joints
    for _ in range(NUM_REPLAYS):
        _check_replay(game, states, joints, seed, laws)
    _check_end(game, states, laws)
    for i, state in enumerate(states[:-1]):
        for player in (player for player in range(game.spec.num_players) if state.is_decided(player)):
            value = state.returns()[player]
            laws.expect(
                "a decided return is final, and its player is not active or paid again",
                all(later.returns()[player] == value and player not in later.active_players for later in states[i:])
                and not any(later.rewards()[player] for later in states[i + 1 :]),
                f"player {player} had {value} at ply {state.ply} of {states[-1].ply}",
            )


def check_symmetries(game: Game, course: Course, laws: Laws) -> None:
    """Checks that symmetries map a game to one that could have been played as well."""
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
        if np.array_equal(symmetry.planes(_planes(game, states[0])), _planes(game, states[0])):
            _check_mapped_game(game, symmetry, states, joints, laws)
        else:
            laws.leave_out(MAPPED, f"the start looks different to symmetry {symmetry.name}")


class Keys:
    """The keys of positions and what they stand for."""

    def __init__(self, game: Game, laws: Laws) -> None:
        self._game = game
        self._laws = laws
        self._first: dict[int, tuple[Seen, str]] = {}

    def note(self, state: State, found: Seen) -> None:
        """Checks that no position with this key looks different to those who move, or is played otherwise."""
        text = self._game.format_state(state)
        movers = _to_movers(found)
        other, its_text = self._first.setdefault(found.key, (movers, text))
        self._laws.expect(
            "positions that look different have different keys",
            other == movers,
            f"{its_text} and {text} have the key {found.key} and differ in {other.unlike(movers)}",
        )

    def kept(self, count: int) -> dict[str, int]:
        """Returns the keys of as many positions, spread over all of them, by how they are written."""
        texts = {text: key for key, (_, text) in self._first.items()}
        stride = max(1, len(texts) // count)
        return dict(itertools.islice(texts.items(), 0, None, stride))


def _to_movers(found: Seen) -> Seen:
    """Returns what of a position is seen by those who move in it, whatever led to it."""
    players = [player for player in found.active_players if player != CHANCE]
    observations = tuple(found.observations[player] for player in players)
    return found._replace(ply=0, rewards=(), observations=observations)


def _check_replay(game: Game, states: Sequence[State], joints: Sequence[list[int]], seed: int, laws: Laws) -> None:
    again = [game.initial_state(seed)]
    for joint in joints:
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
            f"got {got} of teams {spec.teams}",
        )
    if any(np.any(state.rewards()) for state in states[1:]):
        _check_values(game, states, laws)


def _check_values(game: Game, states: Sequence[State], laws: Laws) -> None:
    """Checks what is still to come at each position: what is paid from there on, and the return at the end."""
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
    for state, joint in zip(states, joints, strict=False):
        for player in state.active_players:
            if player == CHANCE:
                # What its outcomes become is not said.
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
        mapped = mapped.play([int(symmetry.actions[action]) for action in joint])


def _planes(game: Game, state: State) -> FloatArray:
    return np.stack([state.observation(player) for player in range(game.spec.num_players)])

"""The laws of whole games: their ends, rewards, reproducibility and symmetries."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from moemcts.game import CHANCE, FloatArray, Game, State, Symmetry, discounts
from moemcts.laws import TOLERANCE, Laws, checked_type, describe_position, error_context, evenly_spaced, random_joint
from moemcts.laws.positions import Snapshot, check_joint, check_position, check_refusals, check_step, check_views

NUM_REPLAYS = 5
"""Number of times each game is replayed, as rare randomness is not found at once."""
NUM_OTHERS = 8
"""Number of joint actions that are played in each position in addition to the one the game continues with."""
MAX_PACKED = 64
"""Number of views of a game, evenly spaced, that are packed together."""
MAPPED = "symmetries map games to games"


class Trajectory(NamedTuple):
    """A game from its start to its end."""

    states: list[State]
    joints: list[list[int]]
    """The joint action played in each position but the last."""
    snapshots: list[Snapshot]
    """What can be observed of each position."""


def play_checked_game(game: Game, rng: np.random.Generator, seed: int, laws: Laws) -> Trajectory:
    """Returns a random game; each position is checked before any action is played in it.

    Some of the other legal actions are played as well.
    """
    state = checked_start(game, seed, laws)
    (other_rng,) = rng.spawn(1)
    trajectory = Trajectory([state], [], [])
    while True:
        ply = len(trajectory.joints)
        # Formatted before anything is played, since a faulty `play` may change the position.
        where = f"at ply {ply} of game {seed}, in {describe_position(game, state)}"
        with error_context(where):
            trajectory.snapshots.append(check_position(game, state, laws))
            if not state.active_players:
                return trajectory
            laws.expect(
                "no game is longer than max_plies",
                ply < game.spec.max_plies,
                f"the game is not over after {game.spec.max_plies} plies",
            )
            joint = random_joint(state, state.active_players, rng)
        with error_context(f"{where}, where {joint} is played"):
            next_state = check_step(game, state, joint, trajectory.snapshots[-1], laws)
        for other in _other_joints(state, joint, other_rng):
            with error_context(f"{where}, where {other} is played"):
                check_joint(state, other, laws)
        trajectory.joints.append(joint)
        trajectory.states.append(next_state)
        state = next_state


def check_whole_game(game: Game, trajectory: Trajectory, seed: int, laws: Laws) -> None:
    """Checks properties of a whole game."""
    with error_context(f"at the end of game {seed}, in {describe_position(game, trajectory.states[-1])}"):
        for _ in range(NUM_REPLAYS):
            _check_replay(game, trajectory, seed, laws)
        _check_end(game, trajectory.states, laws)
        _check_decided(game, trajectory.states, laws)
        pairs = [(state, player) for state in trajectory.states for player in state.active_players if player != CHANCE]
        check_views(game, evenly_spaced(pairs, MAX_PACKED), laws)
        check_refusals(game, trajectory.states[0], laws)


def checked_start(game: Game, seed: int, laws: Laws) -> State:
    """Returns the start position of a game, in which a player has to move."""
    with error_context(f"in initial_state({seed})"):
        state: State = checked_type("initial_state", game.initial_state(seed), State)
        players = checked_type("active_players", state.active_players, tuple)
        moves = "chance moves" if players else "nobody moves"
        laws.expect("a player moves first", bool(players) and players != (CHANCE,), f"{moves} in the first position")
        return state


def check_symmetries(game: Game, trajectory: Trajectory, laws: Laws) -> None:
    """Checks that symmetries map a game to another valid game."""
    states, joints = trajectory.states, trajectory.joints
    for symmetry in checked_type("symmetries", game.symmetries(), Sequence):
        actions = checked_type("symmetries", checked_type("symmetries", symmetry, Symmetry).actions, np.ndarray)
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
            laws.skip(MAPPED, f"the start looks different to symmetry {symmetry.name}")
        elif _hides_something(game, states[0]):
            laws.skip(MAPPED, "the start hides something, which no symmetry maps")
        else:
            _check_mapped_game(game, symmetry, states, joints, laws)


class Keys:
    """The keys of positions, with what can be observed of the first position of each key."""

    def __init__(self, game: Game, laws: Laws) -> None:
        self._game = game
        self._laws = laws
        self._first: dict[int, tuple[Snapshot, str]] = {}

    def check(self, state: State, snapshot: Snapshot) -> None:
        """Checks that all positions with this key are alike in actions and in the observations of active players."""
        text = self._game.format_state(state)
        visible = _visible_to_movers(snapshot)
        first, first_text = self._first.setdefault(snapshot.key, (visible, text))
        self._laws.expect(
            "positions that look different have different keys",
            first == visible,
            f"{first_text} and {text} have the key {snapshot.key} and differ in {first.differing_fields(visible)}",
        )

    def sample(self, count: int) -> dict[str, int]:
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


def _visible_to_movers(snapshot: Snapshot) -> Snapshot:
    """Returns what active players observe of a position, independent of its history."""
    players = [player for player in snapshot.active_players if player != CHANCE]
    observations = tuple(snapshot.observations[player] for player in players)
    return snapshot._replace(ply=0, rewards=(), observations=observations)


def _check_replay(game: Game, trajectory: Trajectory, seed: int, laws: Laws) -> None:
    replayed = [game.initial_state(seed)]
    for joint in trajectory.joints:
        replayed.append(replayed[-1].play(joint))
    pairs = zip(trajectory.states, replayed, strict=True)
    different_plies = [ply for ply, (state, other) in enumerate(pairs) if state.key() != other.key()]
    laws.expect(
        "equal seeds give equal games",
        not different_plies,
        f"seed {seed} and the same moves gave two different games, from ply {min(different_plies, default=0)} on",
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
        totals = final + sum((np.asarray(state.rewards()) for state in states[1:]), np.zeros(spec.num_players))
        laws.expect(
            "team mates have the same returns",
            all(np.ptp(totals[list(team)]) < TOLERANCE for team in spec.teams),
            f"got {totals} for teams {spec.teams}",
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
            actual = [int(action) for action in mapped.legal_actions(player)]
            laws.expect(
                "symmetries map legal actions to legal actions",
                actual == expected,
                f"{symmetry.name} expects {expected}, the mapped position has {actual}",
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

"""Fingerprints: hashes of what a game's encoding and a gate do, so that networks are only used with their own."""

from __future__ import annotations

import hashlib
import json

import numpy as np

from moemcts.errors import MoemctsError
from moemcts.game import CHANCE, FloatArray, Game, Player, State, after_step, first_state, random_action
from moemcts.gates import PhaseGate, checked_weights

NUM_GAMES = 4
NUM_PLIES = 48


def encoding_fingerprint(game: Game) -> dict[str, str]:
    """Returns the SHA-256 of the planes and of the policy map along a few seeded random games.

    The keys are `planes` and `actions`. Planes are rounded to five digits, so that the last bits of a machine's
    arithmetic do not matter; legal actions are hashed by the names that `format_action` gives them. Raises MoemctsError
    if playing the same games again gives other planes.
    """
    pairs = _sample_views(game)
    planes, actions = hashlib.sha256(), hashlib.sha256()
    planes.update(repr(tuple(game.spec.observation_shape)).encode())
    first, second = (_rounded(game.views(sample).observations()) for sample in (pairs, _sample_views(game)))
    if first != second:
        raise MoemctsError(
            f"{game.spec.name} shows other planes when the same games are played again: it depends on something "
            f"other than its seed; see moemcts check {game.spec.name}"
        )
    planes.update(first)
    actions.update(str(game.spec.num_actions).encode())
    for state, player in pairs:
        names = [(int(action), game.format_action(state, player, action)) for action in state.legal_actions(player)]
        actions.update(json.dumps(names).encode())
    return {"planes": planes.hexdigest(), "actions": actions.hexdigest()}


def differ_only_in_planes(game: Game, other: Game) -> bool:
    """Returns whether two games differ in their planes at most.

    Positions of one are then positions of the other: along a few seeded random games, they are packed into the same
    bytes and have the same actions.
    """
    if game.spec.name != other.spec.name or game.spec.num_actions != other.spec.num_actions:
        return False
    if encoding_fingerprint(game)["actions"] != encoding_fingerprint(other)["actions"]:
        return False
    ours, theirs = ([state for state, _ in _sample_views(variant)] for variant in (game, other))
    return bytes(game.pack(ours).data) == bytes(other.pack(theirs).data)


def gate_fingerprint(gate: PhaseGate, game: Game) -> str:
    """Returns the SHA-256 of a gate's name, parameters and weights along a few seeded random games.

    Raises MoemctsError if a second evaluation gives other weights.
    """
    head = [gate.name, list(gate.phase_names), dict(gate.parameters)]
    result = hashlib.sha256(json.dumps(head, sort_keys=True).encode())
    views = game.views(_sample_views(game))
    first, second = (_rounded(checked_weights(gate, views)) for _ in range(2))
    if first != second:
        raise MoemctsError(
            f"gate {gate.name!r} gives different phases when it is asked about the same positions again, so its "
            f"experts could not be told from others; see moemcts check {game.spec.name} --gate {gate.name}"
        )
    result.update(first)
    return result.hexdigest()


def _sample_views(game: Game) -> list[tuple[State, Player]]:
    pairs: list[tuple[State, Player]] = []
    for number in range(NUM_GAMES):
        rng = np.random.default_rng([number, 0])
        state = first_state(game, number)
        for _ in range(NUM_PLIES):
            players = state.active_players
            if not players:
                break
            # Chance has no view of a position.
            pairs += [(state, player) for player in players if player != CHANCE]
            state = after_step(game.spec, state, [random_action(state, player, rng) for player in players])
    return pairs


def _rounded(array: FloatArray) -> bytes:
    # Adding zero turns -0.0, which rounding can give, into 0.0.
    wide = np.asarray(array, dtype=np.promote_types(array.dtype, np.float32))
    rounded: FloatArray = np.round(wide, 5) + np.float32(0)
    return rounded.astype("<f4").tobytes()

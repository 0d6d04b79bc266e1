"""The laws of games, gates and evaluators as functions that anyone can call on their own.

Each raises `BrokenLaw`, an AssertionError, that says which law does not hold and where.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from moemcts.agents import Agent
from moemcts.evaluation import Evaluator, UniformEvaluator
from moemcts.game import CHANCE, FloatArray, Game, IntArray, State, Symmetry, View, discounts
from moemcts.gates import PhaseGate
from moemcts.laws import TOLERANCE, BrokenLaw, Law, Laws, random_game, random_pairs, returned
from moemcts.play import Table, play, seats_of
from moemcts.search.config import SearchConfig
from moemcts.search.engine import Search

__all__ = ["BrokenLaw", "Law", "check_agent", "check_evaluator", "check_game", "check_gate"]


def check_game(game: Game, *, num_games: int = 20, seed: int = 0) -> list[Law]:
    """Plays random games and asserts the laws of `Game` at every position; returns what was checked, how often."""
    laws = Laws()
    names, num_planes = game.spec.plane_names, game.spec.observation_shape[0]
    laws.expect("planes are named or not", len(names) in (0, num_planes), f"{len(names)} names of {num_planes} planes")
    planes, cells = game.spec.policy_planes, math.prod(game.spec.observation_shape[1:])
    laws.expect(
        "policy planes, where there are some, have as many cells as there are actions",
        planes in (0, game.spec.num_actions / cells),
        f"got {planes} planes of {cells} cells for {game.spec.num_actions} actions",
    )
    for index in range(num_games):
        rng = np.random.default_rng([seed, index])
        states, joints = random_game(game, rng, index)
        for state in states:
            _check_position(game, state, laws)
        _check_course(game, states, joints, index, laws)
        _check_symmetries(game, states, joints, laws)
    _check_keys(game, seed, laws)
    _check_search(game, laws)
    return laws.checked


def check_gate(gate: PhaseGate, game: Game, *, num_games: int = 20, seed: int = 0) -> list[Law]:
    """Asserts that a gate gives every view weights that sum to one, whatever batch the view is in."""
    laws = Laws()
    views = game.views(list(random_pairs(game, num_games, seed)))
    weights = returned("weights", gate.weights(views), np.ndarray)
    shape = (len(views), gate.num_phases)
    laws.expect("weights are [N, K]", weights.shape == shape, f"expected {shape}, got {weights.shape}")
    laws.expect(
        "weights are in [0, 1] and sum to one",
        bool((weights >= 0).all() and np.allclose(weights.sum(axis=1), 1, atol=TOLERANCE)),
        f"row sums from {weights.sum(axis=1).min()} to {weights.sum(axis=1).max()}",
    )
    names = gate.phase_names
    laws.expect(
        "every phase has a name of its own",
        len(set(names)) == len(names) == gate.num_phases,
        f"{gate.num_phases} phases are named {names}",
    )
    for rows, what in _batches(len(views), seed):
        laws.expect(
            "a view's weights do not depend on its batch",
            bool(np.array_equal(gate.weights(views.take(rows)), weights[rows])),
            f"weights change with the {what}",
        )
    return laws.checked


def check_evaluator(evaluator: Evaluator, game: Game, *, num_games: int = 3, seed: int = 0) -> list[Law]:
    """Asserts that evaluations have the right shapes and finite numbers, and that rows do not influence each other."""
    laws = Laws()
    views = game.views(list(random_pairs(game, num_games, seed)))
    evaluation = evaluator.evaluate(views)
    logits, value = evaluation.logits, evaluation.value
    shape = (len(views), game.spec.num_actions)
    laws.expect("logits are [N, A]", logits.shape == shape, f"expected {shape}, got {logits.shape}")
    shapes = ((len(views),), (len(views), game.spec.num_players))
    laws.expect("values are [N] or [N, P]", value.shape in shapes, f"expected one of {shapes}, got {value.shape}")
    laws.expect("evaluations are numbers", bool(np.isfinite(logits).all() and np.isfinite(value).all()), "got NaN")
    laws.expect("values are in [-1, 1]", bool((np.abs(value) <= 1 + TOLERANCE).all()), f"got {np.abs(value).max()}")
    types = sorted({str(logits.dtype), str(value.dtype)})
    laws.expect("evaluations are float32", types == ["float32"], f"got {' and '.join(types)}")
    for rows, what in _batches(len(views), seed):
        other = evaluator.evaluate(views.take(rows))
        laws.expect(
            "rows do not influence each other",
            np.allclose(other.logits, logits[rows], atol=1e-3) and np.allclose(other.value, value[rows], atol=1e-3),
            f"evaluations change with the {what}",
        )
    return laws.checked


def _batches(count: int, seed: int) -> list[tuple[IntArray, str]]:
    """Returns rows to ask for again: all in another order, some of them, and a few one by one."""
    rows = np.random.default_rng(seed).permutation(count)
    alone = [rows[index : index + 1] for index in range(min(count, 8))]
    return [(rows, "order of the views"), *((some, "other views") for some in (rows[: count // 3 + 1], *alone))]


def check_agent(agent: Agent, game: Game, *, num_games: int = 3, seed: int = 0) -> list[Law]:
    """Asserts that an agent plays legal actions from every seat."""
    laws = Laws()
    for index in range(num_games):
        num_players = game.spec.num_players
        table = Table(
            state=game.initial_state(index),
            agents=[agent] * num_players,
            seats=seats_of(num_players, seed, index),
            chance=np.random.default_rng([seed, index, num_players]),
        )
        for (step,) in play(game, [table]):
            for player in step.players:
                failure = step.failures.get(player)
                found = "" if failure is None else f"player {player}, {failure.kind}: {failure.reason}"
                laws.expect("actions are legal", failure is None, found)
    return laws.checked


def _check_position(game: Game, state: State, laws: Laws) -> None:
    spec = game.spec
    players = state.active_players
    before = _snapshot(game, state)
    _check_step(game, state, laws)
    if players == (CHANCE,):
        _check_chance(state, laws)
        players = ()
    laws.expect(
        "active players ascend below num_players, chance moves alone",
        list(players) == sorted(set(players)) and all(0 <= player < spec.num_players for player in players),
        f"got {players} of {spec.num_players}",
    )
    for player in players:
        legal = [int(action) for action in state.legal_actions(player)]
        laws.expect("every active player has a legal action", bool(legal), f"player {player} has none")
        laws.expect(
            "legal actions ascend below num_actions",
            legal == sorted(set(legal)) and legal[0] >= 0 and legal[-1] < spec.num_actions,
            f"got {legal} of {spec.num_actions}",
        )
        searched = [int(action) for action in state.search_actions(player)]
        laws.expect(
            "actions worth searching are a part of the legal ones",
            bool(searched) and searched == [action for action in legal if action in searched],
            f"got {searched} of {legal}",
        )
        for action in legal:
            text = game.format_action(state, player, action)
            found = game.parse_action(state, player, text)
            laws.expect("actions survive parse(format(x))", found == action, f"{action} became {text!r}, then {found}")
        planes = returned("observation", state.observation(player), np.ndarray)
        laws.expect(
            "observations have the declared shape and are numbers",
            planes.shape == spec.observation_shape and bool(np.isfinite(planes).all()),
            f"expected {spec.observation_shape}, got {planes.shape}"
            + (", not all of them numbers" if planes.shape == spec.observation_shape else ""),
        )
    if players:
        state.play([int(state.legal_actions(player)[-1]) for player in players])
    laws.expect("nothing changes a state", _snapshot(game, state) == before, f"after play: {game.format_state(state)}")
    text = returned("format_state", game.format_state(state), str)
    laws.expect("a state is written in one line", "".join(text.splitlines()) == text, f"got {text!r}")
    again = game.parse_state(text)
    laws.expect("states survive parse(format(x))", _snapshot(game, again) == before, text)
    if players:
        _check_views(game, state, laws)


def _check_step(game: Game, state: State, laws: Laws) -> None:
    """Checks what the step into a position paid, and for whom the game is decided."""
    spec = game.spec
    returns = returned("returns", state.returns(), np.ndarray)
    laws.expect(
        "returns are numbers",
        returns.shape == (spec.num_players,) and bool(np.isfinite(returns).all()),
        f"expected those of {spec.num_players} players, got {returns}",
    )
    rewards = returned("rewards", state.rewards(), np.ndarray)
    laws.expect(
        "rewards are numbers",
        rewards.shape == (spec.num_players,) and bool(np.isfinite(rewards).all()),
        f"expected those of {spec.num_players} players, got {rewards}",
    )
    laws.expect(
        "rewards sum to zero where the returns have a fixed sum",
        spec.utility_sum is None or abs(float(rewards.sum())) < TOLERANCE,
        f"got {rewards}",
    )
    decided = [player for player in range(spec.num_players) if state.is_decided(player)]
    laws.expect(
        "a decided player is never active again",
        not set(decided) & set(state.active_players),
        f"{decided} are decided, {state.active_players} active",
    )
    laws.expect(
        "all are decided at the end",
        bool(state.active_players) or len(decided) == spec.num_players,
        f"only {decided} of {spec.num_players} are",
    )


def _check_chance(state: State, laws: Laws) -> None:
    outcomes, chances = [int(outcome) for outcome in state.legal_actions(CHANCE)], np.asarray(state.chances())
    laws.expect("outcomes of chance ascend", outcomes == sorted(set(outcomes)) and outcomes[0] >= 0, f"got {outcomes}")
    laws.expect(
        "chances are a distribution",
        chances.shape == (len(outcomes),) and bool((chances >= 0).all()) and abs(float(chances.sum()) - 1) < TOLERANCE,
        f"got {chances} for the outcomes {outcomes}",
    )


def _check_views(game: Game, state: State, laws: Laws) -> None:
    pairs = [(state, player) for player in state.active_players]
    packed = game.pack([state for state, _ in pairs])
    players = np.array([player for _, player in pairs], dtype=np.int64)
    for what, views in (("views", game.views(pairs)), ("unpack(pack(x))", game.unpack(packed, players))):
        is_same = (
            len(views) == len(pairs)
            and np.array_equal(views.players(), players)
            and bool((views.plies() == state.ply).all())
            and all(np.array_equal(views.observations()[row], state.observation(p)) for row, (_, p) in enumerate(pairs))
            and all(
                np.array_equal(np.flatnonzero(views.legal_mask()[row]), state.legal_actions(p))
                for row, (_, p) in enumerate(pairs)
            )
            and all(View(*views[row]).state.key() == state.key() for row in range(len(views)))
        )
        laws.expect(f"{what} see what the state says", is_same, game.format_state(state))


def _check_course(game: Game, states: list[State], joints: list[list[int]], seed: int, laws: Laws) -> None:
    spec = game.spec
    again = [game.initial_state(seed)]
    for joint in joints:
        again.append(again[-1].play(joint))
    laws.expect(
        "equal seeds give equal games",
        [state.key() for state in again] == [state.key() for state in states],
        f"seed {seed} gave two different games",
    )
    plies = [state.ply for state in states]
    laws.expect("plies count up", all(b == a + 1 for a, b in itertools.pairwise(plies)), f"got {plies}")
    final = np.asarray(states[-1].returns())
    laws.expect(
        "returns are in [-1, 1]",
        final.shape == (spec.num_players,) and bool((np.abs(final) <= 1 + TOLERANCE).all()),
        f"got {final}",
    )
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
    laws.expect("a player moves first", states[0].active_players != (CHANCE,), "the first position is chance's")
    for i, state in enumerate(states[:-1]):
        for player in (player for player in range(spec.num_players) if state.is_decided(player)):
            value = state.returns()[player]
            laws.expect(
                "a decided return is final, and its player is not active or paid again",
                all(later.returns()[player] == value and player not in later.active_players for later in states[i:])
                and not any(later.rewards()[player] for later in states[i + 1 :]),
                f"player {player} had {value} at ply {state.ply} of {plies[-1]}",
            )


def _check_values(game: Game, states: list[State], laws: Laws) -> None:
    """Checks what is still to come at each position: what is paid from there on, and the return at the end."""
    values = np.asarray(states[-1].returns(), dtype=np.float64)
    for before, after in reversed(list(itertools.pairwise(states))):
        values = after.rewards() + discounts(before, after, game.spec.discount, game.spec.num_players) * values
        laws.expect(
            "values are in [-1, 1] where steps pay",
            bool((np.abs(values) <= 1 + TOLERANCE).all()),
            f"{values} are still to come at ply {before.ply}; rewards and returns are divided by the largest such sum",
        )


def _check_symmetries(game: Game, states: list[State], joints: list[list[int]], laws: Laws) -> None:
    for symmetry in game.symmetries():
        laws.expect(
            "symmetries permute actions",
            sorted(int(action) for action in symmetry.actions) == list(range(game.spec.num_actions)),
            f"{symmetry.name} maps to {list(symmetry.actions)}",
        )
        planes = np.stack([state.observation(0) for state in states])
        laws.expect(
            "symmetries keep the shape of observations",
            symmetry.planes(planes).shape == planes.shape,
            f"{symmetry.name} gives {symmetry.planes(planes).shape}",
        )
        if np.array_equal(symmetry.planes(_planes(game, states[0])), _planes(game, states[0])):
            _check_mapped_game(game, symmetry, states, joints, laws)


def _check_mapped_game(
    game: Game, symmetry: Symmetry, states: list[State], joints: list[list[int]], laws: Laws
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


def _check_keys(game: Game, seed: int, laws: Laws) -> None:
    seen: dict[int, FloatArray] = {}
    for state, player in random_pairs(game, 10, seed):
        key = state.key()
        is_plain = isinstance(key, int) and 0 <= key < 2**64
        laws.expect("keys are whole numbers of 64 bits", is_plain, f"got {key!r}, {type(key)}, not 0 to 2**64 - 1")
        if player != state.active_players[0]:
            continue
        planes = state.observation(player)
        other = seen.setdefault(key, planes)
        laws.expect(
            "positions that look different have different keys",
            np.array_equal(other, planes),
            f"two positions have the key {key}: {game.format_state(state)}",
        )


def _check_search(game: Game, laws: Laws) -> None:
    state = game.initial_state(0)
    roots = game.views([(state, player) for player in state.active_players])
    search = Search(game, SearchConfig(simulations=20))
    search.reset(roots, list(range(len(roots))))
    for result in search.run(UniformEvaluator(game.spec)):
        laws.expect(
            "the search plays the game",
            int(result.visits.sum()) == 20 and set(result.actions) <= set(state.legal_actions(result.player)),
            f"20 simulations gave visits {result.visits} to actions {result.actions}",
        )


def _snapshot(game: Game, state: State) -> tuple[object, ...]:
    """Returns everything that can be seen of a position."""
    players = tuple(state.active_players)
    return (
        state.ply,
        players,
        tuple(tuple(int(action) for action in state.legal_actions(player)) for player in players),
        tuple(float(value) for value in state.returns()),
        tuple(float(value) for value in state.rewards()),
        tuple(np.asarray(state.observation(player)).tobytes() for player in range(game.spec.num_players)),
        state.key(),
    )

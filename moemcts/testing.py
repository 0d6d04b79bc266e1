"""Checks of the laws of games, gates, evaluators and other plugins, as functions for use in tests.

Each raises `BrokenLaw`, an AssertionError that says which law is violated and where.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence

import numpy as np

from moemcts.agents import Agent, Seat, checked_agent
from moemcts.drawing import Board, Drawing
from moemcts.errors import UsageError
from moemcts.evaluation import Evaluator, UniformEvaluator
from moemcts.game import CHANCE, Game, IntArray, State, determinize_views, first_state
from moemcts.gates import PhaseGate, checked_gate, first_invalid_row
from moemcts.laws import (
    MAX_SEED,
    TOLERANCE,
    BrokenLaw,
    Law,
    Laws,
    checked_type,
    describe_position,
    error_context,
    evenly_spaced,
    random_game,
    random_pairs,
)
from moemcts.laws.copies import check_copies
from moemcts.laws.games import Keys, check_symmetries, check_whole_game, checked_start, play_checked_game
from moemcts.learn.schemes.scheme import Scheme
from moemcts.play import Table, chance_of, play, seats_of
from moemcts.search.config import SearchConfig
from moemcts.search.engine import Search

__all__ = [
    "BrokenLaw",
    "Law",
    "check_agent",
    "check_board",
    "check_evaluator",
    "check_game",
    "check_gate",
    "check_scheme",
]

NUM_COPIES = 50
"""Approximate number of positions that are checked in another process."""
MAX_STEPS = 60
"""Maximum steps of each game in which an agent is tested, so that long games do not take minutes."""
NUM_SEARCHED = 8
"""Number of views of the first game, in addition to its start, that are searched."""


def check_game(game: Game, *, num_games: int = 20, seed: int = 0) -> list[Law]:
    """Plays random games and asserts the laws of `Game` at every position.

    Returns which laws were checked, how often, and which could not be. Positions are checked before any move is played
    in them, so that the first violation is reported. Raises BrokenLaw, and any error of the game's own methods, with a
    note that says where.
    """
    _check_is_object(game, "a game", "initial_state")
    laws = Laws()
    names, num_planes = game.spec.plane_names, game.spec.plane_shape[0]
    laws.expect(
        "either all planes are named or none",
        len(names) in (0, num_planes),
        f"{len(names)} names for {num_planes} planes",
    )
    planes, cells = game.spec.policy_planes, math.prod(game.spec.observation_shape[1:])
    laws.expect(
        "policy planes, if there are any, have as many cells as there are actions",
        planes in (0, game.spec.num_actions / cells),
        f"got {planes} planes of {cells} cells for {game.spec.num_actions} actions",
    )
    keys = Keys(game, laws)
    for index in range(num_games):
        trajectory = play_checked_game(game, np.random.default_rng([seed, index]), index, laws)
        for state, snapshot in zip(trajectory.states, trajectory.snapshots, strict=True):
            keys.check(state, snapshot)
        check_whole_game(game, trajectory, index, laws)
        check_symmetries(game, trajectory, laws)
        if not index:
            checked_start(game, MAX_SEED, laws)
            _check_search(game, trajectory.states, laws)
    check_copies(game, keys.sample(NUM_COPIES), laws)
    return laws.checked


def check_gate(gate: PhaseGate, game: Game, *, num_games: int = 20, seed: int = 0) -> list[Law]:
    """Asserts that a gate's weights sum to one for every view and do not depend on the batch.

    Raises MoemctsError if it has no name, no phase names, or parameters that are not JSON values.
    """
    _check_is_object(gate, "a gate", "weights")
    checked_gate(gate, type(gate).__name__)
    laws = Laws()
    views = game.views(list(random_pairs(game, num_games, seed)))
    weights = checked_type("weights", gate.weights(views), np.ndarray)
    shape = (len(views), gate.num_phases)
    laws.expect("weights are [N, K]", weights.shape == shape, f"expected {shape}, got {weights.shape}")
    laws.expect("weights are floating-point numbers", weights.dtype.kind == "f", f"got {weights.dtype}")
    laws.expect(
        "weights are in [0, 1] and sum to one",
        bool((weights >= 0).all() and np.allclose(weights.sum(axis=1), 1, atol=TOLERANCE)),
        f"got {first_invalid_row(weights, TOLERANCE)} for one of them",
    )
    names = gate.phase_names
    laws.expect(
        "every phase has a name of its own",
        len(set(names)) == len(names) == gate.num_phases,
        f"{gate.num_phases} phases are named {names}",
    )
    for rows, change in _batches(len(views), seed):
        laws.expect(
            "a view's weights do not depend on its batch",
            bool(np.array_equal(gate.weights(views.take(rows)), weights[rows])),
            f"weights change with the {change}",
        )
    return laws.checked


def check_scheme(scheme: Scheme, gates: Sequence[PhaseGate]) -> list[Law]:
    """Asserts that a scheme returns a valid training cost for each gate's experts and, if it trains in stages, always
    the same stages.

    Gates that the scheme rejects are skipped; if it rejects all, the last UsageError is raised. Schemes that do not
    train in stages are checked for their cost only.
    """
    _check_is_object(scheme, "a scheme", "fit")
    laws = Laws()
    rejection: UsageError | None = None
    for gate in gates:
        try:
            scheme.check(gate)
        except UsageError as error:
            rejection = error
            continue
        num_phases = gate.num_phases
        for phase in range(num_phases):
            stages = scheme.stages_of(phase, num_phases)
            if stages is not None:
                again = scheme.stages_of(phase, num_phases)
                laws.expect(
                    "stages are the same whenever they are asked for",
                    list(stages) == list(again or ()),
                    f"got {stages!r}, then {again!r} for phase {phase} of {num_phases} phases",
                )
        cost = scheme.cost(num_phases)
        is_valid = isinstance(cost, int | float) and 0 < cost < math.inf
        laws.expect("the cost is a number of passes above zero", is_valid, f"got {cost!r} of {num_phases} phases")
    if rejection is not None and not laws.checked:
        raise rejection
    return laws.checked


def check_evaluator(evaluator: Evaluator, game: Game, *, num_games: int = 3, seed: int = 0) -> list[Law]:
    """Asserts that evaluations have the right shapes and are finite, and that rows are independent of each other."""
    _check_is_object(evaluator, "an evaluator", "evaluate")
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
    for rows, change in _batches(len(views), seed):
        other = evaluator.evaluate(views.take(rows))
        laws.expect(
            "rows do not influence each other",
            np.allclose(other.logits, logits[rows], atol=1e-3) and np.allclose(other.value, value[rows], atol=1e-3),
            f"evaluations change with the {change}",
        )
    return laws.checked


def _batches(count: int, seed: int) -> list[tuple[IntArray, str]]:
    """Returns rows to evaluate again, and what is changed: all of them permuted, some of them, and a few one by one."""
    rows = np.random.default_rng(seed).permutation(count)
    single_rows = [rows[index : index + 1] for index in range(min(count, 8))]
    subsets = [rows[: count // 3 + 1], *single_rows]
    return [(rows, "order of the views"), *((subset, "other views") for subset in subsets)]


def check_board(board: Board, game: Game, *, num_games: int = 3, seed: int = 0) -> list[Law]:
    """Asserts that a board draws every position for every player, and that its clickable areas stand for actions."""
    _check_is_object(board, "a board", "draw")
    laws = Laws()
    num_players = game.spec.num_players
    laws.expect("every player has a name", len(board.seats) >= num_players, f"got {board.seats} of {num_players}")
    laws.expect("every player has a colour", len(board.colours) >= num_players, f"got {board.colours} of {num_players}")
    for index in range(num_games):
        for state in random_game(game, np.random.default_rng([seed, index]), index)[0]:
            for player in range(num_players):
                drawing = checked_type("draw", board.draw(state, player), Drawing)
                clickable = {*drawing.spots, *drawing.marks, *drawing.keys}
                unknown = clickable.difference(range(game.spec.num_actions))
                laws.expect("whatever can be clicked is an action", not unknown, f"got {unknown}")
    return laws.checked


def check_agent(agent: Agent, game: Game, *, num_games: int = 3, seed: int = 0) -> list[Law]:
    """Asserts that an agent plays legal actions from every seat, and that it can be asked about many views at once.

    Games are played for at most `MAX_STEPS` steps. If the first game differs when it is repeated after the others,
    this is noted and not a violation, since an agent may depend on the clock. Raises MoemctsError if the agent has no
    name.
    """
    _check_is_object(agent, "an agent", "act")
    checked_agent(agent, type(agent).__name__)
    laws = Laws()
    global_states = _global_generator_states()
    games = [_actions(agent, game, seed, index, laws) for index in range(num_games)]
    again = [_actions(agent, game, seed, index, laws) for index in range(num_games)[:1]]
    law = "games are the same whatever was played before them"
    if again == games[:1]:
        laws.expect(law, holds=True, message="")
    else:
        laws.skip(
            law,
            "one went differently when it was played again: it depends on a clock, or on what is not in seat.memory",
        )
    starts = [first_state(game, index) for index in range(num_games + 1)]
    pairs = [(state, player) for state in starts for player in state.active_players]
    seats = [Seat(player, np.random.default_rng([seed, row])) for row, (_, player) in enumerate(pairs)]
    num_answers = len(agent.act(game.views(pairs), seats))
    laws.expect(
        "every view has a decision, however many are asked about at once",
        num_answers == len(pairs),
        f"{num_answers} decisions for {len(pairs)} views; many games are played at once",
    )
    laws.expect(
        "agents draw from their seats' generators alone",
        _global_generator_states() == global_states,
        "one of NumPy's or Python's global generators was used; with seat.rng a game is the same whatever is "
        "played beside it",
    )
    return laws.checked


def _check_is_object(value: object, kind: str, method: str) -> None:
    """Raises TypeError if it is not an object of the right kind, but for example its class, a factory or a name."""
    if isinstance(value, type) or not callable(getattr(value, method, None)):
        raise TypeError(f"expected {kind}, an object with a method {method}, got {value!r:.80}")


def _actions(agent: Agent, game: Game, seed: int, index: int, laws: Laws) -> list[list[int]]:
    """Returns the actions of a game in which the agent plays all seats, after checking each."""
    num_players = game.spec.num_players
    table = Table(
        state=first_state(game, index),
        agents=[agent] * num_players,
        seats=seats_of(num_players, seed, index),
        chance=chance_of(num_players, seed, index),
    )
    joints = list[list[int]]()
    for (step,) in itertools.islice(play(game, [table]), MAX_STEPS):
        for player in step.players:
            failure = step.failures.get(player)
            message = "" if failure is None else f"player {player}, {failure.kind}: {failure.reason}"
            laws.expect("actions are legal", failure is None, message)
        joints.append([decision.action for decision in step.decisions])
    return joints


def _global_generator_states() -> str:
    """Returns the state of the global random generators of Python and NumPy."""
    return repr((random.getstate(), np.random.get_state()))  # noqa: NPY002


def _check_search(game: Game, states: Sequence[State], laws: Laws) -> None:
    """Checks that positions of a game can be searched, as their players perceive them."""
    start, *later = ((state, player) for state in states for player in state.active_players if player != CHANCE)
    pairs = [start, *evenly_spaced(later, NUM_SEARCHED)]
    with error_context(f"in a search from {len(pairs)} positions of the first game, as their players perceive them"):
        views, seeds = game.views(pairs), list(range(len(pairs)))
        search = Search(game, SearchConfig(simulations=20))
        search.reset(determinize_views(game, views, seeds), seeds)
        for (state, player), result in zip(pairs, search.run(UniformEvaluator(game.spec)), strict=True):
            laws.expect(
                "the search plays the game",
                set(result.actions) <= set(state.legal_actions(player)),
                f"visits {result.visits} to actions {result.actions} in {describe_position(game, state)}",
            )

"""The laws of games, gates and evaluators as functions that anyone can call on their own.

Each raises `BrokenLaw`, an AssertionError, that says which law does not hold and where.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence

import numpy as np

from moemcts.agents import Agent, Seat, named_agent
from moemcts.drawing import Board, Drawing
from moemcts.errors import UsageError
from moemcts.evaluation import Evaluator, UniformEvaluator
from moemcts.game import CHANCE, Game, IntArray, State, perceived
from moemcts.gates import PhaseGate, named, row_that_is_wrong
from moemcts.laws import (
    LARGEST_SEED,
    TOLERANCE,
    BrokenLaw,
    Law,
    Laws,
    placed,
    random_game,
    random_pairs,
    returned,
    spread,
    written,
)
from moemcts.laws.copies import check_copies
from moemcts.laws.courses import Keys, check_course, check_symmetries, checked_course, first_position
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
"""Positions, about, that are looked at in another process."""
MOST_STEPS = 60
"""Of each game that an agent is tested in, so that long ones take no minutes."""
NUM_SEARCHED = 8
"""Views of the first game, beside its start, that are searched."""


def check_game(game: Game, *, num_games: int = 20, seed: int = 0) -> list[Law]:
    """Plays random games and asserts the laws of `Game` at every position.

    Returns what was checked, how often, and what could not be. Positions are checked before anything is played in them,
    so that the first law that is broken is told. Raises BrokenLaw, and whatever a method of the game raises, with a
    note that says where.
    """
    _check_is_one(game, "a game", "initial_state")
    laws = Laws()
    names, num_planes = game.spec.plane_names, game.spec.observation_shape[0]
    laws.expect("planes are named or not", len(names) in (0, num_planes), f"{len(names)} names of {num_planes} planes")
    planes, cells = game.spec.policy_planes, math.prod(game.spec.observation_shape[1:])
    laws.expect(
        "policy planes, where there are some, have as many cells as there are actions",
        planes in (0, game.spec.num_actions / cells),
        f"got {planes} planes of {cells} cells for {game.spec.num_actions} actions",
    )
    keys = Keys(game, laws)
    for index in range(num_games):
        course = checked_course(game, np.random.default_rng([seed, index]), index, laws)
        for state, found in zip(course.states, course.found, strict=True):
            keys.note(state, found)
        check_course(game, course, index, laws)
        check_symmetries(game, course, laws)
        if not index:
            first_position(game, LARGEST_SEED, laws)
            _check_search(game, course.states, laws)
    check_copies(game, keys.kept(NUM_COPIES), laws)
    return laws.checked


def check_gate(gate: PhaseGate, game: Game, *, num_games: int = 20, seed: int = 0) -> list[Law]:
    """Asserts that a gate gives every view weights that sum to one, whatever batch the view is in.

    Raises MoemctsError where it has no name, no names of its phases, or parameters that cannot be written down.
    """
    _check_is_one(gate, "a gate", "weights")
    named(gate, type(gate).__name__)
    laws = Laws()
    views = game.views(list(random_pairs(game, num_games, seed)))
    weights = returned("weights", gate.weights(views), np.ndarray)
    shape = (len(views), gate.num_phases)
    laws.expect("weights are [N, K]", weights.shape == shape, f"expected {shape}, got {weights.shape}")
    laws.expect("weights are floating numbers", weights.dtype.kind == "f", f"got {weights.dtype}")
    laws.expect(
        "weights are in [0, 1] and sum to one",
        bool((weights >= 0).all() and np.allclose(weights.sum(axis=1), 1, atol=TOLERANCE)),
        f"got {row_that_is_wrong(weights, TOLERANCE)} for one",
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


def check_scheme(scheme: Scheme, gates: Sequence[PhaseGate]) -> list[Law]:
    """Asserts that a scheme says what trainings of the experts of each gate cost and, where these are stages, has the
    same ones whenever it is asked.

    Gates that the scheme refuses are left out; raises UsageError, with the reason of the last, where it refuses all.
    What a scheme trains in another way than by stages is not checked.
    """
    _check_is_one(scheme, "a scheme", "fit")
    laws = Laws()
    refusal: UsageError | None = None
    for gate in gates:
        try:
            scheme.check(gate)
        except UsageError as error:
            refusal = error
            continue
        phases, of = range(gate.num_phases), f"of {gate.num_phases} phases"
        for phase in phases:
            stages = scheme.stages_of(phase, len(phases))
            if stages is not None:
                again = scheme.stages_of(phase, len(phases))
                told = f"got {stages!r}, then {again!r} for phase {phase} {of}"
                laws.expect("stages are the same whenever they are asked for", list(stages) == list(again or ()), told)
        cost = scheme.cost(len(phases))
        is_cost = isinstance(cost, int | float) and 0 < cost < math.inf
        laws.expect("the cost is a number of passes above zero", is_cost, f"got {cost!r} {of}")
    if refusal is not None and not laws.checked:
        raise refusal
    return laws.checked


def check_evaluator(evaluator: Evaluator, game: Game, *, num_games: int = 3, seed: int = 0) -> list[Law]:
    """Asserts that evaluations have the right shapes and finite numbers, and that rows do not influence each other."""
    _check_is_one(evaluator, "an evaluator", "evaluate")
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


def check_board(board: Board, game: Game, *, num_games: int = 3, seed: int = 0) -> list[Law]:
    """Asserts that a board draws every position for every player, and that what is clicked on it are actions."""
    _check_is_one(board, "a board", "draw")
    laws = Laws()
    num_players = game.spec.num_players
    laws.expect("every player has a name", len(board.seats) >= num_players, f"got {board.seats} of {num_players}")
    laws.expect("every player has a colour", len(board.colours) >= num_players, f"got {board.colours} of {num_players}")
    for index in range(num_games):
        for state in random_game(game, np.random.default_rng([seed, index]), index)[0]:
            for player in range(num_players):
                drawing = returned("draw", board.draw(state, player), Drawing)
                others = {*drawing.spots, *drawing.marks, *drawing.keys}.difference(range(game.spec.num_actions))
                laws.expect("what can be clicked is an action", not others, f"got {others}")
    return laws.checked


def check_agent(agent: Agent, game: Game, *, num_games: int = 3, seed: int = 0) -> list[Law]:
    """Asserts that an agent plays legal actions from every seat, and that it answers many views at once.

    Games are played as far as their first `MOST_STEPS` steps. Where the first of them, played again after the others,
    goes otherwise, that is noted and no law is broken: an agent may look at a clock. Raises MoemctsError where the
    agent has no name.
    """
    _check_is_one(agent, "an agent", "act")
    named_agent(agent, type(agent).__name__)
    laws = Laws()
    before = _shared_generators()
    games = [_actions(agent, game, seed, index, laws) for index in range(num_games)]
    again = [_actions(agent, game, seed, index, laws) for index in range(num_games)[:1]]
    law = "games are the same whatever was played before"
    if again == games[:1]:
        laws.expect(law, holds=True, found="")
    else:
        laws.leave_out(law, "one went otherwise when it was played again: by a clock, or by what is not in seat.memory")
    starts = [game.initial_state(index) for index in range(num_games + 1)]
    pairs = [(state, player) for state in starts for player in state.active_players]
    seats = [Seat(player, np.random.default_rng([seed, row])) for row, (_, player) in enumerate(pairs)]
    num_answers = len(agent.act(game.views(pairs), seats))
    laws.expect(
        "every view has a decision, however many are asked about at once",
        num_answers == len(pairs),
        f"{num_answers} decisions for {len(pairs)} views; games are played many at once",
    )
    laws.expect(
        "agents draw from their seats' generators alone",
        _shared_generators() == before,
        "one of NumPy's or Python's own was drawn from; with seat.rng a game is the same whatever is played beside it",
    )
    return laws.checked


def _check_is_one(found: object, kind: str, method: str) -> None:
    """Raises TypeError for what is none of a kind, such as its class, what makes it, or its name."""
    if isinstance(found, type) or not callable(getattr(found, method, None)):
        raise TypeError(f"expected {kind}, an object with a method {method}, got {found!r:.80}")


def _actions(agent: Agent, game: Game, seed: int, index: int, laws: Laws) -> list[list[int]]:
    """Returns what is played in a game in which an agent has all seats, each action of which is checked."""
    num_players = game.spec.num_players
    table = Table(
        state=game.initial_state(index),
        agents=[agent] * num_players,
        seats=seats_of(num_players, seed, index),
        chance=chance_of(num_players, seed, index),
    )
    joints = list[list[int]]()
    for (step,) in itertools.islice(play(game, [table]), MOST_STEPS):
        for player in step.players:
            failure = step.failures.get(player)
            found = "" if failure is None else f"player {player}, {failure.kind}: {failure.reason}"
            laws.expect("actions are legal", failure is None, found)
        joints.append([decision.action for decision in step.decisions])
    return joints


def _shared_generators() -> str:
    """Returns the state of the generators that all code of a process shares."""
    return repr((random.getstate(), np.random.get_state()))  # noqa: NPY002


def _check_search(game: Game, states: Sequence[State], laws: Laws) -> None:
    """Checks that the positions of a game are searched, as their players perceive them."""
    start, *later = ((state, player) for state in states for player in state.active_players if player != CHANCE)
    pairs = [start, *spread(later, NUM_SEARCHED)]
    with placed(f"in a search from {len(pairs)} positions of the first game, as their players perceive them"):
        views, seeds = game.views(pairs), list(range(len(pairs)))
        search = Search(game, SearchConfig(simulations=20))
        search.reset(perceived(game, views, seeds), seeds)
        for (state, player), result in zip(pairs, search.run(UniformEvaluator(game.spec)), strict=True):
            laws.expect(
                "the search plays the game",
                set(result.actions) <= set(state.legal_actions(player)),
                f"visits {result.visits} to actions {result.actions} in {written(game, state)}",
            )

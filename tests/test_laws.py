"""A game that breaks a law does not pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from games_for_tests import HashedTree, TreeGame, TreeState

from moemcts.agents import Decision
from moemcts.evaluation import Evaluation
from moemcts.game import CHANCE, Packed, State, Symmetry, Views
from moemcts.gates import PhaseGate, PlyGate
from moemcts.plugins import plugins
from moemcts.testing import BrokenLaw, check_agent, check_evaluator, check_game, check_gate

RULES = TreeGame(4, 2, 4, 6, False)


def broken(**methods: Callable[..., Any]) -> HashedTree:
    """Returns a lawful game, some methods of whose states are replaced."""
    state_type = type("Broken", (TreeState,), methods)

    class Game(HashedTree):
        def initial_state(self, seed: int = 0) -> TreeState:
            return state_type(self.rules)  # type: ignore[no-any-return]

        def parse_state(self, text: str) -> TreeState:
            return state_type(self.rules, super().parse_state(text).path)  # type: ignore[no-any-return]

    return Game(RULES)


def half_won(state: TreeState) -> Any:
    """Returns something at ply 2 that is taken back later."""
    return np.array([0.5, -0.5], np.float32) if state.ply == 2 else TreeState.returns(state)


def decided_in_turn(state: TreeState, player: int) -> bool:
    return not state.active_players or player == 1 - state.ply % 2


def rising(state: TreeState) -> Any:
    """Returns more with every ply."""
    value = state.ply / 100 if state.active_players else 0.0
    return np.array([value, -value], np.float32)


def paid(share: float) -> Callable[[TreeState], Any]:
    """Returns rewards that add up to so much in the longest game."""
    return lambda state: np.array([share, -share], np.float32) / RULES.depth * (state.ply > 0)


def nothing_more(state: TreeState) -> Any:
    return np.zeros(2, np.float32)


@pytest.mark.parametrize(
    ("methods", "law"),
    [
        ({"legal_actions": lambda self, player: []}, "every active player has a legal action"),
        ({"legal_actions": lambda self, player: [2, 1]}, "legal actions ascend"),
        ({"legal_actions": lambda self, player: [0, 9]}, "legal actions ascend"),
        ({"search_actions": lambda self, player: [99]}, "worth searching are a part"),
        ({"observation": lambda self, player: np.zeros((2, 1, 4), np.float32)}, "declared shape"),
        ({"observation": lambda self, player: np.full((1, 1, 4), np.nan, np.float32)}, "declared shape"),
        ({"returns": lambda self: np.array([1, 1], np.float32)}, "a decided player is never active again"),
        ({"returns": lambda self: np.array([5, -5], np.float32) * (not self.active_players)}, "in \\[-1, 1\\]"),
        ({"returns": half_won}, "a decided player is never active again"),
        ({"is_decided": lambda self, player: False}, "all are decided at the end"),
        ({"is_decided": lambda self, player: self.ply % 2 == 0 or not self.active_players}, "never active again"),
        ({"returns": rising, "is_decided": decided_in_turn}, "decided return is final"),
        ({"rewards": lambda self: np.zeros(3, np.float32)}, "rewards are numbers"),
        ({"rewards": lambda self: np.ones(2, np.float32)}, "rewards sum to zero"),
        ({"rewards": paid(1.5), "returns": nothing_more}, r"values are in \[-1, 1\] where steps pay: .* at ply 0"),
        ({"active_players": property(lambda self: (CHANCE, 0) if self.ply < 3 else ())}, "chance moves alone"),
        (
            {"active_players": property(lambda self: (CHANCE,) if self.ply < 3 else ())},
            "chance",
        ),
        ({"key": lambda self: 7}, "different keys"),
        ({"key": lambda self: -1}, "64 bits"),
        ({"key": lambda self: np.uint64(TreeState.key(self))}, "whole numbers of 64 bits: got .*uint64"),
        ({"ply": property(lambda self: 3)}, "plies count up"),
        ({"play": lambda self, actions: None}, "expected State of play, got None"),
        ({"active_players": property(lambda self: 0)}, "expected tuple of active_players, got 0"),
        ({"legal_actions": lambda self, player: {0, 1}}, "expected Sequence or ndarray of legal_actions, got {0, 1}"),
        ({"observation": lambda self, player: [0.0]}, "expected ndarray of observation, got "),
        ({"rewards": lambda self: [0.0, 0.0]}, "expected ndarray of rewards, got "),
        ({"returns": lambda self: np.full(2, np.nan, np.float32)}, r"returns are numbers: .*got \[nan nan\]"),
    ],
)
def test_broken_states_are_found(methods: dict[str, Any], law: str) -> None:
    with pytest.raises(BrokenLaw, match=law):
        check_game(broken(**methods))


def test_team_mates_who_do_not_share_their_returns_are_found() -> None:
    class Allies(HashedTree):
        def __init__(self) -> None:
            super().__init__(TreeGame(4, 3, 4, 6, False))
            self.spec = replace(self.spec, teams=((0, 2), (1,)))

    with pytest.raises(BrokenLaw, match="team mates have the same returns"):
        check_game(Allies())
    with pytest.raises(ValueError, match="expected every one of 3 players in one team"):
        replace(Allies().spec, teams=((0, 2),))


def test_rewards_that_add_up_to_one_are_lawful() -> None:
    laws = check_game(broken(rewards=paid(1.0), returns=nothing_more))
    assert "values are in [-1, 1] where steps pay" in [law.name for law in laws]
    assert "values are in [-1, 1] where steps pay" not in [law.name for law in check_game(HashedTree(RULES))]


def test_a_game_that_never_ends_is_found() -> None:
    class Endless(HashedTree):
        def __init__(self) -> None:
            super().__init__(TreeGame(4, 2, 4, 50, False))
            self.spec = HashedTree(TreeGame(4, 2, 4, 2, False)).spec

    with pytest.raises(BrokenLaw, match="max_plies"):
        check_game(Endless())


def test_a_game_that_is_a_ply_longer_than_it_says_is_found() -> None:
    game = HashedTree(RULES)
    longest = game.spec.max_plies
    assert check_game(game)
    game.spec = replace(game.spec, max_plies=longest - 1)
    with pytest.raises(BrokenLaw, match=f"longer than max_plies: {longest - 1} plies"):
        check_game(game)


def test_a_state_that_changes_is_found() -> None:
    @dataclass(frozen=True)
    class Mutable(TreeState):
        def play(self, actions: Sequence[int]) -> TreeState:
            child = super().play(actions)
            object.__setattr__(self, "path", (*self.path, (0,)))
            return child

    class Game(HashedTree):
        def initial_state(self, seed: int = 0) -> TreeState:
            return Mutable(self.rules)

    with pytest.raises(BrokenLaw, match=r"nothing changes a state|equal seeds|plies"):
        check_game(Game(RULES))


def test_a_start_that_forgets_its_seed_is_found() -> None:
    class Game(HashedTree):
        count = 0

        def initial_state(self, seed: int = 0) -> TreeState:
            Game.count += 1
            return TreeState(TreeGame(Game.count, 2, 1, 6, False))

    with pytest.raises(BrokenLaw, match=r"equal seeds give equal games|survive parse"):
        check_game(Game(TreeGame(0, 2, 1, 6, False)))


def test_a_record_that_loses_something_is_found() -> None:
    class Game(HashedTree):
        def unpack(self, packed: Packed, players: Any) -> Views:
            return self.views([(TreeState(self.rules), int(player)) for player in players])

    with pytest.raises(BrokenLaw, match="unpack"):
        check_game(Game(RULES))


def test_symmetries_that_are_none_are_found() -> None:
    class Game(HashedTree):
        def symmetries(self) -> Sequence[Symmetry]:
            return [Symmetry("twice the first", lambda planes: planes, np.zeros(4, dtype=np.int64))]

    with pytest.raises(BrokenLaw, match="symmetries permute actions"):
        check_game(Game(RULES))


@pytest.mark.parametrize("broken_part", ["actions", "planes"])
def test_symmetries_whose_halves_disagree_are_found(broken_part: str) -> None:
    lawful = plugins().game("tictactoe")
    check_game(lawful)

    class Game(type(lawful)):  # type: ignore[misc]
        def symmetries(self) -> Sequence[Symmetry]:
            turn = super().symmetries()[1]
            nothing = {"actions": np.arange(9), "planes": lambda planes: planes}[broken_part]
            return [replace(turn, **{broken_part: nothing})]

    with pytest.raises(BrokenLaw, match=r"symmetries map"):
        check_game(Game())


def test_a_state_of_two_lines_is_found() -> None:
    class Game(HashedTree):
        def format_state(self, state: TreeState) -> str:
            return super().format_state(state) + "\n"

    with pytest.raises(BrokenLaw, match="a state is written in one line"):
        check_game(Game(RULES))


def test_who_forgets_chances_is_told_so() -> None:
    players = property(lambda self: (CHANCE,) if self.ply == 1 else (0,) * (self.ply < 3))
    drawing = broken(active_players=players, chances=State.chances)
    with pytest.raises(ValueError, match=r"expected Broken to have chances\(\), for chance moves here"):
        check_game(drawing)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"observation_shape": 3}, r"observation_shape of sizes of 1 or more, as a tuple, got 3"),
        ({"observation_shape": ()}, r"as a tuple, got \(\)"),
        ({"num_players": 0}, "num_players of 1 or more, got 0"),
        ({"num_actions": 2.5}, r"num_actions of 1 or more, got 2\.5"),
    ],
)
def test_a_spec_that_is_none_is_refused(changes: dict[str, Any], line: str) -> None:
    with pytest.raises(ValueError, match=line):
        replace(HashedTree(RULES).spec, **changes)


def test_broken_gates_evaluators_and_agents_are_found() -> None:
    game = HashedTree(RULES)

    class Half(PlyGate):
        def weights(self, views: Views) -> Any:  # type: ignore[misc]
            return np.full((len(views), 2), 0.25, np.float32)

    with pytest.raises(BrokenLaw, match="sum to one"):
        check_gate(Half([2]), game)

    class Loud:
        def evaluate(self, views: Views) -> Evaluation:
            return Evaluation(np.zeros((len(views), 4), np.float32), np.full(len(views), 3, np.float32))

    with pytest.raises(BrokenLaw, match="values are in"):
        check_evaluator(Loud(), game)

    class Cheat:
        name = "cheat"

        def act(self, views: Views, seats: Any) -> list[Decision]:
            return [Decision(action=99)] * len(views)

    with pytest.raises(BrokenLaw, match="actions are legal"):
        check_agent(Cheat(), game)


def test_answers_that_depend_on_the_batch_are_found() -> None:
    game = HashedTree(RULES)

    class Relative(PhaseGate):
        """A soft gate; which phase it is depends on who else is asked about."""

        name = "relative"
        phase_names = ("early", "late")

        def weights(self, views: Views) -> Any:
            late = views.plies() / max(1, *views.plies())
            return np.stack([1 - late, late], axis=1).astype(np.float32)

    assert (Relative().num_phases, Relative().parameters) == (2, {})
    with pytest.raises(BrokenLaw, match="do not depend on its batch: weights change with the other views"):
        check_gate(Relative(), game)

    class Normed:
        """As a network is that was left in training, where batch norm looks at the whole batch."""

        dtype = np.float32

        def evaluate(self, views: Views) -> Evaluation:
            planes = views.observations().reshape(len(views), -1)
            logits = (planes - planes.mean(axis=0)) @ np.ones((planes.shape[1], 4))
            return Evaluation(logits.astype(self.dtype), np.zeros(len(views), self.dtype))

    with pytest.raises(BrokenLaw, match="rows do not influence each other: evaluations change with the other views"):
        check_evaluator(Normed(), game)
    Normed.dtype = np.float64
    with pytest.raises(BrokenLaw, match="evaluations are float32: got float64"):
        check_evaluator(Normed(), game)

"""A game that breaks a law does not pass."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from games_for_tests import HashedHeaps, HashedTree, Heap, Heaps, TreeGame, TreeState

from moemcts.agents import Decision, RandomAgent
from moemcts.drawing import Drawing
from moemcts.errors import MoemctsError, UsageError
from moemcts.evaluation import Evaluation
from moemcts.game import CHANCE, Packed, State, Symmetry, Views
from moemcts.gates import PhaseGate, PlyGate, checked_gate
from moemcts.learn.schemes.catalogue import Separated
from moemcts.learn.schemes.scheme import Scheme, Team
from moemcts.learn.training.stages import Stage
from moemcts.plugins import plugins
from moemcts.testing import (
    BrokenLaw,
    check_agent,
    check_board,
    check_evaluator,
    check_game,
    check_gate,
    check_scheme,
)

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
    """Returns more with every ply to who does not move."""
    returns = np.zeros(2, np.float32)
    if state.active_players:
        returns[1 - state.ply % 2] = state.ply / 100
    return returns


COUNT, DRAWS = itertools.count(), np.random.default_rng(0)


def drawn(state: TreeState) -> Any:
    """Returns a winner at random at the end."""
    value = DRAWS.choice([-1, 1])
    return np.array([value, -value], np.float32) * (not state.active_players)


def paid(share: float) -> Callable[[TreeState], Any]:
    """Returns rewards that add up to so much in the longest game."""
    return lambda state: np.array([share, -share], np.float32) / RULES.depth * (state.ply > 0)


def nothing_more(state: TreeState) -> Any:
    return np.zeros(2, np.float32)


@pytest.mark.parametrize(
    ("methods", "law"),
    [
        ({"legal_actions": lambda self, player: []}, "every active player has a legal action"),
        ({"legal_actions": lambda self, player: [2, 1]}, r"integers of at least 0, ascending: got \[2, 1\]"),
        ({"legal_actions": lambda self, player: [-1, 0]}, r"integers of at least 0, ascending: got \[-1, 0\]"),
        ({"legal_actions": lambda self, player: [0.0, 1.0]}, r"integers of at least 0, .*: got \[0\.0, 1\.0\]"),
        ({"legal_actions": lambda self, player: [False, True]}, r"integers of at least 0, .*: got \[False, True\]"),
        ({"legal_actions": lambda self, player: np.array([[0], [1]])}, r"of at least 0, .*: got \[\[0\], \[1\]\]"),
        (
            {"active_players": property(lambda self: (0.0,) * (self.ply < 3))},
            r"active players ascend .*: got \(0\.0,\)",
        ),
        (
            {"legal_actions": lambda self, player: [0, 9]},
            r"legal actions are below num_actions: got \[0, 9\]",
        ),
        ({"search_actions": lambda self, player: [99]}, "worth searching are a part"),
        ({"observation": lambda self, player: np.zeros((2, 1, 4), np.float32)}, "declared shape"),
        ({"observation": lambda self, player: np.full((1, 1, 4), np.nan, np.float32)}, "observations are numbers"),
        ({"observation": lambda self, player: np.zeros((1, 1, 4))}, "observations are float32: got float64"),
        ({"returns": lambda self: np.zeros(2)}, "returns are float32: got float64"),
        ({"returns": lambda self: np.zeros(2, int)}, "returns are float32: got int64"),
        ({"rewards": lambda self: np.zeros(2)}, "rewards are float32: got float64"),
        ({"returns": lambda self: np.array([1, 1], np.float32)}, r"never active again: .* belongs to rewards\(\)"),
        (
            {"returns": half_won, "is_decided": lambda self, player: not self.active_players},
            r"returns are 0 for players whose return is not decided: got .* belongs to rewards\(\)",
        ),
        ({"returns": drawn}, "a position always gives the same answers: asked again, it differs in returns"),
        ({"play": lambda self, actions: TreeState.play(self, [next(COUNT)])}, "play is not random: .* differ in "),
        ({"returns": lambda self: np.array([5, -5], np.float32) * (not self.active_players)}, "in \\[-1, 1\\]"),
        ({"returns": half_won}, "a decided player is never active again"),
        ({"is_decided": lambda self, player: False}, "all are decided at the end"),
        ({"is_decided": lambda self, player: self.ply % 2 == 0 or not self.active_players}, "never active again"),
        ({"returns": rising, "is_decided": decided_in_turn}, "decided return is final"),
        ({"rewards": lambda self: np.zeros(3, np.float32)}, r"rewards are one per player: expected \(2,\), got \(3,\)"),
        ({"rewards": lambda self: np.ones(2, np.float32)}, "rewards sum to zero"),
        ({"rewards": paid(1.5), "returns": nothing_more}, r"values are in \[-1, 1\] where steps pay: .* at ply 0"),
        ({"active_players": property(lambda self: (CHANCE, 0) if self.ply < 3 else ())}, "chance moves alone"),
        (
            {"active_players": property(lambda self: (CHANCE,) if self.ply < 3 else ())},
            "chance",
        ),
        ({"key": lambda self: 7}, "different keys"),
        ({"key": lambda self: -1}, "64-bit"),
        ({"key": lambda self: np.uint64(TreeState.key(self))}, "64-bit whole numbers: got .*uint64"),
        ({"ply": property(lambda self: 3)}, "plies count up"),
        ({"play": lambda self, actions: None}, "expected State of play, got None"),
        ({"ply": property(lambda self: 3 * len(self.path))}, "plies count up: .* leads from ply 0 to 3"),
        ({"active_players": property(lambda self: 0)}, "expected tuple of active_players, got 0"),
        ({"legal_actions": lambda self, player: {0, 1}}, "expected Sequence or ndarray of legal_actions, got {0, 1}"),
        ({"observation": lambda self, player: [0.0]}, "expected ndarray of observation, got "),
        ({"rewards": lambda self: [0.0, 0.0]}, "expected ndarray of rewards, got "),
        ({"returns": lambda self: np.full(2, np.nan, np.float32)}, r"returns are numbers: got \[nan nan\]"),
        (
            {"returns": lambda self: nothing_more(self) + np.float32(0 if self.ply < 2 else np.nan)},
            r"returns are numbers: got \[",
        ),
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
    with pytest.raises(ValueError, match="expected each of the 3 players in exactly one team"):
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
    with pytest.raises(BrokenLaw, match=f"longer than max_plies: the game is not over after {longest - 1} plies"):
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

        def parse_state(self, text: str) -> TreeState:
            return Mutable(self.rules, super().parse_state(text).path)

    with pytest.raises(
        BrokenLaw, match=r"play does not change the position it is called on: .* changes its ply, .*, key; play ret"
    ):
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


def twice(actions: Any) -> list[Symmetry]:
    return [Symmetry("twice", lambda planes: planes, actions)]


@pytest.mark.parametrize(
    ("symmetries", "law"),
    [
        (twice(np.zeros(4, dtype=np.int64)), r"symmetries permute actions: twice maps to \[0, 0, 0, 0\]"),
        (twice([0, 1, 2, 3]), r"expected ndarray of symmetries, got \[0, 1, 2, 3\]"),
        (["twice"], "expected Symmetry of symmetries, got 'twice'"),
        (None, "expected Sequence of symmetries, got None"),
    ],
)
def test_symmetries_that_are_none_are_found(symmetries: Any, law: str) -> None:
    game = type("Game", (HashedTree,), {"symmetries": lambda self: symmetries})(RULES)
    with pytest.raises(BrokenLaw, match=law):
        check_game(game)


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

    with pytest.raises(BrokenLaw, match="a state is written on one line"):
        check_game(Game(RULES))


def test_who_forgets_chances_is_told_so() -> None:
    players = property(lambda self: (CHANCE,) if self.ply == 1 else (0,) * (self.ply < 3))
    drawing = broken(active_players=players, chances=State.chances)
    with pytest.raises(ValueError, match=r"expected Broken to define chances\(\), as chance moves in this position"):
        check_game(drawing)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"observation_shape": 3}, r"observation_shape to be a tuple of sizes of at least 1, got 3"),
        ({"observation_shape": ()}, r"to be a tuple of sizes of at least 1, got \(\)"),
        ({"num_players": 0}, "num_players to be at least 1, got 0"),
        ({"num_actions": 2.5}, r"num_actions to be at least 1, got 2\.5"),
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

    with pytest.raises(BrokenLaw, match=r"sum to one: got 0\.25, 0\.25 for one"):
        check_gate(Half([2]), game)

    class Unknown(PlyGate):
        def numbers(self, views: Views) -> Any:
            return np.where(views.plies() > 2, np.nan, views.plies())

    with pytest.raises(
        MoemctsError,
        match=r"gate 'plies' is invalid: expected a number to cut for every view, got NaN for \d+ of \d+ v",
    ):
        check_gate(Unknown([2]), game)
    numbered = PlyGate([2])
    numbered.phase_names = (0, 1)  # type: ignore[assignment]
    with pytest.raises(
        MoemctsError, match=r"expected a name and phase_names, a tuple of strings, got 'plies' and \(0, 1\)"
    ):
        checked_gate(numbered, "plies")

    class Counted(PlyGate):
        @property
        def parameters(self) -> Any:
            return {"cuts": np.array([2])}

    with pytest.raises(
        MoemctsError, match=r"expected parameters to be JSON values, got \{'cuts': array\(.*: Object of"
    ):
        checked_gate(Counted([2]), "plies")

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

    class Lone(RandomAgent):
        """Answers the first view that it is asked about, and no other."""

        def act(self, views: Views, seats: Any) -> Any:
            return super().act(views.take([0]), seats[:1])

    with pytest.raises(BrokenLaw, match=r"however many are asked about at once: 1 decisions for \d+ views; "):
        check_agent(Lone(), game)


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


def test_schemes_that_break_a_law_do_not_pass() -> None:
    gates = [PlyGate([3]), PlyGate([2, 4])]
    own = Separated()
    assert {law.num_cases for law in check_scheme(own, gates)} == {2, 2 + 3}

    class Restless(Separated):
        """As one is that draws its stages."""

        def stages(self, phase: int, num_phases: int) -> Sequence[Stage]:
            return [*super().stages(phase, num_phases), Stage(weights=(1.0,) * num_phases, epochs=next(counter))]

    counter = itertools.count(1)
    with pytest.raises(BrokenLaw, match=r"whenever they are asked for: got .* for phase 0 of 2 phases"):
        check_scheme(Restless(), gates)

    class ForTwo(Separated):
        def stages(self, phase: int, num_phases: int) -> Sequence[Stage]:
            return [Stage(weights=(1.0, 0.5))]

    with pytest.raises(MoemctsError, match="scheme ForTwo is invalid: expected stages for phase 0 with weights of 3"):
        check_scheme(ForTwo(), gates)

    class Free(Scheme):
        """Refuses gates of two phases, and counts no others' cost."""

        def check(self, gate: PhaseGate) -> None:
            if gate.num_phases == 2:
                raise UsageError("expected more phases than two")

        def cost(self, num_phases: int) -> float:
            return 0.0

        def fit(self, *_: Any, **__: Any) -> Team:
            raise NotImplementedError

    with pytest.raises(UsageError, match="expected more phases than two"):
        check_scheme(Free(), gates[:1])
    with pytest.raises(BrokenLaw, match=r"a number of passes above zero: got 0.0 of 3 phases"):
        check_scheme(Free(), gates)


def test_the_first_law_that_is_broken_is_told_before_anything_is_played() -> None:
    def play(self: TreeState, actions: Sequence[int]) -> TreeState:
        raise IndexError(f"no stones left for {actions}")

    with pytest.raises(BrokenLaw, match="legal actions are below num_actions"):
        check_game(broken(play=play, legal_actions=lambda self, player: range(5)))


def heaps(game_type: type[Heaps] = Heaps, /, **methods: Any) -> Heaps:
    """Returns the game with some methods of its positions replaced."""
    game = game_type()
    game.state_type = type("Replaced", (Heap,), methods)
    return game


def test_positions_that_share_a_list_are_told() -> None:
    def parity(state: Heap) -> Any:
        winner = len(state.taken) % 2
        return np.array([1 - 2 * winner, 2 * winner - 1], np.float32) * (not state.stones)

    with pytest.raises(
        BrokenLaw, match=r"play does not change the position it is called on: .* its observations; .* shares"
    ):
        check_game(heaps(observation=lambda self, player: np.full(10, len(self.taken), np.float32)))
    with pytest.raises(BrokenLaw, match=r"positions share nothing that play changes: .* changes the returns"):
        check_game(heaps(returns=parity))


def test_play_that_is_seldom_random_is_found() -> None:
    count = itertools.count(1)

    def play(self: Heap, actions: Sequence[int]) -> Heap:
        child = Heap.play(self, actions)
        return replace(child, stones=child.stones - 1) if child.stones == 5 and next(count) % 12 == 0 else child

    with pytest.raises(BrokenLaw, match=r"play is not random|equal seeds give equal games: seed \d+ and"):
        check_game(heaps(play=play))


@pytest.mark.parametrize(
    ("methods", "differ"),
    [
        ({"key": lambda self: self.stones}, "active_players"),
        ({"key": lambda self: 7, "observation": lambda self, player: np.zeros(10, np.float32)}, "active_players"),
        (
            {"key": lambda self: self.ply, "observation": lambda self, player: np.zeros(10, np.float32)},
            "legal_actions",
        ),
    ],
)
def test_keys_that_do_not_know_who_moves_or_what_is_legal_are_found(methods: dict[str, Any], differ: str) -> None:
    with pytest.raises(BrokenLaw, match=f"positions that look different have different keys: .* differ in .*{differ}"):
        check_game(heaps(**methods))


def test_keys_that_do_not_know_what_the_second_player_sees_are_found() -> None:
    def observation(self: TreeState, player: int) -> Any:
        return np.full((1, 1, 4), self.ply * player, np.float32)

    both = property(lambda self: (0, 1) if self.ply < 3 else ())
    methods = {"active_players": both, "legal_actions": lambda self, player: (0, 1), "observation": observation}
    with pytest.raises(BrokenLaw, match=r"different keys: .* differ in observations"):
        check_game(broken(**methods, key=lambda self: int(not self.active_players)))


def test_keys_that_other_processes_do_not_have_are_found() -> None:
    with pytest.raises(BrokenLaw, match=r"keys are the same in every process: .* Python's hash of text differs"):
        check_game(HashedHeaps())
    same = {law.name: law for law in check_game(Heaps())}["keys are the same in every process"]
    assert (same.num_cases > 10, same.not_checked) == (True, "")
    # A class of a function is not found elsewhere, nor is a game that nobody registered.
    left_out = {law.name: law for law in check_game(type("Local", (Heaps,), {})())}[same.name]
    assert (left_out.num_cases, left_out.not_checked.split(" nor ")[0]) == (0, "the game can neither be pickled")


def test_what_is_written_drawn_or_perceived_wrongly_is_found() -> None:
    def said(**methods: Callable[..., Any]) -> Heaps:
        return type("Said", (Heaps,), methods)()  # type: ignore[no-any-return]

    def other(state: Heap) -> State:
        class Negated(Heap):
            def observation(self, player: int) -> Any:
                return -super().observation(player)

        return Negated(state.stones, state.ply)

    for text in ("take {} ", "take\n{}", " {}"):
        with pytest.raises(BrokenLaw, match="actions are written on one line, without spaces around them: 0 became '"):
            check_game(said(format_action=lambda self, state, player, action, text=text: text.format(action)))
    with pytest.raises(BrokenLaw, match="whoever perceives a position moves in it: player 0 perceives one in which"):
        check_game(said(determinize=lambda self, state, player, seed=0: replace(state, ply=state.ply + 1)))
    with pytest.raises(
        BrokenLaw, match=r"legal actions are the same in a perceived position: .* perceives \[0\], not \[0, 1"
    ):
        check_game(said(determinize=lambda self, state, player, seed=0: replace(state, stones=1)))
    with pytest.raises(BrokenLaw, match=r"looks the same to its player: player 0 perceives '9,0', of which"):
        check_game(said(determinize=lambda self, state, player, seed=0: other(state)))
    with pytest.raises(BrokenLaw, match="positions are drawn as text"):
        check_game(said(render=lambda self, state: None))
    with pytest.raises(KeyError, match="hidden"):
        check_game(said(render=lambda self, state: {}["hidden"]))


def test_a_symmetry_to_which_the_start_looks_different_is_told() -> None:
    class Game(Heaps):
        def symmetries(self) -> Sequence[Symmetry]:
            return [Symmetry("mirror", lambda planes: planes[..., ::-1], np.array([2, 1, 0]))]

    (law,) = [law for law in check_game(Game()) if law.name == "symmetries map games to games"]
    assert (law.num_cases, law.not_checked) == (0, "the start looks different to symmetry mirror")


def test_a_start_that_hides_something_is_mapped_by_no_symmetry() -> None:
    laws = check_game(plugins().game("pommerman-1v1"), num_games=2)
    reasons = {law.not_checked for law in laws if law.name == "symmetries map games to games"}
    assert "the start hides something, which no symmetry maps" in reasons


def test_boards_that_show_what_is_no_action_are_found() -> None:
    class Shown:
        seats, colours, page = ("first", "second"), ("red", "blue"), None

        def draw(self, state: Any, player: int) -> Drawing:
            return Drawing(width=9, height=1, spots={9: ((0, 0, 1, 1),)})

    with pytest.raises(BrokenLaw, match=r"whatever can be clicked is an action: got \{9\}"):
        check_board(Shown(), Heaps())
    Shown.draw = lambda self, state, player: None  # type: ignore[assignment,method-assign,return-value]
    with pytest.raises(BrokenLaw, match="expected Drawing of draw, got None"):
        check_board(Shown(), Heaps())
    Shown.seats = ("first",)  # type: ignore[assignment]
    with pytest.raises(BrokenLaw, match="every player has a name"):
        check_board(Shown(), Heaps())

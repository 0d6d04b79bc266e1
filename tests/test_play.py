"""Games advance in one place: in lock-step, with chance drawn and failures caught."""

from __future__ import annotations

import functools
import re
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Self

import numpy as np
import pytest
from games_for_tests import HashedTree, NativeTicTacToe, TreeGame, TreeState

from moemcts.agent_calls import call_agent
from moemcts.agents import Agent, Decision, PolicyAgent, RandomAgent, Seat
from moemcts.arena import Conditions, Lineup, play_games
from moemcts.errors import Failure, GameFailure
from moemcts.evaluation import Evaluation, UniformEvaluator
from moemcts.game import CHANCE, Action, FloatArray, Game, GameSpec, Player, State, Views
from moemcts.play import Table, play, seats_of
from moemcts.search import SearchAgent, SearchConfig
from moemcts.search.playouts import PlayoutAgent


@dataclass(frozen=True)
class Roll(State):
    """A die is thrown, then the player says a number; who says what was thrown wins 1, who does not loses it."""

    thrown: int | None = None
    said: int | None = None

    @property
    def ply(self) -> int:
        return (self.thrown is not None) + (self.said is not None)

    @property
    def active_players(self) -> tuple[Player, ...]:
        return (CHANCE,) if self.thrown is None else (0,) if self.said is None else ()

    def legal_actions(self, player: Player) -> Sequence[Action]:
        return (1, 6) if player == CHANCE else range(7)

    def chances(self) -> FloatArray:
        return np.array([0.75, 0.25], dtype=np.float32)

    def play(self, actions: Sequence[Action]) -> Self:
        return type(self)(actions[0]) if self.thrown is None else type(self)(self.thrown, actions[0])

    def returns(self) -> FloatArray:
        won = 0 if self.said is None else 1 if self.said == self.thrown else -1
        return np.array([won], dtype=np.float32)

    def observation(self, player: Player) -> FloatArray:
        return np.full((1, 1, 1), self.thrown or 0, dtype=np.float32)

    def key(self) -> int:
        return hash((self.thrown, self.said))


class Dice(Game):
    spec = GameSpec(
        name="dice", num_players=1, num_actions=7, observation_shape=(1, 1, 1), max_plies=2, utility_sum=None
    )

    def initial_state(self, seed: int = 0) -> Roll:
        return Roll()

    def parse_state(self, text: str) -> Roll:
        raise NotImplementedError

    def format_state(self, state: State) -> str:
        return str(state)


class SaysSix:
    name = "says six"

    def __init__(self) -> None:
        self.asked: list[int] = []

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        self.asked.append(len(seats))
        return [Decision(action=6)] * len(seats)


def table(game: Game, agents: Sequence[Agent], number: int = 0) -> Table:
    num_players = game.spec.num_players
    return Table(
        state=game.initial_state(number),
        agents=agents,
        seats=seats_of(num_players, 7, number),
        chance=np.random.default_rng([7, number, num_players]),
    )


def test_chance_draws_by_its_probabilities_and_no_agent_is_asked() -> None:
    game, agent = Dice(), SaysSix()
    steps = [step for steps in play(game, (table(game, [agent], i) for i in range(2000))) for step in steps]
    throws = Counter(step.decisions[0].action for step in steps if step.players == (CHANCE,))
    # 2000 throws with p = 3/4: a standard deviation of 19.4.
    assert throws.keys() == {1, 6}
    assert abs(throws[1] - 1500) < 100
    assert sum(agent.asked) == 2000


def test_what_chance_draws_depends_on_the_game_alone() -> None:
    game = Dice()
    lineups = [Lineup(agents=[SaysSix()], seed=number) for number in range(50)]
    together = sorted(play_games(game, lineups, Conditions(seed=3)), key=lambda record: record.index)
    alone = [next(iter(play_games(game, [lineup], Conditions(seed=3)))) for lineup in lineups]
    assert [record.moves for record in together] == [record.moves for record in alone]
    assert {record.moves for record in together} == {((1,), (6,)), ((6,), (6,))}
    assert all(record.returns == ((1.0,) if record.moves[0] == (6,) else (-1.0,)) for record in together)


def test_tables_are_taken_when_there_is_room_and_closed_ones_leave() -> None:
    game = NativeTicTacToe()
    opened: list[int] = []

    def tables() -> Iterator[Table]:
        for number in range(6):
            opened.append(number)
            yield table(game, [RandomAgent()] * 2, number)

    sizes = []
    for steps in play(game, tables(), max_parallel=2):
        sizes.append(len(steps))
        steps[0].table.close()
        if len(sizes) == 1:
            assert opened == [0, 1]
    assert opened == list(range(6))
    assert max(sizes) == 2


@pytest.mark.parametrize("in_flight", [2, 3, 50])
def test_games_are_the_same_in_however_many_groups(in_flight: int) -> None:
    """Two agents, one of which cannot be interrupted, and a game in which chance moves alone."""
    game = NativeTicTacToe()
    search = SearchAgent(game, UniformEvaluator(game.spec), SearchConfig(simulations=6, temperature=1.0))
    lineups = [Lineup(agents=[search, RandomAgent()][:: 1 - 2 * (number % 2)], seed=number) for number in range(11)]
    dice = [Lineup(agents=[SaysSix()], seed=number) for number in range(11)]
    for made, given in ((game, lineups), (Dice(), dice)):
        alone, together = (
            sorted(play_games(made, given, Conditions(seed=3, max_parallel=5, in_flight=num)), key=attrgetter("index"))
            for num in (1, in_flight)
        )
        assert alone == together


def test_fewer_games_than_places_are_in_as_many_groups() -> None:
    sizes: list[int] = []

    class Counts(UniformEvaluator):
        def evaluate(self, views: Views) -> Evaluation:
            sizes.append(len(views))
            return super().evaluate(views)

    game = NativeTicTacToe()
    agent = PolicyAgent(Counts(game.spec))
    tables = [table(game, [agent, agent], number) for number in range(6)]
    assert sum(len(steps) for steps in play(game, tables, max_parallel=128, in_flight=3)) == sum(sizes)
    assert set(sizes) == {2}


def test_an_agent_that_fails_in_flight_fails_where_it_does() -> None:
    game = NativeTicTacToe()

    class Fails(UniformEvaluator):
        def evaluate(self, views: Views) -> Evaluation:
            if any(views[row].state.ply == 3 for row in range(len(views))):
                raise ArithmeticError("no numbers today")
            return super().evaluate(views)

    agent = PolicyAgent(Fails(game.spec), temperature=1.0)
    tables = [table(game, [agent, agent], number) for number in range(5)]
    before = threading.active_count()
    steps = [step for steps in play(game, tables, max_parallel=4, in_flight=2) for step in steps]
    failed = [step for step in steps if step.failures]
    assert len(failed) == 5
    assert all(step.state.ply == 3 for step in failed)
    (reason,) = {failure.reason for step in failed for failure in step.failures.values()}
    assert reason.startswith("ArithmeticError: no numbers today in evaluate (test_play.py:")
    assert threading.active_count() == before


def test_who_stops_looking_leaves_nothing_that_goes_on() -> None:
    game = NativeTicTacToe()
    agent = SearchAgent(game, UniformEvaluator(game.spec), SearchConfig(simulations=6))
    before = threading.active_count()
    rounds = play(game, [table(game, [agent, agent], number) for number in range(6)], in_flight=2)
    next(rounds)
    rounds.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before
    with pytest.raises(ValueError, match="expected in_flight of at least 1, got 0"):
        next(play(game, [], in_flight=0))


def test_a_table_seats_every_player() -> None:
    with pytest.raises(ValueError, match="expected an agent for each of 2 players, got 1"):
        table(NativeTicTacToe(), [RandomAgent()])


def test_answers_that_are_no_decisions_fail() -> None:
    class Old(RandomAgent):
        name = "old"

        def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
            return [decision.action for decision in super().act(views, seats)]  # type: ignore[misc]

    game = NativeTicTacToe()
    one = table(game, [Old(), RandomAgent()])
    ((step,),) = play(game, [one])
    assert step.failures[0].kind == "crash"
    assert "expected a Decision, got" in step.failures[0].reason
    assert not one.is_open
    assert one.state.ply == 0


class Toll(Roll):
    """Every step costs a tenth."""

    def rewards(self) -> FloatArray:
        return np.array([-0.1 if self.ply else 0.0], dtype=np.float32)


class Tolls(Dice):
    def initial_state(self, seed: int = 0) -> Roll:
        return Toll()


def test_what_is_paid_on_the_way_counts_with_the_end() -> None:
    for record in play_games(Tolls(), [Lineup(agents=[SaysSix()], seed=number) for number in range(9)]):
        won = 1 if record.moves[0] == (6,) else -1
        assert record.returns == pytest.approx((won - 0.2,), abs=1e-6)


def _noted(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def noted(*arguments: Any) -> Any:
        return method(*arguments)

    return noted


@pytest.mark.parametrize("wrap", [lambda method: method, _noted])
@pytest.mark.parametrize("num_views", [1, 2])
def test_an_error_of_the_game_is_no_agents(num_views: int, wrap: Callable[..., Any]) -> None:
    class Position(TreeState):
        @wrap
        def play(position, actions):  # type: ignore[no-untyped-def]
            raise KeyError("no such heap")

    class Broken(HashedTree):
        def initial_state(self, seed: int = 0) -> TreeState:
            return Position(self.rules)

    class Careless:
        """An agent that plays on by itself, with actions that there are not."""

        name = "careless"

        def act(self, views: Views, seats: Sequence[Seat]) -> list[Decision]:
            views[0].state.play([99])
            return []

    game = Broken(TreeGame(seed=5, num_players=2, branching=3, depth=4, simultaneous=False))
    views = game.views([(game.initial_state(), 0)] * num_views)
    seats = [Seat(0, np.random.default_rng(row)) for row in range(num_views)]
    searching = SearchAgent(game, UniformEvaluator(game.spec), SearchConfig(simulations=8))
    with pytest.raises(GameFailure, match=r"the game raised KeyError: 'no such heap' in play \(test_play.py:\d+\)"):
        call_agent(searching, views, seats)
    for in_flight in (1, 2):
        with pytest.raises(GameFailure, match=r"^hashed-tree raised KeyError: 'no such heap' in play "):
            list(play(game, [table(game, [searching] * 2, number) for number in range(2)], in_flight=in_flight))
    told = call_agent(Careless(), views, seats)
    assert [one.kind for one in told if isinstance(one, Failure)] == ["crash"] * num_views


@pytest.mark.parametrize(
    ("final", "told"),
    [
        ([1.0, 0.3], r"final returns that sum to utility_sum, 0, the game gave \[1.0, 0.3\]"),
        ([5.0, -5.0], r"returns in \[-1, 1\], the game gave"),
        ([0.0, 0.0, 0.0], "returns of 2 players, all finite numbers, the game gave"),
        (None, "the game to end within max_plies, 1, but it goes on"),
    ],
)
def test_an_end_that_a_game_cannot_have_is_the_games(final: list[float] | None, told: str) -> None:
    class Position(TreeState):
        def returns(self) -> FloatArray:
            return super().returns() if final is None or self.active_players else np.array(final)

    class Broken(HashedTree):
        def initial_state(self, seed: int = 0) -> TreeState:
            return Position(self.rules)

    game = Broken(TreeGame(seed=1, num_players=2, branching=3, depth=4, simultaneous=False))
    if final is None:
        game.spec = replace(game.spec, max_plies=1)
    with pytest.raises(
        GameFailure, match=f"hashed-tree breaks the laws of games, see `moemcts check`: expected {told}"
    ):
        list(play(game, [table(game, [RandomAgent()] * 2, number) for number in range(9)]))


@pytest.mark.parametrize(
    "players",
    [0, 1, [0], (0.5,), (2,), (-1, 0), None],
)
@pytest.mark.parametrize("ply", [0, 1])
def test_who_moves_is_told_as_the_laws_say(players: object, ply: int) -> None:
    class Position(TreeState):
        @property
        def active_players(self) -> tuple[int, ...]:
            return players if self.ply == ply else super().active_players  # type: ignore[return-value]

    class Broken(HashedTree):
        def initial_state(self, seed: int = 0) -> TreeState:
            return Position(self.rules)

    game = Broken(TreeGame(seed=1, num_players=2, branching=3, depth=4, simultaneous=False))
    told = f"expected active_players to be a tuple of players from 0 to 1, the game gave {players!r}"
    with pytest.raises(GameFailure, match=re.escape(told)):
        list(play(game, [table(game, [RandomAgent()] * 2, number) for number in range(3)]))


@pytest.mark.parametrize(
    ("method", "numbers", "told"),
    [
        ("returns", [5.0, -5.0], r"expected returns in \[-1, 1\], the game gave \[5.0, -5.0\]"),
        ("returns", [float("nan"), 0.0], "expected returns of 2 players, all finite numbers, the game gave"),
        ("rewards", [float("inf"), 0.0], "expected rewards of 2 players, all finite numbers, the game gave"),
        ("returns", None, "expected returns of 2 players, all finite numbers, the game gave None"),
        ("legal_actions", [2, 0], "expected actions of player . that ascend, the game gave 0 after 2"),
        ("legal_actions", [-1, 0], "expected actions, integers of at least 0, the game gave -1"),
        ("legal_actions", 7, "expected actions, integers of at least 0, the game gave 7"),
        ("legal_actions", ["e4"], "expected actions, integers of at least 0, the game gave 'e4'"),
    ],
)
@pytest.mark.parametrize("agent", ["search", "playouts"])
def test_what_a_game_must_not_give_a_search_is_no_agents_failure(
    method: str, numbers: list[float] | list[str] | int | None, told: str, agent: str
) -> None:
    if numbers == [2, 0] and agent == "playouts":
        pytest.skip("they draw from the actions, in whatever order")

    def given(state: TreeState, *_: object) -> object:
        is_asked = bool(state.path) and (method == "legal_actions" or not state.active_players or method == "rewards")
        return numbers if is_asked else getattr(TreeState, method)(state, *_)

    class Broken(HashedTree):
        def initial_state(self, seed: int = 0) -> TreeState:
            return type("Position", (TreeState,), {method: given})(self.rules)

    game = Broken(TreeGame(seed=5, num_players=2, branching=9, depth=12, simultaneous=False))
    searching: dict[str, Agent] = {
        "search": SearchAgent(game, UniformEvaluator(game.spec), SearchConfig(simulations=80)),
        "playouts": PlayoutAgent(game, playouts=80, exploration=1.4),
    }

    class Own:
        """An agent with code of its own, whatever that has done to the game before it searches."""

        name = "own"

        def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
            return searching[agent].act(views, seats)

    views = game.views([(game.initial_state(), 0)] * 2)
    seats = [Seat(0, np.random.default_rng(row)) for row in range(2)]
    with pytest.raises(GameFailure, match=f"^hashed-tree breaks the laws of games, see `moemcts check`: {told}"):
        call_agent(searching[agent], views, seats)
    answers = call_agent(Own(), views, seats)
    assert [one.kind for one in answers if isinstance(one, Failure)] == ["crash"] * 2


def test_an_error_of_a_game_that_came_through_the_standard_library_is_the_games() -> None:
    class Position(TreeState):
        @functools.cached_property
        def _moves(self) -> list[int]:
            raise KeyError("no such heap")

        def legal_actions(self, player: Player) -> Sequence[Action]:
            return self._moves

    class Broken(HashedTree):
        def initial_state(self, seed: int = 0) -> TreeState:
            return Position(self.rules)

    game = Broken(TreeGame(seed=5, num_players=2, branching=3, depth=4, simultaneous=False))
    searching = SearchAgent(game, UniformEvaluator(game.spec), SearchConfig(simulations=8))
    with pytest.raises(GameFailure, match=r"the game raised KeyError: 'no such heap' in _moves \(test_play.py:\d+\)"):
        call_agent(searching, game.views([(game.initial_state(), 0)]), [Seat(0, np.random.default_rng(0))])


@pytest.mark.parametrize("kind", [list, set, dict, deque, bytearray, np.array])
def test_a_memory_that_is_changed_in_place_is_restored_where_another_game_fails(
    kind: Callable[[list[int]], Any],
) -> None:
    class Notes:
        """Notes the plies at which it was asked, and fails at ply 2."""

        name = "notes"

        def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
            plies = [int(ply) for ply in views.plies()]
            for ply, seat in zip(plies, seats, strict=True):
                if isinstance(seat.memory, np.ndarray):
                    seat.memory += 1
                elif isinstance(seat.memory, dict):
                    seat.memory[len(seat.memory)] = ply
                else:
                    getattr(seat.memory, "append", getattr(seat.memory, "add", None))(10 * len(seat.memory) + ply)
            if 2 in plies:
                raise ArithmeticError
            return RandomAgent().act(views, seats)

    def memory() -> Any:
        return {0: 0} if kind is dict else kind([9])

    game = NativeTicTacToe()
    start = game.initial_state()
    pairs = [(start, 0), (start.play([0]).play([1]), 0), (start.play([4]), 1)]
    seats, alone = ([Seat(player, np.random.default_rng(1), memory()) for _, player in pairs] for _ in range(2))
    answers = call_agent(Notes(), game.views(pairs), seats)
    expected = [call_agent(Notes(), game.views([pair]), [seat])[0] for pair, seat in zip(pairs, alone, strict=True)]
    assert answers == expected
    assert isinstance(answers[1], Failure)
    assert [str(seat.memory) for seat in seats] == [str(seat.memory) for seat in alone]

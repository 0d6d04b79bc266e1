"""Games with dice, rewards and a discount are searched to their known values, as the definition does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from games_for_tests import HashedTree, TreeGame, TreeState
from games_of_chance import HOLD, ROLL, Grid, Leaving, LeavingState, Pig, PigState
from searching_for_tests import HashedEvaluator, native_results, reference_visits

from moemcts.agents import Decision
from moemcts.evaluation import Evaluation, RolloutEvaluator, UniformEvaluator
from moemcts.game import CHANCE, Action, FloatArray, Game, GameSpec, Player, State, Views
from moemcts.native import playout_search, playouts
from moemcts.search import Search, SearchConfig
from moemcts.search.rollouts import TruncatedRollouts
from moemcts.testing import BrokenLaw, check_game

PIG = Pig(target=6, sides=3)


@pytest.mark.parametrize("game", [PIG, Grid(), Grid(4, 1.0)], ids=["pig", "grid", "grid without discount"])
def test_games_of_chance_and_rewards_keep_the_laws(game: Pig | Grid) -> None:
    names = {law.name for law in check_game(game, num_games=10)}
    assert "rewards are numbers" in names
    assert ("chances are a distribution" in names) == isinstance(game, Pig)


@pytest.mark.parametrize("leaves", [1, 3])
@pytest.mark.parametrize("game", [PIG, Grid()], ids=["pig", "grid"])
def test_they_are_searched_like_the_definition(game: Pig | Grid, leaves: int) -> None:
    config = SearchConfig(simulations=400, leaves_per_tree=leaves, noise_fraction=0.25, first_play_urgency="draw")
    evaluator = HashedEvaluator(game.spec.num_actions, 1)
    root = game.initial_state()
    for seed in range(3):
        expected = reference_visits(game, root, config, evaluator, seed)
        (result,) = native_results(game, [(root, 0)], config, evaluator, [seed])
        assert dict(zip(result.actions, result.visits, strict=True)) == expected.visits(0)
        assert result.num_nodes == expected.num_nodes
        assert result.value == pytest.approx(expected.root.seats[0].value_sum / expected.root.visits, abs=1e-12)


def test_the_value_of_a_game_of_dice_converges_to_its_known_one() -> None:
    expected = 2 * PIG.wins() - 1
    config = SearchConfig(simulations=20_000, c_init=1.0, first_play_urgency="parent", leaves_per_tree=4)
    values = []
    for seed in range(4):
        search = Search(PIG, config)
        search.reset(PIG.views([(PIG.initial_state(), 0)]), [seed])
        (result,) = search.run(UniformEvaluator(PIG.spec))
        values.append(result.value)
    # Four searches of 20,000 throws; exploring costs both players a little, and the rest is the dice's.
    assert np.mean(values) == pytest.approx(expected, abs=0.04)


def test_a_die_is_worth_its_mean_and_not_its_first_throw() -> None:
    # One point is missing, three sides: two of three throws win at once.
    root = PigState(6, 3, (4, 5), turn=0)
    config = SearchConfig(simulations=3000, first_play_urgency="draw")
    (result,) = native_results(PIG, [(root, 0)], config, UniformEvaluator(PIG.spec), [3])
    (value,) = result.values
    # Win with a 2 or a 3; after a 1 the opponent wins with a 2 or a 3, and so on: 2/3 / (1 - 1/9) of the games.
    assert value == pytest.approx(2 * 0.75 - 1, abs=0.04)


def test_a_position_of_rewards_is_worth_the_best_way() -> None:
    for game in (Grid(3, 0.9), Grid(3, 0.6), Grid(3, 1.0)):
        config = SearchConfig(simulations=20_000, c_init=0.1, first_play_urgency="draw")
        (result,) = native_results(game, [(game.initial_state(), 0)], config, UniformEvaluator(game.spec), [0])
        # A little of every search is spent on other ways than the best.
        assert result.values.max() == pytest.approx(game.optimum(), abs=0.03)
        assert result.value <= game.optimum() + 1e-6
        state, worth, scale = game.initial_state(), 0.0, 1.0
        for actions in result.principal_variation:
            state = state.play(actions)
            worth, scale = worth + scale * float(state.rewards()[0]), scale * game.spec.discount
        assert worth == pytest.approx(game.optimum(), abs=1e-6)


def test_a_root_where_chance_moves_is_refused() -> None:
    rolling = PIG.initial_state().play([ROLL])
    assert rolling.active_players == (CHANCE,)
    search = Search(PIG, SearchConfig(simulations=4))
    with pytest.raises(ValueError, match="a root in which a player moves, got one in which chance moves"):
        search.reset(PIG.views([(rolling, 0)]), [0])
    with pytest.raises(ValueError, match="play an outcome first"):
        playout_search(PIG.views([(rolling, 0)]), PIG.spec, [0], playouts=4, depth=1)


@pytest.mark.parametrize(
    ("methods", "line"),
    [
        ({"chances": lambda self: np.array([0.5, 0.2, 0.2], np.float32)}, "summing to one"),
        ({"chances": lambda self: np.array([0.5, 0.5], np.float32)}, "the chances of 3 outcomes"),
        ({"chances": lambda self: np.array([1.5, -0.5, 0], np.float32)}, "non-negative"),
        ({"rewards": lambda self: np.zeros(3, np.float32)}, "rewards of 2 players"),
        ({"rewards": lambda self: np.full(2, np.nan, np.float32)}, "all finite numbers"),
    ],
)
def test_what_is_no_game_of_chance_is_refused_and_found(methods: dict[str, object], line: str) -> None:
    state_type = type("Broken", (PigState,), methods)

    class Game(Pig):
        def initial_state(self, seed: int = 0) -> PigState:
            return state_type(self.target, self.sides)  # type: ignore[no-any-return]

    game = Game(6, 3)
    # Every step makes a plain position again: the root's own throw is what is broken.
    state_type.play = lambda self, actions: state_type(**vars(PigState.play(self, actions)))  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match=line):
        native_results(game, [(game.initial_state(), 0)], SearchConfig(simulations=9), UniformEvaluator(game.spec), [0])
    with pytest.raises(BrokenLaw, match=r"chances are a distribution|rewards are (one per player|numbers)"):
        check_game(game, num_games=1)


def test_playouts_draw_pay_and_discount() -> None:
    game = Pig(2, 3)
    # Two of three throws win at once, else it is the other's turn.
    mean = playouts(game.views([(game.initial_state(), 0)]), game.spec, 20_000, 1)[0]
    # Four standard errors of a result in [-1, 1].
    assert mean == pytest.approx([0.5, -0.5], abs=4 / np.sqrt(20_000))

    grid = Grid(2, 0.5)
    views = grid.views([(grid.initial_state(), 0)])
    ((actions, visits, sums),) = playout_search(views, grid.spec, [4], playouts=4000, exploration=1.0)
    best = visits.argmax()
    # By the coin to the goal: 0.112 now and 0.192 a step later.
    assert actions[best] == 3
    assert (sums / visits)[best] == pytest.approx(0.112 + 0.5 * 0.192, abs=0.02)
    assert grid.optimum() == pytest.approx(0.112 + 0.5 * 0.192)
    value = RolloutEvaluator(grid.spec, num_rollouts=10).evaluate(views).value
    assert value.shape == (1, 1)


def test_flat_search_and_uct_throw_dice() -> None:
    # Two of three throws win at once; who holds lets the opponent throw for the last point instead.
    root = PigState(6, 3, (0, 5), points=4)
    for options in ({"depth": 1}, {"exploration": 1.0}):
        ((actions, visits, sums),) = playout_search(PIG.views([(root, 0)]), PIG.spec, [2], playouts=4000, **options)
        means = dict(zip(actions, sums / visits, strict=True))
        assert means[ROLL] > means[HOLD]
        assert abs(means[ROLL]) < 1


def test_a_step_into_a_chance_node_is_not_discounted() -> None:
    class Slow(Pig):
        def __init__(self) -> None:
            super().__init__(2, 2)
            self.spec = GameSpec(
                name="slow", num_players=2, num_actions=2, observation_shape=(6,), max_plies=10_000, discount=0.5
            )

    game = Slow()
    config = SearchConfig(simulations=8000, first_play_urgency="draw")
    (result,) = native_results(game, [(game.initial_state(), 0)], config, UniformEvaluator(game.spec), [0])
    # v = 0.5 * (1 - v) / 2, for a 2 wins and a 1 passes the turn.
    assert result.value == pytest.approx(0.2, abs=0.02)
    mean = playouts(game.views([(game.initial_state(), 0)]), game.spec, 20_000, 1)[0]
    assert mean[0] == pytest.approx(0.2, abs=0.02)


def test_what_is_decided_is_neither_guessed_nor_discounted_while_others_play_on() -> None:
    game, root = Leaving(), LeavingState()
    check_game(game, num_games=5)
    # Its values are any, of those who have left too.
    config, evaluator = SearchConfig(simulations=200), HashedEvaluator(2, 3)
    (result,) = native_results(game, [(root, 2)], config, evaluator, [0])
    tree = reference_visits(game, root, config, evaluator, 0)
    (seat,) = tree.root.seats
    # One step before -0.5 at a discount of 0.5, however deep the descents went.
    assert result.values[1] == seat.value_sums[1] / seat.visits[1] == -0.25
    assert list(result.visits) == seat.visits
    assert result.visits[1] > 5
    left = game.views([(LeavingState(1, has_left=True), 1)])
    assert playouts(left, game.spec, 4, 0)[0, 2] == -0.5
    ((_, visits, sums),) = playout_search(game.views([(root, 2)]), game.spec, [0], playouts=50, exploration=1.0)
    assert (sums / visits)[1] == -0.25
    rollouts = TruncatedRollouts(game, evaluator, plies=3)
    ends = rollouts.roll_out(left)
    assert ends.scales.tolist() == [[0.0625, 0.0625, 0.0]]
    assert ends.paid.tolist() == [[0.0, 0.0, -0.5]]


def test_what_is_left_of_a_fixed_sum_goes_to_those_who_are_still_in() -> None:
    class LeavingForASum(Leaving):
        spec = replace(Leaving.spec, utility_sum=0.0)

    class TenthEvaluator:
        def evaluate(self, views: Views) -> Evaluation:
            return Evaluation(np.zeros((len(views), 2), np.float32), np.full(len(views), 0.1, np.float32))

    game = LeavingForASum()
    config = SearchConfig(simulations=1)
    # Player 2 has left with -0.5, player 1 sees 0.1.
    for state, expected in ((LeavingState(1, has_left=True), [0.4, 0.1, -0.5]), (LeavingState(1), [-0.05, 0.1, -0.05])):
        (result,) = native_results(game, [(state, 1)], config, TenthEvaluator(), [0])
        tree = reference_visits(game, state, config, TenthEvaluator(), 0)
        assert result.evaluation == pytest.approx(expected)
        assert tree.root.values == pytest.approx(expected)


def test_nothing_is_proven_across_chance_or_rewards() -> None:
    config = SearchConfig(simulations=200, solver=True)
    (result,) = native_results(PIG, [(PigState(6, 3, (5, 5)), 0)], config, UniformEvaluator(PIG.spec), [0])
    assert not result.proven.any()
    # Who may hold the points that win is not at chance's mercy.
    (result,) = native_results(PIG, [(PigState(6, 3, (2, 0), points=3), 0)], config, UniformEvaluator(PIG.spec), [0])
    assert list(result.actions) == [ROLL, HOLD]
    assert not result.proven.any()


class ConstantEvaluator:
    def __init__(self, value: np.ndarray) -> None:
        self.value = value

    def evaluate(self, views: Views) -> Evaluation:
        return Evaluation(np.zeros((len(views), 2), np.float32), self.value)


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (np.array([1.2], np.float32), r"expected values in \[-1, 1\] from the evaluator, got 1.2 in row 0"),
        (np.array([[0.0, -7.0]], np.float32), r"expected values in \[-1, 1\]"),
        (np.array([[0.0, 0.0, 0.0]], np.float32), r"expected value \[1\] or \[1, 2\], got shape \[1, 3\]"),
        (np.array([[0.0]], np.float32), r"expected value \[1\] or \[1, 2\], got shape \[1, 1\]"),
        (np.zeros((1, 2, 1), np.float32), r"expected value \[N\] or \[N, P\]"),
    ],
)
def test_values_out_of_range_or_of_another_shape_are_refused(value: np.ndarray, line: str) -> None:
    search = Search(PIG, SearchConfig(simulations=4))
    search.reset(PIG.views([(PIG.initial_state(), 0)]), [0])
    with pytest.raises(ValueError, match=line):
        search.run(ConstantEvaluator(value))


def test_rounding_of_low_precision_is_not_out_of_range() -> None:
    search = Search(PIG, SearchConfig(simulations=4))
    search.reset(PIG.views([(PIG.initial_state(), 0)]), [0])
    search.select()
    search.backup(Evaluation(np.zeros((1, 2), np.float32), np.array([1.0005], np.float32)))
    (result,) = search.results()
    assert result.value == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(
    ("numbers", "line"),
    [
        ({"discount": 0.0}, "expected discount"),
        ({"discount": 1.5}, "expected discount"),
        ({"discount": 0.9, "utility_sum": 1.0}, "utility_sum to be 0 or None with a discount below 1"),
        ({"score_unit": 0.0}, "expected score_unit to be above 0 and finite"),
    ],
)
def test_a_spec_refuses_numbers_that_mean_nothing(numbers: dict[str, float], line: str) -> None:
    with pytest.raises(ValueError, match=line):
        GameSpec(name="x", num_players=2, num_actions=1, observation_shape=(1,), max_plies=1, **numbers)  # type: ignore[arg-type]


def test_a_failing_ply_or_key_is_no_zero() -> None:
    class Failing(TreeState):
        def key(self) -> int:
            raise RuntimeError("no key here")

    game = HashedTree(TreeGame(3, 2, 3, 5, False))
    root = Failing(game.rules)
    search = Search(game, SearchConfig(simulations=20))
    search.reset(game.views([(root, 0)]), [0])
    search.run(UniformEvaluator(game.spec))
    (kept,) = search.keep()
    with pytest.raises(RuntimeError, match="no key here"):
        search.reset(game.views([(root, 0)]), [0], [kept])


def test_drawn_replies_are_asked_for_at_every_descent() -> None:
    game = HashedTree(TreeGame(4, 2, 3, 6, True))
    root = game.initial_state()
    player = root.active_players[0]

    class Counting:
        name = "counting"

        def __init__(self) -> None:
            self.asked: dict[tuple[int, Player], int] = {}

        def act(self, views: Views, seats: Sequence[object]) -> list[Decision]:
            for row in range(len(views)):
                state, who = views[row]
                self.asked[state.key(), who] = self.asked.get((state.key(), who), 0) + 1
            pairs = [views[row] for row in range(len(views))]
            return [Decision(action=int(state.legal_actions(who)[0])) for state, who in pairs]

    counts = {}
    for replies in ("kept", "drawn"):
        agent = Counting()
        config = SearchConfig(simulations=30, replies=replies)  # type: ignore[arg-type]
        native_results(game, [(root, player)], config, HashedEvaluator(3, 1), [0], agent)
        counts[replies] = max(agent.asked.values())
    assert counts["kept"] == 1
    assert counts["drawn"] > 5


FAR = 70_000


@dataclass(frozen=True)
class CoinState(State):
    """One decision that means nothing, and a coin whose sides have large numbers."""

    path: tuple[Action, ...] = ()

    @property
    def ply(self) -> int:
        return len(self.path)

    @property
    def active_players(self) -> tuple[Player, ...]:
        return ((0,), (CHANCE,), ())[len(self.path)]

    def legal_actions(self, player: Player) -> Sequence[Action]:
        return (0, 1) if player == 0 else (FAR, FAR + 1)

    def chances(self) -> FloatArray:
        return np.array([0.5, 0.5], dtype=np.float32)

    def play(self, actions: Sequence[Action]) -> CoinState:
        return CoinState((*self.path, int(actions[0])))

    def returns(self) -> FloatArray:
        won = {FAR: 1.0, FAR + 1: -1.0}
        return np.array([won[self.path[1]] if len(self.path) > 1 else 0.0], dtype=np.float32)

    def observation(self, player: Player) -> FloatArray:
        return np.zeros(1, dtype=np.float32)

    def key(self) -> int:
        return hash(self.path) % 2**64


class Coin(Game):
    spec = GameSpec(name="coin", num_players=1, num_actions=2, observation_shape=(1,), max_plies=2, utility_sum=None)

    def initial_state(self, seed: int = 0) -> CoinState:
        return CoinState()

    def parse_state(self, text: str) -> CoinState:
        raise NotImplementedError

    def format_state(self, state: State) -> str:
        raise NotImplementedError


def test_outcomes_of_chance_may_have_larger_numbers_than_actions() -> None:
    game, config = Coin(), SearchConfig(simulations=200)
    evaluator = UniformEvaluator(game.spec)
    root = game.initial_state()
    (result,) = native_results(game, [(root, 0)], config, evaluator, [3])
    expected = reference_visits(game, root, config, evaluator, 3)
    assert dict(zip(result.actions, result.visits, strict=True)) == expected.visits(0)
    assert abs(result.value) < 0.3

"""Games to learn from, targets of values, windows of generations, experts that go on."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from learning_games import Board, TicTacToe

from moemcts.agents import Decision, RandomAgent, Seat
from moemcts.errors import MoemctsError, UsageError
from moemcts.evaluation import Evaluation, UniformEvaluator
from moemcts.game import Game, GameSpec, Packed, Views
from moemcts.gates import PlyGate
from moemcts.learn.data.dataset import Dataset
from moemcts.learn.data.records import Records, Visits
from moemcts.learn.loop.config import GamesConfig, ReplayConfig, TargetsConfig
from moemcts.learn.loop.games import Cast, Played, generation_of, play_games, play_parts
from moemcts.learn.loop.players import Learner
from moemcts.learn.loop.targets import value_targets
from moemcts.learn.loop.training import Networks, go_on
from moemcts.learn.loop.window import Samples, drawn_rows, held_out_games, open_window, window
from moemcts.learn.schemes.catalogue import GeneralFirst, Separated, Staged, Weighted
from moemcts.learn.schemes.scheme import StagedScheme
from moemcts.learn.training.config import TrainerConfig
from moemcts.learn.training.stages import Stage
from moemcts.learn.training.trainer import Optimisers, Trainer
from moemcts.learn.weights import read_state
from moemcts.plugins import plugins
from moemcts.search import SearchConfig

SEARCH = SearchConfig(simulations=8, noise_fraction=0.25, temperature=1.0, temperature_plies=9)
TICTACTOE = plugins().game("tictactoe")


def learner(**options: Any) -> Learner:
    return Learner(TICTACTOE, UniformEvaluator(TICTACTOE.spec), SEARCH, **options)


def played(cast: Cast, numbers: range = range(12), *, generation: int = 1, **config: Any) -> Played:
    settings = GamesConfig(**{"games": 12, "parallel": 4, **config})
    return play_games(TICTACTOE, cast, settings, numbers, generation=generation, seed=3)


@pytest.fixture(scope="module")
def games() -> Played:
    return played(Cast(learner=learner()))


def equal(one: Played, other: Played) -> bool:
    ours, theirs = one.arrays(), other.arrays()
    return ours.keys() == theirs.keys() and all(
        np.array_equal(ours[key], theirs[key], equal_nan=ours[key].dtype.kind == "f") for key in ours
    )


def test_games_do_not_depend_on_how_many_are_played_side_by_side(games: Played) -> None:
    assert equal(games, played(Cast(learner=learner()), parallel=12))


@pytest.mark.parametrize(("in_flight", "options"), [(2, {}), (3, {"full_share": 0.5}), (64, {})])
def test_games_do_not_depend_on_how_many_groups_are_in_flight(in_flight: int, options: dict[str, Any]) -> None:
    expected = played(Cast(learner=learner(**options)))
    assert equal(expected, played(Cast(learner=learner(**options)), in_flight=in_flight))


def test_one_group_of_games_goes_on_while_the_positions_of_the_other_are_evaluated() -> None:
    threads, most = set(), []

    class Watched(UniformEvaluator):
        is_busy = False

        def evaluate(self, views: Views) -> Evaluation:
            assert not self.is_busy
            self.is_busy = True
            threads.add(threading.current_thread())
            most.append(len(views))
            evaluation = super().evaluate(views)
            self.is_busy = False
            return evaluation

    agent = Learner(TICTACTOE, Watched(TICTACTOE.spec), SEARCH)
    played(Cast(learner=agent), parallel=8, in_flight=2)
    assert threads.isdisjoint({threading.main_thread()})
    assert len(threads) == 1
    assert max(most) == 4


def test_games_do_not_depend_on_what_part_they_are_played_in(games: Played) -> None:
    assert equal(games.first(5), played(Cast(learner=learner()), range(5)))


def test_games_of_the_next_part_take_the_places_of_those_that_are_over(games: Played) -> None:
    rounds: list[int] = []

    class Counted(UniformEvaluator):
        def evaluate(self, views: Views) -> Evaluation:
            rounds.append(len(views))
            return super().evaluate(views)

    def play(*parts: range) -> list[tuple[int, Played]]:
        rounds.clear()
        agent = Learner(TICTACTOE, Counted(TICTACTOE.spec), SEARCH)
        config = GamesConfig(parallel=4)
        return list(play_parts(TICTACTOE, Cast(learner=agent), config, parts, generation=1, seed=3))

    parts = (range(3), range(3, 4), range(4, 12))
    found = play(*parts)
    in_parts = len(rounds)
    assert [part for part, _ in found] == [0, 1, 2]
    for (_, played_part), numbers in zip(found, parts, strict=True):
        assert equal(played_part, played(Cast(learner=learner()), numbers))
    play(range(12))
    assert in_parts == len(rounds)


def test_games_that_are_over_keep_no_trees() -> None:
    class Tree:
        """What a player remembers of one game."""

    alive: weakref.WeakSet[Tree] = weakref.WeakSet()
    most: list[int] = []

    class Remembers(RandomAgent):
        def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
            for seat in seats:
                seat.memory = seat.memory or Tree()
                alive.add(seat.memory)
            most.append(len(alive))
            return super().act(views, seats)

    played(Cast(learner=Remembers()), range(40), games=40, parallel=4)
    # Two players at each of four tables, and those of four games that have just ended.
    assert max(most) <= 16


def test_games_of_two_generations_differ(games: Played) -> None:
    other = played(Cast(learner=learner()), generation=2)
    assert not np.array_equal(games.course, other.course)
    assert set(generation_of(games.records.game)) == {1}
    assert set(generation_of(other.records.game)) == {2}


def test_decisions_out_of_several_actions_are_learned_from(games: Played) -> None:
    records = games.records
    assert len(records) == games.num_samples.sum()
    assert records.visits is not None
    assert records.values is not None
    assert (np.diff(records.visits.offsets) > 0).all()
    # The ninth move of tic-tac-toe is forced.
    assert (games.num_samples == np.minimum(games.plies, 8)).all()


def test_a_share_of_the_moves_is_searched_in_full_and_learned_from() -> None:
    found = played(Cast(learner=learner(full_share=0.25, fast_simulations=2)), range(40))
    share = len(found.records) / found.plies.sum()
    # 40 games have about 280 moves: four standard deviations are 0.10.
    assert 0.13 < share < 0.37


def test_quick_searches_have_a_quarter_of_the_simulations_no_noise_and_nothing_forced() -> None:
    forcing = SEARCH.model_copy(update={"forced_playouts": 2.0})
    one = Learner(TICTACTOE, UniformEvaluator(TICTACTOE.spec), forcing, full_share=0.5)
    assert one._fast.config.simulations == 2
    assert one._fast.config.noise_fraction == 0
    assert (one._full.config.forced_playouts, one._fast.config.forced_playouts) == (2.0, 0.0)
    gumbel = SearchConfig(simulations=8, root="gumbel")
    assert Learner(TICTACTOE, UniformEvaluator(TICTACTOE.spec), gumbel, full_share=0.5)._fast.config.gumbel_noise == 0
    with pytest.raises(ValueError, match="expected fast_simulations"):
        Learner(TICTACTOE, UniformEvaluator(TICTACTOE.spec), SearchConfig(simulations=None, nodes=9), full_share=0.5)


class Asked(UniformEvaluator):
    """Counts the positions that it is asked about."""

    def __init__(self, spec: GameSpec) -> None:
        super().__init__(spec)
        self.keys: list[int] = []

    def evaluate(self, views: Views) -> Evaluation:
        self.keys += [views[row].state.position_key() for row in range(len(views))]
        return super().evaluate(views)


def test_full_and_quick_searches_remember_together() -> None:
    asked = Asked(TICTACTOE.spec)
    remembering = SEARCH.model_copy(update={"cache_size": 10_000})
    found = played(Cast(learner=Learner(TICTACTOE, asked, remembering, full_share=0.5)), range(40))
    assert 0 < len(found.records) < found.plies.sum()
    assert len(set(asked.keys)) == len(asked.keys)


def forced_and_open() -> tuple[Views, list[Seat]]:
    """Returns a position of tic-tac-toe with one cell left, and the first one, with their seats."""
    first = last = TICTACTOE.initial_state()
    for cell in (0, 1, 2, 4, 3, 5, 7, 6):
        last = last.play([cell])
    views = TICTACTOE.views([(last, 0), (first, 0)])
    return views, [Seat(0, np.random.default_rng(number)) for number in range(2)]


def test_forced_moves_are_not_searched() -> None:
    asked = Asked(TICTACTOE.spec)
    views, seats = forced_and_open()
    before = str(seats[0].rng.bit_generator.state)
    forced, chosen = Learner(TICTACTOE, asked, SEARCH, full_share=0.5).act(views, seats)
    assert (forced.action, forced.policy, forced.value, forced.simulations) == (8, None, None, 0)
    assert str(seats[0].rng.bit_generator.state) == before
    assert chosen.simulations > 0
    assert views[0].state.position_key() not in asked.keys
    views, seats = forced_and_open()
    (alone,) = Learner(TICTACTOE, Asked(TICTACTOE.spec), SEARCH, full_share=0.5).act(views.take([1]), seats[1:])
    assert alone == chosen


def test_forced_moves_are_searched_where_trees_are_kept() -> None:
    views, seats = forced_and_open()
    kept = SEARCH.model_copy(update={"reuse": True})
    forced, _ = Learner(TICTACTOE, Asked(TICTACTOE.spec), kept).act(views, seats)
    assert forced.value is not None
    assert all(seat.memory is not None for seat in seats)


def test_of_games_with_others_the_learners_moves_are_learned_from() -> None:
    found = played(Cast(learner=learner(), others=[RandomAgent()], other_share=0.5), range(30))
    alone = found.learner >= 0
    assert 5 <= alone.sum() <= 25
    seats = {int(number): int(seat) for number, seat in zip(found.number, found.learner, strict=True)}
    for number, player in zip(found.records.game, found.records.player, strict=True):
        assert seats[int(number)] in (-1, int(player))
    assert set(found.learner) == {-1, 0, 1}


def test_games_begin_with_some_plies_at_random_that_are_not_learned_from() -> None:
    found = played(Cast(learner=learner()), range(30), random_plies=4)
    first = {}
    for game, position in zip(found.records.game, found.records.position, strict=True):
        first.setdefault(int(game), int(position))
    views = TICTACTOE.unpack(found.records.positions, np.zeros(len(found.records.positions), dtype=np.int64))
    assert set(views.plies()[list(first.values())]) == {0, 1, 2, 3, 4}


class Hopeless:
    """Plays at random and expects to lose where it is second to move."""

    name = "hopeless"

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        answers = learner().act(views, seats)
        return [
            Decision(action=one.action, policy=one.policy, value=-0.95 if seat.player else 0.95)
            for one, seat in zip(answers, seats, strict=True)
        ]


def test_who_expects_nothing_any_more_gives_up() -> None:
    found = played(Cast(learner=Hopeless()), resign_value=0.9, resign_moves=2, played_on=0.0)
    assert (found.plies == 4).all()
    assert (found.ending == 1).all()
    assert (found.returns == [1, -1]).all()
    viewer = found.records.returns[:, 0]
    assert (viewer == np.where(found.records.player == 0, 1, -1)).all()


class Corridor(Board):
    """The second player has a choice at every other of its moves only."""

    def legal_actions(self, player: int) -> Sequence[int]:
        legal = super().legal_actions(player)
        return legal[:1] if player and len(self.moves) % 4 == 3 else legal

    def winner(self) -> int | None:
        return None


class CorridorGame(TicTacToe):
    def initial_state(self, seed: int = 0) -> Board:
        return Corridor()


def test_who_is_forced_to_a_move_neither_takes_heart_nor_loses_it() -> None:
    class Despairs:
        """Expects to lose where it is second to move and has a choice."""

        name = "despairs"

        def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
            legal = [np.flatnonzero(row) for row in views.legal_mask()]
            return [
                Decision(action=int(one[0]), value=None if len(one) == 1 else -0.95 if seat.player else 0.95)
                for one, seat in zip(legal, seats, strict=True)
            ]

    config = GamesConfig(games=2, resign_value=0.9, resign_moves=2, played_on=0.0)
    found = play_games(CorridorGame(), Cast(learner=Despairs()), config, range(2), generation=1, seed=3)
    # Its moves are those after plies 1, 3, 5: the second of them is forced.
    assert found.plies.tolist() == [6, 6]
    assert found.returns.tolist() == [[1, -1], [1, -1]]


def test_a_share_of_the_games_is_played_on() -> None:
    found = played(Cast(learner=Hopeless()), range(40), resign_value=0.9, resign_moves=2, played_on=0.5)
    assert 8 <= (found.ending == 0).sum() <= 32
    assert (found.resigner[found.ending == 0] == 1).all()
    assert (found.resigner[found.ending == 1] == -1).all()


class Endless(Board):
    """A game that says that it is over after two plies, and is not."""


class EndlessGame(Game[Any]):
    spec = GameSpec(name="endless", num_players=2, num_actions=9, observation_shape=(2, 9), max_plies=2)

    def initial_state(self, seed: int = 0) -> Any:
        return Endless()

    def parse_state(self, text: str) -> Any:
        return Endless(tuple(map(int, text)))

    def format_state(self, state: Any) -> str:
        return "".join(map(str, state.moves))


def test_a_game_that_never_ends_is_one_clear_line() -> None:
    cast = Cast(learner=RandomAgent())
    with pytest.raises(MoemctsError, match="goes on after 2 plies, the most that the game says"):
        play_games(EndlessGame(), cast, GamesConfig(games=1), range(1), generation=1, seed=0)


# Targets


def records_of(games: Sequence[Sequence[tuple[int, float, float]]], *, num_players: int = 2) -> Records:
    """Returns samples, each as (player, return of that player, value); one position after the other, one ply apart."""
    rows = [(number, ply, len(one), *sample) for number, one in enumerate(games) for ply, sample in enumerate(one)]
    returns = np.array([[result] + [-result / (num_players - 1)] * (num_players - 1) for *_, result, _ in rows])
    return Records(
        positions=Packed.of([b""] * len(rows)),
        position=np.arange(len(rows)),
        player=np.array([row[3] for row in rows]),
        action=np.zeros(len(rows), dtype=np.int64),
        returns=returns.astype(np.float32),
        plies_to_end=np.array([size - ply for _, ply, size, *_ in rows]),
        game=np.array([row[0] for row in rows]),
        values=np.array([row[5] for row in rows], dtype=np.float32),
    )


def spec(**changes: Any) -> GameSpec:
    return GameSpec(
        **{"name": "x", "num_players": 2, "num_actions": 1, "observation_shape": (1,), "max_plies": 9} | changes
    )


GAMES = [
    [(0, 1.0, 0.5), (1, -1.0, 0.25), (0, 1.0, -0.5), (1, -1.0, 0.0), (0, 1.0, 0.875)],
    [(0, -1.0, 0.125), (1, 1.0, -0.25)],
]


def by_recursion(games: Any, decay: float, discount: float) -> list[float]:
    found = []
    for one in games:
        # From player 0's point of view, whose return at the end is known.
        end = one[-1][1] * (1 if one[-1][0] == 0 else -1) / discount
        target, value, targets = end, end, []
        for number, (player, _, expected) in enumerate(reversed(one)):
            target = discount * ((1 - decay) * value + decay * target) if number else discount * end
            value = expected if player == 0 else -expected
            targets.append(target if player == 0 else -target)
        found += reversed(targets)
    return found


@pytest.mark.parametrize("decay", [0.0, 0.5, 0.9])
def test_targets_are_those_of_the_recursion(decay: float) -> None:
    found = value_targets(records_of(GAMES), TargetsConfig(td_lambda=decay), spec())
    np.testing.assert_allclose(found[:, 0], by_recursion(GAMES, decay, 1.0), atol=1e-6)
    np.testing.assert_allclose(found[:, 1], -found[:, 0])


def test_targets_are_discounted_like_values() -> None:
    discounted = [[(p, r * 0.5 ** (len(one) - 1 - n), v) for n, (p, r, v) in enumerate(one)] for one in GAMES]
    found = value_targets(records_of(discounted), TargetsConfig(td_lambda=0.5), spec(discount=0.5))
    expected = []
    for one in discounted:
        target = value = None
        rows = []
        for player, result, seen in reversed(one):
            sign = 1 if player == 0 else -1
            target = sign * result if target is None else 0.5 * (0.5 * value + 0.5 * target)
            value = sign * seen
            rows.append(sign * target)
        expected += reversed(rows)
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-6)


def test_targets_may_lie_a_number_of_decisions_ahead() -> None:
    found = value_targets(records_of(GAMES), TargetsConfig(steps=2), spec())
    np.testing.assert_allclose(found[:, 0], [-0.5, 0.0, 0.875, -1.0, 1.0, -1.0, 1.0], atol=1e-6)


def test_targets_may_have_a_share_of_the_search() -> None:
    found = value_targets(records_of(GAMES), TargetsConfig(search_share=0.25), spec())
    np.testing.assert_allclose(found[:2, 0], [0.75 + 0.125, -0.75 + 0.0625])


def test_results_alone_are_the_returns() -> None:
    records = records_of(GAMES)
    assert value_targets(records, TargetsConfig(), spec()) is records.returns


def test_with_three_players_each_is_led_by_its_own_decisions() -> None:
    games = [[(0, 1.0, 0.5), (1, -0.5, 0.25), (2, -0.5, 0.0), (0, 1.0, -0.5)]]
    found = value_targets(records_of(games, num_players=3), TargetsConfig(td_lambda=0.0), spec(num_players=3))
    np.testing.assert_allclose(found[:, 0], [-0.5, -0.5, -0.5, 1.0])


# Windows


def test_the_window_is_the_newest_generations() -> None:
    counts = dict.fromkeys(range(1, 21), 100)
    assert window(3, counts, ReplayConfig(generations=5)) == range(1, 4)
    assert window(20, counts, ReplayConfig(generations=5)) == range(16, 21)
    assert window(10, counts, ReplayConfig(generations=20, growth=0.5)) == range(6, 11)
    assert window(1, counts, ReplayConfig(generations=20, growth=0.1)) == range(1, 2)
    assert window(20, counts, ReplayConfig(samples=250)) == range(18, 21)


def test_what_has_left_the_window_never_comes_back() -> None:
    counts = {one: 50 + 37 * (one % 5) for one in range(1, 60)}
    config = ReplayConfig(generations=9, growth=0.4, samples=700)
    starts = [window(one, counts, config).start for one in range(1, 60)]
    assert starts == sorted(starts)


def test_a_game_is_held_out_in_every_window_or_in_none() -> None:
    all_games = np.repeat(np.arange(5000), 3)
    whole = held_out_games(all_games, 0.1, seed=4)
    assert abs(whole.mean() - 0.1) < 0.02
    part = held_out_games(all_games[3000:9000], 0.1, seed=4)
    assert np.array_equal(part, whole[3000:9000])
    assert not np.array_equal(held_out_games(all_games, 0.1, seed=5), whole)


def test_the_newest_generation_has_its_share() -> None:
    rows, is_new = np.arange(1000), np.arange(1000) >= 900
    found = drawn_rows(rows, is_new, ReplayConfig(newest=0.25), (1, 2))
    assert (found >= 900).sum() == 100
    assert len(found) == 400
    some = drawn_rows(rows, is_new, ReplayConfig(newest=0.25, drawn=200), (1, 2))
    assert len(some) == 200
    assert (some >= 900).sum() == 50
    assert len(drawn_rows(rows, is_new, ReplayConfig(drawn=300), (1, 2))) == 300
    assert np.array_equal(drawn_rows(rows, is_new, ReplayConfig(), (1, 2)), rows)


def test_an_empty_window_is_one_clear_line(games: Played) -> None:
    with pytest.raises(MoemctsError, match=r"expected samples to learn from and to measure on, got .* of 1 games"):
        open_window(
            TICTACTOE,
            [games.first(1).records],
            "x",
            ReplayConfig(),
            TargetsConfig(),
            held_out=0.1,
            seed=0,
            newest=1,
        )


# Training


@pytest.fixture
def samples(games: Played) -> Samples:
    return open_window(
        TICTACTOE, [games.records], "x", ReplayConfig(), TargetsConfig(search_share=0.5), held_out=0.1, seed=0, newest=1
    )


def network(seed: int) -> torch.nn.Module:
    torch.manual_seed(seed)
    made: torch.nn.Module = plugins().network("mlp?width=8&layers=1", TICTACTOE.spec.observation_shape, 9)
    return made


def same(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.state_dict().values(), other.state_dict().values(), strict=True))


CONFIG = TrainerConfig(epochs=1, batch_size=16, keep="last", learning_rate=0.01)


def test_values_are_learned_from_their_targets(samples: Samples) -> None:
    batch = samples.training.batch(np.arange(8), np.ones(len(samples.training), dtype=np.float32))
    expected = 0.5 * batch.returns[:, 0] + 0.5 * samples.training.values(np.arange(8))
    assert batch.values is not None
    np.testing.assert_allclose(batch.values[:, 0], expected, atol=1e-6)


def test_each_expert_goes_on_from_itself(samples: Samples, tmp_path: Path) -> None:
    gate = PlyGate((3, 6), ())
    before = Networks(experts=[network(seed) for seed in range(3)])
    slow = CONFIG.model_copy(update={"learning_rate": 1e-9, "weight_decay": 0.0})
    for scheme in (Separated(), Staged(), Weighted()):
        folder = tmp_path / type(scheme).__name__
        made = go_on(Trainer(slow), scheme, before, samples, gate, folder).networks
        for own, start in zip(made.experts, before.experts, strict=True):
            for name, tensor in own.state_dict().items():
                torch.testing.assert_close(tensor, start.state_dict()[name], atol=1e-5, rtol=0)


def test_experts_of_general_first_go_out_from_the_general_one_which_goes_on(samples: Samples, tmp_path: Path) -> None:
    gate, scheme = PlyGate((3, 6), ()), GeneralFirst()
    first = go_on(Trainer(CONFIG), scheme, Networks(experts=[network(0)] * 3), samples, gate, tmp_path / "1").networks
    assert first.general is not None
    assert not same(first.general, network(0))
    slow = CONFIG.model_copy(update={"learning_rate": 1e-9, "weight_decay": 0.0})
    second = go_on(Trainer(slow), scheme, first, samples, gate, tmp_path / "2").networks
    for expert in second.experts:
        for name, tensor in expert.state_dict().items():
            torch.testing.assert_close(tensor, first.general.state_dict()[name], atol=1e-5, rtol=0)


def test_a_phase_without_samples_keeps_its_expert_and_is_named(samples: Samples, tmp_path: Path) -> None:
    before = Networks(experts=[network(seed) for seed in range(3)])
    made = go_on(Trainer(CONFIG), Separated(), before, samples, PlyGate((3, 40), ()), tmp_path)
    assert same(made.networks.experts[2], before.experts[2])
    assert not same(made.networks.experts[0], before.experts[0])
    assert made.notes == ["no game came to 'phase 2': its expert stays as it is where it learns from that alone"]
    few = go_on(Trainer(CONFIG), Separated(), before, samples, PlyGate((1, 40), ()), tmp_path / "few")
    assert any("less than a batch of 16" in note for note in few.notes)


def test_visits_are_those_of_the_samples(samples: Samples, games: Played) -> None:
    assert isinstance(games.records.visits, Visits)
    assert isinstance(samples.training, Dataset)
    assert samples.training.are_searched(np.arange(len(samples.training))).all()


def test_optimisers_go_on_with_what_they_have_gathered(samples: Samples, tmp_path: Path) -> None:
    gate, scheme, before = PlyGate((3, 6), ()), Staged(), Networks(experts=[network(0)] * 3)
    kept = Optimisers(tmp_path / "none", tmp_path / "kept")
    first = go_on(Trainer(CONFIG), scheme, before, samples, gate, tmp_path / "1", optimisers=kept).networks
    assert len(list(kept.after.iterdir())) == 9
    further = Optimisers(kept.after, tmp_path / "further")
    warm = go_on(Trainer(CONFIG), scheme, first, samples, gate, tmp_path / "2", optimisers=further).networks
    cold = go_on(Trainer(CONFIG), scheme, first, samples, gate, tmp_path / "3").networks
    assert not any(same(one, other) for one, other in zip(warm.experts, cold.experts, strict=True))
    steps = [int(read_state(folder / "1-2.safetensors")[0]["0.step"]) for folder in (kept.after, further.after)]
    assert steps[1] == 2 * steps[0]


def test_what_a_stage_without_samples_has_gathered_is_kept_for_it(samples: Samples, tmp_path: Path) -> None:
    before = Networks(experts=[network(0)] * 3)
    kept = Optimisers(tmp_path / "none", tmp_path / "kept")
    go_on(Trainer(CONFIG), Staged(), before, samples, PlyGate((3, 6), ()), tmp_path / "1", optimisers=kept)
    further = Optimisers(kept.after, tmp_path / "further")
    # No game comes to the middle phase: expert 0 learns 2-0 in place of 2-1-0.
    go_on(Trainer(CONFIG), Staged(), before, samples, PlyGate((40, 41), ()), tmp_path / "2", optimisers=further)

    def gathered(folder: Path) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    old, new = gathered(kept.after), gathered(further.after)
    assert old.keys() == new.keys()
    # Phase 0 alone has samples; it is the last stage of expert 0 and the first of the others.
    assert {name for name in old if old[name] != new[name]} == {"0-2.safetensors", "1-0.safetensors", "2-0.safetensors"}


def test_experts_that_differ_are_no_network_for_all_to_go_out_from(samples: Samples, tmp_path: Path) -> None:
    experts, gate = [network(seed) for seed in range(3)], PlyGate((3, 6), ())
    with pytest.raises(UsageError, match="expected one network to begin with, from which all experts go out, got 3"):
        go_on(Trainer(CONFIG), GeneralFirst(), Networks(experts=experts), samples, gate, tmp_path / "1")
    general = network(3)
    go_on(Trainer(CONFIG), GeneralFirst(), Networks(experts=experts, general=general), samples, gate, tmp_path / "2")


def test_a_network_for_all_that_nobody_trains_stays_as_it_is(samples: Samples, tmp_path: Path) -> None:
    class LateFirst(StagedScheme):
        """All experts begin with the last phase."""

        def stages(self, phase: int, num_phases: int) -> list[Stage]:
            late, own = ([float(other == one) for other in range(num_phases)] for one in (num_phases - 1, phase))
            return [Stage(weights=tuple(late)), Stage(weights=tuple(own))]

    before = Networks(experts=[network(0)] * 3, general=network(0))
    # No game comes to the last phase: what is trained first is of one expert.
    made = go_on(Trainer(CONFIG), LateFirst(), before, samples, PlyGate((3, 40), ()), tmp_path).networks
    assert made.general is not None
    assert same(made.general, network(0))
    assert not same(made.experts[0], network(0))

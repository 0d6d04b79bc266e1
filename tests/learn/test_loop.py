"""Games of self-play to learn from: the same however they are played, and what of them is learned from."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learning_games import Board, TicTacToe

from moemcts.agents import Decision, RandomAgent, Seat
from moemcts.errors import AgentFailure, MoemctsError
from moemcts.evaluation import Evaluation, UniformEvaluator
from moemcts.game import Game, GameSpec, Views
from moemcts.learn.loop.config import GamesConfig
from moemcts.learn.loop.games import AgentPool, PlayedGames, generation_of, play_chunks, play_games
from moemcts.learn.loop.players import SelfPlayAgent
from moemcts.plugins import plugins
from moemcts.runs.selfplay.games import chunk_bytes, read_chunk, recover_chunks
from moemcts.search import SearchConfig

SEARCH = SearchConfig(simulations=8, noise_fraction=0.25, temperature=1.0, temperature_plies=9)
TICTACTOE = plugins().game("tictactoe")


def self_player(**options: Any) -> SelfPlayAgent:
    return SelfPlayAgent(TICTACTOE, UniformEvaluator(TICTACTOE.spec), SEARCH, **options)


def played(agents: AgentPool, numbers: range = range(12), *, generation: int = 1, **config: Any) -> PlayedGames:
    settings = GamesConfig(**{"games": 12, "parallel": 4, **config})
    return play_games(TICTACTOE, agents, settings, numbers, generation=generation, seed=3)


@pytest.fixture(scope="module")
def games() -> PlayedGames:
    return played(AgentPool(newest=self_player()))


def equal(one: PlayedGames, other: PlayedGames) -> bool:
    ours, theirs = one.arrays(), other.arrays()
    return ours.keys() == theirs.keys() and all(
        np.array_equal(ours[key], theirs[key], equal_nan=ours[key].dtype.kind == "f") for key in ours
    )


def test_games_on_disk_of_which_a_bit_has_changed_are_played_again(games: PlayedGames, tmp_path: Path) -> None:
    whole, changed = (tmp_path / name for name in ("0.safetensors", "1.safetensors"))
    content = chunk_bytes(games)
    whole.write_bytes(content)
    changed.write_bytes(content[:-9] + bytes([content[-9] ^ 16]) + content[-8:])
    assert equal(read_chunk(whole), games)
    assert recover_chunks([whole, changed]).num_games == len(games)
    assert [path.exists() for path in (whole, changed)] == [True, False]


def test_games_do_not_depend_on_how_many_are_played_side_by_side(games: PlayedGames) -> None:
    assert equal(games, played(AgentPool(newest=self_player()), parallel=12))


@pytest.mark.parametrize(("in_flight", "options"), [(2, {}), (3, {"full_share": 0.5}), (64, {})])
def test_games_do_not_depend_on_how_many_groups_are_in_flight(in_flight: int, options: dict[str, Any]) -> None:
    expected = played(AgentPool(newest=self_player(**options)))
    assert equal(expected, played(AgentPool(newest=self_player(**options)), in_flight=in_flight))


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

    agent = SelfPlayAgent(TICTACTOE, Watched(TICTACTOE.spec), SEARCH)
    played(AgentPool(newest=agent), parallel=8, in_flight=2)
    assert threads.isdisjoint({threading.main_thread()})
    assert len(threads) == 1
    assert max(most) == 4


def test_games_do_not_depend_on_what_chunk_they_are_played_in(games: PlayedGames) -> None:
    assert equal(games.first(5), played(AgentPool(newest=self_player()), range(5)))


def test_games_of_the_next_chunk_take_the_places_of_those_that_are_over(games: PlayedGames) -> None:
    rounds: list[int] = []

    class Counted(UniformEvaluator):
        def evaluate(self, views: Views) -> Evaluation:
            rounds.append(len(views))
            return super().evaluate(views)

    def play(*chunks: range) -> list[tuple[int, PlayedGames]]:
        rounds.clear()
        agent = SelfPlayAgent(TICTACTOE, Counted(TICTACTOE.spec), SEARCH)
        config = GamesConfig(parallel=4)
        return list(play_chunks(TICTACTOE, AgentPool(newest=agent), config, chunks, generation=1, seed=3))

    chunks = (range(3), range(3, 4), range(4, 12))
    found = play(*chunks)
    in_chunks = len(rounds)
    assert [chunk for chunk, _ in found] == [0, 1, 2]
    for (_, played_chunk), numbers in zip(found, chunks, strict=True):
        assert equal(played_chunk, played(AgentPool(newest=self_player()), numbers))
    play(range(12))
    assert in_chunks == len(rounds)


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

    played(AgentPool(newest=Remembers()), range(40), games=40, parallel=4)
    # Two players at each of four tables, and those of four games that have just ended.
    assert max(most) <= 16


def test_files_of_games_keep_the_names_that_they_had(games: PlayedGames) -> None:
    arrays = games.arrays()
    assert np.array_equal(arrays["game_learner"], games.seat_learned_from)
    assert equal(PlayedGames.of_arrays(arrays), games)


def test_games_of_two_generations_differ(games: PlayedGames) -> None:
    other = played(AgentPool(newest=self_player()), generation=2)
    assert not np.array_equal(games.course, other.course)
    assert set(generation_of(games.records.game)) == {1}
    assert set(generation_of(other.records.game)) == {2}


def test_decisions_out_of_several_actions_are_learned_from(games: PlayedGames) -> None:
    records = games.records
    assert len(records) == games.num_samples.sum()
    assert records.visits is not None
    assert records.values is not None
    assert (np.diff(records.visits.offsets) > 0).all()
    # The ninth move of tic-tac-toe is forced.
    assert (games.num_samples == np.minimum(games.plies, 8)).all()


def test_a_share_of_the_moves_is_searched_in_full_and_learned_from() -> None:
    found = played(AgentPool(newest=self_player(full_share=0.25, fast_simulations=2)), range(40))
    share = len(found.records) / found.plies.sum()
    # 40 games have about 280 moves: four standard deviations are 0.10.
    assert 0.13 < share < 0.37


def test_quick_searches_have_a_quarter_of_the_simulations_no_noise_and_nothing_forced() -> None:
    forcing = SEARCH.model_copy(update={"forced_playouts": 2.0})
    one = SelfPlayAgent(TICTACTOE, UniformEvaluator(TICTACTOE.spec), forcing, full_share=0.5)
    assert one._fast.config.simulations == 2
    assert one._fast.config.noise_fraction == 0
    assert (one._full.config.forced_playouts, one._fast.config.forced_playouts) == (2.0, 0.0)
    gumbel = SearchConfig(simulations=8, root="gumbel")
    assert (
        SelfPlayAgent(TICTACTOE, UniformEvaluator(TICTACTOE.spec), gumbel, full_share=0.5)._fast.config.gumbel_noise
        == 0
    )
    with pytest.raises(ValueError, match="expected fast_simulations"):
        SelfPlayAgent(
            TICTACTOE, UniformEvaluator(TICTACTOE.spec), SearchConfig(simulations=None, nodes=9), full_share=0.5
        )


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
    found = played(AgentPool(newest=SelfPlayAgent(TICTACTOE, asked, remembering, full_share=0.5)), range(40))
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
    forced, chosen = SelfPlayAgent(TICTACTOE, asked, SEARCH, full_share=0.5).act(views, seats)
    assert (forced.action, forced.policy, forced.value, forced.simulations) == (8, None, None, 0)
    assert str(seats[0].rng.bit_generator.state) == before
    assert chosen.simulations > 0
    assert views[0].state.position_key() not in asked.keys
    views, seats = forced_and_open()
    (alone,) = SelfPlayAgent(TICTACTOE, Asked(TICTACTOE.spec), SEARCH, full_share=0.5).act(views.take([1]), seats[1:])
    assert alone == chosen


def test_forced_moves_are_searched_where_trees_are_kept() -> None:
    views, seats = forced_and_open()
    kept = SEARCH.model_copy(update={"reuse": True})
    forced, _ = SelfPlayAgent(TICTACTOE, Asked(TICTACTOE.spec), kept).act(views, seats)
    assert forced.value is not None
    assert all(seat.memory is not None for seat in seats)


def test_of_games_with_others_the_newest_experts_moves_are_learned_from() -> None:
    found = played(AgentPool(newest=self_player(), opponents=[RandomAgent()], opponent_share=0.5), range(30))
    alone = found.seat_learned_from >= 0
    assert 5 <= alone.sum() <= 25
    seats = {int(number): int(seat) for number, seat in zip(found.number, found.seat_learned_from, strict=True)}
    for number, player in zip(found.records.game, found.records.player, strict=True):
        assert seats[int(number)] in (-1, int(player))
    assert set(found.seat_learned_from) == {-1, 0, 1}


def test_games_begin_with_some_plies_at_random_that_are_not_learned_from() -> None:
    found = played(AgentPool(newest=self_player()), range(30), random_plies=4)
    first = {}
    for game, position in zip(found.records.game, found.records.position, strict=True):
        first.setdefault(int(game), int(position))
    views = TICTACTOE.unpack(found.records.positions, np.zeros(len(found.records.positions), dtype=np.int64))
    assert set(views.plies()[list(first.values())]) == {0, 1, 2, 3, 4}


class Hopeless:
    """Plays at random and expects to lose where it is second to move."""

    name = "hopeless"

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        answers = self_player().act(views, seats)
        return [
            Decision(action=one.action, policy=one.policy, value=-0.95 if seat.player else 0.95)
            for one, seat in zip(answers, seats, strict=True)
        ]


class Broken:
    name = "generation 3"

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        raise ValueError("no answer")


def test_who_fails_is_named() -> None:
    with pytest.raises(AgentFailure, match=r"^generation 3: crash: ValueError: no answer"):
        played(AgentPool(newest=Broken()))


def test_who_expects_nothing_any_more_gives_up() -> None:
    found = played(AgentPool(newest=Hopeless()), resign_value=0.9, resign_moves=2, played_on=0.0)
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
    found = play_games(CorridorGame(), AgentPool(newest=Despairs()), config, range(2), generation=1, seed=3)
    # Its moves are those after plies 1, 3, 5: the second of them is forced.
    assert found.plies.tolist() == [6, 6]
    assert found.returns.tolist() == [[1, -1], [1, -1]]


def test_a_share_of_the_games_is_played_on() -> None:
    found = played(AgentPool(newest=Hopeless()), range(40), resign_value=0.9, resign_moves=2, played_on=0.5)
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
    agents = AgentPool(newest=RandomAgent())
    with pytest.raises(MoemctsError, match="expected the game to end within max_plies, 2, but it goes on"):
        play_games(EndlessGame(), agents, GamesConfig(games=1), range(1), generation=1, seed=0)


# Targets

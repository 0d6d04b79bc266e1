"""Openings for games that have only one start position."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from games_for_tests import HashedTree, TreeGame, TreeState
from games_of_chance import Pig

from moemcts.agents import RandomAgent
from moemcts.arena import Conditions, duel_schedule, play_match
from moemcts.arena.openings import (
    RANDOM_PLIES,
    Opening,
    OpeningSettings,
    default_random_plies,
    random_openings,
    read_openings,
    starts,
)
from moemcts.errors import GameFailure, MoemctsError, UnlawfulGame, UsageError
from moemcts.plugins import plugins


def test_random_openings_differ_as_long_as_there_are_enough() -> None:
    game = plugins().game("tictactoe")
    nine = random_openings(game, 9, num_plies=1)
    assert len({opening.start.key() for opening in nine if not isinstance(opening.start, int)}) == 9
    twelve, sixty = (random_openings(game, count, num_plies=1) for count in (12, 60))
    assert twelve[:9] == nine
    assert len({opening.name for opening in twelve}) == 12
    assert sixty[:12] == twelve


def test_equal_seeds_give_equal_openings() -> None:
    game = plugins().game("chess")
    first, second = (random_openings(game, 5, num_plies=6, first=3) for _ in range(2))
    assert [game.format_state(a.start) for a in first] == [game.format_state(b.start) for b in second]  # type: ignore[arg-type]
    assert all(opening.start.ply == 6 for opening in first if not isinstance(opening.start, int))


def test_games_that_are_over_by_then_have_no_openings() -> None:
    game = plugins().game("tictactoe")
    with pytest.raises(UsageError, match="expected games of tictactoe that go on after 9 random plies"):
        random_openings(game, 2, num_plies=9)
    assert len(random_openings(game, 2, num_plies=8)) == 2


def test_a_pipe_is_no_file_of_openings(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(UsageError, match="expected a file of openings"):
            read_openings(plugins().game("tictactoe"), path)


def test_games_begin_at_random_only_where_they_would_be_alike() -> None:
    for name in ("chess", "connect-four", "tictactoe"):
        assert default_random_plies(plugins().game(name)) == RANDOM_PLIES
    assert default_random_plies(plugins().game("pommerman")) == 0, "starts differ"
    assert default_random_plies(Pig(10, 6)) == 0, "chance moves"
    assert starts(Pig(10, 6), 2, seed=7) == [Opening("seed 7", 7), Opening("seed 8", 8)]


def test_openings_take_at_most_half_of_a_short_game() -> None:
    for simultaneous in (False, True):
        for depth, num_plies in ((1, 0), (2, 1), (3, 1), (5, 2)):
            game = HashedTree(TreeGame(4, 2, 4, depth, simultaneous))
            assert default_random_plies(game) <= num_plies
    assert default_random_plies(HashedTree(TreeGame(1, 2, 4, 3, False))) == 1


def test_openings_in_which_somebody_is_decided_are_passed_over() -> None:
    game = HashedTree(TreeGame(4, 3, 4, 8, False, has_outs=True))
    for opening in random_openings(game, 40, num_plies=3):
        assert isinstance(opening.start, TreeState)
        assert not any(opening.start.is_decided(player) for player in range(3))


def test_a_game_that_raises_on_the_way_to_an_opening_is_told_in_a_line() -> None:
    class Cracked(TreeState):
        def play(self, actions: object) -> TreeState:
            raise KeyError("oops")

    class Game(HashedTree):
        def initial_state(self, seed: int = 0) -> TreeState:
            return Cracked(self.rules)

    with pytest.raises(MoemctsError, match=r"hashed-tree raised KeyError: .* in play \(test_openings_at_.*py:\d+\)"):
        starts(Game(TreeGame(4, 2, 4, 6, False)), 2)


def test_a_game_without_an_action_on_the_way_to_an_opening_is_told_by_its_name() -> None:
    class Stuck(TreeState):
        def legal_actions(self, player: int) -> Sequence[int]:
            return []

    class Game(HashedTree):
        def initial_state(self, seed: int = 0) -> TreeState:
            return Stuck(self.rules)

    with pytest.raises(UnlawfulGame, match=r"^hashed-tree breaks the laws .*: expected a legal action for active"):
        starts(Game(TreeGame(4, 2, 4, 6, False)), 2)


def test_a_game_that_raises_in_its_first_position_is_told_in_a_line() -> None:
    class Game(HashedTree):
        def initial_state(self, seed: int = 0) -> TreeState:
            raise KeyError("oops")

    class Unnamed(TreeState):
        def key(self) -> int:
            raise KeyError("oops")

    class Keyless(HashedTree):
        def initial_state(self, seed: int = 0) -> TreeState:
            return Unnamed(self.rules)

    game, keyless = (kind(TreeGame(4, 2, 4, 6, False)) for kind in (Game, Keyless))
    told = r"hashed-tree raised KeyError: 'oops' in initial_state \(test_openings_at_random.py:\d+\)"
    agents = {"a": RandomAgent(), "b": RandomAgent()}
    for start in (
        lambda: default_random_plies(game),
        lambda: OpeningSettings.of(game),
        lambda: starts(game, 2, random_plies=1),
        lambda: play_match(game, duel_schedule(game, agents, num_games=2), Conditions()),
    ):
        with pytest.raises(GameFailure, match=told):
            start()
    for num_plies in (None, 1):
        with pytest.raises(GameFailure, match=r"hashed-tree raised KeyError: 'oops' in key "):
            starts(keyless, 2, random_plies=num_plies)


def test_players_that_are_no_tuple_are_told_of_before_a_game_begins() -> None:
    class Alone(TreeState):
        @property
        def active_players(self) -> int:  # type: ignore[override]
            return 0

    class Game(HashedTree):
        def initial_state(self, seed: int = 0) -> TreeState:
            return Alone(self.rules)

    with pytest.raises(
        UnlawfulGame, match=r"hashed-tree .*: expected active_players to be a tuple of players .* gave 0"
    ):
        default_random_plies(Game(TreeGame(4, 2, 4, 6, False)))

"""Openings for games that have only one start position."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from moemcts.arena.openings import random_openings, read_openings
from moemcts.errors import UsageError
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

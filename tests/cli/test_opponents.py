"""A match says who was played, also where nobody was named."""

from __future__ import annotations

import json

import pytest

from moemcts.plugins import plugins

MATCH = ("match", "--game", "tic-tac-toe", "--agent", "random", "--games", "2")


@pytest.mark.parametrize("named", [None, "flat?playouts=1"])
def test_a_match_says_who_sits_in_all_other_seats(moemcts, named: str | None) -> None:  # type: ignore[no-untyped-def]
    options = [] if named is None else ["--against", named]
    expected = named or plugins().player(plugins().game("tic-tac-toe"))
    code, out, error = moemcts(*MATCH, *options)
    assert code == 0, error
    assert f"\nin all other seats: {expected}\n" in out
    assert json.loads(moemcts(*MATCH, *options, "--json")[1])["against"] == expected


def test_agents_that_play_each_other_have_no_others(moemcts) -> None:  # type: ignore[no-untyped-def]
    code, out, error = moemcts(*MATCH, "--agent", "flat?playouts=1")
    assert code == 0, error
    assert "in all other seats" not in out
    assert "against" not in json.loads(moemcts(*MATCH, "--agent", "flat?playouts=1", "--json")[1])

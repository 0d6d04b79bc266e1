"""Numbers of games that nobody can mean are refused before openings are made for them."""

from __future__ import annotations

import pytest

AGENTS = ("--game", "tictactoe", "--agent", "random", "--agent", "flat?playouts=1")


@pytest.mark.parametrize(
    ("command", "option", "next_step"),
    [
        ("match", "--games", "moemcts.cli.match._prepare"),
        ("match", "--pairs", "moemcts.cli.match._prepare"),
        ("tournament", "--games", "moemcts.arena.openings.starts"),
    ],
)
def test_too_many_games_are_refused_at_once(  # type: ignore[no-untyped-def]
    moemcts, monkeypatch: pytest.MonkeyPatch, command: str, option: str, next_step: str
) -> None:
    monkeypatch.setattr(next_step, lambda *_, **__: pytest.fail("they would take all memory"))
    told = (2, "", f"error: expected at most {option} 1000000, got 99999999999999\n")
    assert moemcts(command, *AGENTS, option, "99999999999999") == told


def test_too_many_rounds_are_refused_at_once(moemcts, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr("moemcts.arena.openings.starts", lambda *_, **__: pytest.fail("they would take all memory"))
    told = (2, "", "error: expected at most --rounds times --games 1000000, got 400000000000000\n")
    ladder = ("--kind", "ladder", "--games", "4", "--rounds", "100000000000000")
    assert moemcts("tournament", *AGENTS, *ladder) == told

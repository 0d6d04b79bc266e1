"""A shell completes the names that options and arguments take."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from moemcts.plugins import plugins

CASES = {
    "run --game che": ["chess", "chess960"],
    "run --game=pommerman-": ["pommerman-team", "pommerman-radio", "pommerman-1v1"],
    "run --game connect-four --gate ": ["none", "plies", "round-robin", "kmeans", "learned", "stones"],
    "train --game othello?x --gate st": ["stones"],
    "train --scheme st": ["staged"],
    "run --network rise-": ["rise-tiny", "rise-small", "rise-v3.3"],
    "run --preset ": ["smoke", "laptop", "paper"],
    "selfplay --game connect-four --preset s": ["smoke", "strong"],
    "selfplay --game nothing --preset s": [],
    "tournament --preset ": ["grid", "impact"],
    "benchmark nowhere.toml --preset ": [],
    "match --game connect-four --agent uct --agent ": ["random", "flat", "uct", "careful", "weights:connect-four"],
    "gate show lichess --game chess --against m": ["movecount", "material"],
    "check tic": ["tic-tac-toe", "tictactoe"],
    "agents e": ["experts"],
    "weights show weights:conn": ["weights:connect-four"],
    "reproduce pomm": ["pommerman"],
}
"""What is typed, and how it may go on."""


@pytest.mark.parametrize("typed", CASES)
def test_names_are_completed_as_far_as_the_game_has_them(
    typed: str, moemcts: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "tictactoe" in plugins().games
    words = ["moemcts", *typed.split(" ")]
    monkeypatch.setenv("_MOEMCTS_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", " ".join(words))
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    code, out, error = moemcts()
    assert (code, error) == (0, "")
    assert out.split() == CASES[typed]

"""The page of OpenSpiel's games is that of the installed version."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

pytest.importorskip("pyspiel", reason="open_spiel is not installed: pip install ./plugins/moemcts-openspiel")
pytest.importorskip("moemcts_openspiel")
ROOT = Path(__file__).parent.parent.parent


def test_the_page_of_games_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import openspiel_games

    text = openspiel_games.PAGE.read_text()
    if f"open_spiel {version('open_spiel')}," not in text:
        pytest.skip(f"written for another version than {version('open_spiel')}")
    assert text == openspiel_games.page(), "run python scripts/openspiel_games.py"


def test_there_are_at_least_60_games_and_enough_of_each_kind() -> None:
    rows = [line for line in (ROOT / "docs" / "games" / "openspiel.md").read_text().splitlines() if line.count("|") > 5]
    games = [[cell.strip() for cell in line.split("|")[1:-1]] for line in rows[2:]]
    assert len(games) >= 60
    assert sum("chance" in game[5] for game in games) >= 3
    assert sum(int(game[1]) > 2 for game in games) >= 3
    assert sum("simultaneous" in game[5] for game in games) >= 2

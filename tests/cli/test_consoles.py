"""Tables keep their numbers on narrow terminals."""

import pytest
from rich.console import Console

from moemcts.cli import consoles
from moemcts.cli.match_table import _table


@pytest.mark.parametrize(("name", "width"), [("a", 20), ("weights:chess?simulations=100&leaves=8", 40)])
def test_numbers_are_never_cut(
    name: str, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(consoles, "table_console", lambda: Console(highlight=False, width=width))
    table = _table("agent", "win rate", "rating")
    table.add_row(name, "33.3 % [10.0, 66.6]", "+302.5 ± 275.1")
    consoles.print_table(table)
    shown = capsys.readouterr().out
    assert "33.3 % [10.0, 66.6]" in shown
    assert "+302.5 ± 275.1" in shown
    assert name[:12] in shown

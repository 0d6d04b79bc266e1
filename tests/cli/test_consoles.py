"""Tables keep their numbers on narrow terminals, and names as users wrote them."""

import json

import pytest
from rich.console import Console

from moemcts.cli import consoles
from moemcts.cli.match_table import _new_table


@pytest.mark.parametrize(("name", "width"), [("a", 20), ("weights:chess?simulations=100&leaves=8", 40)])
def test_numbers_are_never_cut(
    name: str, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(consoles, "table_console", lambda: Console(highlight=False, width=width))
    table = _new_table("agent", "win rate", "rating")
    table.add_row(name, "33.3 % [10.0, 66.6]", "+302.5 ± 275.1")
    consoles.print_table(table)
    shown = capsys.readouterr().out
    assert "33.3 % [10.0, 66.6]" in shown
    assert "+302.5 ± 275.1" in shown
    assert name[:12] in shown


@pytest.mark.parametrize("make", [consoles.plain_table, consoles.ruled_table])
def test_brackets_in_names_are_no_markup(make, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    table = make(["agent", "runs/[bold]/x"])
    consoles.add_row(table, ["runs/[red]a[/red]", None])
    consoles.print_table(table)
    shown = capsys.readouterr().out
    assert "runs/[red]a[/red]" in shown
    assert "runs/[bold]/x" in shown


@pytest.mark.parametrize("width", [30, 60, 80])
def test_no_word_of_a_list_is_cut(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(consoles, "table_console", lambda: Console(highlight=False, width=width))
    row = {"reference": "weights:connect-four", "summary": "uct?simulations=512&c=1.4, or seconds=0.1", "games": "all"}
    consoles.print_rows([row, {**row, "games": "a-game-with-a-long-name"}])
    shown = capsys.readouterr().out
    # A word that is wider than the terminal goes on in the next line.
    joined = "".join(shown.split())
    for word in ("weights:connect-four", "uct?simulations=512", "seconds=0.1", "a-game-with-a-long-name"):
        assert word in (joined if len(word) + 11 > width else shown)
    assert max(map(len, shown.splitlines())) <= width
    assert "…" not in shown


def test_lists_keep_brackets(capsys: pytest.CaptureFixture[str]) -> None:
    consoles.print_rows([{"game": "mine[x]", "summary": "takes [/] and [bold]"}])
    shown = capsys.readouterr().out
    assert "mine[x]" in shown
    assert "takes [/] and [bold]" in shown


def test_numbers_that_json_has_not_are_null(capsys: pytest.CaptureFixture[str]) -> None:
    consoles.print_json({"loss": float("nan"), "elo": [float("inf"), 1.5]})
    assert json.loads(capsys.readouterr().out) == {"loss": None, "elo": [None, 1.5]}

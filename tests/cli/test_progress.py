"""Lines and bars of progress say how much is left, at the pace of late."""

import io
import time
from unittest import mock

import pytest
from rich.console import Console

from moemcts.cli.progress import PACE_LINES, Bar, ConsoleProgress


def lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, done: list[int]) -> list[str]:
    """Returns what is shown of a task of a thousand games of which so many are done every ten seconds."""
    times = iter(range(0, 10 * (len(done) + 2), 10))
    monkeypatch.setattr(time, "monotonic", lambda: next(times))
    with ConsoleProgress().task("match", "games") as advance:
        for number in done:
            advance(number, 1000)
    return capsys.readouterr().err.splitlines()[:-1]


def test_how_long_the_rest_takes_is_said_from_the_second_look_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = lines(capsys, monkeypatch, [0, 100, 150, 200])
    # In the first ten seconds nothing was done, then 5 a second are.
    assert [line.partition(" games")[2] for line in shown] == ["", ", 170 s left", ", 160 s left"]


def test_what_had_been_done_before_is_no_pace_for_long(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    resumed = [*range(100, 110), *range(610, 620 + PACE_LINES)]
    shown = lines(capsys, monkeypatch, resumed)
    assert shown[-1] == f"match: {resumed[-1]}/1,000 games, {10 * (1000 - resumed[-1]):,} s left"


def bar(width: int, note: str = "", *, done: tuple[int, ...] = (0, 1000, 2000), is_over: bool = False) -> list[str]:
    """Returns the lines of a bar on a terminal so wide, of which so much has been done, a hundred in a second."""
    with mock.patch.object(time, "monotonic", return_value=0.0) as now:
        shown = Bar("training", "steps", lambda: note)
        for number in done:
            now.return_value = number / 100
            shown.advance(number, 12_345)
        if is_over:
            shown.finish()
        printed = io.StringIO()
        Console(file=printed, width=width, legacy_windows=False, color_system=None).print(shown)
    return printed.getvalue().splitlines()


@pytest.mark.parametrize("width", [24, 30, 40, 60, 80, 100, 120, 200])
@pytest.mark.parametrize("note", ["", "Elo -190.8 ± 451.9 (0-2-2), 1,313 plies"])
def test_a_bar_is_one_line_in_which_no_number_is_cut(width: int, note: str) -> None:
    for done in [(), (0,), (0, 1000, 2000)]:
        (line,) = bar(width, note, done=done)
        assert len(line) <= width
        assert "…" not in line.partition("Elo")[0], line


def test_a_bar_says_how_much_is_left_before_anything_else() -> None:
    assert bar(46)[0].split() == ["training", "2,000/12,345", "steps", "0:01:43", "left"]
    assert bar(120, "loss 2.3")[0].split()[-7:] == ["100", "steps/s", "0:00:20", "0:01:43", "left", "loss", "2.3"]


def test_a_bar_ends_with_how_long_it_took() -> None:
    assert bar(60, is_over=True)[0].split()[-5:] == ["2,000", "steps", "in", "20.0", "s"]
    assert bar(60, is_over=True, done=())[0].split() == ["training", "nothing", "was", "left", "to", "do"]

"""Lines of progress say how much is left, at the pace of late."""

import time

import pytest

from moemcts.cli.progress import PACE_LINES, ConsoleProgress


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

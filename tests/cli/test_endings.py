"""Who ends a command by SIGTERM, as schedulers do, loses no more than who presses Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator

import pytest

from moemcts.learn.training.interrupts import deferred_interrupts

TOURNAMENT = "tournament --game tictactoe --agent random --agent uct?simulations=2 --games 2 --out ours"


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def _terminate() -> None:
    # Otherwise it would end the tests.
    assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    signal.raise_signal(signal.SIGTERM)


def at_once() -> None:
    _terminate()


def where_ctrl_c_is_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _terminate()


def between_two_steps_of_a_training() -> None:
    with deferred_interrupts() as is_interrupted:
        assert not is_interrupted()
        _terminate()
        assert is_interrupted()
    raise KeyboardInterrupt


@pytest.mark.parametrize("ending", [at_once, where_ctrl_c_is_ignored, between_two_steps_of_a_training])
def test_sigterm_keeps_what_ctrl_c_keeps(  # type: ignore[no-untyped-def]
    moemcts, monkeypatch: pytest.MonkeyPatch, ctrl_c: None, ending: Callable[[], None]
) -> None:
    monkeypatch.setattr("moemcts.arena.tournament.play_tournament", lambda *_, **__: ending())
    code, _, error = moemcts(*TOURNAMENT.split())
    assert code == 128 + signal.SIGTERM
    assert "interrupted; finished games are kept in ours, the same command resumes\n" in error
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_sigterm_is_answered_before_a_command_begins(  # type: ignore[no-untyped-def]
    moemcts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moemcts.cli.app.make_app", _terminate)
    assert moemcts("games") == (128 + signal.SIGTERM, "", "interrupted\n")


def made_of_it(*_: object, **__: object) -> None:
    with contextlib.suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    raise TypeError("cls must be valid")


def test_an_error_that_a_library_makes_of_ctrl_c_is_ctrl_c(  # type: ignore[no-untyped-def]
    moemcts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moemcts.cli.app.make_app", made_of_it)
    assert moemcts("games") == (128 + signal.SIGINT, "", "interrupted\n")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    monkeypatch.setattr("moemcts.cli.interruptions._MOMENT", 0.0)
    with pytest.raises(TypeError, match="cls must be valid"):
        moemcts("games")


def test_an_error_that_is_made_of_ctrl_c_keeps_what_ctrl_c_keeps(  # type: ignore[no-untyped-def]
    moemcts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moemcts.arena.tournament.play_tournament", made_of_it)
    code, _, error = moemcts(*TOURNAMENT.split())
    assert code == 128 + signal.SIGINT
    assert error.endswith("interrupted; finished games are kept in ours, the same command resumes\n")


def test_an_answer_to_sigterm_that_is_there_is_kept(  # type: ignore[no-untyped-def]
    moemcts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        monkeypatch.setattr("moemcts.arena.tournament.play_tournament", interrupted)
        assert moemcts(*TOURNAMENT.split())[0] == 128 + signal.SIGINT
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)

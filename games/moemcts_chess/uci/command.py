"""`moemcts uci`: the search as an engine for interfaces and match runners."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from moemcts.errors import UsageError

if TYPE_CHECKING:
    from moemcts_chess.uci.session import Session


def uci(
    experts: Annotated[
        Path | None, typer.Option(help="A folder of experts, as the option Model_Directory; material alone otherwise.")
    ] = None,
    options: Annotated[
        list[str] | None, typer.Option("--set", help="An option of the engine, `MultiPV=3`; may be repeated.")
    ] = None,
) -> None:
    """Be a UCI engine: chess, Chess960 and the variants, for interfaces and match runners.

    Standard output carries the protocol and nothing else. `uci` lists the options, which have CrazyAra's names.
    """
    from moemcts_chess.uci.session import Session

    with _protocol_channel() as out:
        session = Session(out, gates=_gates())
        given = [f"Model_Directory={experts}"] if experts is not None else []
        for text in [*given, *(options or [])]:
            name, equals, value = text.partition("=")
            if not equals:
                raise UsageError(f"expected --set OPTION=VALUE, got {text!r}")
            try:
                session.options.set(name, value)
            except ValueError as error:
                raise UsageError(f"--set {text}: {error}") from None
        if experts is not None:
            _check(experts, session)
        signal.signal(signal.SIGTERM, _end_input)
        session.run(sys.stdin.buffer)


def _protocol_channel() -> TextIO:
    """Returns what was standard output; all that libraries print there goes to standard error from now on."""
    sys.stdout.flush()
    channel = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return os.fdopen(channel, "w", encoding="utf-8", newline="\n")


def _gates() -> list[str]:
    from moemcts.plugins import Plugins, plugins

    return sorted(Plugins.for_game(plugins().gates, "chess"))


def _check(experts: Path, session: Session) -> None:
    """Raises the error that the folder of experts makes, before an interface is told anything."""
    from moemcts_chess.uci.loading import load_experts

    load_experts(experts, session.options)


def _end_input(number: int, frame: FrameType | None) -> None:
    # The read that the signal interrupted goes on, finds the end, and the session closes as it always does.
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())

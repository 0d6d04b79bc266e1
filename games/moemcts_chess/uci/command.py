"""`moemcts uci`: the search as an engine for interfaces and match runners."""

from __future__ import annotations

import functools
import gc
import os
import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from moemcts.errors import MoemctsError, UsageError

if TYPE_CHECKING:
    from moemcts_chess.uci.session import Session


def uci(
    experts: Annotated[
        str | None,
        typer.Option(
            help="A folder of experts, `weights:NAME`, or `none` for a simple evaluation, as the option "
            "Model_Directory; in chess those that come with it otherwise."
        ),
    ] = None,
    options: Annotated[
        list[str] | None, typer.Option("--set", help="An option of the engine, `MultiPV=3`; may be repeated.")
    ] = None,
) -> None:
    """Run as a UCI engine: chess, Chess960 and the variants, for interfaces and match runners.

    Standard output carries the protocol and nothing else. `uci` lists the options, which have CrazyAra's names.
    """
    from moemcts_chess.uci.session import Session

    with _protocol_channel() as out:
        session = Session(out, gates=_gates(), is_strict=bool(experts or options), on_loaded=_freeze)
        try:
            for name, value in [*_named_by(experts), *map(_split, options or [])]:
                _set(session, name, value)
        except MoemctsError as error:
            # What an interface shows of its engine, whose standard error nobody sees there.
            session.remark(f"error: {error}")
            raise
        signal.signal(signal.SIGTERM, functools.partial(_leave, session))
        session.run(sys.stdin.buffer)


def _set(session: Session, name: str, value: str) -> None:
    try:
        session.set_option(name, value)
    except (ValueError, OSError) as error:
        raise UsageError(f"--set {name}={value}: {error}") from None


def _named_by(experts: str | None) -> list[tuple[str, str]]:
    """Returns the options that a folder of experts means, the game they play included."""
    from moemcts.weights import folder_of
    from moemcts_chess.uci.loading import game_of
    from moemcts_chess.uci.options import NO_EXPERTS, SHIPPED, VARIANTS

    if experts is None:
        return []
    if experts in (NO_EXPERTS, SHIPPED):
        # Whatever game is played.
        return [("Model_Directory", experts)]
    name, _ = game_of(folder_of(experts))
    variants = {ours: theirs for theirs, ours in VARIANTS.items()} | {"chess960": "chess"}
    if name not in variants:
        raise UsageError(f"expected experts for a game of the chess family, {experts} holds experts for {name}")
    return [
        ("UCI_Variant", variants[name]),
        ("UCI_Chess960", str(name == "chess960")),
        ("Model_Directory", experts),
    ]


def _split(option: str) -> tuple[str, str]:
    name, equals, value = option.partition("=")
    if not equals:
        raise UsageError(f"expected --set OPTION=VALUE, got {option!r}")
    return name, value


def _protocol_channel() -> TextIO:
    """Returns what was standard output; all that libraries print there goes to standard error from now on."""
    sys.stdout.flush()
    channel = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return os.fdopen(channel, "w", encoding="utf-8", newline="\n")


def _gates() -> list[str]:
    from moemcts.plugins import plugins

    # One that is learned has no name until it is a file.
    return sorted(name for name, gate in plugins().gates.for_game("chess").items() if not gate.is_learned)


def _freeze() -> None:
    # Looking through all that libraries have made takes 0.1 to 0.2 s, at any moment of a game.
    gc.collect()
    gc.freeze()


def _leave(session: Session, number: int, frame: FrameType | None) -> None:
    session.leave()
    # The read that the signal interrupted goes on, finds the end, and the session closes as it always does.
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())

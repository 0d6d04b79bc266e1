"""`moemcts uci`: the search as an engine for GUIs and match runners."""

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
    """Run as a UCI engine for GUIs and match runners: chess, Chess960 and the variants.

    Standard output is reserved for the protocol. `uci` lists the options, which have CrazyAra's names.
    """
    from moemcts_chess.uci.session import Session

    with _protocol_channel() as out:
        session = Session(out, gates=_gate_names(), is_strict=bool(experts or options), on_loaded=_freeze_objects)
        try:
            for name, value in [*_options_of_experts(experts), *map(_parse_setting, options or [])]:
                _set_option(session, name, value)
        except MoemctsError as error:
            # GUIs show this, but not the engine's standard error.
            session.remark(f"error: {error}")
            raise
        signal.signal(signal.SIGTERM, functools.partial(_handle_sigterm, session))
        session.run(sys.stdin.buffer)


def _set_option(session: Session, name: str, value: str) -> None:
    try:
        session.set_option(name, value)
    except (ValueError, OSError) as error:
        raise UsageError(f"--set {name}={value}: {error}") from None


def _options_of_experts(experts: str | None) -> list[tuple[str, str]]:
    """Returns the options implied by a folder of experts, including the game they play."""
    from moemcts.weights import folder_of
    from moemcts_chess.uci.loading import game_of
    from moemcts_chess.uci.options import BUNDLED, NO_EXPERTS, VARIANTS

    if experts is None:
        return []
    if experts in (NO_EXPERTS, BUNDLED):
        # These are for any game.
        return [("Model_Directory", experts)]
    name, _ = game_of(folder_of(experts))
    variants = {game: variant for variant, game in VARIANTS.items()} | {"chess960": "chess"}
    if name not in variants:
        raise UsageError(f"expected experts for a game of the chess family, but {experts} holds experts for {name}")
    return [
        ("UCI_Variant", variants[name]),
        ("UCI_Chess960", str(name == "chess960")),
        ("Model_Directory", experts),
    ]


def _parse_setting(option: str) -> tuple[str, str]:
    name, equals, value = option.partition("=")
    if not equals:
        raise UsageError(f"expected --set OPTION=VALUE, got {option!r}")
    return name, value


def _protocol_channel() -> TextIO:
    """Returns a stream for standard output, and redirects all other output there to standard error."""
    sys.stdout.flush()
    channel = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return os.fdopen(channel, "w", encoding="utf-8", newline="\n")


def _gate_names() -> list[str]:
    from moemcts.plugins import plugins

    # A learned gate has no name until it is saved.
    return sorted(name for name, gate in plugins().gates.for_game("chess").items() if not gate.is_learned)


def _freeze_objects() -> None:
    # A collection over all objects of the libraries would take 0.1 to 0.2 s at any moment of a game.
    gc.collect()
    gc.freeze()


def _handle_sigterm(session: Session, number: int, frame: FrameType | None) -> None:
    session.request_quit()
    # The interrupted read resumes, reaches the end of input, and the session closes normally.
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())

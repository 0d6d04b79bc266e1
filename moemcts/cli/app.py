"""Assembles the command line from its commands."""

from __future__ import annotations

import logging
from typing import Annotated

import typer

from moemcts import __version__
from moemcts.cli import (
    benchmark,
    check,
    data,
    docs,
    doctor,
    explain,
    export,
    gate,
    lists,
    match,
    new_game_command,
    play,
    report,
    reproduce,
    run,
    selfplay,
    tournament,
    train,
    weights,
)
from moemcts.cli.groups import ROOT, Group

START = (run, train, selfplay, reproduce, play)
MEASURE = (match, tournament, benchmark, report, explain)
COMMANDS = (*START, *MEASURE, export, gate, lists, weights, new_game_command, check, doctor, docs, data)


def make_app() -> typer.Typer:
    """Returns the Typer application."""
    app = typer.Typer(
        name=ROOT,
        cls=Group,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="""AlphaZero-style search with a team of phase experts, for any game.

Start here:

    moemcts games

    moemcts run --game GAME --preset smoke

    moemcts doctor
""",
    )
    # Suppress Matplotlib's warnings about its cache when there is no writable home folder.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    app.callback()(_root)
    for module in COMMANDS:
        module.register(app)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"moemcts {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass

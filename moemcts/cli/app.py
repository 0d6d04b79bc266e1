"""Puts the commands together, those of plugins too."""

from __future__ import annotations

import logging
import sys
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
from moemcts.plugins import plugins

START = (run, train, selfplay, reproduce, play)
MEASURE = (match, tournament, benchmark, report, explain)
COMMANDS = (*START, *MEASURE, export, gate, lists, weights, new_game_command, check, doctor, docs)


def make_app() -> typer.Typer:
    """Returns the command line; a plugin whose commands cannot be added is named on standard error and left out."""
    app = typer.Typer(
        name="moemcts",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
        help="""AlphaZero-style search with a team of phase experts, for any game.

Start here:

    moemcts games

    moemcts run --game GAME --preset smoke

    moemcts doctor
""",
    )
    # What Matplotlib says of its cache where no home can be written concerns nobody here.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    app.callback()(_root)
    for module in COMMANDS:
        module.register(app)
    for plugin, error in plugins().register_commands(app, data.register(app)).items():
        print(f"plugin {plugin}: its commands are left out: {error}", file=sys.stderr)
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

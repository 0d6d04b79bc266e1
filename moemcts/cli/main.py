"""Puts the commands together, and turns errors into one line and an exit code."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from moemcts import __version__
from moemcts.errors import MoemctsError

app = typer.Typer(
    name="moemcts",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""AlphaZero-style search with a team of phase experts, for any game.

Start here:

    moemcts run --game pommerman --gate steps --preset smoke

    moemcts games

    moemcts doctor
""",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"moemcts {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Runs the command line.

    Exit codes: 0 done, 1 failed, 2 misused, 3 an optional package is missing, 130 interrupted.
    """
    # Work is spread over processes; a second thread in each is slower than none wherever the cores are busy already.
    # Whoever sets the variable knows better.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from moemcts.cli import check, data, doctor, explain, export, gate, lists, match, play, run, tournament, train
    from moemcts.plugins import plugins

    for module in (run, train, play, match, tournament, explain, export, gate, data, lists, check, doctor):
        module.register(app)
    try:
        plugins().register_commands(app, data.group)
        app()
    except MoemctsError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output has gone; nothing more can be told to anyone.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)

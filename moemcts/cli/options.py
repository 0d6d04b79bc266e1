"""Options shared by several commands, and checks for options that have no effect."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from moemcts.errors import UsageError

RANDOM_START = "where games always start alike, 4 by default or half of a short game"
"""Part of the help on random plies."""
MAX_GAMES = 1_000_000
"""The most games that a command plays: openings for more take minutes and hundreds of megabytes to prepare."""

AllowPrograms = Annotated[
    bool,
    typer.Option(
        "--allow-programs",
        help="Let settings that are read from a file start programs, such as UCI engines, and connect to a cluster.",
    ),
]

Config = Annotated[
    Path | None,
    typer.Option(
        help="TOML file with settings, as in a run's config.toml; they lie over those of --preset, below other options."
    ),
]

Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="One setting, such as training.batch_size=256; may be repeated, and of one setting the last counts.",
    ),
]

Start = Annotated[
    str | None,
    typer.Option(
        help="What trainings begin with instead of new weights: a training, a folder of experts or `weights:NAME`; a "
        "single network, or with `moemcts train` experts of the same gate."
    ),
]

TensorBoard = Annotated[bool, typer.Option("--tensorboard", help="Write event files for TensorBoard.")]


def check_num_games(option: str, number: int | None) -> None:
    """Raises UsageError for more games than a command plays, probably a typing error."""
    if number is not None and number > MAX_GAMES:
        raise UsageError(f"expected at most {option} {MAX_GAMES}, got {number}")


def check_effects(options: Mapping[str, object], reason: str) -> None:
    """Raises UsageError, with the reason, for the first option that was given though it has no effect."""
    for option, value in options.items():
        if value is not None:
            raise UsageError(f"{option} has no effect {reason}; leave it out")

"""What commands say of a run before it begins, and where it is put."""

from __future__ import annotations

import dataclasses
import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moemcts.cli.settings import Given
    from moemcts.runs import Run
    from moemcts.runs.experiment.estimate import Estimate

_LONGEST_NAME = 120
"""Of a folder, in characters; file systems take 255."""


def plan_as_json(run: Run[Any], expected: Estimate, **more: Any) -> str:
    """Returns a run's settings, what it is expected to take and what else is known of it, as JSON."""
    found = {"config": run.config.resolved_settings(), **more, "estimate": dataclasses.asdict(expected)}
    return json.dumps(found, indent=1)


def headline(run: Run[Any]) -> str:
    """Returns the line that a run begins with."""
    return f"{run.folder}: {run.describe()}"


def estimate_line(expected: Estimate, resumed: Path | None) -> str:
    """Returns the line on what a run takes; of one that goes on it counts what is done too, and says so."""
    return expected.describe("" if resumed is None else "the whole run")


def new_folder(game: str, words: list[str], given: Given) -> Path:
    """Returns a new folder under runs/, called by what is made in it and by what says how large that is."""
    name = re.sub(r"[^a-zA-Z0-9]+", "-", "_".join([game, *words, *given.sizes]))[:_LONGEST_NAME]
    return Path("runs") / f"{time.strftime('%Y%m%d-%H%M%S')}_{name}"

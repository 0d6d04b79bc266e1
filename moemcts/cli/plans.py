"""Descriptions of a run before it begins, and the name of its folder."""

from __future__ import annotations

import dataclasses
import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moemcts.cli.settings import RunArguments
    from moemcts.runs import Run
    from moemcts.runs.experiment.estimate import Estimate

_MAX_NAME = 120
"""Maximum length of a folder's name in characters; file systems allow 255 bytes."""


def plan_as_json(run: Run[Any], estimate: Estimate, **further: Any) -> str:
    """Returns a run's settings, its estimate and further facts as JSON."""
    values = {"config": run.config.resolved_settings(), **further, "estimate": dataclasses.asdict(estimate)}
    return json.dumps(values, indent=1)


def headline(run: Run[Any]) -> str:
    """Returns the first line that is printed for a run."""
    return f"{run.folder}: {run.describe()}"


def estimate_line(estimate: Estimate, resumed: Path | None) -> str:
    """Returns the line with a run's estimate; for a resumed run it says that finished parts are included."""
    return estimate.describe("" if resumed is None else "the whole run")


def new_folder(game: str, words: list[str], arguments: RunArguments) -> Path:
    """Returns a new folder under runs/, named after its game, the given words and its size."""
    name = re.sub(r"[^a-zA-Z0-9]+", "-", "_".join([game, *words, *arguments.sizes]))[:_MAX_NAME]
    return Path("runs") / f"{time.strftime('%Y%m%d-%H%M%S')}_{name}"

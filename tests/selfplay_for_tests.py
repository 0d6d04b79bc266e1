"""Self-play that is small enough for tests, and ways to kill it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from moemcts.runs.selfplay.run import SelfPlay
from moemcts.runs.selfplay.settings import SelfPlayConfig
from moemcts.runs.settings import validate
from moemcts.work.progress import Advance, NoProgress, Progress

SMALL: dict[str, Any] = {
    "game": "tictactoe",
    "gate": "plies",
    "network": "mlp?width=8&layers=1",
    "generations": 3,
    "games": {"games": 12, "parallel": 4, "per_part": 6, "backend": "torch"},
    "search": {"simulations": 4, "noise_fraction": 0.25, "temperature": 1.0, "temperature_plies": 4},
    "replay": {"generations": 2},
    "targets": {"search_share": 0.5},
    "training": {"epochs": 2, "batch_size": 16, "keep": "last", "save_interval": 2, "validation_fraction": 0.2},
    "promotion": {"rule": "score", "games": 4, "score": 0.4},
    "gauntlet": {"every": 3, "games": 4, "opponents": ["random"]},
}
NOT_COMPARED = {"timings.jsonl", "env.json", "done.json"}


def work(run: SelfPlay, progress: Progress | None = None) -> SelfPlay:
    """Completes a run, without a report."""
    with run.locked():
        run.work(progress or NoProgress())
    return run


def selfplay(folder: Path, **changes: Any) -> SelfPlay:
    values = {
        key: {**value, **changes.pop(key, {})} if isinstance(value, dict) else value for key, value in SMALL.items()
    }
    return SelfPlay.create(folder, validate(values | changes, SelfPlayConfig))


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    kept = (path for path in files if path.name not in NOT_COMPARED and not path.name.startswith("."))
    found = {str(path.relative_to(folder)): path.read_bytes() for path in kept}
    return {name: content for name, content in found.items() if not name.startswith("report")}


class Killed(BaseException):
    """An exception that no code catches, like the death of a process."""


class Deadly(NoProgress):
    """Raises `Killed` at the `count`-th progress report within a task."""

    def __init__(self, task: str, count: int) -> None:
        self._task = task
        self._left = count

    @contextmanager
    def task(self, name: str, unit: str) -> Iterator[Advance]:
        def advance(done: int, total: int) -> None:
            if name == self._task:
                self._left -= 1
                if self._left == 0:
                    raise Killed

        yield advance


def assert_same(one: Path, other: Path) -> None:
    ours, theirs = contents(one), contents(other)
    assert ours.keys() == theirs.keys()
    assert [name for name in ours if ours[name] != theirs[name]] == []

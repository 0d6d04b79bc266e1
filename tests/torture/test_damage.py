"""Files that were damaged are refused in words, or make no difference: no other result comes without a word."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from driving import Driver, Outcome, effort
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SMALL = ["--set", "data.samples=400", "--set", "match.games=4", "--set", "num_seeds=1", "--set", "workers=1"]


@dataclass(frozen=True)
class Case:
    """A folder of good files, a command that reads them, and what must come out of it."""

    files: Path
    arguments: tuple[str, ...]
    answer: str
    read: Callable[[Path, Outcome], str]


def _table(folder: Path, outcome: Outcome) -> str:
    return outcome.stdout


def _numbers(folder: Path, outcome: Outcome) -> str:
    """Returns what a run's report says, without its settings."""
    values: dict[str, Any] = json.loads((folder / "made" / "report" / "numbers.json").read_text())
    return json.dumps({key: value for key, value in values.items() if key not in ("config", "seconds")}, sort_keys=True)


@pytest.fixture(scope="session")
def cases(driver: Driver, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    """Makes good files of every kind, small ones."""
    root = tmp_path_factory.mktemp("good")
    run = ("run", "--game", "tictactoe", "--gate", "plies", "--preset", "smoke", "--out", "made", *SMALL)
    resume = ("run", "--resume", "made")
    match = ("match", "--game", "tictactoe", "--agent", "random", "--agent", "uct?simulations=4", "--games", "6")
    with_experts = (*match, "--agent", "made/experts/plies-0?simulations=4", "--against", "random", "--json")
    found = {}
    for name, make, use, read in (
        ("run", run, resume, _numbers),
        ("journal", (*match, "--out", "games.jsonl"), (*match, "--out", "games.jsonl", "--json"), _table),
        ("experts", None, with_experts, _table),
    ):
        folder = root / name
        if make is None:
            shutil.copytree(root / "run" / "made" / "experts", folder / "made" / "experts")
        else:
            folder.mkdir()
            made = driver.run(make, folder, limit=300)
            assert made.code == 0, made
        clean = Path(tempfile.mkdtemp(prefix="moemcts-good-"))
        shutil.copytree(folder, clean / "files")
        outcome = driver.run(use, clean / "files", limit=300)
        assert outcome.code == 0, outcome
        found[name] = Case(folder, use, read(clean / "files", outcome), read)
        shutil.rmtree(clean)
    return found


DAMAGES = ["flip", "cut", "grow", "empty", "delete", "swap", "repeat"]


def _damage(path: Path, other: Path, how: str, place: float) -> None:
    data = path.read_bytes()
    at = min(int(place * len(data)), max(len(data) - 1, 0))
    if how == "flip" and data:
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << int(place * 1e6) % 8]) + data[at + 1 :])
    elif how == "cut":
        path.write_bytes(data[:at])
    elif how == "grow":
        path.write_bytes(data + b"\x00garbage\n")
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "delete":
        path.unlink()
    elif how == "swap":
        path.write_bytes(other.read_bytes())
    elif how == "repeat":
        path.write_bytes(data + data[at:])


def _is_input(path: Path) -> bool:
    """Returns whether later work is made from a file; a report is made anew, a replay is for people."""
    return path.is_file() and "report" not in path.parts and not path.name.startswith(".") and path.suffix != ".html"


@settings(
    max_examples=24 * effort(),
    deadline=None,
    derandomize=effort() == 1,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    kind=st.sampled_from(["run", "journal", "experts"]),
    how=st.sampled_from(DAMAGES),
    which=st.floats(0, 1, exclude_max=True),
    place=st.floats(0, 1, exclude_max=True),
)
def test_damaged_files_change_no_result_without_a_word(
    driver: Driver, cases: dict[str, Case], kind: str, how: str, which: float, place: float
) -> None:
    case = cases[kind]
    folder = Path(tempfile.mkdtemp(prefix="moemcts-torture-"))
    try:
        shutil.copytree(case.files, folder / "files")
        files = sorted(path for path in (folder / "files").rglob("*") if _is_input(path))
        chosen = files[int(which * len(files))]
        _damage(chosen, files[int(place * len(files))], how, place)
        found = driver.run(case.arguments, folder / "files", limit=300)
        where = f"{how} {chosen.relative_to(folder)} at {place}\n{found}"
        assert found.is_clean, where
        if found.code == 0:
            assert case.read(folder / "files", found) == case.answer, where
    finally:
        shutil.rmtree(folder, ignore_errors=True)

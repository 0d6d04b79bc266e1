"""The code keeps its own rules: formatting, types, who may import whom, and the Rust side of all that."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent


def run(*command: str, folder: Path = ROOT) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-6000:]}{done.stderr[-6000:]}"


def tool(name: str) -> str:
    found = BIN / name if (BIN / name).exists() else shutil.which(name)
    if not found:
        pytest.skip(f"{name} is not installed")
    return str(found)


def test_python_is_formatted_and_clean() -> None:
    run(tool("ruff"), "check", "--no-cache", ".")
    run(tool("ruff"), "format", "--no-cache", "--check", ".")


def test_types_hold() -> None:
    run(tool("mypy"), "--strict", "--cache-dir=/dev/null")


def test_benchmarks_and_scripts_use_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few of them run in tests: what has been renamed or removed would be noticed by whoever needs one."""
    monkeypatch.delenv("PYTHONPATH", raising=False)  # what is found there is taken as installed: its errors are hidden
    monkeypatch.setenv("MYPYPATH", ":".join(str(ROOT / folder) for folder in ("benchmarks", "games", "tests", ".")))
    loose = ("misc", "var-annotated", "arg-type", "dict-item", "operator", "return-value")
    run(
        *(tool("mypy"), "--config-file=", "--cache-dir=/dev/null", "--explicit-package-bases"),
        *("--check-untyped-defs", "--ignore-missing-imports"),
        *(f"--disable-error-code={code}" for code in loose),
        *("benchmarks", "scripts"),
    )


def test_rooms_import_only_what_they_may() -> None:
    run(tool("lint-imports"), "--no-cache")


@pytest.mark.parametrize(
    "command",
    [
        ["fmt", "--check"],
        ["clippy", "--quiet", "--release", "--all-targets", "--", "-D", "warnings"],
        ["test", "--quiet", "--release", "--tests"],
    ],
    ids=lambda command: command[0],
)
def test_rust_is_formatted_clean_and_right(command: list[str]) -> None:
    run(tool("cargo"), *command, folder=ROOT / "native")


def test_only_the_framework_imports_the_compiled_core() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for folder in ("games", "plugins", "benchmarks", "tests", "docs")
        for path in (ROOT / folder).rglob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(r"(import|from) .*\b_core\b|moemcts\._core", line) and path != Path(__file__)
    ]
    assert not found, "take it from moemcts.native"


def test_the_framework_names_no_game() -> None:
    games = "|".join(path.name.removeprefix("moemcts_") for path in (ROOT / "games").glob("moemcts_*"))
    named = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in (ROOT / "moemcts").rglob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(rf"\b({games}|lichess)\b", line, re.IGNORECASE)
        and not re.match(r"\s*(#|\"|moemcts run|moemcts = )", line)
        and '"""' not in line
    ]
    assert not named


def test_no_module_is_looking_for_its_halves() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for pattern in ("moemcts/**/*.py", "games/**/*.py", "plugins/**/*.py", "benchmarks/**/*.py")
        for path in ROOT.glob(pattern)
        if (lines := len(path.read_text().splitlines())) > 420
    }
    assert not long

"""Rows of results, with their command, commit and machine."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent.parent / "results"
EXCEPT = ":!benchmarks/results"

Row = dict[str, Any]


def commit(root: Path = Path(__file__).parent.parent.parent) -> str:
    """Returns the current commit of a checkout, with `+` if there are uncommitted changes other than new results.

    In a copy without history, it is the value of MOEMCTS_COMMIT.
    """
    if recorded := os.environ.get("MOEMCTS_COMMIT"):
        return recorded
    words = (["rev-parse", "--short", "HEAD"], ["status", "--porcelain", "--untracked-files=no", "--", ".", EXCEPT])
    try:
        processes = [
            subprocess.run(["git", *call], cwd=root, capture_output=True, text=True, check=True) for call in words
        ]
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    head, changes = (process.stdout.strip() for process in processes)
    return head + ("+" if changes else "")


def origin(command: str) -> dict[str, str]:
    """Returns the origin of a row measured here and now."""
    # Imported lazily: workers of `side_by_side` load this file with the packages of another checkout.
    from moemcts.runs.provenance import machine

    return {
        "command": command,
        "commit": commit(),
        "machine": machine(),
        "date": time.strftime("%Y-%m-%d"),
    }


def append(table: str, rows: list[dict[str, object]]) -> None:
    """Appends rows to `results/<table>.jsonl`, with their origin unless they have one.

    A row identical to an existing one comes from a repeated command, and is skipped.
    """
    provenance = origin(" ".join(["python", sys.argv[0], *named(sys.argv[1:])]))
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{table}.jsonl"
    lines = set(path.read_text().splitlines()) if path.exists() else set()
    with path.open("a") as file:
        for row in rows:
            if (line := json.dumps(row | provenance | row)) not in lines:
                file.write(line + "\n")


def latest(table: str) -> dict[str, Row]:
    """Returns the last row with each name in a table of results."""
    path = RESULTS / f"{table}.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {row["name"]: row for row in rows}


def named(arguments: Sequence[str]) -> Iterator[str]:
    """Yields arguments, with absolute paths replaced by their purpose, as paths are specific to a machine."""
    option = ""
    for argument in arguments:
        setting, _, value = argument.partition("=")
        if argument.startswith("/"):
            yield option.lstrip("-").upper() or "PATH"
        else:
            yield f"{setting}={setting.rpartition('.')[2].upper()}" if value.startswith("/") else argument
        option = argument


def without_places(words: Sequence[str], places: Mapping[Path | None, str]) -> list[str]:
    """Returns the words of a call, with paths replaced by their purpose, however they are written.

    Paths on this machine are meaningless to others. A place of None, for an option that was not given, matches nothing.
    """

    def named_here(word: str) -> str:
        option, equals, value = word.partition("=")
        if equals and option.startswith("--"):
            return f"{option}={places.get(Path(value), value)}"
        return places.get(Path(word), word)

    return [named_here(word) for word in words]


def add_option(parser: argparse.ArgumentParser) -> None:
    """Adds `--record` to a benchmark's options."""
    parser.add_argument("--record", action="store_true", help="append the rows to benchmarks/results")

"""Rows of suites are read as they were written, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from moemcts.errors import DamagedFile
from moemcts.report.leaderboard import check_row, leaderboard, read_rows

SPEEDS = {"agreement": 1.0, "purity": 1.0, "kl": 0.0, "positions_per_second": 9.0}
ROW = {
    "suite": "tiny", "game": "a", "gate": "g", "scheme": "s", "simulations": 8, "routing": "each", "seed": 0,
    "games": 10, "points": 3.0, "low": -1.0, "high": 7.0, "loss_single": None, "loss_mixture": 0.5, "hours": 0.1,
    "command": "c", "commit": "x", "machine": "m", "date": "d", "cost": 2.0, "routings": {"each": SPEEDS},
}  # fmt: skip


def test_a_row_that_is_nested_too_deeply_is_named(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("[" * 100_000)
    with pytest.raises(DamagedFile, match=r"rows\.jsonl, line 1: expected a row of a suite as JSON"):
        read_rows(tmp_path / "rows.jsonl")


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("suite", 3, "text as 'suite', got 3"),
        ("routing", ["each"], "text as 'routing', got"),
        ("date", None, "text as 'date', got None"),
        ("points", float("nan"), "a number as 'points', got nan"),
        ("low", float("inf"), "a number as 'low', got inf"),
        ("high", 10**400, "a number as 'high', got 1000"),
        ("seed", True, "a number as 'seed', got True"),
        ("loss_mixture", float("nan"), "a number as 'loss_mixture', got nan"),
        ("cost", "2", "a number as 'cost', got '2'"),
        ("games", 0, "'games' of at least 1, got 0"),
        ("most", -1, "'most' of at least 0, got -1"),
        ("routings", 3, "agreement, purity, kl, positions_per_second of each routing and of 'each', got 3"),
        ("routings", {"queue": SPEEDS}, "agreement, purity, .* got {'queue'"),
        ("routings", {"each": {**SPEEDS, "positions_per_second": 0}}, "agreement, purity, .* got {'each'"),
        ("routings", {"each": {"kl": 0.0}}, "agreement, purity, .* got {'each'"),
    ],
)
def test_what_a_row_says_of_another_kind_is_named(key: str, value: Any, told: str, tmp_path: Path) -> None:
    rows = [ROW, {**ROW, "seed": 1, key: value}]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(DamagedFile, match=rf"rows\.jsonl, line 2: expected {told}"):
        read_rows(tmp_path / "rows.jsonl")


def test_rows_whose_routings_say_more_than_others_are_compared_in_what_both_say() -> None:
    more = {**ROW, "seed": 1, "routings": {"each": {**SPEEDS, "value": 0.1}}}
    (line,) = leaderboard([check_row(more, "a"), check_row(ROW, "b")], "two").numbers["lines"]
    assert line["routings"]["each"].keys() == {*SPEEDS, "speed"}

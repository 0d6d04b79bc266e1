"""Rows of suites are read as they were written, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from moemcts.errors import DamagedFile
from moemcts.report.leaderboard import read_rows


def test_a_row_that_is_nested_too_deeply_is_named(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("[" * 100_000)
    with pytest.raises(DamagedFile, match=r"rows\.jsonl, line 1: expected a row of a suite as JSON"):
        read_rows(tmp_path / "rows.jsonl")

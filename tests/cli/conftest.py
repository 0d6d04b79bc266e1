"""Runs the command line in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from moemcts.cli.main import main


@pytest.fixture
def moemcts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., tuple[int, str, str]]:
    """Runs a command in an empty folder; returns exit code, output and errors."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["moemcts", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        seen = capsys.readouterr()
        return int(left.value.code or 0), seen.out, seen.err

    return run

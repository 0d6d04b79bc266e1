"""Runs the command line in this process, which avoids the imports of a new one."""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from moemcts.cli.main import main
from moemcts.learn.threads import torch_threads


def moemcts(*arguments: object, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a command with empty input, in a folder if given; returns its exit code and output."""
    words = ["moemcts", *map(str, arguments)]
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(io.StringIO()) as out,
        redirect_stderr(io.StringIO()) as error,
        # As in a separate process: sums over several threads have another order.
        torch_threads(1),
    ):
        if folder is not None:
            patch.chdir(folder)
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setattr(sys, "argv", words)
        patch.setattr(sys, "stdin", io.StringIO())
        with pytest.raises(SystemExit) as left:
            main()
    return subprocess.CompletedProcess(words, int(left.value.code or 0), out.getvalue(), error.getvalue())

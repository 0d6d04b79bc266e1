"""Makes the test games importable, removes deadlines for slow machines, and tests the installed package."""

import atexit
import contextlib
import functools
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from moemcts.learn.inference.silence import silence_onnxruntime

sys.path.insert(0, str(Path(__file__).parent))

# Makes `python -c` in tests import the installed package, not the current folder, which has no compiled core.
os.environ["PYTHONSAFEPATH"] = "1"

# Some tests import onnxruntime themselves.
silence_onnxruntime()

# Tests started in the background ignore interrupts, and their child processes would inherit that.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.default_int_handler)

# Caches of measurements on this machine are neither read nor written; the processes of one test run share a cache.
if "MOEMCTS_TESTS_CACHE" not in os.environ:
    os.environ["MOEMCTS_TESTS_CACHE"] = os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="moemcts-tests-")
    atexit.register(shutil.rmtree, os.environ["MOEMCTS_TESTS_CACHE"], ignore_errors=True)

# A busy machine must not fail a test.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

LONG = ("torture/", "test_quality", "cli/test_", "test_papers")
"""Parts of names of slow tests, which run first, so that no worker is left with one at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not any(word in item.nodeid for word in LONG))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Uses work stealing between workers, unless another distribution is requested."""
    if config.getoption("dist") != "load":
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


@pytest.fixture(scope="session", autouse=True)
def _machine_is_small_and_soon_known() -> Iterator[None]:
    """Defaults to one worker process, and shortens measurements of speed.

    Other tests need the other cores, and no result depends on either. Tests that have not loaded torch by now neither
    use many processes nor measure for long.
    """
    with pytest.MonkeyPatch.context() as patch:
        if "torch" in sys.modules:
            from moemcts.learn.inference import choice, measurement
            from moemcts.runs import match
            from moemcts.runs.experiment import estimate, run
            from moemcts.runs.selfplay import playing

            for module in (run, match, playing):
                patch.setattr(module, "num_cores", lambda: 1)
            patch.setattr(choice, "measure", functools.partial(measurement.measure, budget=0.05))
            patch.setattr(estimate, "MEASURE_SECONDS", 0.005)
        yield

"""Makes the games for tests importable, lets slow machines take their time, and tests what is installed."""

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

# What tests start as `python -c` imports what is installed, not the folder they are started in, which has no core.
os.environ["PYTHONSAFEPATH"] = "1"

# Some tests import it themselves.
silence_onnxruntime()

# Who starts the tests in the background ignores interrupts, and all that is started from here would.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.default_int_handler)

# What was once measured on this machine is neither read nor written; the processes of one test run share it.
if "MOEMCTS_TESTS_CACHE" not in os.environ:
    os.environ["MOEMCTS_TESTS_CACHE"] = os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="moemcts-tests-")
    atexit.register(shutil.rmtree, os.environ["MOEMCTS_TESTS_CACHE"], ignore_errors=True)

# A machine that is busy with something else must not fail a test.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

LONG = ("torture/", "test_quality", "cli/test_", "test_papers")
"""In the names of tests that take long: they come first, so that no worker has one left when others have ended."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not any(word in item.nodeid for word in LONG))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Lets a worker without tests take over half of what another has left, unless another way is asked for."""
    if config.getoption("dist") != "load":
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


@pytest.fixture(scope="session", autouse=True)
def _machine_is_small_and_soon_known() -> Iterator[None]:
    """Has work of no given number of processes done in one, and speeds measured in moments.

    Tests beside this one want the other cores, and no result depends on either. Whatever has not loaded torch by now
    neither works nor measures for long.
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
            patch.setattr(estimate, "MOMENT", 0.005)
        yield

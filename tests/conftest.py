"""Makes the games for tests importable, lets slow machines take their time, and tests what is installed."""

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

# What tests start as `python -c` imports what is installed, not the folder they are started in, which has no core.
os.environ["PYTHONSAFEPATH"] = "1"

# What was once measured on this machine is neither read nor written; the processes of one test run share it.
if "MOEMCTS_TESTS_CACHE" not in os.environ:
    os.environ["MOEMCTS_TESTS_CACHE"] = os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="moemcts-tests-")
    atexit.register(shutil.rmtree, os.environ["MOEMCTS_TESTS_CACHE"], ignore_errors=True)

# A machine that is busy with something else must not fail a test.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

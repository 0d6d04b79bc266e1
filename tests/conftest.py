"""Makes the games for tests importable, lets slow machines take their time, and tests what is installed."""

import os
import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

# What tests start as `python -c` imports what is installed, not the folder they are started in, which has no core.
os.environ["PYTHONSAFEPATH"] = "1"

# A machine that is busy with something else must not fail a test.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

"""Makes the games for tests importable, and lets slow machines take their time."""

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

# A machine that is busy with something else must not fail a test.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

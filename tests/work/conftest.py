"""Makes the tasks of these tests importable, in this process and in worker processes."""

import os
import sys
from pathlib import Path

FOLDER = str(Path(__file__).parent)
sys.path.insert(0, FOLDER)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [FOLDER, os.environ.get("PYTHONPATH")]))

"""Makes the tasks of these tests importable, here and in the processes that do them."""

import os
import sys
from pathlib import Path

FOLDER = str(Path(__file__).parent)
sys.path.insert(0, FOLDER)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [FOLDER, os.environ.get("PYTHONPATH")]))

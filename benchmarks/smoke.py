"""How long the smoke preset takes, from the command to the report.

python benchmarks/smoke.py [--record]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measuring.record import add_option, append


def main() -> None:
    """Runs it once and prints the seconds; appends them to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_option(parser)
    options = parser.parse_args()
    command = ["moemcts", "run", "--game", "pommerman", "--gate", "steps", "--preset", "smoke"]
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        program = str(Path(sys.executable).parent / command[0])
        subprocess.run([program, *command[1:], "--out", f"{folder}/run"], check=True)
        seconds = time.perf_counter() - started
    row: dict[str, object] = {
        "name": " ".join(command),
        "value": round(seconds, 1),
        "unit": "s of wall time",
        "seed": 0,
    }
    print(row)
    if options.record:
        append("runs", [row])


if __name__ == "__main__":
    main()

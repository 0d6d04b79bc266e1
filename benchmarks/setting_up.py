"""Measures what the README's first command costs on a machine that has only Python, a C compiler and Rust.

python benchmarks/setting_up.py [--record]

Clones the commit at hand, without changes, into a temporary folder with an empty cache of packages: downloads all of
them. Crates that cargo has fetched before are not fetched again. `load` is how many processes wanted a core meanwhile:
the times of a machine that does nothing else are those with a load of about its cores.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename
from record import add_option, append

ROOT = Path(__file__).parent.parent
COMMAND = "./uvw run --no-dev moemcts run --game pommerman --gate steps --preset smoke"
TEST = "./uvw run pytest --version"


def downloaded(*options: str) -> float:
    """Returns the megabytes of packages that uv.lock names for this machine."""
    export = ["./uvw", "export", "--frozen", "--quiet", "--no-hashes", "--no-emit-workspace", *options]
    text = subprocess.run(export, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    asked = [Requirement(line) for line in text.splitlines() if line and not line.strip().startswith("#")]
    packages = {one["name"]: one for one in tomllib.loads((ROOT / "uv.lock").read_text())["package"]}
    names = [one.name for one in asked if one.marker is None or one.marker.evaluate()]
    return sum(size(packages[name]) for name in names) / 1e6


def size(package: dict[str, Any]) -> int:
    """Returns the bytes of the file that suits this machine best: a wheel, else the sources."""
    files = {Path(wheel["url"]).name: wheel["size"] for wheel in package.get("wheels", ())}
    tags = {name: parse_wheel_filename(name)[3] for name in files}
    for tag in sys_tags():
        for name, own in tags.items():
            if tag in own:
                return int(files[name])
    return int(package["sdist"]["size"])


def timed(command: str, folder: Path, environment: dict[str, str]) -> float:
    """Returns the seconds that a command took."""
    begin = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, shell=True, check=True)
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_option(parser)
    record = parser.parse_args().record
    rows: list[dict[str, object]] = []

    def add(name: str, value: float, unit: str) -> None:
        rows.append(
            {"name": name, "value": round(value), "unit": unit, "load": round(os.getloadavg()[1], 1), "seed": 0}
        )
        print(f"{name}: {value:,.0f} {unit}")

    add(f"download for `{COMMAND}`", downloaded("--no-dev"), "MB")
    add("download for the tests", downloaded(), "MB")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "moemcts"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
        unset = ("VIRTUAL_ENV", "PYTHONPATH", "UV")
        environment = {key: value for key, value in os.environ.items() if key not in unset}
        environment["UV_CACHE_DIR"] = f"{name}/cache"
        add(f"`{COMMAND}`, first time", timed(COMMAND, folder, environment), "s")
        add(f"`{COMMAND}`, second time", timed(COMMAND, folder, environment), "s")
        add("what the tests need besides", timed(TEST, folder, environment), "s")
        disk = subprocess.run(["du", "-sm", ".venv"], cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
        add("disk for the packages", int(disk.stdout.split()[0]), "MiB")
    if record:
        append("setup", rows)


if __name__ == "__main__":
    main()

"""Writes native/LICENSES.txt, the licences of the crates compiled into the core, which every wheel includes.

python scripts/licences.py           after a change of native/Cargo.lock
python scripts/licences.py --check   checks whether it is up to date
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

NATIVE = Path(__file__).parent.parent / "native"
LICENSES = NATIVE / "LICENSES.txt"
RULE = "=" * 100
HEADING = """\
Crates compiled into moemcts/_core, from native/Cargo.lock by scripts/licences.py.
Where a crate leaves the choice, it is used under the MIT licence. Crates under GPL-3.0-or-later
are used under the licence of moemcts itself, the file LICENSE.
"""


def crates() -> list[dict[str, Any]]:
    """Returns the third-party packages that the core links on any platform, sorted by name and version."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    metadata = json.loads(subprocess.run(command, cwd=NATIVE, stdout=subprocess.PIPE, check=True).stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    links = {node["id"]: node["deps"] for node in metadata["resolve"]["nodes"]}
    waiting = [key for key, package in packages.items() if package["name"] == "moemcts-python"]
    reached: set[str] = set()
    while waiting:
        key = waiting.pop()
        if key not in reached:
            reached.add(key)
            # A dependency of kind None is linked; "build" and "dev" ones are not in the wheel.
            waiting += [dep["pkg"] for dep in links[key] if any(kind["kind"] is None for kind in dep["dep_kinds"])]
    found = [packages[key] for key in reached if packages[key]["source"]]
    return sorted(found, key=lambda package: (package["name"], package["version"]))


def texts(package: dict[str, Any]) -> list[str]:
    """Returns the licence texts of a crate, only that of the MIT licence if offered."""
    folder = Path(package["manifest_path"]).parent
    prefixes = ("LICENSE", "LICENCE", "COPYING", "UNLICENSE", "NOTICE")
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name.upper().startswith(prefixes))
    if any("MIT" in path.name for path in files):
        files = [path for path in files if "MIT" in path.name or "UNICODE" in path.name]
    return ["\n".join(line.rstrip() for line in path.read_text().strip().splitlines()) for path in files]


def collected() -> str:
    """Returns the whole file: a list of crates, then each text once, below the crates that it applies to."""
    found = crates()
    under: dict[str, list[str]] = defaultdict(list)
    for package in found:
        name = f"{package['name']} {package['version']}"
        if not (own := texts(package)) and "GPL-3.0-or-later" not in package["license"]:
            sys.exit(f"expected a licence file in the crate {name} ({package['license']}), found none")
        for text in dict.fromkeys(own):
            under[text].append(name)
    table = [f"{package['name']} {package['version']}: {package['license']}" for package in found]
    parts = ["\n".join([RULE, *names, RULE, "", text]) for text, names in under.items()]
    return "\n\n".join([HEADING, "\n".join(table), *parts]) + "\n"


def main() -> None:
    """Writes the file; with `--check`, exits with status 1 if it is out of date."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the file is out of date")
    if not parser.parse_args().check:
        LICENSES.write_text(collected())
    elif LICENSES.read_text() != collected():
        sys.exit(f"{LICENSES.name} is not that of native/Cargo.lock: run python scripts/licences.py")


if __name__ == "__main__":
    main()

"""Checks the contents of the sdist and the wheels in a folder; exits with status 1 if files are missing or unwanted.

python scripts/contents.py dist
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
WHEEL_TAG = re.compile(r"-cp311-abi3-\w+\.whl$")
NEVER = re.compile(r"\.(so|pyd|pyc)$|^(native/target|runs|\.venv|\.uv)/|(^|/)__pycache__/")


def sdist_faults(names: set[str], committed: set[str]) -> list[str]:
    """Returns the faults of an sdist, given its file names relative to its root."""
    needed = {name for name in committed if not name.startswith(".git")}
    faults = [f"the sdist lacks {name}" for name in sorted(needed - names)]
    return faults + [f"the sdist has {name}" for name in sorted(names) if NEVER.search(name)]


def wheel_faults(filename: str, names: set[str], committed: set[str]) -> list[str]:
    """Returns the faults of a wheel: it has to run on Python 3.11 and later, with all modules and licences."""
    faults = [] if WHEEL_TAG.search(filename) else [f"expected a wheel tagged cp311-abi3, got {filename}"]
    folders = (("moemcts/", ""), ("games/", "games/"))
    modules = {name.removeprefix(cut) for start, cut in folders for name in committed if name.startswith(start)}
    faults += [f"the wheel lacks {name}" for name in sorted(modules - names)]
    if not any(re.fullmatch(r"moemcts/_core\.(abi3\.so|pyd)", name) for name in names):
        faults.append("the wheel lacks moemcts/_core for the stable ABI")
    for licence in ("LICENSE", "native/LICENSES.txt"):
        if not any(name.endswith(f".dist-info/licenses/{licence}") for name in names):
            faults.append(f"the wheel lacks the licence file {licence}")
    return faults


def main() -> None:
    """Checks every archive of the folder against the files in git."""
    folder = Path(sys.argv[1])
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    committed = {name for name in listed.splitlines() if (ROOT / name).exists()}
    archives = [*folder.glob("*.tar.gz"), *folder.glob("*.whl")]
    faults = [] if len(archives) >= 2 else [f"expected an sdist and a wheel in {folder}, found {len(archives)} files"]
    for archive in archives:
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as wheel:
                faults += wheel_faults(archive.name, set(wheel.namelist()), committed)
        else:
            with tarfile.open(archive) as sdist:
                members = (member.name for member in sdist if member.isfile())
                faults += sdist_faults({name.partition("/")[2] for name in members}, committed)
    sys.exit("\n".join(faults) or 0)


if __name__ == "__main__":
    main()

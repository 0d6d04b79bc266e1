"""Copies into `.gpu/` what a bare GPU machine needs, which receives nothing but a copy of the working tree.

    benchmarks/gpu_plan.sh --prepare GAMES [PARCELS] [--openings=FILE] [--python=3.12]

The compiled core, its entry points, packages not installed with torch, games, and parcels to resume from.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import importlib.metadata
import importlib.util
import lzma
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import zstandard
from measuring.record import commit

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".gpu"
MISSING = ("pydantic", "tomli-w")
"""Installed with their dependencies. GPU images have torch, numpy, scipy, safetensors, typer, rich, matplotlib etc."""
ROOM = 64 * 2**20
"""Transfer limit in bytes."""
TAGS = tuple(
    f"[{tag} "
    for tag in ("Date", "UTCDate", "Result", "WhiteElo", "BlackElo", "FEN", "SetUp", "Variant", "Termination")
)
"""Tags used by an import."""
_NUMBERS = re.compile(r"\b\d+\.+\s*")
CALLS = (
    "check set-4x64 --quick",
    "self-play speed --quick",
    "set",
    "rise-single resnet-single",
    "rise-separated",
    "rise-staged",
    "resnet-separated",
)
"""The pieces of each call, in order of priority."""


def main() -> None:
    """Fills the folder and prints what to transfer and to call."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", type=Path, help="folder of PGN files, plain or compressed")
    parser.add_argument("parcels", type=Path, nargs="?", help="folder of what came back before")
    parser.add_argument("--openings", type=Path, help="file of start positions for the matches of the set")
    parser.add_argument("--python", default="3.12", help="version of the interpreter there")
    options = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    lay_core()
    lay_packages(FOLDER / "site", options.python)
    lay_games(options.games, FOLDER / "games")
    if options.parcels:
        copy(options.parcels, "*.tar.gz.*", FOLDER / "parcels")
    if options.openings:
        lay_openings(options.openings)
    (FOLDER / "commit").write_text(commit() + "\n")
    size = travelling()
    print(f"{size / 2**20:.1f} MiB would travel, of {ROOM >> 20}")
    if size > ROOM:
        raise SystemExit("that is too much: leave out some games that are learned from")
    print("\ncarry: .gpu\nA call each, of 600 seconds at most, one after the other while the machine waits:")
    for pieces in CALLS:
        print(f'  benchmarks/gpu_plan.sh "$OUT" {pieces}')
    print("Then, here, with the folder of what came back of each call:")
    print("  benchmarks/gpu_plan.sh FOLDER --collect --record")


def lay_core() -> None:
    """Copies the core under a name that every later version of Python loads, and the entry points of plugins."""
    spec = importlib.util.find_spec("._core", "moemcts")
    if spec is None or spec.origin is None:
        raise SystemExit("expected a compiled core, found none; install the package first: ./uvw sync")
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise SystemExit(f"expected a core for Linux on x86-64, this one is for {sys.platform} on {platform.machine()}")
    shutil.copyfile(spec.origin, FOLDER / "_core.abi3.so")
    # Function names are a sixth of it.
    if strip := shutil.which("strip"):
        subprocess.run([strip, str(FOLDER / "_core.abi3.so")], check=True)
    distribution = importlib.metadata.distribution("moemcts")
    about = FOLDER / "site" / f"moemcts-{distribution.version}.dist-info"
    about.mkdir(parents=True, exist_ok=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: moemcts\nVersion: {distribution.version}\n")
    (about / "entry_points.txt").write_text(distribution.read_text("entry_points.txt") or "")


def lay_packages(site: Path, version: str) -> None:
    """Downloads the missing packages, unless they are there already."""
    if (site / "pydantic").exists():
        return
    words = ["pip", "install", "--quiet", "--target", str(site), "--only-binary", ":all:"]
    words += ["--python-version", version, "--python-platform", "x86_64-manylinux_2_28", *MISSING]
    subprocess.run([str(ROOT / "uvw"), *words], check=True)


def copy(source: Path, pattern: str, target: Path) -> None:
    """Copies files into a folder, replacing its content."""
    files = sorted(source.glob(pattern))
    if not files:
        raise SystemExit(f"expected files {pattern} in {source}, found none")
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for file in files:
        shutil.copyfile(file, target / file.name)


def lay_games(source: Path, target: Path) -> None:
    """Writes the parts of games that a training needs, two thirds of the size, unless they are up to date."""
    files = {f"{file.name.partition('.pgn')[0]}-moves.pgn.zst": file for file in sorted(source.glob("*.pgn*"))}
    if not files:
        raise SystemExit(f"expected files *.pgn* in {source}, found none")
    target.mkdir(exist_ok=True)
    for old in target.iterdir():
        if old.name not in files:
            old.unlink()
    for name, file in files.items():
        written = target / name
        if not written.exists() or written.stat().st_mtime < file.stat().st_mtime:
            print(f"{file.name}: leaves out what no training needs", flush=True)
            written.write_bytes(zstandard.compress(without_names(text_of(file)).encode(), 19))


def text_of(file: Path) -> str:
    """Returns the text of a plain or compressed file of games."""
    content = file.read_bytes()
    if content.startswith(zstandard.FRAME_HEADER):
        with zstandard.ZstdDecompressor().stream_reader(content, read_across_frames=True) as reader:
            content = reader.read()
    elif content.startswith((b"\x1f\x8b", b"BZh")):
        content = (gzip if content.startswith(b"\x1f\x8b") else bz2).decompress(content)
    return content.decode("utf-8", "replace")


def without_names(games: str) -> str:
    """Returns games in PGN without comments, move numbers, and tags not used by an import."""
    lines = re.sub(r"\{[^}]*\}", "", games).splitlines()
    kept_lines = (line for line in lines if not line.startswith("[") or line.startswith(TAGS))
    return "".join(f"{line if line.startswith('[') else _NUMBERS.sub('', line)}\n" for line in kept_lines)


def lay_openings(file: Path) -> None:
    """Compresses a file of start positions."""
    (FOLDER / "openings").mkdir(exist_ok=True)
    (FOLDER / "openings" / f"{file.name}.xz").write_bytes(lzma.compress(file.read_bytes()))


def travelling() -> int:
    """Returns the size in bytes of the working tree without files ignored by git, plus that of the folder."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    files = [ROOT / name for name in names if name] + list(FOLDER.rglob("*"))
    return sum(path.stat().st_size for path in files if path.is_file())


if __name__ == "__main__":
    main()

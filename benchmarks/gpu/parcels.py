"""Packing of folders into files for transfer, which is limited to 16 MiB per file, and to 64 MiB and eight files."""

from __future__ import annotations

import io
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

PART = 15 * 2**20
MAX_PARTS = 4
STATES = "stages"
"""The folders of a training that are needed only to resume it."""
RESUME, GOOD = "resume.safetensors", "good.safetensors"
"""Saved states of a stage; if both exist, the first is newer."""


def pack(
    folder: Path, target: Path, *, is_done: bool, is_left_out: Callable[[Path], bool] = lambda inside: False
) -> list[Path]:
    """Writes a folder as parcels `NAME.tar.gz.00`, `.01`, ... and returns them.

    An unfinished folder includes the newest state of its training, unless that exceeds the transfer limit. Excluded
    files are skipped.
    """
    for old in parts(folder.name, target):
        old.unlink()
    packed = _packed(folder, target, with_states=not is_done, is_left_out=is_left_out)
    if len(packed) > MAX_PARTS and not is_done:
        print(f"{folder.name}: its state is larger than what travels and stays here", flush=True)
        packed = _packed(folder, target, with_states=False, is_left_out=is_left_out)
    return packed


def unpack(name: str, source: Path, target: Path) -> bool:
    """Extracts the folder with that name into `target`, if there are any parcels of it; returns whether there are."""
    files = parts(name, source)
    if files:
        with io.BytesIO(b"".join(part.read_bytes() for part in files)) as file, tarfile.open(fileobj=file) as archive:
            archive.extractall(target, filter="data")
    return bool(files)


def parts(name: str, folder: Path) -> list[Path]:
    """Returns the parcels of a name, in order."""
    return sorted(folder.glob(f"{name}.tar.gz.*"))


def _packed(folder: Path, target: Path, *, with_states: bool, is_left_out: Callable[[Path], bool]) -> list[Path]:
    for old in parts(folder.name, target):
        old.unlink()
    with tempfile.TemporaryFile() as file:
        # Weights are nearly incompressible, so a higher level is not worth it.
        with tarfile.open(fileobj=file, mode="w:gz", compresslevel=1) as archive:
            for path in sorted(folder.rglob("*")):
                inside = path.relative_to(folder)
                is_older = path.name == GOOD and (path.parent / RESUME).exists()
                is_travelling = (with_states or STATES not in inside.parts) and not is_left_out(inside)
                if path.is_file() and not is_older and is_travelling:
                    archive.add(path, str(folder.name / inside))
        file.seek(0)
        return _split(file, folder.name, target)


def _split(file: IO[bytes], name: str, target: Path) -> list[Path]:
    written: list[Path] = []
    while part := file.read(PART):
        written.append(target / f"{name}.tar.gz.{len(written):02}")
        written[-1].write_bytes(part)
    return written

"""Where commands write, looked at before they begin: nobody's files are written over or among."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from moemcts.errors import MoemctsError, UsageError
from moemcts.store import check_path

if TYPE_CHECKING:
    from moemcts.runs.experiment.estimate import Estimate


def check_place(folder: Path) -> None:
    """Raises UsageError where there cannot be a folder to write to, MoemctsError where one must not be written."""
    check_path(folder)
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir():
        raise UsageError(f"expected a folder to write to, but {there} is a file; give another --out")
    if not os.access(there, os.W_OK):
        raise MoemctsError(f"cannot write {folder}: nothing may be written to {there}; give another --out")


def check_own(folder: Path, noun: str, *, marks: Collection[str]) -> None:
    """Raises UsageError for a folder that holds something else than the `noun` that is to be written there.

    Its own is one that is new or empty, or has a file or folder of the names `marks`; hidden files do not count. Whose
    that is, is not checked.
    """
    check_place(folder)
    if not folder.exists() or any((folder / mark).exists() for mark in marks):
        return
    found = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    if found:
        raise UsageError(
            f"expected a new or empty folder for the {noun}, or one to go on in, but {folder} holds other things, such "
            f"as {found[0]}; give another --out"
        )


def check_outputs(paths: Sequence[Path], *, ours: Sequence[Path], mark: str) -> None:
    """Raises UsageError where two outputs are one file, or one of `ours`, which are written anew, has no `mark` of
    ours in its beginning; MoemctsError where one cannot be written.
    """
    places = [path.absolute().resolve() for path in paths]
    for number, place in enumerate(places):
        if place in places[:number]:
            raise UsageError(f"expected different files to write to, got {paths[number]} twice")
    for path in paths:
        if path.exists() and not path.is_file():
            raise MoemctsError(f"cannot write {path}: expected a file")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=path.parent):
                pass
        except OSError as error:
            raise MoemctsError(f"cannot write {path}: {error.strerror or error}") from error
    for path in ours:
        if path.exists() and (head := path.open("rb").read(4096)) and mark.encode() not in head:
            raise UsageError(f"{path} is no file of games of a match; give another file or remove this one")


def check_room(folder: Path, expected: Estimate) -> None:
    """Raises MoemctsError where there is less room on the disk than a run is expected to need."""
    existing = folder.absolute()
    while not existing.exists():
        existing = existing.parent
    free = shutil.disk_usage(existing).free
    if expected.num_bytes > free:
        raise MoemctsError(
            f"expected {expected.num_bytes / 1e6:,.0f} MB on the disk of {folder}, "
            f"{free / 1e6:,.0f} MB are free; make room or choose another folder with --out"
        )

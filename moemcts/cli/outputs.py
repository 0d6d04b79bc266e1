"""Checks where commands write before they begin, so that no one else's files are overwritten."""

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


def check_writable_folder(folder: Path) -> None:
    """Raises UsageError if a folder cannot exist there, and MoemctsError if it is not writable."""
    check_path(folder)
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise UsageError(f"expected a folder to write to, but {existing} is a file; give another --out")
    if not os.access(existing, os.W_OK):
        raise MoemctsError(f"cannot write {folder}: {existing} is not writable; give another --out")


def check_output_folder(folder: Path, noun: str, *, marks: Collection[str]) -> None:
    """Raises UsageError for a folder that holds something other than the `noun` to be written there.

    A folder is accepted if it is new or empty, or has a file or folder named in `marks`; hidden files are ignored. It
    is not checked which run or command wrote such a file.
    """
    check_writable_folder(folder)
    if not folder.exists() or any((folder / mark).exists() for mark in marks):
        return
    others = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    if others:
        raise UsageError(
            f"expected a new or empty folder for the {noun}, or one to resume, but {folder} holds other things, "
            f"such as {others[0]}; give another --out"
        )


def check_output_files(paths: Sequence[Path], *, ours: Sequence[Path], mark: str) -> None:
    """Checks files before they are written.

    Raises UsageError if two outputs are the same file, or if an existing file of `ours`, which would be overwritten,
    does not have `mark` near its beginning; MoemctsError if one is not writable.
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
            raise UsageError(f"{path} is not a file of match games; give another file or remove this one")


def check_disk_space(folder: Path, expected: Estimate) -> None:
    """Raises MoemctsError if there is less free disk space than a run is expected to need."""
    existing = folder.absolute()
    while not existing.exists():
        existing = existing.parent
    free = shutil.disk_usage(existing).free
    if expected.num_bytes > free:
        raise MoemctsError(
            f"expected {expected.num_bytes / 1e6:,.0f} MB on the disk of {folder}, "
            f"{free / 1e6:,.0f} MB are free; make room or choose another folder with --out"
        )

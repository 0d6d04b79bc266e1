"""Where commands write, looked at before they begin: nobody's files are written over or among."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from moemcts.errors import MoemctsError, UsageError
from moemcts.store import check_path


def check_place(folder: Path) -> None:
    """Raises UsageError where there cannot be a folder to write to, MoemctsError where one must not be written."""
    check_path(folder)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"expected a folder to write to, but {folder} is a file; give another --out")
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
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

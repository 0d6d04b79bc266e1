"""Run folders: everything a run needs and makes, written so that a kill at any moment loses nothing."""

from __future__ import annotations

import errno
import json
import os
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import tomli_w

from moemcts.errors import DamagedFile, MoemctsError


@contextmanager
def atomic_write(path: Path) -> Iterator[IO[bytes]]:
    """Opens a file that takes the place of `path` when all of it is on the disk, and not before.

    Raises MoemctsError where the disk is full; `path` is then as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        os.replace(name, path)
    except OSError as error:
        raise disk_error(error, path) from error
    finally:
        Path(name).unlink(missing_ok=True)


def disk_error(error: OSError, path: Path) -> OSError | MoemctsError:
    """Returns the error as a user can understand it."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return MoemctsError(f"the disk is full at {path}; make room, then go on with moemcts run --resume")
    if error.errno in (errno.EACCES, errno.EROFS, errno.EPERM):
        return MoemctsError(f"expected to be allowed to write {path}, the system refuses: {error.strerror}")
    return error


def write_text(path: Path, text: str) -> None:
    """Writes a text file atomically."""
    with atomic_write(path) as file:
        file.write(text.encode())


def write_toml(path: Path, values: Mapping[str, Any]) -> None:
    """Writes a TOML file atomically; entries that are None are left out."""
    write_text(path, tomli_w.dumps(_without_none(values)))


def read_toml(path: Path) -> dict[str, Any]:
    """Returns what a TOML file holds; raises MoemctsError where there is none and DamagedFile where it is no TOML."""
    try:
        return tomllib.loads(path.read_text())
    except FileNotFoundError:
        raise MoemctsError(f"expected a file {path}, found none") from None
    except IsADirectoryError:
        raise MoemctsError(f"expected a file, got the folder {path}") from None
    except PermissionError as error:
        raise MoemctsError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DamagedFile(f"{path} is not valid TOML: {error}") from error


def write_json(path: Path, values: Any) -> None:
    """Writes a JSON file atomically."""
    write_text(path, json.dumps(values, indent=1, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Returns what a JSON file holds; raises DamagedFile where it is none."""
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        raise MoemctsError(f"expected a file {path}, found none") from None
    except ValueError as error:
        raise DamagedFile(f"{path} is not valid JSON: {error}") from error


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_without_none(item) for item in value]
    return value

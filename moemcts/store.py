"""Run folders: everything a run needs and makes, written so that a kill at any moment loses nothing."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tomli_w

from moemcts.errors import DamagedFile, MoemctsError


def write_bytes(path: Path, data: bytes) -> None:
    """Writes a file so that whoever looks sees the old one or the new one, whole.

    Raises MoemctsError where it cannot be written, a full disk included; the old file is untouched then.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        hint = f"; {len(data) / 1e6:.1f} MB are needed" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        raise MoemctsError(f"cannot write {path}: {error.strerror or error}{hint}; what was there is intact") from error


@contextlib.contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Keeps the folder to this process for a while; the lock ends with the process, however it ends.

    Raises MoemctsError if another process has it. Where the system knows no such locks, nothing is locked.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    path = folder / ".lock"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = open(path, "a+")  # noqa: SIM115
    except OSError as error:
        raise MoemctsError(f"cannot write {path}: {error.strerror or error}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise MoemctsError(
                f"{folder} is in use by process {holder}; wait until it has ended, or choose another folder"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def read_bytes(path: Path) -> bytes:
    """Returns the content of a file; raises DamagedFile if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise DamagedFile(f"cannot read {path}: {error.strerror or error}") from error


def digest(data: bytes | memoryview) -> str:
    """Returns the SHA-256 of bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def write_text(path: Path, text: str) -> None:
    """Writes a text file atomically."""
    write_bytes(path, text.encode())


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
    except OSError as error:
        raise MoemctsError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DamagedFile(f"{path} is not valid TOML: {error}") from error


def write_json(path: Path, values: Any) -> None:
    """Writes a JSON file atomically."""
    write_text(path, json.dumps(values, indent=1, allow_nan=False) + "\n")


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_without_none(item) for item in value]
    return value

"""Run folders: everything a run needs and makes, written so that a kill at any moment loses nothing."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import platform
import re
import shutil
import threading
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tomli_w

from moemcts.errors import DamagedFile, MoemctsError, UsageError, unreadable

MANIFEST = "manifest.toml"
"""What says of samples, experts and exports what they are, in their folder."""
_PATIENCE = 0.5
"""Seconds to wait for a lock: whoever only looks gives it back at once."""
_HOLDER = ".holder"
_PART = re.compile(r"\..+\.(?P<process>\d+)(-\d+)?\.part")
"""Names of what is being written: hidden, with the writer's process, and of files its thread."""


def write_bytes(path: Path, data: bytes) -> None:
    """Writes a file so that whoever looks sees the old one or the new one, whole.

    Raises MoemctsError where it cannot be written, a full disk included; the old file is untouched then.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.part")
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
    """Keeps the folder, which is made if need be, to this process for a while; the lock ends with the process.

    What writers that were killed have left half-written in it is removed. Raises MoemctsError if another process has
    the folder, or it cannot be written.
    """
    from filelock import FileLock, Timeout

    check_path(folder)
    lock = FileLock(folder / ".lock", timeout=_PATIENCE)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise MoemctsError(
            f"{folder} is in use by process {_holder(folder)}; wait until it has ended, or choose another folder"
        ) from None
    except OSError as error:
        raise MoemctsError(f"cannot write {folder}: {error.strerror or error}") from error
    try:
        clear_leftovers(folder)
        write_text(folder / _HOLDER, f"{os.getpid()} {platform.node()}".strip())
        yield
    finally:
        lock.release()


def cache_folder() -> Path:
    """Returns where things are kept that can be had again: `$XDG_CACHE_HOME/moemcts` or the like."""
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".cache") / "moemcts"


def check_path(path: Path) -> None:
    """Raises UsageError for a path that no file can have or that no text can name."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise UsageError(f"expected a path in UTF-8, got {os.fsencode(path)!r}; choose another name") from None
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{reason}: {str(path)[:60]!r}...; choose another name") from None


def clear_leftovers(folder: Path) -> None:
    """Removes what writers left half-written in a folder when they were killed; only for who has it to themselves.

    What other processes are writing below it stays.
    """
    for path in sorted(folder.rglob(".*.part")):
        if is_leftover(path):
            with contextlib.suppress(OSError):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def is_leftover(path: Path) -> bool:
    """Returns whether a path is what a writer that no longer runs has left half-written."""
    found = _PART.fullmatch(path.name)
    return found is not None and not _is_running(int(found["process"]))


def _is_running(process: int) -> bool:
    """Returns whether another process of that number runs; ours is not at work yet, so its number was another's.

    Nobody's number is 0, which stands in the names of what is being removed.
    """
    if process == 0:
        return False
    if os.name == "nt":
        # There a signal is no question; what may belong to another stays.
        return process != os.getpid()
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return process != os.getpid()


def _holder(folder: Path) -> str:
    """Returns the number of the process that has a folder, with its machine where that is another one."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        process, _, machine = (folder / _HOLDER).read_text().strip().partition(" ")
        is_elsewhere = machine not in ("", platform.node())
        return f"{process} on {machine}" if is_elsewhere else process or "unknown"
    return "unknown"


def read_bytes(path: Path) -> bytes:
    """Returns the content of a file; raises DamagedFile if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise DamagedFile(f"cannot read {path}: {error.strerror or error}") from error


def digest(data: bytes | memoryview) -> str:
    """Returns the SHA-256 of bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def manifest_digest(folder: Path, *, length: int = 16) -> str:
    """Returns the first digits of the SHA-256 of a folder's manifest, which holds those of the other files in it.

    Raises DamagedFile where there is none.
    """
    return digest(read_bytes(folder / MANIFEST))[:length]


def write_text(path: Path, text: str) -> None:
    """Writes a text file atomically."""
    write_bytes(path, text.encode())


def write_toml(path: Path, values: Mapping[str, Any]) -> None:
    """Writes a TOML file atomically; entries that are None are left out."""
    write_text(path, tomli_w.dumps(_without_none(values)))


def read_toml(path: Path) -> dict[str, Any]:
    """Returns what a TOML file holds; raises UsageError where there is none and DamagedFile where it is no TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"expected a file {path}, found none") from None
    except IsADirectoryError:
        raise UsageError(f"expected a file, got the folder {path}") from None
    except OSError as error:
        raise unreadable(str(path), error) from None
    except UnicodeDecodeError as error:
        raise DamagedFile(f"{path} is not valid TOML: it is no text in UTF-8") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DamagedFile(f"{path} is not valid TOML: {error}") from error


def read_json(path: Path) -> Any:
    """Returns what a JSON file holds; raises UsageError where there is none and DamagedFile where it is no JSON."""
    try:
        return parse_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"expected a file {path}, found none") from None
    except OSError as error:
        raise unreadable(str(path), error) from None
    except ValueError as error:
        raise DamagedFile(f"{path} is not valid JSON: {error}") from None


def parse_json(text: str | bytes) -> Any:
    """Returns what a text of JSON says; raises ValueError where it is none, or is nested too deeply to be read."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def write_json(path: Path, values: Any) -> None:
    """Writes a JSON file atomically."""
    write_text(path, json.dumps(values, indent=1, allow_nan=False) + "\n")


def as_read(values: Any) -> Any:
    """Returns values as `read_json` gives them back once they were written: lists for tuples, words for keys."""
    return json.loads(json.dumps(values))


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_without_none(item) for item in value]
    return value

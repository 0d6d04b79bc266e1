"""Crash-safe files and run folders: writes are atomic, so that killing a process at any moment loses nothing."""

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
"""Describes the samples, experts or exports in its folder."""
_LOCK_TIMEOUT = 0.5
"""Seconds to wait for a lock, as processes that only read release it at once."""
_HOLDER_FILE = ".holder"
"""Names the process that holds its folder's lock, and its host."""
_PART_NAME = re.compile(r"\..+\.(?P<pid>\d+)(-\d+)?\.part")
"""Names of partially written files and folders: hidden, with the writer's process id and, for files, its thread id."""


def write_bytes(path: Path, data: bytes) -> None:
    """Writes a file atomically: readers see either the old content or the new one.

    Raises MoemctsError if it cannot be written, for example because the disk is full; the old file is kept then.
    """
    # Not by `with_name`, which refuses a path without a name, such as `.`.
    temporary = path.parent / f".{path.name}.{os.getpid()}-{threading.get_ident()}.part"
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
        raise MoemctsError(
            f"cannot write {path}: {error.strerror or error}{hint}; what was there before is intact"
        ) from error


@contextlib.contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Locks a folder for this process within the block, creating it if necessary; the lock ends with the process.

    Removes partially written files of killed writers. Raises MoemctsError if another process holds the lock, or if the
    folder cannot be written.
    """
    from filelock import FileLock, Timeout

    check_path(folder)
    lock = FileLock(folder / ".lock", timeout=_LOCK_TIMEOUT)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise MoemctsError(
            f"{folder} is in use by process {_read_holder(folder)}; wait until it has ended, or choose another folder"
        ) from None
    except OSError as error:
        raise MoemctsError(f"cannot write {folder}: {error.strerror or error}") from error
    try:
        clear_leftovers(folder)
        write_text(folder / _HOLDER_FILE, f"{os.getpid()} {platform.node()}".strip())
        yield
    finally:
        lock.release()


def cache_folder() -> Path:
    """Returns the folder of files that can be obtained again: `$XDG_CACHE_HOME/moemcts` or its equivalent."""
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".cache") / "moemcts"


def check_path(path: Path) -> None:
    """Raises UsageError for a path that the file system does not allow or that is not valid UTF-8."""
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
    """Removes partially written files of killed writers; call it only with exclusive access to the folder.

    Files that other running processes are writing below it are kept.
    """
    for path in sorted(folder.rglob(".*.part")):
        if is_leftover(path):
            with contextlib.suppress(OSError):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def is_leftover(path: Path) -> bool:
    """Returns whether a path is a partially written file or folder whose writer no longer runs."""
    match = _PART_NAME.fullmatch(path.name)
    return match is not None and not _is_running(int(match["pid"]))


def _is_running(pid: int) -> bool:
    """Returns whether another process with this id runs; this process has written nothing yet, so its own id was
    reused.

    Id 0 stands for no process; it is in the names of folders that are being removed.
    """
    if pid == 0:
        return False
    if os.name == "nt":
        # On Windows `os.kill` terminates the process, so a possible writer is assumed to run.
        return pid != os.getpid()
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return pid != os.getpid()


def _read_holder(folder: Path) -> str:
    """Returns the id of the process that holds a folder's lock, with its host if that is another one."""
    try:
        pid, _, host = (folder / _HOLDER_FILE).read_text().strip().partition(" ")
    except (OSError, UnicodeDecodeError):
        return "unknown"
    if host not in ("", platform.node()):
        return f"{pid} on {host}"
    return pid or "unknown"


def read_bytes(path: Path) -> bytes:
    """Returns a file's content; raises DamagedFile if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise DamagedFile(f"cannot read {path}: {error.strerror or error}") from error


def digest(data: bytes | memoryview) -> str:
    """Returns the SHA-256 of bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def manifest_digest(folder: Path, *, length: int = 16) -> str:
    """Returns the first digits of the SHA-256 of a folder's manifest, which includes the hashes of its other files.

    Raises DamagedFile if there is no manifest.
    """
    return digest(read_bytes(folder / MANIFEST))[:length]


def write_text(path: Path, text: str) -> None:
    """Writes a text file atomically."""
    write_bytes(path, text.encode())


def write_toml(path: Path, values: Mapping[str, Any]) -> None:
    """Writes a TOML file atomically, without entries that are None."""
    write_text(path, tomli_w.dumps(_without_none(values)))


def read_toml(path: Path) -> dict[str, Any]:
    """Returns the content of a TOML file; raises UsageError if it does not exist and DamagedFile if it is not TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"expected a file {path}, found none") from None
    except IsADirectoryError:
        raise UsageError(f"expected a file, got the folder {path}") from None
    except OSError as error:
        raise unreadable(str(path), error) from None
    except UnicodeDecodeError as error:
        raise DamagedFile(f"{path} is not valid TOML: it is not UTF-8 text") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DamagedFile(f"{path} is not valid TOML: {error}") from error


def read_json(path: Path) -> Any:
    """Returns the content of a JSON file; raises UsageError if it does not exist and DamagedFile if it is not JSON."""
    try:
        return parse_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"expected a file {path}, found none") from None
    except OSError as error:
        raise unreadable(str(path), error) from None
    except ValueError as error:
        raise DamagedFile(f"{path} is not valid JSON: {error}") from None


def parse_json(text: str | bytes) -> Any:
    """Returns the value of JSON text; raises ValueError if it is invalid or nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def write_json(path: Path, values: Any) -> None:
    """Writes a JSON file atomically."""
    write_text(path, json.dumps(values, indent=1, allow_nan=False) + "\n")


def json_round_trip(values: Any) -> Any:
    """Returns values as `read_json` would return them after writing: lists for tuples, strings for keys."""
    return json.loads(json.dumps(values))


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_without_none(item) for item in value]
    return value

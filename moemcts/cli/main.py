"""The entry point: turns errors into a line and an exit code, from the first import on."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

# The rest is imported lazily, so that Ctrl-C during the imports is handled too.
from moemcts.cli.interruptions import interruptions, terminations, was_just_interrupted

_WRITE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
"""Errors of a standard output that cannot be written; for files see `moemcts.store`."""
_MAX_CHARACTERS = 80
"""The maximum length of a file name in an error."""
_TRACEBACK = "MOEMCTS_TRACEBACK"
"""The environment variable that enables tracebacks for errors of plugins."""
_INTERRUPTED = 128 + signal.SIGINT
_TERMINATED = 128 + signal.SIGTERM


def main() -> None:
    """Runs the command line.

    Exit codes: 0 done, 1 failed, 2 misused, 3 an optional package is missing, 130 interrupted, 143 terminated by
    SIGTERM.
    """
    with terminations() as is_terminated:
        try:
            _main()
        except SystemExit as exiting:
            if exiting.code == _INTERRUPTED and is_terminated():
                raise SystemExit(_TERMINATED) from None
            raise


def _main() -> None:
    with interruptions():
        try:
            _open_streams()
            _run()
        except KeyboardInterrupt:
            _exit_with("interrupted", _INTERRUPTED)
        except BrokenPipeError:
            # The reader of the output has closed it, so nothing more can be printed.
            _discard_output()
            sys.exit(1)
        except Exception:
            if was_just_interrupted():
                _exit_with("interrupted", _INTERRUPTED)
            raise


def _run() -> None:
    _check_folder()
    # Work is spread over processes; a second thread in each slows them down when all cores are busy. The user may
    # override this by setting the variable.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from moemcts.errors import WRONG_PATH_ERRORS, MoemctsError
    from moemcts.garbage import raise_gc_threshold

    raise_gc_threshold()
    try:
        from moemcts.cli.app import make_app

        code = _exit_code(make_app())
        sys.stdout.flush()
    except MoemctsError as error:
        _exit_with(f"error: {error}", error.exit_code)
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is not None:
            # An operating system error for a file or folder given by the user.
            code = 2 if isinstance(error, WRONG_PATH_ERRORS) else 1
            _exit_with(f"error: {error.strerror}: {_shortened(error.filename)}", code)
        if error.errno not in _WRITE_ERRORS:
            raise
        _discard_output()
        _exit_with(f"error: cannot write the output: {error.strerror}", 1)
    except MemoryError:
        _exit_with("error: out of memory; ask for less at once, or for smaller numbers", 1)
    except Exception as error:
        from moemcts.plugins import plugins

        if os.environ.get(_TRACEBACK) or not (culprit := plugins().plugin_of_error(error)):
            raise
        _exit_with(f"error: {culprit}; set {_TRACEBACK}=1 to see the traceback", 1)
    sys.exit(code)  # type: ignore[arg-type]


def _check_folder() -> None:
    """Exits with an error if the working directory no longer exists, as libraries crash in that case."""
    try:
        os.getcwd()
    except OSError as error:
        _exit_with(f"error: expected the current folder to exist: {error.strerror}; change to another one", 1)


def _exit_code(app: Callable[..., object]) -> object:
    """Runs the Typer application and returns the code that it exits with."""
    try:
        app(prog_name="moemcts")
    except SystemExit as exiting:
        if isinstance(getattr(exiting.__context__, "__cause__", None), KeyboardInterrupt):
            # Typer exits without a message.
            raise KeyboardInterrupt from None
        return exiting.code
    return 0


def _open_streams() -> None:
    """Opens closed standard streams, and replaces what a stream cannot encode or decode.

    Characters that cannot be encoded are written as `?`; bytes that cannot be decoded are read as U+FFFD, which no name
    contains.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            # A stream that has already been read from keeps its error handler.
            with contextlib.suppress(io.UnsupportedOperation):
                reconfigure(errors="replace")


def _shortened(name: object) -> str:
    text = repr(os.fsdecode(name)) if isinstance(name, str | bytes | os.PathLike) else repr(name)
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}..."


def _exit_with(line: str, code: int) -> NoReturn:
    from moemcts.cli.printing import printable

    print(printable(line), file=sys.stderr)
    sys.exit(code)


def _discard_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

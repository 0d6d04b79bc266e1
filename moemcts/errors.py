"""Errors that users can cause; their messages say what was expected, what was given and what to do."""

from __future__ import annotations

import difflib
import os
import shlex
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pydantic import ValidationError

MAX_NAMES = 16
"""How many names an error lists."""
MAX_CHARACTERS = 200
"""Characters shown of a foreign error's message on one line."""
_MAX_VALUE_CHARACTERS = 80
"""Characters shown of a wrong value."""
_PACKAGE_FOLDER = Path(__file__).parent
"""The folder of the framework's own code."""
_STANDARD_LIBRARY = Path(os.__file__).parent
"""The folder of Python's standard library; third-party packages are in a subfolder of it."""
_THIRD_PARTY_FOLDERS = ("site-packages", "dist-packages")
CHECKOUT = next((folder for folder in [Path(__file__).parents[1]] if (folder / "uvw").exists()), None)
"""The root of the source checkout; None if a wheel is installed."""


class MoemctsError(Exception):
    """A user's mistake or a system failure that one line explains; the command line exits with 1."""

    exit_code = 1


class UsageError(MoemctsError):
    """A wrong name, option or configuration, or something that does not exist; the command line exits with 2."""

    exit_code = 2


class MissingExtra(MoemctsError):
    """An optional package is not installed; the command line exits with 3."""

    exit_code = 3

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed; {install_command(extra)}")
        self._arguments = (package, extra)

    def __reduce__(self) -> tuple[type[MissingExtra], tuple[str, str]]:
        # Errors of worker processes are pickled to be shown by the parent process.
        return type(self), self._arguments


WRONG_PATH_ERRORS = (FileNotFoundError, NotADirectoryError, IsADirectoryError)
"""OS errors for a path that is not a file: the user named a wrong one."""


def unreadable(name: str, error: OSError) -> MoemctsError:
    """Returns the error for a file that cannot be read: UsageError if it does not exist, else MoemctsError."""
    kind = UsageError if isinstance(error, WRONG_PATH_ERRORS) else MoemctsError
    return kind(f"cannot read {name}: {error.strerror or error}")


def first_line(error: BaseException) -> str:
    """Returns the first line of an error's message, or its type if there is no message."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def one_line(error: BaseException) -> str:
    """Returns an error's type, its message, truncated if long, and the location that `format_location` returns."""
    text = " ".join(str(error).split()) or "no message"
    shown = text if len(text) <= MAX_CHARACTERS else text[:MAX_CHARACTERS] + " ..."
    return f"{type(error).__name__}: {shown}{format_location(error)}"


def shortened(value: object) -> str:
    """Returns the repr of a value, truncated if long."""
    try:
        text = repr(value)
    except ValueError:
        # Python refuses to convert integers of more than 4300 digits to text.
        return "a larger one"
    return text if len(text) <= _MAX_VALUE_CHARACTERS else f"{text[:_MAX_VALUE_CHARACTERS]}..."


def first_fault(error: ValidationError) -> str:
    """Returns the first fault of settings or of a file: its location, what was expected and what was given."""
    fault = error.errors()[0]
    path = ".".join(map(str, fault["loc"]))
    if fault["type"] in _FAULTS_WITHOUT_VALUE:
        return f"{path} {_FAULTS_WITHOUT_VALUE[fault['type']]}"
    if fault["type"] == "value_error":
        # Messages of our own validators already include the value.
        message = str(fault["ctx"]["error"])
    else:
        message = f"{validation_message(fault)}, got {shortened(fault['input'])}"
    return f"{path}: {message}" if path else message


def validation_message(fault: Mapping[str, Any]) -> str:
    """Returns pydantic's message of what it expected, without class names, patterns and details of parsing."""
    return _VALIDATION_MESSAGES.get(fault["type"], str(fault["msg"]).partition(", unable to parse")[0])


_FAULTS_WITHOUT_VALUE = {"missing": "is missing", "extra_forbidden": "is not known"}
_VALIDATION_MESSAGES = {
    "model_type": "Input should be a table",
    "string_pattern_mismatch": "Input should be the name of a file in the same folder",
}


def format_location(error: BaseException) -> str:
    """Returns the innermost location outside the framework in the traceback, ` in play (nim.py:21)`; empty if none."""
    frames = foreign_frames(error)
    if not frames:
        return ""
    frame, line = frames[-1]
    return f" in {frame.f_code.co_name} ({Path(frame.f_code.co_filename).name}:{line})"


def foreign_frames(error: BaseException) -> list[tuple[FrameType, int]]:
    """Returns the frames outside the framework in an error's traceback, outermost first, with their line numbers.

    Frames of the standard library, NumPy and PyTorch are left out.
    """
    libraries = [sys.modules[name].__file__ for name in ("numpy", "torch") if name in sys.modules]
    ignored_folders = [_PACKAGE_FOLDER, *(Path(path).parent for path in libraries if path)]

    def is_foreign(path: Path) -> bool:
        is_installed = any(part in _THIRD_PARTY_FOLDERS for part in path.parts)
        is_standard = path.is_relative_to(_STANDARD_LIBRARY) and not is_installed
        return path.is_file() and not is_standard and not any(path.is_relative_to(folder) for folder in ignored_folders)

    frames = traceback.walk_tb(error.__traceback__)
    return [(frame, line) for frame, line in frames if is_foreign(Path(frame.f_code.co_filename))]


def install_command(extra: str) -> str:
    """Returns the command that installs an optional extra, by the way this installation was made."""
    if CHECKOUT is None:
        return f"pip install 'moemcts[{extra}]'"
    return f"./uvw sync --no-dev --inexact --extra {extra}, or pip install '.[{extra}]', in {CHECKOUT}"


def editable_install_command(folder: Path) -> str:
    """Returns the command that installs a folder's package into the environment of this process."""
    if CHECKOUT is None:
        return f"pip install -e {shlex.quote(str(folder))}"
    # An environment made by uv has no pip, and uv picks the environment of the current folder.
    command = [CHECKOUT / "uvw", "pip", "install", "--python", sys.prefix, "-e", folder]
    return shlex.join(map(str, command))


class ForeignData(MoemctsError):
    """A checkpoint or dataset of another game, gate, encoding or network: the user named a wrong one, so the command
    line exits with 2.
    """

    exit_code = UsageError.exit_code


class DamagedFile(MoemctsError):
    """A file whose content is not valid for its name."""


@dataclass(frozen=True)
class Failure:
    """Why an agent has no answer for a position."""

    kind: Literal["crash", "timeout", "illegal move"]
    reason: str
    """A single line."""


class AgentFailure(MoemctsError):
    """An agent failed for some of the views of a batch.

    Raised by `Agent.act`. In the arena, the agent loses the games of these rows and all others continue; elsewhere it
    is an error like any other.
    """

    def __init__(self, failures: Mapping[int, Failure], decisions: Sequence[Any], agent: str = "") -> None:
        """Takes the failures by row of the views and one decision per view, None for failed rows; also the agent's
        name, if several agents play.
        """
        self.failures = dict(failures)
        self.decisions = list(decisions)
        self.agent = agent
        first = next(iter(self.failures.values()))
        super().__init__(f"{agent + ': ' if agent else ''}{first.kind}: {first.reason}")

    def __reduce__(self) -> tuple[type[AgentFailure], tuple[dict[int, Failure], list[Any], str]]:
        return type(self), (self.failures, self.decisions, self.agent)


class GameFailure(MoemctsError):
    """A game raised an error when the framework called it: not an agent's fault, so no agent loses by it."""


class UnlawfulGame(GameFailure, ValueError):
    """A game returned something to a search that the laws of games forbid, such as returns out of range."""

    def __init__(self, reason: str, game: str = "the game") -> None:
        """Takes what was expected and what was given, and the name of the game if it is known."""
        super().__init__(reason, game)
        self.reason = reason
        self.game = game

    def __str__(self) -> str:
        return f"{self.game} breaks the laws of games, see `moemcts check`: {self.reason}"


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UsageError:
    """Returns the error for a name that is not registered, with the closest match."""
    names = list(known)
    if not names:
        return UsageError(f"no {kind} named {name!r}; there are none")
    matches = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean {matches[0]!r}? ({listed(names)})" if matches else f"expected one of {listed(names)}"
    return UsageError(f"no {kind} named {name!r}; {hint}")


def listed(names: Sequence[str]) -> str:
    """Returns names separated by commas, at most `MAX_NAMES` of them, and how many more there are."""
    more = f", and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more

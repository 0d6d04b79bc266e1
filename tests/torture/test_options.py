"""Whatever options the commands are given, they answer in time, in words, and spoil nothing."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import typer
from driving import Driver, digests, effort
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

NUMBERS = ["-1", "0", "1", "2", "3", "1.5", "1e9", str(10**30), "nan", "inf", "-inf", "", "x", "0x10", "1_0", "٣"]
REFERENCES = [
    "",
    " ",
    "?",
    "random?",
    "random?x",
    "random?x=1",
    "plies",
    "plies?cuts=4",
    "plies?cuts=4,2",
    "plies?cuts=",
    "plies?cuts=1,2&cuts=3,4",
    "plies?cuts=" + "[" * 5000,
    "plies?cuts=nan",
    "none",
    "none?x=1",
    "learned?phases=0",
    "learned?phases=1e99",
    "uct?simulations=1.5",
    "uct?simulations=0",
    "uct?simulations=4",
    "uct?seconds=nan",
    "flat?playouts=-3",
    "weighted?a=0",
    "weighted?a=inf",
    "rise-tiny?channels=0",
    "resnet?channels=-1&blocks=1e30",
    "tictactoe",
    "tictactoe?size=4",
    "nothing",
    "é" * 40,
    "a" * 300,
    "..",
    "/",
    "/dev/null",
    "--",
    "-x",
]
FILES = [
    "empty",
    "junk",
    "line",
    "text.jsonl",
    "broken.toml",
    "other.toml",
    "folder",
    "absent",
    "no/such/place",
    "\udcff",
]
SMALL = {
    "match": ["--game", "tictactoe", "--agent", "random", "--agent", "uct?simulations=4", "--games", "4"],
    "tournament": ["--game", "tictactoe", "--agent", "random", "--agent", "uct?simulations=4", "--games", "2"],
    "run": ["--game", "tictactoe", "--gate", "plies", "--preset", "smoke", "--out", "made", "--dry-run"],
    "train": [
        "--game",
        "tictactoe",
        "--gate",
        "plies",
        "--preset",
        "smoke",
        "--out",
        "made",
        "--set",
        "data.samples=100",
    ],
    "play": ["--game", "tictactoe", "--seat", "2", "--against", "random"],
    "check": ["tictactoe", "--games", "1"],
    "explain": ["--game", "tictactoe", "--experts", "folder"],
    "export": ["--game", "tictactoe", "--experts", "folder"],
}
"""What makes a command small enough to be tried often; others are tried as they are."""
NOT_HERE = {"uci", "doctor"}
"""Commands that are tried elsewhere: one that waits for another program, and one that measures the machine."""


def commands() -> dict[tuple[str, ...], Any]:
    """Returns the commands of an installation by the words that name them."""
    from moemcts.cli.app import make_app

    found: dict[tuple[str, ...], Any] = {}

    def collect(words: tuple[str, ...], command: Any) -> None:
        if hasattr(command, "commands"):
            for name, child in command.commands.items():
                collect((*words, name), child)
        else:
            found[words] = command

    collect((), typer.main.get_command(make_app()))
    return {words: command for words, command in found.items() if words[0] not in NOT_HERE}


COMMANDS = commands()


@st.composite
def orders(draw: st.DrawFn) -> list[str]:
    """Draws a command with some of its options, their values of the right kind or of none."""
    words = draw(st.sampled_from(sorted(COMMANDS)))
    command = COMMANDS[words]
    arguments = list(SMALL.get(words[0], []))
    if arguments and draw(st.integers(0, 9)) == 0:
        del arguments[draw(st.integers(0, len(arguments) - 1))]
    options = [option for option in command.params if option.name not in ("help", "resume")]
    for option in draw(st.lists(st.sampled_from(options), max_size=3)) if options else []:
        arguments += draw(_given(option))
    return [*words, *arguments]


def _given(option: Any) -> st.SearchStrategy[list[str]]:
    name = max(option.opts, key=len)
    if getattr(option, "is_flag", False):
        return st.just([name])
    characters = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
    values = st.sampled_from([*NUMBERS, *REFERENCES, *FILES]) | st.text(characters, max_size=12)
    return values.map(lambda value: [name, value] if name.startswith("-") else [value])


def _furnish(folder: Path) -> None:
    """Fills a folder with files that are nobody's output."""
    (folder / "empty").write_bytes(b"")
    (folder / "junk").write_bytes(bytes(range(256)) * 8)
    (folder / "line").write_text("one line")
    (folder / "text.jsonl").write_text('{"format": "something else"}\n{"a": 1}\n')
    (folder / "broken.toml").write_text("[search\nsimulations = ")
    (folder / "other.toml").write_text('title = "not ours"\n[data]\nagent = "uci?path=/bin/true"\n')
    (folder / "folder").mkdir()
    (folder / "folder" / "notes.txt").write_text("keep me")


@settings(
    max_examples=60 * effort(),
    deadline=None,
    derandomize=effort() == 1,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(arguments=orders())
def test_any_options_are_answered_in_words_and_spoil_nothing(driver: Driver, arguments: list[str]) -> None:
    folder = Path(tempfile.mkdtemp(prefix="moemcts-torture-"))
    try:
        _furnish(folder)
        before = digests(folder)
        found = driver.run(arguments, folder)
        assert found.is_clean, found
        after = digests(folder)
        assert {name: after.get(name) for name in before} == before, found
    finally:
        shutil.rmtree(folder, ignore_errors=True)

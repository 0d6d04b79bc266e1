"""Whatever is killed, and whenever: what goes on afterwards ends as if nothing had happened."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from driving import Driver, digests, effort

from moemcts.learn.data.verified import NAME as VERIFIED

START = [sys.executable, "-c", "from moemcts.cli.main import main; main()"]
SAMPLES = ["--set", "data.samples=600"]
RUN = ["run", "--game", "tictactoe", "--gate", "plies", "--preset", "smoke", "--out", "made", *SAMPLES]
RUN += ["--set", "match.games=8", "--set", "match.raw_games=4", "--set", "num_seeds=1"]
MATCH = ["--game", "tictactoe", "--agent", "uct?simulations=300", "--agent", "flat?playouts=200", "--games", "40"]
PLAYED = ["--game", "connect-four", "--agent", "uct?simulations=200", "--samples", "3000"]
TIMES = ("timings.jsonl", "times.json", "env.json", "done.json", ".html", ".png", ".svg", ".lock", ".holder", ".md")
TIMES += (VERIFIED,)
"""What depends on the clock, or is drawn anew."""

COMMANDS: dict[str, tuple[list[str], list[str]]] = {
    "run, two workers": (
        [*RUN, "--set", "workers=2"],
        ["run", "--resume", "made"],
    ),
    "train": (
        ["train", "--game", "tictactoe", "--gate", "plies", "--preset", "smoke", "--out", "made", *SAMPLES],
        ["train", "--resume", "made"],
    ),
    "match": (["match", *MATCH, "--out", "made/games.jsonl"],) * 2,
    "match, two workers": (["match", *MATCH, "--workers", "2", "--out", "made/games.jsonl"],) * 2,
    "tournament": (["tournament", *MATCH, "--agent", "random", "--out", "made"],) * 2,
    "generate": (["data", "generate", *PLAYED, "--out", "made"],) * 2,
    "import": (["data", "import", "../games.pgn", "--out", "made/data"],) * 2,
}


def write_games(path: Path) -> None:
    """Writes games enough for an import of seconds."""
    ruy_lopez = "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 8. c3 O-O 1-0"
    with path.open("w") as file:
        for number in range(40_000):
            file.write(f'[Date "2017.{1 + number % 12:02}.01"]\n[Result "1-0"]\n\n{ruy_lopez}\n\n')


def start(arguments: Sequence[str], folder: Path) -> subprocess.Popen[bytes]:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*START, *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def finish(arguments: Sequence[str], folder: Path) -> None:
    process = start(arguments, folder)
    said = process.communicate(timeout=600)[0].decode(errors="replace")
    assert process.returncode == 0, f"{arguments}\n{said[-3000:]}"


def kill(process: subprocess.Popen[bytes], seconds: float, chance: random.Random) -> bool:
    """Kills a command, or one of the processes that it has started, after some seconds.

    Returns whether it was still at work; then all of it has ended.
    """
    at = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < at:
        time.sleep(0.02)
    workers = family(process.pid)
    victim = chance.choice([process.pid, *workers])
    is_at_work = process.poll() is None
    if is_at_work and victim == process.pid:
        process.kill()
        process.wait(timeout=60)
        deadline = time.monotonic() + 60
        while any(map(is_alive, workers)) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not any(map(is_alive, workers)), "workers outlive the process that started them"
    elif is_at_work:
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        process.wait(timeout=300)
    assert process.stdout is not None
    process.stdout.close()
    return is_at_work


def next_of(first: list[str], again: list[str], folder: Path) -> list[str]:
    """Returns the command that goes on, or the first one where there is nothing yet to go on with."""
    made = folder / "made"
    if (made / "config.toml").exists():
        return again
    if again[0] in ("run", "train"):
        shutil.rmtree(made)
        made.mkdir()
    return first


def family(process: int) -> list[int]:
    """Returns the processes that a process has started, and those that they have."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return []
    return [one for child in map(int, children) for one in (child, *family(child))]


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def result(folder: Path) -> dict[str, str]:
    """Returns what a command has made, as far as it does not depend on the clock; games in any order."""
    found = digests(folder / "made", without=TIMES)
    for path in (folder / "made").rglob("*.jsonl"):
        name = str(path.relative_to(folder / "made"))
        if name in found and "metrics" not in name:
            found[name] = str(sorted(path.read_text().splitlines()))
    for path in (*(folder / "made").rglob("numbers.json"), *(folder / "made").rglob("import.json")):
        values = json.loads(path.read_text())
        found[str(path.relative_to(folder / "made"))] = json.dumps(
            {**values, "seconds": None, "speed": None}, sort_keys=True
        )
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up under /proc")
@pytest.mark.parametrize("name", COMMANDS)
def test_killed_work_ends_as_unbroken_work_does(name: str, driver: Driver, tmp_path: Path) -> None:
    first, again = COMMANDS[name]
    if name == "import":
        write_games(tmp_path / "games.pgn")
    whole = tmp_path / "whole"
    (whole / "made").mkdir(parents=True)
    began = time.monotonic()
    finish(first, whole)
    seconds = time.monotonic() - began
    expected = result(whole)
    chance = random.Random(f"{name} {effort()}")
    for number in range(effort()):
        folder = tmp_path / f"broken {number}"
        for share in (1.0, 0.5, 0.25, 0.1):
            # What is quicker than the whole was, as the machine has less to do, is killed earlier.
            shutil.rmtree(folder, ignore_errors=True)
            (folder / "made").mkdir(parents=True)
            if kill(start(first, folder), share * chance.uniform(0.3, 0.9) * seconds, chance):
                break
        else:
            pytest.fail(f"{name}, number {number}: all was done before it was killed")
        if effort() > 1 or "workers" in name:
            # Of several processes, another one may be killed than before.
            process = start(next_of(first, again, folder), folder)
            kill(process, chance.uniform(0.3, 0.9) * seconds, chance)
        if not (folder / "made" / "data" / "import.json").exists():
            done = driver.run(next_of(first, again, folder), folder, limit=600)
            assert done.code == 0, done
        assert result(folder) == expected, f"{name}, number {number}"

"""Many lines in one process: every command is answered, and memory stays what it was.

MOEMCTS_FUZZ_LINES asks for more of them, such as 1000000.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

from moemcts_chess.uci.options import VARIANTS
from moemcts_chess.uci.session import Session

NUM_LINES = int(os.environ.get("MOEMCTS_FUZZ_LINES", "6000"))
MAX_GROWTH = 16
"""Mebibytes that a process may grow after the first quarter: libraries' caches and the allocator's fragments."""
WORDS = re.findall(
    r"\S+",
    """
    uci isready ucinewgame position startpos fen moves go nodes depth movetime wtime btime winc binc movestogo
    searchmoves mate stop ponderhit setoption name value MultiPV Nodes UCI_Variant UCI_Chess960 Batch_Size Hash
    true false root d debug register e2e4 e7e5 e1g1 a7a8q P@e4 0000 -1 0 7 16 1e9 nan ; last seen
    rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR 8/8/8/8/8/8/8/8 w b KQkq -
""",
)
MOVES = ["e2e4", "e7e5", "g1f3", "b8c6", "f1b5", "a7a6", "b5a4", "g8f6", "e1g1", "f8e7"]


class Counter:
    """Counts the answers of an engine, and forgets them."""

    def __init__(self) -> None:
        self.answers = 0

    def write(self, text: str) -> int:
        assert "Traceback" not in text
        self.answers += text.startswith(("bestmove", "readyok"))
        return len(text)

    def flush(self) -> None:
        pass


def line(rng: np.random.Generator) -> str:
    """Returns a line of sense, of words, or of bytes."""
    kind = rng.integers(10)
    if kind == 0:
        return rng.integers(0, 256, rng.integers(60), dtype=np.uint8).tobytes().decode(errors="replace")
    if kind < 4:
        return " ".join(str(word) for word in rng.choice(WORDS, rng.integers(1, 9)))
    if kind < 6:
        return f"position startpos moves {' '.join(MOVES[: rng.integers(len(MOVES) + 1)])}"
    if kind < 8:
        return f"go {rng.choice(['nodes 4', 'movetime 1', 'wtime 9 btime 9', 'infinite', 'ponder', ''])}"
    if kind == 8:
        return f"setoption name UCI_Variant value {rng.choice(list(VARIANTS))}"
    return str(rng.choice(["isready", "stop", "ucinewgame", "uci", "d", "root"]))


def memory() -> float:
    """Returns the mebibytes that this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_memory_stays_flat_over_many_lines() -> None:
    rng = np.random.default_rng(0)
    out = Counter()
    session = Session(out)  # type: ignore[arg-type]
    asked, before = 0, 0.0
    for number in range(NUM_LINES):
        text = line(rng)
        words = text.split()
        if "quit" in words or "perft" in words:
            continue
        if number % 50 == 0:
            # Whatever the dice have set, searches end soon.
            for name, value in (("Nodes_Limit", 40), ("Fixed_Movetime", 2), ("Move_Overhead", 1), ("Hash", 1)):
                session.handle_line(f"setoption name {name} value {value}")
        assert session.handle_line(text)
        if number == NUM_LINES // 4:
            session.handle_line("stop")
            before = memory()
    session.handle_line("stop")
    session.handle_line("isready")
    asked = out.answers
    session.close()
    assert asked > NUM_LINES // 20
    grown = memory() - before
    print(f"\ngrown {grown:.1f} MiB")
    assert grown < MAX_GROWTH

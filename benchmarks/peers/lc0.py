"""lc0 with a constant evaluation on one thread, run from a given binary.

This is its backend `random` with `uniform=true`: constant values and uniform policies. (`trivial` counts material and
has priors by move.) lc0 still encodes its 112 planes for every leaf; ours encodes its planes only for questions with
"encoded". lc0 is built from https://github.com/LeelaChessZero/lc0; nothing of it is part of this repository.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from measuring.side_by_side import serve
from questions import question

OPTIONS = {
    "Backend": "random",
    "BackendOptions": "uniform=true",
    "Threads": 1,
    "SmartPruningFactor": 0,
    "TaskWorkers": 0,
    "MaxPrefetch": 0,
}


class Engine:
    """A UCI engine with access to its processor time."""

    def __init__(self, binary: str) -> None:
        self._process = subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ask("uci", until="uciok")

    def say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def ask(self, line: str, *, until: str) -> list[str]:
        """Returns the lines up to the one that starts with `until`."""
        assert self._process.stdout is not None
        self.say(line)
        lines = []
        for answer in self._process.stdout:
            lines.append(answer.rstrip("\n"))
            if answer.startswith(until):
                return lines
        raise SystemExit(f"expected an answer to {line!r} with {until!r}: the engine ended")

    def search(self, fen: str, simulations: int) -> int:
        """Returns the nodes of a search from scratch, whose last batch may exceed `simulations`."""
        self.say("ucinewgame")
        self.ask("isready", until="readyok")
        self.say(f"position fen {fen}")
        lines = self.ask(f"go nodes {simulations}", until="bestmove")
        return max(int(nodes) for nodes in re.findall(r" nodes (\d+)", "\n".join(lines)))

    def processor_time(self) -> float:
        """Returns the engine's processor time so far in seconds."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Answers the parent's requests with the engine given on the command line."""
    engine = Engine(sys.argv[1])

    def measured(name: str, seconds: float) -> float | None:
        fen, simulations, batch, *_ = question(name)
        for option, value in {**OPTIONS, "MinibatchSize": batch}.items():
            engine.say(f"setoption name {option} value {value}")
        engine.search(fen, simulations)
        nodes, started = 0, engine.processor_time()
        while engine.processor_time() - started < seconds:
            nodes += engine.search(fen, simulations)
        return nodes / (engine.processor_time() - started)

    serve(measured)


if __name__ == "__main__":
    main()

"""Matches of the engine against itself through fastchess: games lost on time and nodes per move, as rows of results.

python benchmarks/uci_clock.py --fastchess PATH [--network resnet?channels=16&blocks=3] [--control 1+0.01] [--games 100]
    [--openings chess.epd] [--record]

fastchess is github.com/Disservin/fastchess, built from source; `--compliance` runs its protocol check instead of
matches. The experts are three networks with random weights behind Lichess' gate, created in a temporary folder: only
their speed matters, not how they play. One game at a time; rows include the load of the machine.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import chess.pgn
from match_speed import save_random
from measuring.record import add_option, append

from moemcts.plugins import plugins

CONTROLS = ("1+0.01", "st=0.05", "10/1")
MAX_MOVES = 100
"""Games end in a draw after this many moves: random weights seldom mate."""


def main() -> None:
    """Plays and prints; appends to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fastchess", type=Path, required=True)
    parser.add_argument("--network", default="resnet?channels=16&blocks=3")
    parser.add_argument("--control", action="append", help=f"as fastchess writes them; by default {CONTROLS}")
    parser.add_argument("--games", type=int, default=100)
    parser.add_argument("--openings", type=Path, help="an EPD file; the start position otherwise")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pin", action="store_true", help="each engine on a core of its own")
    parser.add_argument("--compliance", action="store_true")
    add_option(parser)
    options = parser.parse_args()
    # Rows name options, without paths on this machine.
    sys.argv[1:] = [f"--network {options.network} --games {options.games} --openings chess.epd --seed {options.seed}"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        game = plugins().game("chess")
        network = plugins().complete_network(options.network, game)
        experts = save_random(folder / "experts", game, "lichess", network, options.seed)
        if options.compliance:
            command = [options.fastchess, "--compliance", _engine(), f"uci --experts {experts}"]
            sys.exit(subprocess.run(command, check=False).returncode)
        for control in options.control or CONTROLS:
            pgn = folder / "games.pgn"
            pgn.unlink(missing_ok=True)
            before = os.getloadavg()[0]
            play(options, experts, control, pgn)
            row = {"name": f"{options.network} at {control} on a CPU, against itself"} | counts(pgn)
            row |= {
                "nice": os.getpriority(os.PRIO_PROCESS, 0),
                "pinned": options.pin,
                "real time": os.sched_getscheduler(0) != os.SCHED_OTHER,
                "load": [round(before, 1), *(round(load, 1) for load in os.getloadavg()[::2])],
                "seed": options.seed,
            }
            print(row, flush=True)
            if options.record:
                append("uci", [row])


def play(options: argparse.Namespace, experts: Path, control: str, pgn: Path) -> None:
    """Plays a match and writes its games."""
    limit = control if control.startswith("st=") else f"tc={control}"
    command = [str(options.fastchess.resolve())]
    for core, name in enumerate(("white", "black")):
        run = f"{_engine()} uci --experts {experts}"
        program, _, arguments = (f"taskset -c {core} {run}" if options.pin else run).partition(" ")
        command += ["-engine", f"name={name}", f"cmd={program}", f"args={arguments}"]
    command += ["-each", limit, "-rounds", str(options.games // 2), "-repeat", "-concurrency", "1"]
    if options.openings:
        command += ["-openings", f"file={options.openings.resolve()}", "format=epd", "order=random"]
        command += ["-srand", str(options.seed)]
    command += ["-maxmoves", str(MAX_MOVES), "-pgnout", f"file={pgn}", "nodes=true", "timeleft=true"]
    command += ["-recover", "-startup-ms", "10000", "-autosaveinterval", "0"]
    subprocess.run(command, check=True, stdout=sys.stderr, cwd=pgn.parent)


def counts(pgn: Path) -> dict[str, object]:
    """Returns statistics of the games in a file."""
    nodes, terminations = list[int](), list[str]()
    with pgn.open() as file:
        while (game := chess.pgn.read_game(file)) is not None:
            terminations.append(game.headers.get("Termination", "normal"))
            for node in game.mainline():
                nodes += map(int, re.findall(r"\bn=(\d+)", node.comment))
    return {
        "value": round(statistics.fmean(nodes), 1) if nodes else 0,
        "unit": "nodes per move, kept ones included",
        "median": statistics.median(nodes) if nodes else 0,
        "least": min(nodes, default=0),
        "moves": len(nodes),
        "games": len(terminations),
        "lost on time": terminations.count("time forfeit"),
        "other failures": len(
            [
                termination
                for termination in terminations
                if termination not in ("normal", "adjudication", "time forfeit")
            ]
        ),
    }


def _engine() -> str:
    return shutil.which("moemcts") or str(Path(sys.executable).parent / "moemcts")


if __name__ == "__main__":
    main()

"""How often agents keep the value of positions of connect four, by a perfect solver, as rows of results.

    python benchmarks/connect_four.py FOLDER [FOLDER ...] [--label NAME ...] [--size 1000] [--sets FILE] [--record]
    python benchmarks/connect_four.py --agent "uct?simulations=1000" [--record]

A folder of experts is asked twice: for its raw policy, and searching with so many simulations. Six sets of positions
of random games, in the manner of Pons (Solving Connect 4, part 2): with 10 to 14 stones, up to 28, or more; easy,
medium or hard where perfect play takes fewer than 14, fewer than 28 or more plies from there. A move keeps the value if
it does not turn a win into less or a draw into a loss. Positions in which no move can be wrong are in the sets as they
fall; a row says how many the others are, and the share among these.

The sets are drawn by `native/classics/examples/connect_four_sets.rs`, a quarter of an hour of processor time for 1,000
positions each, and are kept in a cache folder.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from measuring.record import add_option, append

from moemcts.agents import Agent, Seat
from moemcts.game import Game
from moemcts.naming import resolve_agent
from moemcts.plugins import plugins

ROOT = Path(__file__).parent.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "moemcts"
BATCH = 250


@dataclass(frozen=True)
class Solved:
    """A position, and what each column is worth to the mover: 1, 0 or -1, None where it is full."""

    moves: str
    values: tuple[int | None, ...]

    @property
    def value(self) -> int:
        return max(value for value in self.values if value is not None)

    @property
    def can_be_wrong(self) -> bool:
        return any(value is not None and value < self.value for value in self.values)

    def keeps(self, column: int) -> bool:
        return self.values[column] == self.value


def read_sets(path: Path) -> dict[str, list[Solved]]:
    """Returns the positions of a file of `connect_four_sets` by set."""
    worth = {"+": 1, "0": 0, "-": -1, "x": None}
    sets: dict[str, list[Solved]] = {}
    for line in path.read_text().splitlines():
        name, moves, _, values = line.split("\t")
        sets.setdefault(name, []).append(Solved(moves, tuple(worth[value] for value in values)))
    return sets


def drawn_sets(size: int, seed: int) -> Path:
    """Returns the file of sets of a size, drawn and solved now where it is not there yet."""
    path = CACHE / f"connect-four-{size}-{seed}.tsv"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        command = ["cargo", "run", "--release", "-q", "-p", "moemcts-classics", "--example", "connect_four_sets", "--"]
        command += [str(size), str(os.cpu_count() or 1), str(seed)]
        done = subprocess.run(command, cwd=ROOT / "native", stdout=subprocess.PIPE, check=True)
        part = path.with_suffix(".part")
        part.write_bytes(done.stdout)
        part.replace(path)
    return path


def assess(agent: Agent, game: Game, positions: Sequence[Solved], seed: int = 0) -> dict[str, float | int]:
    """Returns the share of positions in which an agent keeps the value."""
    kept = [one.keeps(column) for one, column in zip(positions, played(agent, game, positions, seed), strict=True)]
    risky = [good for good, one in zip(kept, positions, strict=True) if one.can_be_wrong]
    return {
        "value": round(100 * float(np.mean(kept)), 1),
        "positions": len(positions),
        "wrong_moves_in": len(risky),
        "value_there": round(100 * float(np.mean(risky)), 1) if risky else 100.0,
    }


def played(agent: Agent, game: Game, positions: Sequence[Solved], seed: int) -> Iterator[int]:
    """Yields the column that an agent plays in each position."""
    for start in range(0, len(positions), BATCH):
        states = [game.parse_state(one.moves) for one in positions[start : start + BATCH]]
        views = game.views([(state, state.active_players[0]) for state in states])
        seats = [
            Seat(state.active_players[0], np.random.default_rng([seed, start + i])) for i, state in enumerate(states)
        ]
        yield from (decision.action for decision in agent.act(views, seats))


def main() -> None:
    """Asks the agents and prints; appends to the results where asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experts", nargs="*", help="folders of experts for connect four")
    parser.add_argument("--label", action="append", default=[], help="what a folder is called, in their order")
    parser.add_argument("--agent", action="append", default=[], help="another agent, as `moemcts match` names it")
    parser.add_argument("--simulations", type=int, default=400)
    parser.add_argument("--size", type=int, default=1000, help="positions per set")
    parser.add_argument("--seed", type=int, default=0, help="of the sets")
    parser.add_argument("--sets", type=Path, help="a file of sets in place of those of the size and the seed")
    add_option(parser)
    options = parser.parse_args()
    if len(options.label) > len(options.experts):
        parser.error(f"expected at most one label per folder, got {len(options.label)} for {len(options.experts)}")
    game = plugins().game("connect-four")
    sets = read_sets(options.sets or drawn_sets(options.size, options.seed))
    named = list(itertools.zip_longest(options.experts, options.label))
    ways = {"raw policy": 0, f"{options.simulations} simulations": options.simulations}
    agents = {
        f"{label or folder}, {way}": f"{folder}?simulations={simulations}"
        for way, simulations in ways.items()
        for folder, label in named
    }
    agents |= {name: name for name in options.agent}
    rows: list[dict[str, object]] = []
    for label, reference in agents.items():
        agent = resolve_agent(reference, game)
        for name, positions in sets.items():
            found = assess(agent, game, positions)
            unit = "% of positions keep their value"
            rows.append({"name": f"{label}, {name}", "agent": reference, "set": name, "unit": unit, "seed": 0} | found)
            there = f"{found['value_there']:5.1f} % of {found['wrong_moves_in']}"
            print(f"{label:40} {name:14} {found['value']:5.1f} %, {there}", flush=True)
    if options.record:
        append("connect_four", rows)


if __name__ == "__main__":
    main()

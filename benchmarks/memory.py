"""Memory of a searched tree of chess per node, including the position, its moves and their statistics.

    python benchmarks/memory.py [--record] [--nodes 100000 1000000] [--against CHECKOUT]

Each tree grows in its own process. The peak is that of the whole process, less its memory before the search; it
includes data that exists twice for a moment while memory grows.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

from measuring.positions import CHESS
from measuring.record import add_option, append, commit
from measuring.side_by_side import paths_of

ROOT = Path(__file__).resolve().parent.parent


def grow(position: str, nodes: int) -> dict[str, float]:
    """Returns the bytes per node of a tree, at the end and at the peak, and the seconds of processor time."""
    from moemcts.evaluation import UniformEvaluator
    from moemcts.plugins import plugins
    from moemcts.search import Search, SearchConfig

    game = plugins().game("chess")
    state = game.parse_state(CHESS[position])
    search = Search(game, SearchConfig(simulations=None, nodes=nodes, leaves_per_tree=64))
    evaluator = UniformEvaluator(game.spec)
    roots = game.views([(state, state.active_players[0])])
    before, started = resident(), time.process_time()
    search.reset(roots, [0])
    (result,) = search.run(evaluator)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "now": (resident() - before) / result.num_nodes,
        "peak": (peak - before) / result.num_nodes,
        "seconds": time.process_time() - started,
    }


def resident() -> int:
    """Returns the resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def main() -> None:
    """Measures and prints; appends to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--positions", nargs="+", choices=list(CHESS), default=list(CHESS))
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="another checkout, measured as well")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    add_option(parser)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(grow(options.one[0], int(options.one[1]))))
        return
    rows = []
    for folder in [ROOT, *([options.against.resolve()] if options.against else [])]:
        for position in options.positions:
            for nodes in options.nodes:
                command = [sys.executable, __file__, "--one", position, str(nodes)]
                process = subprocess.run(command, env=paths_of(folder), capture_output=True, text=True, check=True)
                measurements = json.loads(process.stdout)
                whose = "" if folder == ROOT else ", before"
                print(f"{position}{whose}, {nodes:,} nodes: {measurements}", flush=True)
                rows.append(
                    {
                        "name": f"memory of a tree, chess, {position}, {nodes:,} nodes{whose}",
                        "value": round(measurements["now"]),
                        "unit": "bytes per node",
                        "seed": 0,
                        "peak": round(measurements["peak"]),
                        "seconds": round(measurements["seconds"], 2),
                        "of": commit(folder),
                    }
                )
    if options.record:
        append("memory", rows)


if __name__ == "__main__":
    main()

"""Cost of reduced precision in Elo: experts against themselves in float32, on the same openings from both sides.

    python benchmarks/precision_cost.py FOLDER [--precision bf16] [--backend openvino] [--games 400]
                                        [--simulations 100] [--sprt -10 0] [--out FILE] [--record]

Both sides search equally many positions, so this is the cost of rounding alone; a match at equal time would include the
speed-up. int8 needs models: moemcts export FOLDER --precision int8. With `--sprt` the match ends as soon as a
sequential test of these two differences, in normalized Elo, is decided. Games are kept in the file given by `--out`:
the same command resumes where it stopped.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

import torch
from measuring.record import add_option, append, without_places
from measuring.tested_duels import duel_statistics, tested_duel

from moemcts.arena import Conditions
from moemcts.arena.rating import Sprt
from moemcts.naming import experts_in, resolve_agent
from moemcts.plugins import plugins
from moemcts.store import MANIFEST, read_toml

EXACT = "float32"


def main() -> None:
    """Plays the match and prints the difference; appends it to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a folder of experts, with exported models for int8")
    parser.add_argument("--precision", choices=("bf16", "int8"), default="bf16", help="what is held against float32")
    parser.add_argument("--games", type=int, default=400, help="two for every opening, at most")
    parser.add_argument("--simulations", type=int, default=100, help="per move")
    parser.add_argument("--plies", type=int, default=6, help="random plies before the experts play; 0 for none")
    parser.add_argument("--backend", default="openvino", help="what runs both sides")
    parser.add_argument("--opponents", default="self", help="who the search believes to face")
    parser.add_argument("--sprt", type=float, nargs=2, metavar=("ELO0", "ELO1"), help="ends the match once decided")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="file for the finished games; a match goes on where it left off")
    add_option(parser)
    options = parser.parse_args()
    torch.set_num_threads(1)
    folder = experts_in(options.folder)
    manifest = read_toml(folder / MANIFEST)
    game = plugins().game(manifest["game"])
    common = f"simulations={options.simulations}&backend={options.backend}&opponents={options.opponents}"
    names = (options.precision, EXACT)
    agents = {name: resolve_agent(f"{folder}?{common}&precision={name}", game) for name in names}
    result = tested_duel(
        game,
        agents,
        Conditions(seed=options.seed, max_parallel=64),
        num_games=options.games,
        random_plies=options.plies,
        sprt=Sprt(elo0=options.sprt[0], elo1=options.sprt[1]) if options.sprt else None,
        journal=options.out,
        identity={"plies": options.plies, "backend": options.backend, "simulations": options.simulations},
    )
    about = f"{manifest['network']} on {manifest['game']}, {options.simulations} simulations"
    row: dict[str, object] = {
        "name": f"{options.precision} against float32, {about}",
        **duel_statistics(result),
        "backend": options.backend,
        "seed": options.seed,
    }
    print(row)
    if options.record:
        sys.argv = without_places(sys.argv, {options.folder: "FOLDER", options.out: "FILE"})
        append("inference", [row])


if __name__ == "__main__":
    main()

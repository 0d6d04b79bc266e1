"""Which first-play urgency plays best with a real network: each against "loss", by a sequential test.

    python benchmarks/urgency.py FOLDER --out FOLDER [--simulations 100 400 1600] [--urgencies draw parent reduction]
                                 [--games 2000] [--sprt 0 10] [--precision auto] [--label NAME] [--record]

First-play urgency is the value of untried moves in a search: a loss, a draw, the value of their parent, or that reduced
by the share of the policy already tried. Both sides are the same experts with equally many simulations, from the same
openings with both orders of seats. A match ends when the test of the two differences (normalized Elo) is decided, or
after `--games` games. Games are kept in the folder: the same command resumes there, provided the weights are the same.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import torch
from measuring.record import add_option, append, without_places
from measuring.tested_duels import duel_statistics, tested_duel

from moemcts.agents import Agent
from moemcts.arena import Conditions
from moemcts.arena.rating import Sprt
from moemcts.experts import ExpertSet
from moemcts.game import Game
from moemcts.learn.checkpoint import load_networks
from moemcts.learn.inference.positions import default_positions
from moemcts.naming import experts_in, resolve_opponents
from moemcts.plugins import plugins
from moemcts.search import SearchAgent, SearchConfig
from moemcts.store import MANIFEST, manifest_digest, read_toml

DEFAULT = "loss"
URGENCIES = ("draw", "parent", "reduction")
SIMULATIONS = (100, 400, 1600)


def agent(game: Game, experts: ExpertSet, urgency: Any, simulations: int, opponents: str) -> Agent:
    """Returns the experts with one first-play urgency."""
    config = SearchConfig(simulations=simulations, leaves_per_tree=4, first_play_urgency=urgency)
    return SearchAgent(game, experts, config, opponents=resolve_opponents(opponents, game), name=urgency)


def play(
    game: Game, experts: ExpertSet, urgency: str, simulations: int, options: argparse.Namespace, about: dict[str, Any]
) -> dict[str, Any]:
    """Plays those games of one urgency against the default that are not in its file; returns a row."""
    agents = {name: agent(game, experts, name, simulations, options.opponents) for name in (urgency, DEFAULT)}
    result = tested_duel(
        game,
        agents,
        Conditions(seed=options.seed, max_parallel=options.parallel),
        num_games=options.games,
        random_plies=options.plies,
        sprt=Sprt(elo0=options.sprt[0], elo1=options.sprt[1]),
        journal=options.out / f"{urgency}-{simulations}.jsonl",
        identity={"simulations": simulations, "plies": options.plies, "opponents": options.opponents, **about},
    )
    label = ", ".join(filter(None, [game.spec.name, options.label]))
    return {
        "name": f"{label}, first-play urgency {urgency} against {DEFAULT}, {simulations} simulations",
        **duel_statistics(result),
        "seed": options.seed,
        **about,
    }


def main() -> None:
    """Plays the matches and prints a row for each; appends them to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a folder of experts")
    parser.add_argument("--out", type=Path, required=True, help="folder for the finished games")
    parser.add_argument("--urgencies", nargs="+", choices=URGENCIES, default=URGENCIES)
    parser.add_argument("--simulations", type=int, nargs="+", default=SIMULATIONS, help="per move")
    parser.add_argument("--games", type=int, default=2000, help="of a match, two for every opening, at most")
    parser.add_argument("--parallel", type=int, default=64, help="games at once")
    parser.add_argument("--plies", type=int, default=6, help="random plies before the experts play; 0 for none")
    parser.add_argument("--opponents", default="self", help="who the search believes to face")
    parser.add_argument("--sprt", type=float, nargs=2, metavar=("ELO0", "ELO1"), default=(0.0, 10.0))
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--label", default="", help="what the experts are called in the rows' names")
    add_option(parser)
    options = parser.parse_args()
    torch.set_num_threads(1)
    folder = experts_in(options.folder)
    manifest = read_toml(folder / MANIFEST)
    game = plugins().game(manifest["game"])
    loaded = load_networks(folder, game, plugins())
    player = plugins().agent(plugins().player(game), game)
    inference = loaded.choice(
        options.backend,
        options.precision,
        batch_size=4 * options.parallel,
        positions=lambda: default_positions(game, loaded.gate, player),
    ).inference
    experts = loaded.expert_set(inference)
    about = {"network": manifest["network"], "experts": manifest_digest(folder), "inference": str(inference)}
    rows: list[dict[str, Any]] = []
    for simulations in options.simulations:
        for urgency in options.urgencies:
            rows.append(play(game, experts, urgency, simulations, options, about))
            print(rows[-1], flush=True)
    if options.record:
        sys.argv = without_places(sys.argv, {options.folder: "EXPERTS", options.out: "GAMES"})
        append("urgency", rows)


if __name__ == "__main__":
    main()

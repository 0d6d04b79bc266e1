"""How often the search of a run would have won without a network: a constant evaluator on the run's own boards.

python benchmarks/constant.py RUN [--label LABEL] [--record]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from measuring.record import add_option, append
from strength import named

from moemcts.arena import Conditions, Tally, match_schedule, play_match
from moemcts.evaluation import UniformEvaluator
from moemcts.runs import Experiment
from moemcts.search import SearchAgent


def main() -> None:
    """Plays and prints; appends to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="folder of a run")
    parser.add_argument("--label", default="", help="which run it is, as for strength.py")
    add_option(parser)
    options = parser.parse_args()
    experiment = Experiment.load(options.run)
    config, game = experiment.config, experiment.game
    matches = experiment.matches
    if not matches.field.has_agent:
        raise SystemExit(f"expected a run against an agent, got one against {matches.field.name}")
    agent = SearchAgent(
        game, UniformEvaluator(game.spec), config.search, opponents=matches.opponent_model(), name="constant"
    )
    outcomes = []
    for seed in config.training_seeds:
        boards = matches.boards.openings(seed, config.match.games)
        field = matches.field.agents({}, game.spec.num_players - 1)
        schedule = match_schedule(game, {"constant": agent}, field, num_games=config.match.games, openings=boards)
        outcomes += [
            record.outcome for record in play_match(game, schedule, Conditions(seed=matches.boards.first(seed)))
        ]
    tally = Tally.of(outcomes)
    row: dict[str, object] = {"name": named(f"{config.game}, constant, searched", options.label)}
    row |= {"game": config.game, "arm": "constant", "label": options.label}
    row |= {"kind": "searched", "value": round(tally.win_rate, 4), "unit": "share of games won"}
    row |= {"interval": list(tally.win_interval), "games": tally.num_games, "difference": None, "seed": config.seed}
    row |= {"wins": tally.wins, "ties": tally.ties, "losses": tally.losses, "simulations": config.search.simulations}
    row |= {"rollout_plies": config.search.rollout_plies}
    print(json.dumps(row, indent=1))
    if options.record:
        append("strength", [row])


if __name__ == "__main__":
    main()

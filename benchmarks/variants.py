"""Gains of progressive unpruning, virtual expansions and smart pruning, and how many simulations they need.

python benchmarks/variants.py weights:connect-four --game connect-four --simulations 200 --games 200 --record

Each variant, or those named by `--variant`, plays the plain search with the same network, from openings of a few random
moves.
"""

from __future__ import annotations

import argparse
import statistics

from measuring import record

from moemcts.arena.match import MatchResult
from moemcts.arena.records import GameRecord
from moemcts.game import Game
from moemcts.runs.match import Match, MatchPlan

VARIANTS = {
    "progressive unpruning from 40 visits": "pruning_visits=40",
    "progressive unpruning from 10 visits": "pruning_visits=10",
    "virtual expansions, tolerance 0.1": "stop_tolerance=0.1",
    "virtual expansions, tolerance 0.3": "stop_tolerance=0.3",
    "smart pruning": "smart_pruning=true",
}


def simulations(game: Game, played: GameRecord, start: object) -> list[int]:
    """Returns the simulations of each move by the focus player of a turn-based game."""
    state, counts = start, []
    for joint, decisions in zip(played.moves, played.decisions, strict=True):
        if state.active_players == (played.focus,) and decisions[0].simulations is not None:  # type: ignore[attr-defined]
            counts.append(int(decisions[0].simulations))
        state = state.play(list(joint))  # type: ignore[attr-defined]
    return counts


def main() -> None:
    """Plays the matches and prints the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", help="as agents are named, without options")
    parser.add_argument("--game", required=True)
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--random-plies", type=int, default=4)
    parser.add_argument("--variant", action="append", choices=VARIANTS, dest="variants", help="all without it")
    record.add_option(parser)
    options = parser.parse_args()
    base = f"{options.network}?simulations={options.simulations}"
    agents = {f"{base}&{VARIANTS[name]}": name for name in options.variants or VARIANTS}
    plan = MatchPlan(
        game=options.game,
        agents=tuple(agents),
        against=base,
        num_games=options.games,
        random_plies=options.random_plies,
    )
    match = Match(plan)
    result = match.play(None)
    if not isinstance(result, MatchResult):
        raise TypeError("expected a match against a field")
    openings = {opening.name: opening.start for opening in match.openings}
    rows: list[dict[str, object]] = []
    for agent, name in agents.items():
        games = result.games(agent)
        score = result.summary(agent).score
        spent = [n for game in games for n in simulations(match.game, game, _start(match, openings[game.opening]))]
        rows.append(
            {
                "name": f"{options.game}, {options.simulations} simulations: {name}",
                "score": round(100 * score.mean, 1),
                "interval": [round(100 * bound, 1) for bound in score.interval],
                "games": len(games),
                "simulations": round(statistics.fmean(spent), 1) if spent else None,
                "seed": 0,
            }
        )
        print(rows[-1])
    if options.record:
        record.append("variants", rows)


def _start(match: Match, start: object) -> object:
    return match.game.initial_state(start) if isinstance(start, int) else start


if __name__ == "__main__":
    main()

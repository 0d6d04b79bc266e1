"""Whether a search is stronger with opponents' replies kept per node or sampled at every descent.

    python benchmarks/replies.py [--game pommerman] [--opponent simple] [--simulations 100 250 1000]
                                 [--games 400] [--out FOLDER] [--record]

Both searches have a constant evaluator and play the same boards, seats and seeds against a table of the opponent, which
is also their opponent model. Games are kept in the folder: the same command resumes where it stopped.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any, Literal

from measuring.record import add_option, append

from moemcts.arena import Conditions, MatchResult, match_schedule, play_match
from moemcts.evaluation import UniformEvaluator
from moemcts.game import Game
from moemcts.plugins import plugins
from moemcts.search import SearchAgent, SearchConfig

SIMULATIONS = (100, 250, 1000)
KINDS: tuple[Literal["kept", "drawn"], ...] = ("kept", "drawn")


def play(game: Game, opponent: str, simulations: int, num_games: int, seed: int, path: Path) -> MatchResult:
    """Plays the games of the match at one number of simulations that are not in the file yet."""
    field = plugins().agent(opponent, game)
    arms = {
        kind: SearchAgent(
            game,
            UniformEvaluator(game.spec),
            SearchConfig(simulations=simulations, leaves_per_tree=8, replies=kind),
            opponents=field,
            name=f"{kind}, {simulations} simulations",
        )
        for kind in KINDS
    }
    print(f"{game.spec.name}, {simulations} simulations: {num_games} games each, in {path}", flush=True)
    schedule = match_schedule(game, arms, field, num_games=num_games)
    records = play_match(game, schedule, Conditions(seed=seed, max_parallel=64), journal=path)
    return MatchResult.of(schedule, records, baseline="kept")


def rows(result: MatchResult, opponent: str, simulations: int, seed: int) -> list[dict[str, Any]]:
    """Returns the win rate of each kind of replies, and the paired difference."""
    about = {"game": result.game, "opponent": opponent, "simulations": simulations, "seed": seed}
    new_rows: list[dict[str, Any]] = []
    for kind in KINDS:
        tally = result.summary(kind).tally
        row = {"name": f"{result.game}, replies {kind}, {simulations} simulations", "value": round(tally.win_rate, 4)}
        row |= {"unit": "share of games won", "interval": [round(bound, 4) for bound in tally.win_interval]}
        row |= {"games": tally.num_games, "wins": tally.wins, "ties": tally.ties, "losses": tally.losses}
        new_rows.append(row | about)
    difference = result.difference("drawn")
    row = {
        "name": f"{result.game}, drawn less kept, {simulations} simulations",
        "value": round(difference.wins.mean, 4),
    }
    row |= {"unit": "difference of shares won", "interval": [round(bound, 4) for bound in difference.wins.interval]}
    row |= {"games": difference.wins.num_observations, "p_value": difference.p_value}
    return [*new_rows, row | about]


def main() -> None:
    """Plays and prints; appends to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default="pommerman")
    parser.add_argument("--opponent", default="simple", help="the agent of all other seats")
    parser.add_argument("--simulations", type=int, nargs="+", default=SIMULATIONS)
    parser.add_argument("--games", type=int, default=400, help="games of each kind of replies")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="folder that keeps the games; a temporary one without")
    add_option(parser)
    options = parser.parse_args()
    game = plugins().game(options.game)
    with tempfile.TemporaryDirectory() as temporary:
        folder: Path = options.out or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for simulations in options.simulations:
            path = folder / f"{options.game}-{simulations}.jsonl"
            result = play(game, options.opponent, simulations, options.games, options.seed, path)
            new_rows = rows(result, options.opponent, simulations, options.seed)
            for row in new_rows:
                print(f"{row['name']:<50} {row['value']:>8} {row['interval']} of {row['games']}", flush=True)
            if options.record:
                append("replies", new_rows)


if __name__ == "__main__":
    main()

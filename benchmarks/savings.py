"""Savings of an evaluation cache and smart pruning where they change no move: processor seconds per game.

    python benchmarks/savings.py [--agent weights:pommerman] [--game pommerman] [--against simple] [--games 8]
                                 [--simulations 250] [--rounds 1] [--record]

An agent plays the same games, as given and with each of the options. One game is played first as a warm-up; of several
rounds the fastest counts. Moves that differ from those of the agent as given are an error.
"""

from __future__ import annotations

import argparse

from match_speed import processor_seconds
from measuring.record import add_option, append

from moemcts.references import extend_reference, parse_reference
from moemcts.runs.match import Match, MatchPlan

OPTIONS = {
    "as it is": "",
    "a cache": "cache_size=500000",
    "smart pruning": "smart_pruning=true",
    "both": "cache_size=500000&smart_pruning=true",
}


def played(options: argparse.Namespace, added: str) -> tuple[float, list[object]]:
    """Returns the processor seconds of all games, and the moves of each."""
    plan = MatchPlan(
        game=options.game,
        agents=(extend_reference(options.agent, parse_reference(f"?{added}")[1]),),
        against=options.against,
        num_games=options.games,
        seed=options.seed,
        limits={"simulations": options.simulations},
    )
    match = Match(plan)
    started = processor_seconds()
    result = match.play()
    return processor_seconds() - started, [record.moves for record in result.records]


def main() -> None:
    """Plays and prints; appends to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agent", default="weights:pommerman", help="as agents are named; options may follow")
    parser.add_argument("--game", default="pommerman")
    parser.add_argument("--against", default="simple", help="who sits in the other seats")
    parser.add_argument("--games", type=int, default=8)
    parser.add_argument("--simulations", type=int, default=250, help="per move")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    add_option(parser)
    options = parser.parse_args()
    played(argparse.Namespace(**vars(options) | {"games": 1}), "")
    moves: list[object] | None = None
    seconds: dict[str, list[float]] = {name: [] for name in OPTIONS}
    for _ in range(options.rounds):
        for name, added in OPTIONS.items():
            duration, game_moves = played(options, added)
            seconds[name].append(duration / options.games)
            moves = game_moves if moves is None else moves
            if game_moves != moves:
                raise SystemExit(f"expected the same moves with {added}, got others")
    base = min(seconds["as it is"])
    rows: list[dict[str, object]] = []
    for name, durations in seconds.items():
        best = min(durations)
        label = f"{options.game}, {options.agent}, {options.simulations} simulations: {name}"
        row: dict[str, object] = {"name": label, "agent": options.agent, "option": name, "game": options.game}
        row |= {"value": round(best, 3), "unit": "s of a core per game", "ratio": round(base / best, 2)}
        rows.append(row | {"simulations": options.simulations, "games": options.games, "seed": options.seed})
        print(f"{label}: {best:.3f} s of a core per game, {base / best:.2f} times as fast")
    if options.record:
        append("savings", rows)


if __name__ == "__main__":
    main()

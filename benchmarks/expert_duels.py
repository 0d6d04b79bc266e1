"""Two ways to play with experts, compared over several trainings, as a row of results.

    python benchmarks/expert_duels.py NAME --experts FOLDER [--experts FOLDER ...] --first OPTIONS --second OPTIONS
                                      --out OUT [--others FOLDER ...] [--values FOLDER ...] [--game chess] [--games 200]
                                      [--simulations 100] [--seed 1] [--openings FILE] [--workers 1]
                                      [--than NAME] [--record]

The experts of each folder play themselves, with the first options against the second, such as `routing=majority` and
`routing=each`, or with `--others` those of another folder of the same training. Every opening is played from both
sides, and each training has its own openings. With `--values` the first agent uses its policy with the values of these
experts. The row has the Elo of the first options, with an interval over trainings and openings, and one for these
trainings only. With `--than` it also has the Elo difference to a recorded row of the same trainings and openings, over
trainings, see `pooling.other_than`. The same command resumes where it stopped.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from measuring.pooling import other_than
from measuring.record import add_option, append, latest

from moemcts.arena.duel import DuelResult
from moemcts.arena.intervals import seed_interval
from moemcts.arena.playing import MatchCallbacks
from moemcts.arena.rating import EloRange
from moemcts.arena.records import boards_of, num_duplicates
from moemcts.cli.progress import ConsoleProgress
from moemcts.references import extend_reference, parse_reference
from moemcts.runs.match import Match, MatchPlan, Result, resume_plan


def main() -> None:
    """Plays and prints; appends to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="of the row: what is compared, with whose experts, and how")
    parser.add_argument("--experts", action="append", required=True, help="a folder, once per training")
    parser.add_argument(
        "--others", action="append", help="a folder to play against, once per training; the same experts"
    )
    parser.add_argument("--values", action="append", help="a folder whose values the first have, once per training")
    parser.add_argument("--first", required=True, help="options of the agent whose Elo is told")
    parser.add_argument("--second", required=True, help="options of the other one")
    parser.add_argument("--game", default="chess")
    parser.add_argument("--games", type=int, default=200, help="of each training")
    parser.add_argument("--simulations", type=int, default=100, help="per move")
    parser.add_argument("--seed", type=int, default=1, help="of the first training's openings")
    parser.add_argument("--openings", type=Path, help="file of start positions; random plies where none is named")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="folder for the games")
    parser.add_argument("--than", help="name of a recorded row of the same trainings: by how much this is another")
    add_option(parser)
    options = parser.parse_args()
    others, values = options.others or options.experts, options.values or [""] * len(options.experts)
    for name, folders in (("others", others), ("values", values)):
        if len(folders) != len(options.experts):
            raise SystemExit(f"expected as many --{name} as --experts, got {len(folders)} and {len(options.experts)}")
    teams = zip(options.experts, others, values, strict=True)
    results = [play(options, number, *folders) for number, folders in enumerate(teams)]
    row = summary(options.name, results) | {"simulations": options.simulations, "seed": options.seed}
    if options.than:
        other = latest("duels")[options.than]
        row["than"] = {"name": options.than}
        print(*other_than(row, other).values())
    print(*row.values())
    if options.record:
        append("duels", [row])


def play(options: argparse.Namespace, number: int, experts: str, others: str, values: str) -> DuelResult:
    """Plays those games of one training's experts against the others that are not in the file yet."""
    first = agent(experts, f"{options.first}&value={values}" if values else options.first)
    second = agent(others, options.second)
    plan = MatchPlan(
        game=options.game,
        agents=(first, second),
        num_games=options.games,
        seed=options.seed + number,
        openings=options.openings,
        limits={"simulations": options.simulations},
        num_workers=options.workers,
    )
    return finished(plan, options.out / f"{number}.jsonl", f"training {number}")


def finished(plan: MatchPlan, path: Path, title: str) -> DuelResult:
    """Returns the result of a match between agents, after playing the games that are missing in the file."""
    result = result_of(plan, path, title)
    if not isinstance(result, DuelResult):
        raise TypeError(f"expected agents that play each other, got {result}")
    return result


def result_of(plan: MatchPlan, path: Path, title: str) -> Result:
    """Returns the result of a match, after playing the games that are missing in the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    match = Match(resume_plan(plan, path))
    with ConsoleProgress().task(title, "games") as advance:
        return match.play(path, callbacks=MatchCallbacks(lambda state: advance(state.num_finished, match.num_games)))


def agent(experts: str, options: str) -> str:
    """Returns the reference of experts with options written as `routing=majority&leaves=8`."""
    return extend_reference(experts, parse_reference(f"?{options}")[1])


def summary(name: str, results: Sequence[DuelResult]) -> dict[str, object]:
    """Returns the row of one match per training, all between the same two ways to play."""
    scores = [result.scores(result.names[0]) for result in results]
    openings = [boards_of(result.informative) for result in results]
    differences = [[score - 0.5 for score in seed_scores] for seed_scores in scores]
    estimate = seed_interval(differences, openings, bounds=(-0.5, 0.5))
    elo, own = (
        EloRange.of(0.5 + estimate.mean, [0.5 + bound for bound in interval])
        for interval in (estimate.interval, estimate.own_interval)
    )
    points = [point for seed_scores in scores for point in seed_scores]
    return {
        "name": name,
        "value": round(elo.difference, 1),
        "unit": "Elo more than the second agent",
        "interval": [None if end is None else round(end, 1) for end in (elo.low, elo.high)],
        "own interval": [None if end is None else round(end, 1) for end in (own.low, own.high)],
        "counts": [points.count(score) for score in (1.0, 0.5, 0.0)],
        "games": len(points),
        "by training": [round(result.elo(result.names[0]).difference, 1) for result in results],
        "scores by training": [0.5 + mean for mean in estimate.seed_means],
        "own variance": estimate.own_variance,
        "duplicates": sum(num_duplicates(result.records) for result in results),
    }


if __name__ == "__main__":
    main()

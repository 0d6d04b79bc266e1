"""The result of a match as a table for people."""

from __future__ import annotations

from rich import box
from rich.markup import escape
from rich.table import Table

from moemcts.arena.duel import DuelResult
from moemcts.arena.intervals import Interval
from moemcts.arena.match import MatchResult
from moemcts.arena.outcomes import Tally
from moemcts.arena.ranking import fit_ratings
from moemcts.arena.rating import likelihood_of_superiority, normalized_elo, pentanomial_elo
from moemcts.arena.records import GameRecord, num_duplicates, terminations
from moemcts.arena.verdict import counted, verdict
from moemcts.cli.consoles import print_table, table_console

MOST_FAILURES = 5


def print_result(result: DuelResult | MatchResult) -> None:
    """Prints who is better, and what there is to know about the games."""
    console = table_console()
    if not result.records:
        console.print("no games were played")
        return
    if isinstance(result, MatchResult):
        print_table(_arms(result))
        lines = [
            f"{arm} against {result.baseline}: {result.difference(arm).verdict}"
            for arm in result.arms
            if arm != result.baseline
        ]
    else:
        print_table(_two(result) if len(result.seatings[0]) == 2 else _many(result))
        lines = _evidence(result) if result.is_even else []
    num_repeated = (
        sum(result.summary(arm).num_duplicates for arm in result.arms)
        if isinstance(result, MatchResult)
        else num_duplicates(result.records)
    )
    for line in [*lines, *_games(result.records, num_repeated)]:
        console.print(line, soft_wrap=True, markup=False)


def _two(result: DuelResult) -> Table:
    table = _table("agent", "games", "wins", "draws", "losses", "score", "Elo", "LOS", "first", "second")
    for name in result.names:
        losses, draws, wins = result.counts(name)
        num_games = len(result.records)
        table.add_row(
            escape(name),
            str(num_games),
            str(wins),
            str(draws),
            str(losses),
            f"{100 * (wins + draws / 2) / num_games:.1f} %",
            str(result.elo(name)),
            f"{100 * likelihood_of_superiority(wins, losses):.1f} %",
            *(_tally(result.tally(name, seat)) for seat in range(2)),
        )
    return table


def _evidence(result: DuelResult) -> list[str]:
    first, second = result.names
    found = result.elo(first)
    lines = []
    if found.low is not None and found.high is not None:
        claim = verdict(found.difference, (found.low, found.high), found.num_games, unit="Elo", observations="games")
        lines.append(f"{first} against {second}: {claim}")
    pairs = result.pairs(first)
    if any(pairs):
        told = " ".join(map(str, pairs))
        line = f"pairs with 0, 1/2, 1, 3/2, 2 points: {told}; Elo of pairs {pentanomial_elo(pairs)}"
        if measured := normalized_elo(pairs):
            normalized, error = measured
            line += f", normalized {normalized:+z.1f} ± {error:.1f}"
        lines.append(line)
    if (sprt := result.sprt) is not None:
        counts = result.evidence(sprt)
        lower, upper = sprt.bounds
        decision = {
            "H0": f"decided for {sprt.elo0:g}",
            "H1": f"decided for {sprt.elo1:g}",
            "undecided": "undecided",
        }[sprt.decision(counts)]
        lines.append(
            f"sequential test of {sprt.elo0:g} against {sprt.elo1:g} Elo ({sprt.model}): LLR {sprt.llr(counts):+z.2f} "
            f"in [{lower:.2f}, {upper:.2f}], {decision}"
        )
    return lines


def _many(result: DuelResult) -> Table:
    seats = range(len(result.seatings[0]))
    table = _table(
        "agent", "seats", "wins", "ties", "losses", "win rate", "rating", *(f"seat {seat}" for seat in seats)
    )
    ratings = fit_ratings(result.rankings())
    for name in sorted(result.names, key=lambda name: -ratings.elo[ratings.names.index(name)]):
        tally = result.tally(name)
        row = ratings.names.index(name)
        table.add_row(
            escape(name),
            str(tally.num_games),
            str(tally.wins),
            str(tally.ties),
            str(tally.losses),
            _rate(tally.win_rate, tally.win_interval),
            f"{ratings.elo[row]:+z.1f} ± {ratings.errors[row]:.1f}",
            *(_tally(result.tally(name, seat)) for seat in seats),
        )
    return table


def _arms(result: MatchResult) -> Table:
    seats = range(result.num_seats)
    table = _table("agent", "games", "wins", "ties", "losses", "win rate", "score", *(f"seat {seat}" for seat in seats))
    for arm in result.arms:
        summary = result.summary(arm)
        tally = summary.tally
        table.add_row(
            escape(arm),
            str(tally.num_games),
            str(tally.wins),
            str(tally.ties),
            str(tally.losses),
            _rate(tally.win_rate, tally.win_interval),
            _rate(summary.score.mean, summary.score.interval),
            *map(_tally, summary.by_seat),
        )
    return table


def _games(records: tuple[GameRecord, ...], num_repeated: int) -> list[str]:
    ends = ", ".join(f"{name} {count}" for name, count in terminations(records).items())
    plies = sum(record.plies for record in records) / len(records)
    lines = [f"{counted(len(records), 'game')}, mean length {plies:.1f} plies; ended by {ends}"]
    if num_repeated:
        lines.append(
            f"{num_repeated} of these games {'repeats' if num_repeated == 1 else 'repeat'} an earlier one move for "
            "move and prove nothing; more openings (--openings FILE) give more games"
        )
    failures = [record for record in records if record.failure]
    lines += [f"game {record.index + 1}, {record.termination}: {record.failure}" for record in failures[:MOST_FAILURES]]
    if len(failures) > MOST_FAILURES:
        lines.append(f"and {counted(len(failures) - MOST_FAILURES, 'more game')} in which an agent failed")
    return lines


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", overflow="fold", no_wrap=number > 0)
    return table


def _tally(tally: Tally) -> str:
    return f"{tally.wins}-{tally.ties}-{tally.losses}"


def _rate(share: float, interval: Interval) -> str:
    low, high = interval
    return f"{100 * share:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"

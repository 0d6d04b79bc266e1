"""Prints the result of a match as a table."""

from __future__ import annotations

from rich.table import Table

from moemcts.arena.duel import DuelResult
from moemcts.arena.intervals import Interval
from moemcts.arena.match import MatchResult
from moemcts.arena.openings import OpeningSettings
from moemcts.arena.outcomes import Tally
from moemcts.arena.ranking import fit_ratings
from moemcts.arena.rating import likelihood_of_superiority, normalized_elo
from moemcts.arena.records import GameRecord, num_duplicates, terminations
from moemcts.arena.solo import SoloResult
from moemcts.arena.verdict import FEW_GAMES, elo_verdict, format_count
from moemcts.cli.consoles import add_row, print_table, ruled_table, table_console

MAX_FAILURES = 5
MIN_PAIRS = 10
"""With fewer pairs, the standard deviation is too uncertain for a normalized Elo."""


def print_result(
    result: DuelResult | MatchResult | SoloResult, opening_settings: OpeningSettings, *, against: str | None = None
) -> None:
    """Prints a match's table, verdicts, the agent in all other seats if any, and how the games began and ended."""
    console = table_console()
    if not result.records:
        console.print("no games were played")
        return
    if isinstance(result, DuelResult):
        print_table(_duel_table(result) if len(result.sides) == 2 else _free_for_all_table(result))
        lines = _describe_duel(result) if result.is_even else _small_sample_warning(len(result.informative))
    else:
        print_table(_arms_table(result) if isinstance(result, MatchResult) else _solo_table(result))
        lines = [*([] if against is None else [f"in all other seats: {against}"]), *_describe_differences(result)]
    num_counted = len(result.informative) if isinstance(result, DuelResult) else len(result.records)
    for line in [*lines, *_describe_games(result.records, num_counted), str(opening_settings)]:
        console.print(line, soft_wrap=True, markup=False)


def _duel_table(result: DuelResult) -> Table:
    table = _new_table("agent", "games", "wins", "draws", "losses", "score", "Elo", "LOS", "first", "second")
    for name in result.names:
        losses, draws, wins = result.counts(name)
        num_games = len(result.informative)
        cells = [
            name,
            num_games,
            wins,
            draws,
            losses,
            f"{100 * (wins + draws / 2) / num_games:.1f} %",
            result.elo(name),
            f"{100 * likelihood_of_superiority(wins, losses):.1f} %",
            *(_format_tally(result.tally(name, seat)) for seat in range(2)),
        ]
        add_row(table, cells)
    return table


def _describe_duel(result: DuelResult) -> list[str]:
    first, second = result.names
    pairs, num_games = result.pairs(first), len(result.informative)
    elo_range, is_paired = result.elo_range(first), result.is_in_pairs
    num_observations, unit = (sum(pairs), "pair") if is_paired else (num_games, "game")
    observations = f"{unit}{'s' * (num_observations != 1)}{' of games' * is_paired}"
    stop_warning = "; the test stopped the games, so the interval is too narrow" if result.is_stopped else ""
    claim = elo_verdict(elo_range, num_observations, observations)
    lines = [f"{first} against {second}: {claim}{stop_warning}{_small_sample_suffix(num_games)}"]
    if any(pairs):
        line = f"pairs with 0, 1/2, 1, 3/2, 2 points: {' '.join(map(str, pairs))}"
        if sum(pairs) >= MIN_PAIRS and (measured := normalized_elo(pairs)):
            normalized, error = measured
            line += f"; normalized Elo {normalized:+z.1f} ± {error:.1f}"
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


def _small_sample_suffix(num_games: int) -> str:
    """Returns a warning if there are too few games for a conclusion."""
    return "".join(f"; {line}" for line in _small_sample_warning(num_games))


def _small_sample_warning(num_games: int) -> list[str]:
    return [f"fewer than {FEW_GAMES} games say little"] if num_games < FEW_GAMES else []


def _free_for_all_table(result: DuelResult) -> Table:
    seats = range(len(result.sides))
    table = _new_table(
        "agent", "seats", "wins", "ties", "losses", "win rate", "rating", *(f"seat {seat}" for seat in seats)
    )
    ratings = fit_ratings(result.rankings())
    for name in sorted(result.names, key=lambda name: -ratings.elo[ratings.names.index(name)]):
        tally = result.tally(name)
        row = ratings.names.index(name)
        cells = [
            name,
            tally.num_games,
            tally.wins,
            tally.ties,
            tally.losses,
            _format_rate(tally.win_rate, tally.win_interval),
            f"{ratings.elo[row]:+z.1f} ± {ratings.errors[row]:.1f}",
            *(_format_tally(result.tally(name, seat)) for seat in seats),
        ]
        add_row(table, cells)
    return table


def _describe_differences(result: MatchResult | SoloResult) -> list[str]:
    match = result if isinstance(result, MatchResult) else result.match
    compare = result.difference if isinstance(result, MatchResult) else result.gain
    # Counts games without repetitions of earlier ones.
    num_games = int(min(match.summary(arm).tally.num_effective for arm in match.arms))
    warning = _small_sample_suffix(num_games)
    others = [arm for arm in match.arms if arm != match.baseline]
    return [f"{arm} against {match.baseline}: {compare(arm).verdict}{warning}" for arm in others]


def _solo_table(result: SoloResult) -> Table:
    table = _new_table("agent", "games", "mean return", "more than the first", "as much", "less", "plies")
    for arm in result.arms:
        mean_return, comparison = result.mean_return(arm), result.gain(arm).more
        is_first = arm == result.match.baseline
        cells = [
            arm,
            mean_return.num_observations,
            f"{mean_return.mean:.2f} [{mean_return.low:.2f}, {mean_return.high:.2f}]",
            *("–" if is_first else str(number) for number in (comparison.wins, comparison.ties, comparison.losses)),
            f"{result.mean_plies(arm):.0f}",
        ]
        add_row(table, cells)
    return table


def _arms_table(result: MatchResult) -> Table:
    seats = range(result.num_seats)
    table = _new_table(
        "agent", "games", "wins", "ties", "losses", "win rate", "score", *(f"seat {seat}" for seat in seats)
    )
    for arm in result.arms:
        summary = result.summary(arm)
        tally = summary.tally
        cells = [
            arm,
            tally.num_games,
            tally.wins,
            tally.ties,
            tally.losses,
            _format_rate(tally.win_rate, tally.win_interval),
            _format_rate(summary.score.mean, summary.score.interval),
            *map(_format_tally, summary.by_seat),
        ]
        add_row(table, cells)
    return table


def _describe_games(records: tuple[GameRecord, ...], num_counted: int) -> list[str]:
    endings = ", ".join(f"{name} {count}" for name, count in terminations(records).items())
    plies = sum(record.plies for record in records) / len(records)
    lines = [f"{format_count(len(records), 'game')}, mean length {plies:.1f} plies; ended by {endings}"]
    if num_repeated := len(records) - num_counted or num_duplicates(records):
        repeat, are = ("repeats", "is") if num_repeated == 1 else ("repeat", "are")
        consequence = f"and {are} not counted; " if num_counted < len(records) else "and say less than others; "
        lines.append(
            f"{num_repeated} of these games {repeat} an earlier one move for move {consequence}more openings "
            "(--openings FILE) give more games"
        )
    failures = [record for record in records if record.failure]
    lines += [f"game {record.index + 1}, {record.termination}: {record.failure}" for record in failures[:MAX_FAILURES]]
    if len(failures) > MAX_FAILURES:
        lines.append(f"and {format_count(len(failures) - MAX_FAILURES, 'more game')} in which an agent failed")
    return lines


def _new_table(*columns: str) -> Table:
    return ruled_table(columns, is_whole=True)


def _format_tally(tally: Tally) -> str:
    return f"{tally.wins}-{tally.ties}-{tally.losses}"


def _format_rate(share: float, interval: Interval) -> str:
    low, high = interval
    return f"{100 * share:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"

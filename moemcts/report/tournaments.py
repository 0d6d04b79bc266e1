"""Tables and plots of tournaments, grids of limits and single experts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from moemcts.arena.duel import DuelResult
from moemcts.arena.openings import OpeningSettings
from moemcts.arena.ranking import Ratings
from moemcts.arena.rating import Elo, elo_of_score, score_of_elo
from moemcts.arena.records import num_duplicates
from moemcts.arena.tournament import TournamentResult
from moemcts.arena.verdict import format_count, verdict
from moemcts.report.page import Figure, Report, Section
from moemcts.report.plots import Whisker, elo_ratings
from moemcts.report.style import (
    INK,
    LEGEND_LETTERS,
    MUTED,
    PAPER,
    drawing,
    finish,
    legend_beside,
    name_columns,
    new_figure,
    phase_colour,
    phase_marker,
    wrap_text,
)
from moemcts.report.tables import Cell, Table

if TYPE_CHECKING:
    import matplotlib.figure
    from matplotlib.patches import Rectangle

Grid = Mapping[tuple[str, str], Elo]
"""Elo by row and column, such as batch size and limit."""


def tournament_report(result: TournamentResult, opening_settings: OpeningSettings | None = None) -> Report:
    """Returns the report of a tournament; its numbers include games only as counts.

    States how the games begin if `opening_settings` is given.
    """
    numbers = {**result.to_json(), **_opening_json(opening_settings)}
    if not result.num_games:
        return Report("Tournament", "no games were played", numbers=numbers)
    ratings = result.ratings()
    first, second = result.standings()[:2]
    difference, error = ratings.difference(first, second)
    begin = "" if opening_settings is None else f"; {opening_settings}"
    interval = difference - error, difference + error
    claim = verdict(difference, interval, ratings.num_games, unit="Elo", observations="games")
    summary = f"{first} is first, {second} second; the first over the second: {claim}{begin}."
    if repeated := _describe_repeats(result.joined):
        summary += f" {repeated}."
    failures: list[str] = numbers["failures"]
    if failures:
        failed = f"{format_count(len(failures), 'game')} {'was' if len(failures) == 1 else 'were'} lost by failures"
        summary += f" {failed}, such as: {failures[0]}"
    figure = Figure(
        "ratings",
        partial(ratings_figure, result),
        f"Ratings over {_describe_games(ratings)} with 95 % intervals.",
    )
    section = Section("Standings", tables=[crosstable(result)], figures=[figure])
    return Report(f"{result.game}: {result.kind}", summary, [section], numbers)


def grid_report(
    duels: Mapping[tuple[str, str], DuelResult],
    challengers: Mapping[tuple[str, str], str],
    opening_settings: OpeningSettings | None = None,
    *,
    rows: str,
) -> Report:
    """Returns the report of matches by row and column, from the challengers' point of view; `rows` names the row axis.

    States how the games begin if `opening_settings` is given.
    """
    grid = {cell: duel.elo(challengers[cell]) for cell, duel in duels.items() if duel.records}
    first_duel = next(iter(duels.values()))
    num_games = len(first_duel.records)
    caption = (
        f"{first_duel.game}: Elo over the baseline with the 95 % error that cutechess prints, {num_games} games per "
        "cell; a bound alone where the games allow no error. Means are the Elo of the mean score of all their cells."
    )
    nodes, times = ({cell: value for cell, value in grid.items() if cell[1].endswith(unit)} for unit in ("nodes", "ms"))
    limit = "limit per move"
    sections = [
        Section(
            title,
            tables=[grid_table(part, corner=rows, caption=caption)],
            figures=[
                Figure(f"lines-{name}", partial(grid_lines, part, title=title, xlabel=limit, legend=rows), caption),
                Figure(f"grid-{name}", partial(grid_heat, part, title=title, xlabel=limit, ylabel=rows), caption),
            ],
        )
        for name, title, part in (("nodes", "Equal nodes", nodes), ("time", "Equal time", times))
        if part
    ]
    numbers = {
        "cells": [
            {"row": row, "column": column, "challenger": challengers[row, column], **duel.to_json()}
            for (row, column), duel in duels.items()
        ],
        **_opening_json(opening_settings),
    }
    mean = _format_mean(grid, rows=_rows_and_columns(grid)[0], columns=_rows_and_columns(grid)[1])
    summary = f"mean over {format_count(len(grid), 'cell')}: {mean or 'no finite'} Elo over the baseline"
    if repeated := _describe_repeats(tuple(duels.values())):
        summary += f"; {repeated}"
    if opening_settings is not None:
        summary += f"; {opening_settings}"
    return Report(f"{first_duel.game}: experts against a single network, by {rows}", summary, sections, numbers)


def _opening_json(opening_settings: OpeningSettings | None) -> dict[str, Any]:
    return {} if opening_settings is None else opening_settings.to_json()


def _describe_repeats(duels: Sequence[DuelResult]) -> str:
    """Returns a remark on games that repeat earlier ones of their match; empty if there are none."""
    if uncounted := sum(len(duel.records) - len(duel.informative) for duel in duels):
        return f"{format_count(uncounted, 'game')} not counted, as they repeat an earlier one move for move"
    num_repeated = sum(num_duplicates(duel.records) for duel in duels)
    return f"{format_count(num_repeated, 'game')} like an earlier one move for move" if num_repeated else ""


def crosstable(result: TournamentResult) -> Table:
    """Returns the standings: rating, points, and wins, draws and losses against each other agent."""
    fitted = result.ratings()
    ratings = {row["name"]: row for row in fitted.to_json()["agents"]}
    order = result.standings()
    columns = ["", "agent", "Elo", "95 %", "games", "points", *(str(place) for place in range(1, len(order) + 1))]
    rows: list[list[Cell]] = []
    for place, name in enumerate(order, start=1):
        counts_by_other = {other: result.counts(name, other) for other in order if other != name}
        counts_played = [counts for counts in counts_by_other.values() if sum(counts)]
        points = sum(wins + draws / 2 for _, draws, wins in counts_played)
        row = ratings[name]
        cells = [_format_counts(counts_by_other.get(other)) for other in order]
        num_games = sum(len(duel.informative) for duel in result.joined if name in duel.names)
        rows.append([place, name, f"{row['elo']:+z.1f}", f"± {row['error']:.1f}", num_games, f"{points:g}", *cells])
    return Table(
        columns,
        rows,
        f"{result.game}, {result.kind}, {result.num_games} games: who ended ahead of whom, +wins =draws -losses by "
        "row. Points count every other agent at a table, games do not. Ratings are Plackett-Luce (Bradley-Terry with "
        f"two seats) over all games that are counted, {_describe_games(fitted)}; games of the same agents on one board "
        "are one observation. Their mean is 0 and the error is against that mean.",
    )


def _describe_games(ratings: Ratings) -> str:
    return f"{format_count(ratings.num_games, 'game')} on {format_count(ratings.num_boards, 'board')}"


def ratings_figure(result: TournamentResult) -> matplotlib.figure.Figure:
    """Returns a figure of the ratings with their intervals, strongest on top."""
    rows = result.ratings().to_json()["agents"]
    whiskers = [
        Whisker(
            label=row["name"],
            value=row["elo"],
            low=row["elo"] - row["error"],
            high=row["elo"] + row["error"],
        )
        for row in rows
    ]
    return elo_ratings(whiskers, title=f"{result.game}: strength", xlabel="Elo against the mean of all")


def grid_table(grid: Grid, *, corner: str, caption: str) -> Table:
    """Returns Elo with its interval by row and column, in order of first appearance, with the means of both.

    A mean is the Elo of the mean score of its cells; None if that score is 0 or 1.
    """
    rows, columns = _rows_and_columns(grid)
    lines: list[list[Cell]] = []
    for row in rows:
        cells: list[Cell] = [str(grid[row, column]) if (row, column) in grid else None for column in columns]
        lines.append([row, *cells, _format_mean(grid, rows=[row], columns=columns)])
    means: list[Cell] = [_format_mean(grid, rows=rows, columns=[column]) for column in columns]
    lines.append(["mean", *means, _format_mean(grid, rows=rows, columns=columns)])
    return Table([corner, *columns, "mean"], lines, caption)


def grid_lines(grid: Grid, *, title: str, xlabel: str, legend: str) -> matplotlib.figure.Figure:
    """Returns a figure with a line per row and error bars over the columns.

    It follows Figures 4, 6 and 33 of the M2CTS paper. Cells without an error are drawn as an open arrow at their only
    bound.
    """
    rows, columns = _rows_and_columns(grid)
    with drawing():
        figure = new_figure(7.2, 3.9)
        axes = figure.add_subplot()
        for number, row in enumerate(rows):
            # Shifted sideways, so that error bars do not hide each other.
            shift = 0.06 * (number - (len(rows) - 1) / 2)
            cells = [
                (position + shift, grid[row, column])
                for position, column in enumerate(columns)
                if (row, column) in grid
            ]
            bounded = [(x, cell.difference, cell.error) for x, cell in cells if cell.error is not None]
            style: Any = {"color": phase_colour(number), "marker": phase_marker(number), "markersize": 5}
            axes.errorbar(
                [x for x, _, _ in bounded],
                [value for _, value, _ in bounded],
                yerr=[error for _, _, error in bounded],
                label=row,
                capsize=2.5,
                elinewidth=1.1,
                **style,
            )
            for x, cell in cells:
                if cell.error is None:
                    arrow = "^" if cell.low is not None else "v"
                    bound = [end for end in (cell.low, cell.high) if end is not None]
                    axes.plot([x], bound, **(style | {"marker": arrow, "markerfacecolor": PAPER}))
        axes.axhline(0, color=MUTED, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        axes.annotate(
            "the baseline", (0.0, 0), xycoords=("axes fraction", "data"), xytext=(3, 3), textcoords="offset points",
            fontsize=8, color=MUTED,
        )  # fmt: skip
        name_columns(axes, columns)
        axes.set_xlim(-0.5, len(columns) - 0.5)
        axes.grid(axis="x", visible=False)
        finish(axes, title=title, xlabel=xlabel, ylabel="Elo difference")
        legend_beside(axes, title=legend)
        return figure


def grid_heat(grid: Grid, *, title: str, xlabel: str, ylabel: str) -> matplotlib.figure.Figure:
    """Returns a heat map of the grid, with gains in blue, losses in orange, and the numbers as text.

    Cells whose interval includes zero are hatched, as they are not significant.
    """
    rows, columns = _rows_and_columns(grid)
    values = np.full((len(rows), len(columns)), np.nan)
    for (row, column), cell in grid.items():
        # A single bound is not an estimate, so it has no colour.
        if cell.error is not None:
            values[rows.index(row), columns.index(column)] = cell.difference
    bound = float(np.max(np.abs(values[~np.isnan(values)]), initial=1.0))
    with drawing():
        from matplotlib.colors import LinearSegmentedColormap

        colours = LinearSegmentedColormap.from_list("gain", [phase_colour(1), PAPER, phase_colour(0)])
        figure = new_figure(7.2, 1.6 + 0.45 * len(rows))
        axes = figure.add_subplot()
        image = axes.imshow(values, cmap=colours, vmin=-bound, vmax=bound, aspect="auto")
        has_hatched = False
        for (row, column), cell in grid.items():
            position = (columns.index(column), rows.index(row))
            is_shown = (cell.low is not None and cell.low > 0) or (cell.high is not None and cell.high < 0)
            is_dark = is_shown and cell.error is not None and cell.difference > 0.75 * bound
            if not is_shown:
                has_hatched = True
                axes.add_patch(_hatched(position))
            axes.text(
                *position, str(cell).replace(" ± ", "\n± "), ha="center", va="center", fontsize=8,
                color="white" if is_dark else INK,
                bbox=None if is_shown else {"facecolor": PAPER, "alpha": 0.8, "linewidth": 0, "pad": 1.5},
            )  # fmt: skip
        name_columns(axes, columns)
        axes.set_yticks(range(len(rows)), [wrap_text(row, LEGEND_LETTERS) for row in rows])
        axes.grid(visible=False)
        axes.tick_params(length=0)
        full_xlabel = f"{xlabel}; hatched: zero is in the interval" if has_hatched else xlabel
        finish(axes, title=title, xlabel=full_xlabel, ylabel=ylabel)
        figure.colorbar(image, label="Elo difference")
        return figure


def _hatched(position: tuple[float, float]) -> Rectangle:
    """Returns a hatched rectangle that marks a cell as uncertain."""
    from matplotlib.patches import Rectangle

    corner = (position[0] - 0.5, position[1] - 0.5)
    return Rectangle(corner, 1, 1, fill=False, hatch="////", edgecolor=MUTED, alpha=0.5, linewidth=0)


def _format_counts(counts: tuple[int, int, int] | None) -> str | None:
    if counts is None or not sum(counts):
        return None
    losses, draws, wins = counts
    return f"+{wins} ={draws} -{losses}"


def _rows_and_columns(grid: Grid) -> tuple[list[str], list[str]]:
    return list(dict.fromkeys(row for row, _ in grid)), list(dict.fromkeys(column for _, column in grid))


def _format_mean(grid: Grid, *, rows: Sequence[str], columns: Sequence[str]) -> str | None:
    scores = [_score_of(grid[row, column]) for row in rows for column in columns if (row, column) in grid]
    mean = fmean(scores) if scores else 0.0
    return f"{elo_of_score(mean):+z.1f}" if 0 < mean < 1 else None


def _score_of(cell: Elo) -> float:
    """Returns the score that a cell's Elo was computed from."""
    return float(cell.low is not None) if cell.estimate is None else score_of_elo(cell.estimate)

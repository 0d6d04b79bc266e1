"""Figures of a dataset's phases, after figures 2 and 11 to 16 of the M2CTS paper."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from moemcts.arena.verdict import format_count
from moemcts.report.style import INK, MUTED, PAPER, drawing, finish, new_figure, phase_colour, whole_ticks
from moemcts.store import write_bytes
from moemcts_chess.statistics import MAX_MOVE, Statistics

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LAST_MOVE = 80
"""The last move shown in figures; few games are longer."""
_DASHED = (0, (4, 2))


def plot(statistics: Statistics, folder: Path) -> list[Path]:
    """Draws all figures into a folder and returns their files."""
    return [_write(draw_figure(statistics, name), folder / f"{name.replace(' ', '-')}.png") for name in _FIGURES]


def draw_figure(statistics: Statistics, name: str) -> Figure:
    """Returns the figure with that name, with the number of games in its title."""
    with drawing():
        figure = new_figure(7.2, 3.9)
        axes = figure.add_subplot()
        xlabel, ylabel = _FIGURES[name](statistics, axes)
        title = f"{name.capitalize()}, {format_count(statistics.num_games, 'game')}"
        finish(axes, title=title, xlabel=xlabel, ylabel=ylabel)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return figure


def _write(figure: Figure, path: Path) -> Path:
    buffer = io.BytesIO()
    with drawing():
        figure.savefig(buffer, format="png")
    write_bytes(path, buffer.getvalue())
    return path


def _move_axis() -> np.ndarray[Any, Any]:
    return np.arange(1, LAST_MOVE + 1)


def _reached(statistics: Statistics, by_move: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns a measurement by move up to the last move shown; NaN for moves that no game reached."""
    has_any = statistics.positions.sum(axis=0) > 0
    return np.where(has_any, by_move, np.nan)[1 : LAST_MOVE + 1]


def _phases_by_move(statistics: Statistics, axes: Axes) -> tuple[str, str]:
    counts = statistics.positions[:, 1 : LAST_MOVE + 1]
    colours = [phase_colour(phase) for phase in range(len(statistics.phase_names))]
    axes.stackplot(_move_axis(), counts, labels=statistics.phase_names, colors=colours, alpha=0.9)
    for name, moves in zip(statistics.phase_names[1:], statistics.first_moves[1:], strict=True):
        # A line in a phase's colour would be invisible on the stack.
        _mean_line(axes, moves, f"first {name}", INK)
    axes.set_xlim(1, LAST_MOVE)
    return "move", "positions"


def _sparse(statistics: Statistics, axes: Axes) -> tuple[str, str]:
    axes.plot(_move_axis(), 100 * _reached(statistics, statistics.sparse), color=phase_colour(0))
    axes.set_xlim(1, LAST_MOVE)
    return "move", "positions with a sparse back rank, %"


def _first_moves(statistics: Statistics, axes: Axes) -> tuple[str, str]:
    # All games start in the first phase; its bar would dwarf the others.
    for phase in range(1, len(statistics.phase_names)):
        name, moves = statistics.phase_names[phase], statistics.first_moves[phase]
        colour = phase_colour(phase)
        axes.hist(moves, bins=np.arange(0.5, MAX_MOVE).tolist(), alpha=0.6, label=name, color=colour)
        _mean_line(axes, moves, name, colour)
    axes.set_xlim(1, LAST_MOVE)
    whole_ticks(axes.yaxis)
    return "first move of the phase", "games"


def _mean_line(axes: Axes, moves: np.ndarray[Any, Any], name: str, colour: str) -> None:
    """Draws the mean of some moves with its value."""
    if not len(moves):
        return
    mean = float(moves.mean())
    axes.axvline(mean, color=colour, linestyle=_DASHED, linewidth=1.2)
    axes.annotate(
        f"{name}: mean {mean:.1f}", (mean, 1.0), xycoords=("data", "axes fraction"), xytext=(3, -3),
        textcoords="offset points", rotation=90, ha="left", va="top", fontsize=8, color=INK,
    )  # fmt: skip


def _mixedness(statistics: Statistics, axes: Axes) -> tuple[str, str]:
    low, median, high = (_reached(statistics, quartile) for quartile in statistics.mixedness)
    axes.fill_between(_move_axis(), low, high, color=phase_colour(0), alpha=0.25, linewidth=0, label="middle half")
    axes.plot(_move_axis(), median, color=phase_colour(0), label="median")
    axes.axhline(150, color=MUTED, linestyle=_DASHED, linewidth=1.2, label="threshold")
    axes.set_xlim(1, LAST_MOVE)
    return "move", "mixedness"


def _pieces(statistics: Statistics, axes: Axes) -> tuple[str, str]:
    axes.plot(_move_axis(), _reached(statistics, statistics.pieces), color=phase_colour(0), label="mean")
    for number, threshold in enumerate((6, 10)):
        label = "" if number else "thresholds"
        axes.axhline(threshold, color=MUTED, linestyle=_DASHED, linewidth=1.2, label=label)
    axes.set_xlim(1, LAST_MOVE)
    return "move", "majors and minors"


def _shares(statistics: Statistics, axes: Axes) -> tuple[str, str]:
    summary = statistics.summary()
    phases = np.arange(len(statistics.phase_names))
    colours = [phase_colour(phase) for phase in range(len(phases))]
    for offset, counted, alpha in ((-0.2, "games", 0.45), (0.2, "positions", 1.0)):
        shares = 100 * np.array(list(summary[f"share of {counted}"].values()))
        bars = axes.bar(phases + offset, shares, 0.38, color=colours, alpha=alpha)
        axes.bar_label(bars, [f"{share:.0f} %" for share in shares], fontsize=8, color=INK)
        axes.bar([0], [0], color=MUTED, alpha=alpha, label=counted)
    axes.set_xticks(phases, statistics.phase_names)
    axes.grid(axis="x", visible=False)
    return "phase", "share, %"


def _results(statistics: Statistics, axes: Axes) -> tuple[str, str]:
    shares = 100 * statistics.results / np.maximum(statistics.results.sum(axis=1, keepdims=True), 1)
    bottom = np.zeros(len(shares))
    colours = (PAPER, "#b9c2cb", INK)
    for label, column, colour in zip(("White won", "draw", "Black won"), shares.T, colours, strict=True):
        axes.bar(statistics.phase_names, column, bottom=bottom, label=label, color=colour, edgecolor=INK, linewidth=0.8)
        bottom += column
    axes.grid(axis="x", visible=False)
    return "phase", "games that reach the phase, %"


def _returns(statistics: Statistics, axes: Axes) -> tuple[str, str]:
    counts = np.bincount(statistics.returns, minlength=6)
    axes.bar(np.arange(len(counts)), 100 * counts / max(len(statistics.returns), 1), color=phase_colour(0))
    axes.set_xticks(range(len(counts)))
    axes.grid(axis="x", visible=False)
    return "returns to an earlier phase", "games, %"


_FIGURES: Mapping[str, Callable[[Statistics, Axes], tuple[str, str]]] = {
    "phases by move": _phases_by_move,
    "sparse back rank by move": _sparse,
    "first moves": _first_moves,
    "mixedness by move": _mixedness,
    "pieces by move": _pieces,
    "games and positions": _shares,
    "results": _results,
    "returns": _returns,
}
"""Functions that draw each figure and return its axis labels."""

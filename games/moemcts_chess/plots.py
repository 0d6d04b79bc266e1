"""Figures of a dataset's phases, after figures 2 and 11 to 16 of the M2CTS paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from moemcts_chess.statistics import MAX_MOVE, Statistics

COLOURS = ("tab:blue", "tab:orange", "tab:green", "tab:red", "tab:purple")
LAST_MOVE = 80
"""Figures end here; few games go on."""


def plot(statistics: Statistics, folder: Path) -> list[Path]:
    """Draws all figures into a folder and returns their files."""
    figures = {
        "phases by move": _phases_by_move,
        "sparse back rank by move": _sparse,
        "first moves": _first_moves,
        "mixedness by move": _mixedness,
        "pieces by move": _pieces,
        "games and positions": _shares,
        "results": _results,
        "returns": _returns,
    }
    folder.mkdir(parents=True, exist_ok=True)
    return [_draw(draw, statistics, folder, name) for name, draw in figures.items()]


def _draw(draw: Any, statistics: Statistics, folder: Path, name: str) -> Path:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    draw(statistics, axes)
    path = folder / f"{name.replace(' ', '-')}.png"
    figure.savefig(path, dpi=120)
    return path


def _moves() -> np.ndarray[Any, Any]:
    return np.arange(1, LAST_MOVE + 1)


def _by_move(axes: Any, label: str) -> None:
    axes.set(xlabel="move", ylabel=label, xlim=(1, LAST_MOVE))


def _phases_by_move(statistics: Statistics, axes: Any) -> None:
    counts = statistics.positions[:, 1 : LAST_MOVE + 1]
    axes.stackplot(_moves(), counts, labels=statistics.phase_names, colors=COLOURS, alpha=0.8)
    for moves in statistics.first_moves[1:]:
        if len(moves):
            axes.axvline(moves.mean(), color="black", linestyle="--")
    _by_move(axes, "positions")
    axes.legend()


def _sparse(statistics: Statistics, axes: Any) -> None:
    axes.plot(_moves(), 100 * statistics.sparse[1 : LAST_MOVE + 1])
    _by_move(axes, "positions with a sparse back rank, %")


def _first_moves(statistics: Statistics, axes: Any) -> None:
    for name, moves, colour in list(zip(statistics.phase_names, statistics.first_moves, COLOURS, strict=False))[1:]:
        axes.hist(moves, bins=np.arange(0.5, MAX_MOVE), alpha=0.6, label=name, color=colour)
        if len(moves):
            axes.axvline(moves.mean(), color=colour, linestyle="--")
    _by_move(axes, "games")
    axes.legend()


def _mixedness(statistics: Statistics, axes: Any) -> None:
    low, median, high = statistics.mixedness[:, 1 : LAST_MOVE + 1]
    axes.fill_between(_moves(), low, high, alpha=0.3, label="middle half")
    axes.plot(_moves(), median, label="median")
    axes.axhline(150, color="black", linestyle="--", label="threshold")
    _by_move(axes, "mixedness")
    axes.legend()


def _pieces(statistics: Statistics, axes: Any) -> None:
    axes.plot(_moves(), statistics.pieces[1 : LAST_MOVE + 1])
    for threshold in (6, 10):
        axes.axhline(threshold, color="black", linestyle="--")
    _by_move(axes, "majors and minors, mean")


def _shares(statistics: Statistics, axes: Any) -> None:
    summary = statistics.summary()
    place = np.arange(len(statistics.phase_names))
    for shift, what in ((-0.2, "games"), (0.2, "positions")):
        axes.bar(place + shift, 100 * np.array(list(summary[f"share of {what}"].values())), 0.4, label=what)
    axes.set_xticks(place, statistics.phase_names)
    axes.set_ylabel("%")
    axes.legend()


def _results(statistics: Statistics, axes: Any) -> None:
    shares = 100 * statistics.results / np.maximum(statistics.results.sum(axis=1, keepdims=True), 1)
    bottom = np.zeros(len(shares))
    colours = ("white", "lightgrey", "dimgrey")
    for label, column, colour in zip(("White won", "draw", "Black won"), shares.T, colours, strict=True):
        axes.bar(statistics.phase_names, column, bottom=bottom, label=label, color=colour, edgecolor="black")
        bottom += column
    axes.set_ylabel("games that reach the phase, %")
    axes.legend()


def _returns(statistics: Statistics, axes: Any) -> None:
    counts = np.bincount(statistics.returns, minlength=6)
    axes.bar(np.arange(len(counts)), 100 * counts / max(len(statistics.returns), 1))
    axes.set(xlabel="returns to an earlier phase", ylabel="games, %")

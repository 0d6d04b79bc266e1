"""Plots of attributions: bars per plane and maps of the board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from moemcts.report.style import INK, MUTED, drawing, finish, new_figure, phase_colour

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Numbers = NDArray[np.float32]
_TITLE_SIZE = 10.5
_LETTER = 0.68
"""Width of a letter in titles, relative to the font size."""
UNITS = {"policy": "policy, nats", "value": "value"}
DIVERGING = "RdBu"
"""Blue is in favour and red is against; distinguishable by colour-blind readers."""


def plane_bars(
    names: Sequence[str], columns: Mapping[str, tuple[Numbers, Numbers | None]], *, phase: int | None, title: str
) -> Figure:
    """Returns a figure with a bar per plane and a panel per answer.

    Bars are signed attributions, with magnitudes in grey behind. Each column has signed numbers `[C]`, and magnitudes
    `[C]` or None.
    """
    with drawing():
        figure = new_figure(8.6, 1.3 + 0.165 * len(names))
        panels = figure.subplots(1, len(columns), sharey=True, squeeze=False)[0]
        rows = np.arange(len(names))
        for axes, (answer, (signed, magnitude)) in zip(panels, columns.items(), strict=True):
            if magnitude is not None:
                axes.barh(rows, magnitude, height=0.8, color=MUTED, alpha=0.25, linewidth=0, label="magnitude")
            axes.barh(rows, signed, height=0.5, color=phase_colour(phase), linewidth=0, label="sum")
            axes.axvline(0, color=INK, linewidth=0.8)
            axes.set_yticks(rows, list(names), fontsize=7)
            axes.set_ylim(len(names) - 0.4, -0.6)
            axes.grid(axis="y", visible=False)
            axes.tick_params(axis="y", length=0)
            axes.tick_params(axis="x", labelsize=8)
            axes.locator_params(axis="x", nbins=4)
            finish(axes, xlabel=UNITS.get(answer, answer))
        if any(magnitude is not None for _, magnitude in columns.values()):
            figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
        _draw_title(figure, title)
        return figure


def plane_shares(
    names: Sequence[str], columns: Mapping[str, Numbers], *, title: str = "Where each expert looks"
) -> Figure:
    """Returns a heat map of each column's magnitudes `[C]`, relative to the largest in the column."""
    shares = np.stack([column / max(float(column.max()), 1e-12) for column in columns.values()], axis=1)
    with drawing():
        figure = new_figure(3.6 + 0.75 * len(columns), 1.9 + 0.165 * len(names))
        axes = figure.add_subplot()
        image = axes.imshow(shares, aspect="auto", cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
        axes.set_yticks(range(len(names)), list(names), fontsize=7)
        axes.set_xticks(range(len(columns)), list(columns), rotation=40, ha="right", fontsize=8)
        axes.grid(visible=False)
        axes.tick_params(length=0)
        finish(axes)
        _draw_title(figure, title)
        figure.colorbar(image, ax=axes, shrink=0.4, label="share of the largest")
        return figure


def cell_maps(maps: Mapping[str, tuple[str, Numbers]], *, columns: int, rows_upward: bool, title: str) -> Figure:
    """Returns maps of the board side by side; blue cells are in favour of the answer, red ones against it.

    Each map has the name of its answer, policy or value, and numbers `[H, W]`. Each colour scale spans the map's
    strongest cell; `rows_upward` draws row 0 at the bottom.
    """
    num_rows = -(-len(maps) // columns)
    with drawing():
        figure = new_figure(2.9 * columns + 0.3, 2.75 * num_rows + 0.5)
        panels = figure.subplots(num_rows, columns, squeeze=False)
        for axes in panels.flat[len(maps) :]:
            axes.set_visible(False)
        for axes, (name, (answer, cells)) in zip(panels.flat, maps.items(), strict=False):
            largest = max(float(np.abs(cells).max()), 1e-12)
            origin = "lower" if rows_upward else "upper"
            image = axes.imshow(
                cells, cmap=DIVERGING, vmin=-largest, vmax=largest, origin=origin, interpolation="nearest"
            )
            axes.set_xticks(range(cells.shape[1]))
            axes.set_yticks(range(cells.shape[0]))
            axes.tick_params(length=0, labelsize=6)
            axes.grid(visible=False)
            axes.set_title(name, loc="left", fontsize=8.5)
            colour_bar = figure.colorbar(image, ax=axes, shrink=0.8)
            colour_bar.ax.tick_params(labelsize=6)
            colour_bar.set_label(UNITS.get(answer, answer), fontsize=7)
        _draw_title(figure, title)
        return figure


def _draw_title(figure: Figure, title: str) -> None:
    """Writes a title above a figure, wrapped to its width."""
    num_letters = int(72 * figure.get_figwidth() / (_LETTER * _TITLE_SIZE))
    figure.suptitle(fill(title, num_letters), x=0.01, ha="left", fontsize=_TITLE_SIZE, fontweight="bold")

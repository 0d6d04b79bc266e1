"""How strong generations of self-play have become, as a plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from moemcts.report.style import (
    MUTED,
    drawing,
    finish,
    in_lines,
    legend_beside,
    new_figure,
    phase_colour,
    whole_ticks,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_REACH = 0.6
"""How far from the generations, in parts of what they span, others are drawn at their own strength."""
_LEAST_SPAN = 100.0
"""Elo that generations are taken to span at least."""
_LETTERS = 60
"""In a line within the axes."""


def strength_curve(
    generations: Sequence[int], elo: Sequence[float], errors: Sequence[float], others: Mapping[str, float]
) -> Figure:
    """Returns the strength of generations over the first of them, with 95 % intervals, and that of others as lines.

    Others who are so far away that the generations could not be told apart beside them are named at the edge.
    """
    with drawing():
        figure = new_figure(7.2, 3.9)
        axes = figure.add_subplot()
        low = [value - error for value, error in zip(elo, errors, strict=True)]
        high = [value + error for value, error in zip(elo, errors, strict=True)]
        axes.fill_between(generations, low, high, color=phase_colour(0), alpha=0.15, linewidth=0, label="95 % interval")
        axes.plot(generations, elo, color=phase_colour(0), marker="o", markersize=4, label="generations")
        reach = _REACH * max(max(high) - min(low), _LEAST_SPAN)
        near = {name: value for name, value in others.items() if min(low) - reach <= value <= max(high) + reach}
        for name, value in near.items():
            axes.axhline(value, color=MUTED, linestyle=(0, (4, 2)), linewidth=1)
            axes.annotate(
                in_lines(name, _LETTERS), (0.0, value), xycoords=("axes fraction", "data"), xytext=(3, 2),
                textcoords="offset points", color=MUTED, fontsize=8, va="bottom",
            )  # fmt: skip
        _name_at_edges(axes, {name: value for name, value in others.items() if name not in near}, middle=elo[0])
        finish(
            axes, title="Strength over generations", xlabel="generation", ylabel=f"Elo over generation {generations[0]}"
        )
        axes.margins(x=0.02, y=0.12)
        whole_ticks(axes)
        legend_beside(axes)
        return figure


def _name_at_edges(axes: Axes, others: Mapping[str, float], *, middle: float) -> None:
    """Names those who are off the axes where they are nearest, with their value."""
    for is_above in (True, False):
        told = [f"{name} {value:+z.0f}" for name, value in others.items() if (value > middle) == is_above]
        if told:
            text = in_lines(f"{'↑' if is_above else '↓'} {', '.join(told)}", _LETTERS)
            axes.annotate(
                text, (0.0, float(is_above)), xycoords="axes fraction",
                xytext=(3, -3 if is_above else 3), textcoords="offset points", color=MUTED, fontsize=8,
                va="top" if is_above else "bottom",
            )  # fmt: skip

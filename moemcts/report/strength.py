"""A plot of the strength of self-play's generations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from moemcts.report.style import drawing, finish, legend_beside, new_figure, phase_colour, whole_ticks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_REACH = 0.6
"""Distance from the generations, relative to their span, up to which other agents are drawn as lines."""
_MIN_SPAN = 100.0
"""Minimum Elo span assumed for the generations."""
_DASHES = ((4, 2), (1, 2), (6, 2, 1, 2))
"""Dash patterns for the lines of other agents, in turn."""


def strength_curve(
    generations: Sequence[int], elo: Sequence[float], errors: Sequence[float], others: Mapping[str, float]
) -> Figure:
    """Returns a figure of the generations' strength relative to the first, with 95 % intervals, and of others as lines.

    The legend lists the other agents with their values, strongest first, so that names never overlap. Agents so far
    away that the generations would become indistinguishable are listed with an arrow and have no line.
    """
    with drawing():
        figure = new_figure(7.2, 3.9)
        axes = figure.add_subplot()
        low = [value - error for value, error in zip(elo, errors, strict=True)]
        high = [value + error for value, error in zip(elo, errors, strict=True)]
        axes.fill_between(generations, low, high, color=phase_colour(0), alpha=0.15, linewidth=0, label="95 % interval")
        axes.plot(generations, elo, color=phase_colour(0), marker="o", markersize=4, label="generations")
        margin = _REACH * max(max(high) - min(low), _MIN_SPAN)
        for number, name in enumerate(sorted(others, key=lambda name: -others[name]), 1):
            value = others[name]
            label = f"{name} {value:+z.0f}"
            if min(low) - margin <= value <= max(high) + margin:
                dashes = (0, _DASHES[number % len(_DASHES)])
                axes.axhline(value, color=phase_colour(number), linestyle=dashes, linewidth=1.2, label=label)
            else:
                axes.plot([], [], linestyle="none", label=f"{'↑' if value > elo[0] else '↓'} {label}")
        finish(
            axes, title="Strength over generations", xlabel="generation", ylabel=f"Elo over generation {generations[0]}"
        )
        axes.margins(x=0.02, y=0.12)
        whole_ticks(axes.xaxis)
        legend_beside(axes)
        return figure

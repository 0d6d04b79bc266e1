"""The plots of a report, as matplotlib figures without global state."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from moemcts.report.style import (
    INK,
    MUTED,
    PAPER,
    drawing,
    finish,
    legend_below,
    legend_beside,
    new_figure,
    phase_colour,
    phase_ink,
    phase_marker,
    whole_ticks,
    wrap_text,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAX_LABEL_LETTERS = 40
"""Letters per line of a label."""
_LINE_HEIGHT = 0.35
"""Extra height for each further line of a label, in rows."""
_POINTS_HEIGHT = 0.35
"""Extra height for the points under a row, in rows."""
_MIN_ELO = 100.0
"""Minimum span of an Elo axis with open intervals: arrows to nearly the same number would look like certainty."""
_FEW_VALUES = 30
"""Up to this many values of a timeline are drawn with markers."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One line of a training plot."""

    label: str
    steps: Sequence[float]
    """Empty for a single value without a step, drawn as a horizontal line."""
    values: Sequence[float]
    phase: int | None = None
    """The phase whose colour it has; None for all phases together."""
    is_baseline: bool = False
    """Drawn dashed."""


@dataclass(frozen=True, kw_only=True)
class Whisker:
    """A value with its interval, one row of a plot."""

    label: str
    value: float
    low: float | None
    """None if there is no lower bound; the whisker then ends in an arrow."""
    high: float | None
    note: str = ""
    """Text at the right, such as the number of games."""
    phase: int | None = None
    is_baseline: bool = False
    is_reference: bool = False
    """Whether it is a point of reference that nothing is compared with."""
    is_part: bool = False
    """Drawn small, as one of several parts of the row above, such as one training seed."""
    parts: Sequence[float] = ()
    """Values that the row summarises, such as one per training seed: drawn as small points below it."""


def loss_curves(
    curves: Sequence[Curve],
    *,
    title: str = "Loss per phase",
    xlabel: str = "training step",
    ylabel: str = "validation loss",
) -> Figure:
    """Returns a figure of the experts' curves, each in the colour of its phase, with dashed baselines."""
    with drawing():
        figure = new_figure(7.2, 3.9)
        axes = figure.add_subplot()
        for curve in curves:
            if not curve.steps:
                _draw_level(axes, curve)
                continue
            axes.plot(
                curve.steps,
                curve.values,
                label=curve.label,
                color=phase_colour(curve.phase),
                linestyle=(0, (4, 2)) if curve.is_baseline else "-",
                # A single measurement draws no line, so it needs a marker to be visible.
                marker=phase_marker(curve.phase) if len(curve.steps) == 1 or not curve.is_baseline else None,
                markerfacecolor=PAPER if curve.is_baseline else phase_colour(curve.phase),
                markersize=7 if len(curve.steps) == 1 else 4,
                markevery=max(1, len(curve.steps) // 8),
                alpha=0.85 if curve.is_baseline else 1.0,
            )
        finish(axes, title=title, xlabel=xlabel, ylabel=ylabel)
        axes.grid(axis="x", visible=False)
        axes.margins(x=0.02)
        whole_ticks(axes.xaxis)
        if curves:
            legend_beside(axes, handlelength=2.6)
        else:
            _draw_empty(axes)
        return figure


def phase_timeline(
    weights: ArrayLike,
    phase_names: Sequence[str],
    *,
    values: Sequence[float] | None = None,
    plies: Sequence[int] | None = None,
    start: int | None = None,
    stop: int | None = None,
    events: Sequence[tuple[int, str]] = (),
    title: str = "One game, phase by phase",
    value_label: str = "value of the search",
) -> Figure:
    """Returns a figure of one game over time, coloured by phase, with the value in [-1, 1] above.

    `weights` are those of a gate, `[T, K]`, or phase indices `[T]`; `plies` are the plies of the rows (0, 1, ... by
    default), `start` and `stop` those at which the game began and ended. `events` are marked at their plies.
    """
    shares = _phase_weights(weights, len(phase_names))
    times = np.arange(len(shares)) if plies is None else np.asarray(plies)
    edges = np.append(times, max(times[-1] + 1, stop or 0)) if len(times) else np.array([0, 1])
    with drawing():
        figure = new_figure(7.2, 3.2 if values is not None else 1.7)
        if values is None:
            strip = figure.add_subplot()
            finish(strip, title=title, xlabel="ply")
        else:
            top, strip = figure.subplots(2, 1, sharex=True, height_ratios=[4, 1])
            _draw_values(top, times, np.asarray(values), shares, edges)
            finish(top, title=title, ylabel=value_label)
            finish(strip, xlabel="ply")
            for ply, text in events:
                top.axvline(ply, color=MUTED, linewidth=1, linestyle=":")
                top.annotate(
                    text, (ply, 1.0), xytext=(3, -2), textcoords="offset points", va="top", fontsize=8, color=MUTED
                )
        lower = np.zeros(len(edges))
        for phase, name in enumerate(phase_names):
            share = np.append(shares[:, phase], shares[-1:, phase]) if len(shares) else np.zeros(2)
            strip.fill_between(
                edges, lower, lower + share, step="post", color=phase_colour(phase), linewidth=0, label=name
            )
            lower = lower + share
        strip.set_ylim(0, 1)
        strip.set_yticks([])
        strip.set_xlim(edges[0] if start is None else min(start, edges[0]), edges[-1])
        whole_ticks(strip.xaxis)
        strip.grid(visible=False)
        strip.spines["left"].set_visible(False)
        strip.set_ylabel("phase", rotation=0, ha="right", va="center")
        legend_below(figure, *strip.get_legend_handles_labels())
        return figure


def win_rates(rows: Sequence[Whisker], *, title: str = "Win rates", xlabel: str = "games won, %") -> Figure:
    """Returns a figure of win rates in [0, 1] with their intervals, drawn in percent."""
    scaled = [
        replace(
            row,
            value=100 * row.value,
            low=None if row.low is None else 100 * row.low,
            high=None if row.high is None else 100 * row.high,
            parts=[100 * part for part in row.parts],
        )
        for row in rows
    ]
    return _whiskers(scaled, title=title, xlabel=xlabel, reference=None, limits=(0.0, 100.0))


def mean_returns(rows: Sequence[Whisker], *, title: str = "Mean return", xlabel: str = "return of a game") -> Figure:
    """Returns a figure of mean returns with their intervals, in the unit of the rows."""
    return _whiskers(rows, title=title, xlabel=xlabel, reference=None, limits=None)


def differences(
    rows: Sequence[Whisker], *, title: str = "Difference from the baseline", xlabel: str = "percentage points"
) -> Figure:
    """Returns a figure of differences with their intervals and a line at zero, in the unit of the rows."""
    return _whiskers(rows, title=title, xlabel=xlabel, reference=(0.0, "no difference"), limits=None)


def elo_ratings(rows: Sequence[Whisker], *, title: str = "Elo", xlabel: str = "Elo difference") -> Figure:
    """Returns a figure of Elo differences with 95 % intervals; one without a bound ends in an arrow."""
    return _whiskers(rows, title=title, xlabel=xlabel, reference=(0.0, "equal"), limits=None, least_span=_MIN_ELO)


def phase_shares(
    shares: Mapping[str, Sequence[float]], phase_names: Sequence[str], *, title: str = "Share of positions per phase"
) -> Figure:
    """Returns a figure with the share of each phase; each row is something counted, such as a gate or a dataset."""
    with drawing():
        figure = new_figure(7.2, 1.5 + 0.42 * len(shares))
        axes = figure.add_subplot()
        for row, values in enumerate(shares.values()):
            if len(values) != len(phase_names):
                raise ValueError(f"expected {len(phase_names)} shares, one per phase, got {len(values)}")
            total = sum(values) or 1.0
            left = 0.0
            for phase, value in enumerate(values):
                share = 100 * value / total
                axes.barh(row, share, left=left, height=0.62, color=phase_colour(phase), edgecolor=PAPER, linewidth=1.2)
                if share >= 7:
                    ink = phase_ink(phase)
                    axes.text(left + share / 2, row, f"{share:.0f} %", ha="center", va="center", color=ink, fontsize=9)
                left += share
        axes.set_yticks(range(len(shares)), list(shares))
        axes.invert_yaxis()
        axes.set_xlim(0, 100)
        axes.grid(visible=False)
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        finish(axes, title=title, xlabel="share of positions, %")
        _phase_legend(figure, phase_names)
        return figure


def _whiskers(
    rows: Sequence[Whisker],
    *,
    title: str,
    xlabel: str,
    reference: tuple[float, str] | None,
    limits: tuple[float, float] | None,
    least_span: float = 0.0,
) -> Figure:
    with drawing():
        labels = shorten_labels([row.label for row in rows])
        line_heights = [_LINE_HEIGHT * label.count("\n") for label in labels]
        points_heights = [_POINTS_HEIGHT * bool(row.parts) for row in rows]
        extra_height = sum(line_heights) + sum(points_heights)
        figure = new_figure(7.2, 1.35 + sum(0.26 if row.is_part else 0.4 for row in rows) + 0.4 * extra_height)
        axes = figure.add_subplot()
        ends = [end for row in rows for end in (row.value, row.low, row.high, *row.parts) if end is not None]
        ends += [reference[0]] if reference else []
        lowest, highest = min(ends, default=0.0), max(ends, default=1.0)
        if any(None in (row.low, row.high) for row in rows):
            padding = max(0.0, least_span - (highest - lowest)) / 2
            lowest, highest = lowest - padding, highest + padding
        span = highest - lowest or 1.0
        start, stop = lowest - 0.08 * span, highest + 0.08 * span
        if limits:
            start, stop = limits[0] - 0.02 * stop, min(stop, limits[1] * 1.02)
        heights = []
        height = 0.0
        for row, line_height, points_height in zip(rows, line_heights, points_heights, strict=True):
            height += (0.65 if row.is_part else 1.0) + line_height / 2
            heights.append(height)
            height += line_height / 2 + points_height
            _draw_whisker(axes, row, heights[-1], start, stop)
        if reference:
            axes.axvline(reference[0], color=MUTED, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
            axes.annotate(
                reference[1], (reference[0], 1.0), xycoords=("data", "axes fraction"), xytext=(4, -2),
                textcoords="offset points", va="top", fontsize=8, color=MUTED,
            )  # fmt: skip
        axes.set_yticks(heights, labels)
        for label, row in zip(axes.get_yticklabels(), rows, strict=True):
            label.set_fontsize(8 if row.is_part else 9.5)
            label.set_color(MUTED if row.is_part else INK)
        axes.set_ylim(height + 0.7, 0.1)
        axes.set_xlim(start, stop)
        axes.grid(axis="y", visible=False)
        axes.spines["left"].set_visible(False)
        # Arrows at the edge extend beyond the axes.
        axes.tick_params(axis="y", length=0, pad=7)
        finish(axes, title=title, xlabel=xlabel)
        if not rows:
            _draw_empty(axes)
        return figure


def shorten_labels(labels: Sequence[str]) -> list[str]:
    """Returns labels short enough to leave room for a plot: without their common folder, and wrapped."""
    paths = [PurePath(label.partition("?")[0]) for label in labels]
    parents = [path.parent for path in paths if len(path.parts) > 1]
    common_folder = (
        os.path.commonpath(parents)
        if len(parents) > 1 and len({parent.is_absolute() for parent in parents}) == 1
        else ""
    )
    prefix = f"{common_folder.rstrip('/')}/" if common_folder else ""
    return [wrap_text(label.removeprefix(prefix), _MAX_LABEL_LETTERS) for label in labels]


def _draw_level(axes: Axes, curve: Curve) -> None:
    """Draws a horizontal line at a value, with a hollow mark at its end."""
    axes.axhline(
        curve.values[0], label=curve.label, color=phase_colour(curve.phase), linestyle=(0, (4, 2)), linewidth=1.3,
        alpha=0.85, marker=phase_marker(curve.phase), markerfacecolor=PAPER, markersize=6, markevery=[1],
        clip_on=False,
    )  # fmt: skip


def _draw_whisker(axes: Axes, row: Whisker, height: float, start: float, stop: float) -> None:
    default_colour = MUTED if row.is_baseline else INK if row.is_reference else phase_colour(0)
    colour = default_colour if row.phase is None else phase_colour(row.phase)
    low, high = start if row.low is None else row.low, stop if row.high is None else row.high
    width = 1.2 if row.is_part else 2.2
    axes.plot([low, high], [height, height], color=colour, linewidth=width, solid_capstyle="butt", zorder=2)
    for end, marker, is_open in ((low, "<", row.low is None), (high, ">", row.high is None)):
        axes.plot(
            [end], [height], color=colour, marker=marker if is_open else "|", markersize=5 if row.is_part else 7,
            markeredgewidth=width, zorder=2,
        )  # fmt: skip
    axes.plot(
        [row.value], [height], color=colour, marker="D" if row.is_reference else phase_marker(row.phase or 0),
        markersize=4 if row.is_part else 7.5, markerfacecolor=PAPER if row.is_baseline else colour,
        markeredgewidth=1.6, zorder=3,
    )  # fmt: skip
    # Points on one another are darker than one.
    points_height = [height + _POINTS_HEIGHT] * len(row.parts)
    axes.plot(
        row.parts, points_height, color=colour, marker="o", markersize=4, linestyle="", markeredgewidth=0, alpha=0.6
    )
    if row.note:
        axes.annotate(
            row.note, (1.0, height), xycoords=("axes fraction", "data"), xytext=(6, 0),
            textcoords="offset points", va="center", fontsize=7.5 if row.is_part else 8.5, color=MUTED,
        )  # fmt: skip


def _draw_values(axes: Axes, times: np.ndarray, values: np.ndarray, shares: np.ndarray, edges: np.ndarray) -> None:
    phases = shares.argmax(axis=1)
    starts = [row for row in range(len(phases)) if row == 0 or phases[row] != phases[row - 1]]
    for start, stop in pairwise([*starts, len(phases)]):
        axes.axvspan(edges[start], edges[stop], color=phase_colour(int(phases[start])), alpha=0.10, linewidth=0)
    axes.axhline(0, color=MUTED, linewidth=0.8)
    # Single values draw no line: in a short game only the markers are visible.
    marker = "o" if len(times) <= _FEW_VALUES else None
    axes.plot(times + 0.5 * (edges[1:] - edges[:-1]), values, color=INK, linewidth=1.6, marker=marker, markersize=4)
    axes.set_ylim(-1.05, 1.05)
    axes.set_yticks([-1, -0.5, 0, 0.5, 1])
    axes.grid(axis="x", visible=False)


def _phase_legend(figure: Figure, phase_names: Sequence[str]) -> None:
    from matplotlib.patches import Patch

    legend_below(figure, [Patch(color=phase_colour(phase)) for phase in range(len(phase_names))], phase_names)


def _phase_weights(weights: ArrayLike, num_phases: int) -> np.ndarray:
    array = np.asarray(weights)
    if array.ndim == 1:
        return np.eye(num_phases)[array.astype(np.int64)]
    if array.ndim != 2 or array.shape[1] != num_phases:
        raise ValueError(f"expected weights [T, {num_phases}] or phases [T], got an array of shape {array.shape}")
    return array


def _draw_empty(axes: Axes) -> None:
    axes.text(0.5, 0.5, "nothing measured", transform=axes.transAxes, ha="center", va="center", color=MUTED)

"""The style of plots: one colour per phase, chosen to be distinguishable by colour-blind readers."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# In inline SVG, the page replaces these four and the first phase's blue by its own colours, so that plots follow light
# and dark mode.
INK = "#1f2a36"
MUTED = "#6b7783"
GRID = "#dde2e7"
PAPER = "#fefefe"
DARK = "#14202b"

# Okabe and Ito (2008), Color Universal Design, ordered such that neighbours also differ in lightness.
PHASE_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#8C6D31", "#F0E442")
PHASE_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
PHASE_INKS = ("white", DARK, DARK, DARK, DARK, DARK, "white", DARK)
"""Text on the phases' colours: white or dark, whichever has the higher contrast, which is 4.2 to 1 or more."""

_LETTERS_PER_INCH = 12.5
"""Letters of ordinary size; titles have fewer."""
_TITLE_LETTERS_PER_INCH = 8.5
LEGEND_LETTERS = 32
"""Letters per line of a legend beside a plot."""
_HANDLE_LETTERS = 8
"""Width of the marker in a legend, including the gap after it, in letters."""
_MAX_COLUMNS = 5
"""Maximum number of columns of a legend below a plot."""
_LINE_HEIGHT = 0.165
"""Height of a legend's line in inches."""


def phase_colour(phase: int | None) -> str:
    """Returns the colour of a phase, the same in every plot; None stands for all phases together."""
    return MUTED if phase is None else PHASE_COLOURS[phase % len(PHASE_COLOURS)]


def phase_ink(phase: int) -> str:
    """Returns the colour of text on the colour of a phase."""
    return PHASE_INKS[phase % len(PHASE_INKS)]


def phase_marker(phase: int | None) -> str:
    """Returns the marker of a phase, so that colour is never the only difference."""
    return "o" if phase is None else PHASE_MARKERS[phase % len(PHASE_MARKERS)]


@contextmanager
def drawing() -> Iterator[None]:
    """Applies the style of reports within the block, for drawing and for saving figures."""
    import matplotlib

    with matplotlib.rc_context(_settings()), warnings.catch_warnings():
        # Users' names may contain characters that the font lacks; a box is drawn for these, without a warning.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        yield


def new_figure(width: float, height: float) -> Figure:
    """Returns an empty figure of a size in inches, without pyplot's global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def finish(axes: Axes, *, title: str = "", xlabel: str = "", ylabel: str = "") -> None:
    """Sets an axes' title, left-aligned and wrapped, and its labels."""
    axes.set_title(wrap_text(title, int(_TITLE_LETTERS_PER_INCH * _width(axes))), loc="left")
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)


def wrap_text(text: str, max_letters: int) -> str:
    """Wraps text to lines of at most `max_letters` letters.

    Breaks at spaces, after commas, where a part of a path or an option begins, and within words longer than a line.
    """
    lines = [""]
    for part in re.findall(rf"[\s/?&]?[^\s/?&,]{{0,{max(max_letters - 2, 1)}}},?", text):
        if lines[-1] and len(lines[-1] + part) > max_letters:
            lines.append("")
        lines[-1] += part if lines[-1] else part.lstrip()
    return "\n".join(lines)


def name_columns(axes: Axes, names: Sequence[str]) -> None:
    """Labels the columns of a plot, wrapped so that labels do not overlap."""
    num_letters = int(0.6 * _LETTERS_PER_INCH * _width(axes) / max(len(names), 1))
    axes.set_xticks(range(len(names)), [wrap_text(name, max(num_letters, 4)) for name in names])


def legend_beside(axes: Axes, **options: Any) -> None:
    """Draws the legend of an axes at its right, and increases the figure's height to fit it."""
    handles, names = axes.get_legend_handles_labels()
    names = [wrap_text(name, LEGEND_LETTERS) for name in names]
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.set_figheight(max(figure.get_figheight(), 1 + _LINE_HEIGHT * sum(1.2 + name.count("\n") for name in names)))
    axes.legend(handles, names, loc="upper left", bbox_to_anchor=(1.0, 1.0), **options)


def legend_below(figure: Figure, handles: Sequence[Artist], names: Sequence[str]) -> None:
    """Draws a legend below a figure, which grows by its height, in as many columns as fit."""
    num_letters = int(_LETTERS_PER_INCH * figure.get_figwidth())
    names = [wrap_text(name, num_letters // 2 - _HANDLE_LETTERS) for name in names]
    longest_line = max((len(line) for name in names for line in name.split("\n")), default=0)
    ncols = min(max(num_letters // (longest_line + _HANDLE_LETTERS), 1), _MAX_COLUMNS, max(len(names), 1))
    num_lines = -(-len(names) // ncols) * max((name.count("\n") + 1 for name in names), default=0)
    figure.set_figheight(figure.get_figheight() + 1.2 * _LINE_HEIGHT * max(num_lines - 1, 0))
    figure.legend(handles, names, loc="outside lower center", ncols=ncols, handlelength=1.2)


def whole_ticks(axis: Axis) -> None:
    """Restricts the ticks of an axis to whole numbers, such as steps, plies or games, however short it is."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins="auto", integer=True, min_n_ticks=1))


def _width(axes: Axes) -> float:
    """Returns the width of an axes' figure in inches."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    return float(figure.get_figwidth())


def _settings() -> Any:
    return {
        "axes.axisbelow": True,
        "axes.edgecolor": MUTED,
        "axes.grid": True,
        "axes.labelcolor": INK,
        "axes.labelsize": 9.5,
        "axes.linewidth": 0.8,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlecolor": INK,
        "axes.titlesize": 11,
        "axes.titleweight": "bold",
        "axes.titlepad": 10,
        "figure.dpi": 110,
        "font.family": "DejaVu Sans",
        "font.size": 9.5,
        "grid.color": GRID,
        "grid.linewidth": 0.8,
        "legend.fontsize": 9,
        "legend.frameon": False,
        "lines.linewidth": 1.9,
        "savefig.dpi": 160,
        "svg.fonttype": "path",
        "svg.hashsalt": "moemcts",
        "text.color": INK,
        # Users' names may contain dollar signs; no text here is TeX.
        "text.parse_math": False,
        "xtick.color": MUTED,
        "xtick.labelcolor": INK,
        "ytick.color": MUTED,
        "ytick.labelcolor": INK,
    }

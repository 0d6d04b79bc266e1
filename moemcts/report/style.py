"""How the plots look: one style, one colour per phase, colours that colour-blind readers tell apart."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The page replaces these four and the first phase's blue in inline SVG by its own colours, so that plots follow
# light and dark.
INK = "#1f2a36"
MUTED = "#6b7783"
GRID = "#dde2e7"
PAPER = "#fefefe"

# Okabe and Ito (2008), Color Universal Design, in an order in which neighbours differ in lightness too.
PHASE_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#8C6D31", "#F0E442")
PHASE_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def phase_colour(phase: int | None) -> str:
    """Returns the colour of a phase, the same in every plot; that of all phases together for None."""
    return MUTED if phase is None else PHASE_COLOURS[phase % len(PHASE_COLOURS)]


def phase_marker(phase: int | None) -> str:
    """Returns the marker of a phase, so that colour is never the only difference."""
    return "o" if phase is None else PHASE_MARKERS[phase % len(PHASE_MARKERS)]


@contextmanager
def drawing() -> Iterator[None]:
    """Draws in the style of the reports; figures are saved under it too."""
    import matplotlib

    with matplotlib.rc_context(_settings()), warnings.catch_warnings():
        # Names of users may have letters that the font lacks: a box is drawn, and that is all there is to say.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        yield


def new_figure(width: float, height: float) -> Figure:
    """Returns an empty figure of a size in inches; nothing global knows of it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def finish(axes: Axes, *, title: str = "", xlabel: str = "", ylabel: str = "") -> None:
    """Gives an axes its words, the title flush left."""
    axes.set_title(title, loc="left")
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)


def whole_ticks(axes: Axes) -> None:
    """Has ticks at whole numbers alone on the x axis, as of steps and plies, however short it is."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(nbins="auto", integer=True, min_n_ticks=1))


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
        # Names of users may have dollars in them; nothing here is written in TeX.
        "text.parse_math": False,
        "xtick.color": MUTED,
        "xtick.labelcolor": INK,
        "ytick.color": MUTED,
        "ytick.labelcolor": INK,
    }

"""Plots show what they are given, whole, however much that is and whatever it is called."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure as Drawing
from matplotlib.text import Text

from moemcts.arena.rating import elo
from moemcts.report import Figure, Report, Section, write_report
from moemcts.report.attributions import cell_maps
from moemcts.report.fields import FIELD
from moemcts.report.plots import (
    Curve,
    Whisker,
    elo_ratings,
    loss_curves,
    phase_shares,
    phase_timeline,
    shorten_labels,
    win_rates,
)
from moemcts.report.strength import strength_curve
from moemcts.report.style import DARK, PHASE_COLOURS, drawing, phase_colour, phase_ink
from moemcts.report.tournaments import grid_heat, grid_lines

PHASES = ("opening", "middlegame", "endgame")


def test_a_timeline_shows_a_game_of_one_move() -> None:
    figure = phase_timeline([0], PHASES, values=[0.5], plies=[4], start=4, stop=5)
    (line,) = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    assert np.asarray(line.get_ydata()).tolist() == [0.5]


def test_elo_of_which_nothing_is_known_has_an_axis_that_shows_so() -> None:
    figure = elo_ratings([Whisker(label="experts", value=0.0, low=None, high=None)])
    first, last = figure.axes[0].get_xlim()
    assert first == -last
    assert last - first >= 100
    known = elo_ratings([Whisker(label="experts", value=1.0, low=0.0, high=2.0)])
    assert known.axes[0].get_xlim()[1] < 3


def test_a_phase_has_one_colour_that_no_other_has() -> None:
    assert len({phase_colour(phase) for phase in range(len(PHASE_COLOURS))}) == len(PHASE_COLOURS)
    assert phase_colour(None) not in PHASE_COLOURS


def test_text_on_a_phases_colour_has_the_higher_contrast_of_white_and_dark() -> None:
    """Contrast by WCAG 2.1."""

    def luminance(colour: str) -> float:
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)]
        return float(np.dot([0.2126, 0.7152, 0.0722], linear))

    def contrast(one: str, other: str) -> float:
        darker, lighter = sorted((luminance(one), luminance(other)))
        return (lighter + 0.05) / (darker + 0.05)

    for phase, colour in enumerate(PHASE_COLOURS):
        assert contrast(colour, phase_ink(phase)) == max(contrast(colour, ink) for ink in ("white", DARK)) > 4.2


def test_names_of_folders_leave_room_for_the_plot() -> None:
    options = "?uniform_share=1&rollout_plies=20&leaves=1&backend=onnxruntime"
    long = [f"/home/somebody/of/several/folders/runs/self-{name}/generations/0001/experts" for name in ("a", "b")]
    assert shorten_labels([*long, "simple"]) == [
        "self-a/generations/0001/experts",
        "self-b/generations/0001/experts",
        "simple",
    ]
    assert shorten_labels([long[0] + options])[0].replace("\n", "") == long[0] + options
    assert shorten_labels(["runs/x/single-0" + options, "runs/x"])[0].splitlines() == [
        "x/single-0?uniform_share=1",
        "&rollout_plies=20&leaves=1",
        "&backend=onnxruntime",
    ]
    assert shorten_labels([]) == []
    figure = elo_ratings([Whisker(label=name + options, value=0, low=-1, high=1) for name in long])
    figure.draw_without_rendering()
    assert figure.axes[0].get_position().width > 0.5


@pytest.mark.parametrize("name", ["$_{$", "runs/$a$/steps"])
def test_dollars_in_names_are_dollars(name: str, tmp_path: Path) -> None:
    image = elo_ratings([Whisker(label=name, value=1.0, low=0.0, high=2.0, note=name)], title=name)
    found = [text for text in image.findobj(Text) if "$" in text.get_text()]
    assert len(found) >= 3
    assert not any(text.get_parse_math() for text in found)
    write_report(tmp_path, Report(name, name, [Section(name, figures=[Figure("elo", image, name)])]))


def test_a_timeline_needs_a_weight_for_every_phase() -> None:
    with pytest.raises(ValueError, match=r"expected weights \[T, 3\]"):
        phase_timeline(np.ones((5, 2)), PHASES)
    with pytest.raises(ValueError, match="expected 3 shares"):
        phase_shares({"x": [1, 2]}, PHASES)


def test_plots_of_nothing_say_so(tmp_path: Path) -> None:
    empty = [
        Figure("a", loss_curves([]), ""),
        Figure("b", win_rates([]), ""),
        Figure("c", phase_timeline([], PHASES), ""),
    ]
    write_report(tmp_path, Report("empty", "", [Section("s", figures=empty)]))
    assert (tmp_path / "figures/c.png").exists()


def test_generations_steps_and_plies_are_whole_numbers_on_the_axis() -> None:
    figures = [
        strength_curve([0, 2, 5], [0.0, 50.0, 90.0], [10.0] * 3, {}),
        loss_curves([Curve(label="a", steps=[15], values=[1.0])]),
        phase_timeline([0, 1], ["a", "b"], values=[0.1, 0.2]),
    ]
    for figure in figures:
        assert all(tick == int(tick) for tick in figure.axes[-1].get_xticks())


def test_a_weak_opponent_does_not_flatten_the_strength_of_generations() -> None:
    figure = strength_curve([1, 2, 5], [0.0, 50.0, 90.0], [10.0] * 3, {"random": -900.0, "uct": 70.0})
    (axes,) = figure.axes
    assert axes.get_ylabel() == "Elo over generation 1"
    low, high = axes.get_ylim()
    assert high - low < 250
    legend = axes.get_legend()
    assert legend is not None
    told = ["95 % interval", "generations", "uct +70", "↓ random -900"]
    assert [text.get_text() for text in legend.get_texts()] == told


def test_names_of_opponents_of_equal_strength_do_not_hide_each_other() -> None:
    others = {"uct": 70.0, "single": 70.0, "experts": 72.0, "random": -900.0, "first": -950.0}
    figure = strength_curve([1, 2, 5], [0.0, 50.0, 90.0], [10.0] * 3, others)
    figure.canvas.draw()
    names = [text for text in figure.findobj(Text) if any(name in text.get_text() for name in others)]
    assert len(names) == len(others)
    for one, other in combinations([text.get_window_extent() for text in names], 2):
        assert not one.overlaps(other)


def test_what_a_row_sums_up_lies_on_one_line_under_it_and_within_the_plot() -> None:
    rows = [
        Whisker(label="a", value=0.5, low=0.4, high=0.6, parts=[0.1, 0.5, 0.9]),
        Whisker(label="b", value=0.5, low=0.4, high=0.6),
    ]
    (axes,) = win_rates(rows).axes
    (points,) = [line for line in axes.lines if list(line.get_xdata()) == [10, 50, 90]]
    (height,) = set(points.get_ydata())
    first, second = axes.get_yticks()
    assert first < height < second
    assert axes.get_xlim()[0] < 10 < 90 < axes.get_xlim()[1]


def test_the_yardstick_is_not_coloured_as_experts_are() -> None:
    rows = [
        Whisker(label=label, value=0.5, low=0.4, high=0.6, is_baseline=label == "single", is_reference=label == FIELD)
        for label in ("single", "experts", FIELD)
    ]
    colours = [line.get_color() for line in win_rates(rows).axes[0].lines if line.get_marker() in ("o", "D")]
    assert len(set(colours)) == 3


def test_titles_of_maps_fit_and_their_colours_have_a_unit() -> None:
    maps = {f"expert {name}": (name, np.ones((8, 8), dtype=np.float32)) for name in ("policy", "value")}
    title = "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3 and more, seen by player 0"
    figure = cell_maps(maps, columns=2, rows_upward=True, title=title)
    figure.canvas.draw()
    head = figure._suptitle  # type: ignore[attr-defined]
    assert head.get_window_extent().x1 <= figure.bbox.x1
    assert {axes.get_ylabel() for axes in figure.axes} == {"", "policy, nats", "value"}


LONG = [f"a phase with a long name, number {number}" for number in range(12)]
GRID = {(row, f"{column} hundred nodes"): elo(10, 5, 5) for row in LONG[:3] for column in range(8)}


@pytest.mark.parametrize(
    "draw",
    [
        lambda: loss_curves([Curve(label=f"{name}, single network", steps=[1, 2], values=[1, 2]) for name in LONG]),
        lambda: phase_shares({"training data": [1.0] * 12}, LONG),
        lambda: phase_timeline(np.full((4, 12), 1 / 12), LONG, values=[0.0] * 4, title=f"One game by {LONG}"[:150]),
        lambda: strength_curve([0, 1], [0.0, 9.0], [3.0, 3.0], dict.fromkeys(LONG, -900.0) | {"x" * 99: 9.0}),
        lambda: elo_ratings([Whisker(label="x" * 120, value=1.0, low=0.0, high=None)]),
        lambda: grid_lines(GRID, title="Equal nodes", xlabel="limit", legend="gate"),
        lambda: grid_heat(GRID, title="Equal nodes", xlabel="limit", ylabel="gate"),
    ],
    ids=["losses", "shares", "timeline", "strength", "elo", "lines", "heat"],
)
@pytest.mark.filterwarnings("error:constrained_layout not applied")
def test_long_names_and_many_are_within_the_plot(draw: Callable[[], Drawing]) -> None:
    figure = draw()
    with drawing():
        figure.canvas.draw()
    found = figure.findobj(Text)
    # Of the numbers at an axis some are beyond its end, and not drawn.
    texts = [text for text in found if text.get_visible() and any(map(str.isalpha, text.get_text()))]
    for text in texts:
        extent = text.get_window_extent()
        assert extent.x0 >= -1, text.get_text()
        assert extent.x1 <= figure.bbox.x1 + 1, text.get_text()
        assert extent.y0 >= -1, text.get_text()
    # What is drawn is not crowded out by what is said of it.
    assert all(axes.get_position().height * figure.get_figheight() > 0.3 for axes in figure.axes)
    assert figure.axes[0].get_position().width > 0.4

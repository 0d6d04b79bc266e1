"""The report says what was measured, in files that stand alone."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markdown_it import MarkdownIt

from moemcts.arena import Difference, GameRecord, MatchResult, Outcome
from moemcts.arena.rating import elo_of_score
from moemcts.errors import MoemctsError, UsageError
from moemcts.learn.assessment import PhaseLosses
from moemcts.report import Figure, Report, Section, Table, write_report
from moemcts.report.contest import Contest, NoContest
from moemcts.report.curves import FinalLosses, curve_figures
from moemcts.report.duels import AgainstSingle
from moemcts.report.fields import FIELD, AgainstField
from moemcts.report.leaderboard import leaderboard
from moemcts.report.losses import loss_table
from moemcts.report.markup import render_prose, render_template
from moemcts.report.plots import (
    Curve,
    Whisker,
    differences,
    elo_ratings,
    loss_curves,
    phase_shares,
    phase_timeline,
    win_rates,
)
from moemcts.report.solo import Solo
from moemcts.report.style import phase_colour
from moemcts.report.tables import escape_markdown, format_p_value, format_points

PHASES = ("opening", "middlegame", "endgame")


def record(index: int, label: str, outcome: Outcome, board: int, seat: int) -> GameRecord:
    return GameRecord(
        index=index,
        label=label,
        agents=(label, "field"),
        opening=f"seed {board}",
        start_key=board,
        focus=seat,
        returns=(0.0, 0.0),
        outcome=outcome,
        plies=10 + index,
        truncated=False,
        moves=((index,),),
    )


def small_result() -> MatchResult:
    outcomes: list[tuple[Outcome, Outcome]] = [("win", "loss"), ("win", "tie"), ("loss", "loss"), ("tie", "win")]
    records = [
        record(2 * i + k, name, pair[k], i // 2, i % 2)
        for i, pair in enumerate(outcomes)
        for k, name in enumerate(("experts", "single"))
    ]
    return MatchResult("tiny", ("experts", "single"), 2, "single", 0.5, tuple(records))


def figures() -> list[Figure]:
    curves = [
        Curve(label="expert", steps=[0, 1, 2], values=[3, 2, 1], phase=0),
        Curve(label="single", steps=[0], values=[2], phase=0, is_baseline=True),
    ]
    rows = [
        Whisker(label="experts", value=0.5, low=0.4, high=0.6, note="100 games"),
        Whisker(label="seed 0", value=0.55, low=0.3, high=None, is_part=True),
    ]
    return [
        Figure("loss", loss_curves(curves), "Loss of 1 & 2."),
        Figure("wins", win_rates(rows), "Wins of <100> games."),
        Figure("differences", differences(rows), "Differences."),
        Figure("elo", elo_ratings(rows), "Elo."),
        Figure("shares", phase_shares({"steps": [1, 2, 1]}, PHASES), "Shares."),
        Figure(
            "timeline", phase_timeline([0, 0, 1, 2, 1], PHASES, values=[0, 0.5, 1, -1, 0], events=[(2, "out")]), "Game."
        ),
        Figure("strip", phase_timeline(np.full((6, 3), 1 / 3), PHASES), "Strip."),
    ]


def small_report() -> Report:
    table = Table(["arm", "games", "wins %"], [["a|b", 3, 12.345], ["<c>", 4, None]], "Of 7 games.")
    section = Section("Result", "One `x < y`.\n\n- first\n- **second**", [table], figures())
    numbers = {
        "nan": float("nan"),
        "array": np.arange(3),
        "number": np.float32(0.5),
        "estimate": small_result().difference("experts").wins,
    }
    return Report("A & B", "no difference shown", [section], numbers)


class Strict(HTMLParser):
    """Remembers ids, references and what is left open."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.open: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "img", "link", "br"):
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href", "xlink:href"):
                self.addresses.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_stands_alone(tmp_path: Path) -> None:
    write_report(tmp_path, small_report())
    page = (tmp_path / "report.html").read_text()
    parsed = Strict()
    parsed.feed(page)
    assert parsed.open == []
    assert len(parsed.ids) == len(set(parsed.ids))
    inner = [address for address in parsed.addresses if address.startswith("#")]
    assert inner
    assert {address[1:] for address in inner} <= set(parsed.ids)
    assert all(address.startswith("#") for address in parsed.addresses)
    assert set(re.findall(r"url\(#([^)]*)\)", page)) <= set(parsed.ids)
    assert "prefers-color-scheme: dark" in page
    assert "{{" not in page


def test_what_is_wider_than_a_phone_scrolls_and_keeps_its_letters(tmp_path: Path) -> None:
    write_report(tmp_path, small_report())
    page = (tmp_path / "report.html").read_text()
    widths = re.findall(r'<div class="wide"><svg role="img" [^>]*style="min-width:(\d+)px;max-width:(\d+)px"', page)
    assert len(widths) == len(figures())
    assert all(0.7 < int(least) / int(most) < 0.8 for least, most in widths)


def test_text_of_users_is_never_markup(tmp_path: Path) -> None:
    write_report(tmp_path, small_report())
    page = (tmp_path / "report.html").read_text()
    assert "<c>" not in page
    assert "&lt;c&gt;" in page
    assert "<code>x &lt; y</code>" in page
    assert "<title>A &amp; B</title>" in page
    assert "a\\|b" in (tmp_path / "report.md").read_text()
    assert render_prose("[x](javascript:alert(1)) and [y](figures/a.png)") == (
        '<p>[x](javascript:alert(1)) and <a href="figures/a.png">y</a></p>'
    )


def test_text_has_lists_code_bold_and_links_and_all_else_stays_as_it_is_written() -> None:
    assert render_prose("a **b** `**c**` d\n\n- e\n- _f_ *g*") == (
        "<p>a <strong>b</strong> <code>**c**</code> d</p>\n<ul>\n<li>e</li>\n<li>_f_ *g*</li>\n</ul>"
    )
    for text in ("# a", "> a", "a __b__ c", "&amp; a\\*", "uct?c=1.4*2*3"):
        shown = render_prose(text).removeprefix("<p>").removesuffix("</p>")
        assert unescape(shown) == text


def test_names_in_the_markdown_are_no_markup_either(tmp_path: Path) -> None:
    bad = "<img src=x onerror=alert(1)> [x](javascript:alert(1))\n# y"
    table = Table([bad], [[bad]], bad)
    image = Figure("loss", loss_curves([]), bad)
    write_report(
        tmp_path, Report(bad, f"{bad} `{'<kept>'}` [page](https://a.b)", [Section(bad, bad, [table], [image])])
    )
    text = (tmp_path / "report.md").read_text()
    assert "<img" not in text
    assert not re.search(r"(?<!\\)\]\(javascript", text)
    assert "`<kept>`" in text
    assert "[page](https://a.b)" in text
    assert text.startswith("# &lt;img src=x onerror=alert(1)> [x\\](javascript:alert(1)) # y\n")


NAMES = ("mlp?width=32&layers=2", "uct?c_init=2.5&first_play_urgency=parent", "runs/a_b/experts/steps-0", "p < 0.001")
MARKUP = (
    "<b>x</b>", "<!-- x -->", "&lt;b&gt;", "&#42;", "a&copy;b", "[x](figures/a.png)", "`x`", "``", "*x*", "a*b*c",
    "__x__", "_x_ y", "~x~", "~~x~~", "\\*x\\*", "a\\`b`", "https:x|y", "> 3", ">> 3", "# x", "- x", "1. x", "a_*b_*",
)  # fmt: skip


@pytest.mark.parametrize("name", [*NAMES, *MARKUP])
def test_cells_of_the_markdown_read_as_they_are_written(name: str) -> None:
    written = Table([name, "b"], [[name, name]]).markdown()
    if name in NAMES:
        assert written.count(name) == 3
    html = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(written)
    cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", html)
    assert [unescape(cell) for cell in cells] == [name, "b", name, name]
    assert not any("<" in cell for cell in cells)


@pytest.mark.parametrize("line", ["> x", "- > x", "1. > x", "  >> x", "<b>", "a < b & c > d", "&amp; &"])
def test_prose_of_the_markdown_quotes_nothing_and_has_no_html(line: str) -> None:
    html = MarkdownIt("commonmark").render(escape_markdown(line))
    assert "<blockquote>" not in html
    assert "<b>" not in html
    assert unescape(re.sub("<[^>]*>", "", html)).strip() == re.sub(r"^(-|1\.)?\s*", "", line)


def losses(*values: float) -> list[PhaseLosses]:
    return [
        PhaseLosses(f"network {i}", {"all": value}, {"all": 0.0}, {"all": 0.5}, {"all": 10.0})
        for i, value in enumerate(values)
    ]


def test_small_differences_of_losses_have_faint_colours() -> None:
    table = loss_table(losses(2.00, 2.03), "on samples", policy_weight=1.0, value_weight=0.0)
    tints = [row[1] for row in table.tints]
    assert all(tint is not None and abs(tint - 0.5) < 0.05 for tint in tints)
    assert tints[0] > tints[1]  # type: ignore[operator]
    large = loss_table(losses(1.0, 2.0), "on samples", policy_weight=1.0, value_weight=0.0)
    assert [row[1] for row in large.tints] == [1.0, 0.0]
    assert "full at 20 % from it" in render_template("table.html", table=large)
    assert "20 %" not in large.text(), "a terminal has no colours"
    alike = loss_table(losses(1.0, 1.0), "on samples", policy_weight=1.0, value_weight=0.0)
    assert "full at 20 % from it" not in render_template("table.html", table=alike), "nothing is coloured"


def test_a_caption_names_the_baseline_only_where_it_is_and_as_it_is() -> None:
    def caption(num_measured: int) -> str:
        entries = [{"stage": "all", "step": i, "experts": ["a"], "phases": {"a": {"loss": 1.0}}} for i in range(3)]
        (figure,) = curve_figures(["a"], entries, entries[:num_measured], seed=3)
        return figure.caption

    assert caption(0).endswith("of its own phase, seed 3.")
    assert caption(1).endswith("hollow the baseline, which was measured once.")
    assert caption(3).endswith("dashed the baseline.")
    (figure,) = curve_figures(
        ["a", "b"], [{"stage": "", "step": 1, "experts": ["a"], "phases": {"a": {"loss": 1}}}], seed=3
    )
    assert figure.caption.endswith("seed 3. Nothing was measured of b.")


def test_each_expert_stands_beside_the_expert_of_the_baseline_for_its_phase() -> None:
    entries = [
        {"stage": name, "step": step, "experts": [name], "phases": {"a": {"loss": loss}, "b": {"loss": loss}}}
        for name, loss in (("a", 1.0), ("b", 2.0))
        for step in (1, 2)
    ]
    (figure,) = curve_figures(["a", "b"], entries, entries, seed=3)
    (axes,) = figure.image.axes  # type: ignore[union-attr]
    drawn = {str(line.get_label()): (list(line.get_xdata()), list(line.get_ydata())) for line in axes.lines}
    assert drawn["a, baseline"] == ([1, 2], [1.0, 1.0])
    assert drawn["b, baseline"] == ([1, 2], [2.0, 2.0])


def test_experts_are_compared_with_what_was_reached_on_their_own_phase() -> None:
    final_losses = FinalLosses(
        name="single network", samples="held-out", losses={"a": 0.5, "b": 2.0, "all": 1.0, "c": None}
    )
    names = ["a", "b", "c"]
    entries: list[Any] = [
        {"stage": "all", "step": i, "experts": [name], "phases": {name: {"loss": 1.0}}, "test": {name: {"loss": 1.0}}}
        for name in names
        for i in range(2)
    ]
    validation, test = curve_figures(names, entries, seed=4, final_losses=final_losses)
    (axes,) = validation.image.axes  # type: ignore[union-attr]
    levels = {line.get_label(): line for line in axes.lines if str(line.get_label()).endswith("single network")}
    assert {label: set(line.get_ydata()) for label, line in levels.items()} == {
        "a, single network": {0.5}, "b, single network": {2.0}
    }  # fmt: skip
    assert [line.get_color() for line in levels.values()] == [phase_colour(0), phase_colour(1)]
    assert validation.caption.endswith("seed 4; dashed: what the single network reached on the same phase in the end.")
    # It was measured on other samples than these.
    assert test.caption.endswith("of its own phase, seed 4.")
    assert len(test.image.axes[0].lines) == 3  # type: ignore[union-attr]


def test_few_games_are_said_to_be_too_few_before_anything_else() -> None:
    contest = AgainstField((small_result(),), (0,), limit="8 simulations", field="somebody")
    assert contest.caveats()[0].startswith("Too few games to tell: 4 per arm.")
    many = AgainstField((small_result(),) * 13, tuple(range(13)), limit="8 simulations", field="somebody")
    assert many.num_games >= 50
    assert many.caveats() == []


@pytest.mark.parametrize("kind", [AgainstField, AgainstSingle, Solo])
def test_captions_say_on_how_many_boards_an_interval_rests(kind: type[Contest]) -> None:
    # Two boards, on each of which both arms sit in both seats.
    fields: dict[str, Any] = {"field": "somebody"} if kind is AgainstField else {}
    one, three = (kind((small_result(),) * n, tuple(range(n)), limit="8 simulations", **fields) for n in (1, 3))
    for contest, boards, seeds in ((one, "2 boards", "1"), (three, "2 boards per training seed", "3")):
        section = contest.section("With search", "searched")
        assert f": {boards}; {seeds} training seed" in section.tables[0].caption
        assert f"games per arm on {boards}, with" in section.figures[0].caption


def test_findings_say_what_their_intervals_cover() -> None:
    one, three = (
        AgainstField((small_result(),) * n, tuple(range(n)), limit="8 simulations", field="somebody") for n in (1, 3)
    )
    assert one.scope() == [
        "With one training seed, this holds only for these networks, not for others trained the same way."
    ]
    assert three.scope() == [
        "With 3 training seeds this holds for others trained the same way on the same samples, not for other samples."
    ]
    best = [replace(game, label="best") for game in small_result().records if game.label == "experts"]
    result = replace(small_result(), arms=("single", "experts", "best"), records=(*small_result().records, *best))
    many = AgainstField((result,), (0,), limit="8 simulations", field="somebody")
    assert many.scope()[1].startswith(
        "2 arms are compared with the single network, and the intervals are not corrected"
    )
    # What chance and seats alone give is no comparison.
    by_chance = [replace(game, label=FIELD) for game in best]
    result = replace(result, arms=("single", "experts", FIELD), records=(*small_result().records, *by_chance))
    assert len(AgainstField((result,), (0,), limit="8 simulations", field="somebody").scope()) == 1
    assert NoContest(seeds=(0,)).scope() == []


def test_what_is_drawn_and_played_is_what_captions_name() -> None:
    one, three = (
        AgainstField((small_result(),) * n, tuple(range(n)), limit="8 simulations", field="somebody") for n in (1, 3)
    )
    assert "each training seed" not in one.section("With search", "searched").figures[0].caption
    assert "small: each training seed" in three.section("With search", "searched").figures[0].caption
    assert FIELD not in one.section("With search", "searched").tables[0].caption
    games = [replace(game, label=FIELD if game.label == "experts" else "single") for game in small_result().records]
    with_field = replace(small_result(), arms=(FIELD, "single"), records=tuple(games))
    caption = AgainstField((with_field,), (0,), limit="none", field="somebody").section("Raw", "raw").tables[0].caption
    assert "The arm called field is somebody itself in the arm's seat" in caption


def test_a_caption_says_where_p_is_from() -> None:
    one, three = (
        AgainstField((small_result(),) * n, tuple(range(n)), limit="8 simulations", field="somebody") for n in (1, 3)
    )
    for contest, text in ((one, "p is from signs of whole boards flipped"), (three, "p is from the same t")):
        assert text in contest.section("With search", "searched").tables[0].caption
    (found,) = (result.difference("experts") for result in one.results)
    assert one.difference("experts").p_value == found.p_value


def test_arms_that_are_no_baseline_are_compared_among_themselves() -> None:
    single, experts = (
        [game for game in small_result().records if game.label == name] for name in ("single", "experts")
    )
    best = [replace(game, label="best", outcome="win") for game in single]
    result = replace(small_result(), arms=("single", "experts", "best"), records=(*single, *experts, *best))
    contest = AgainstField((result,) * 2, (7, 8), limit="8 simulations", field="somebody")
    main, between, seats = contest.section("With search", "searched").tables
    assert [row[0] for row in main.rows] == ["single", "experts", "best"]
    assert [row[:2] for row in between.rows] == [["experts", "best"]]
    # Of four games the experts won two, the best all.
    assert str(between.rows[0][2]).startswith("-50.0 [")
    (pair,) = contest.numbers()["between"]
    assert (pair["arm"], pair["other"], pair["wins"], pair["num_pairs"]) == ("experts", "best", -0.5, 8)
    assert contest.numbers()["seeds"] == [7, 8]
    assert "seat 0" in seats.columns


def duel(outcomes: Sequence[Outcome]) -> MatchResult:
    games = tuple(record(index, "experts", outcome, index // 2, index % 2) for index, outcome in enumerate(outcomes))
    return MatchResult("tiny", ("experts",), 2, "experts", 0.5, games)


def test_a_training_seed_that_won_every_game_has_a_bound_and_no_estimate() -> None:
    contest = AgainstSingle(
        (duel(["win"] * 10), duel(["win", "loss"] * 5), duel(["loss"] * 10)), (0, 1, 2), limit="no search"
    )
    (table,) = contest.section("Policy alone", "raw").tables
    row = dict(zip(table.columns, table.rows[0], strict=True))
    assert row["Elo by seed"] == "> +182.7, +0.0, < -182.7"
    few = AgainstSingle((duel(["win", "loss", "loss", "loss"] * 2), duel(["win", "loss"])), (0, 1), limit="no search")
    (table,) = few.section("Policy alone", "raw").tables
    # A score that has no error has an estimate all the same.
    assert dict(zip(table.columns, table.rows[0], strict=True))["Elo by seed"] == "-190.8, +0.0"
    # Over three seeds that disagree as much as they can, nothing is known.
    assert row["Elo"] == "+0.0 […, …]"


def test_elo_has_the_interval_of_its_score() -> None:
    alike = AgainstSingle((duel(["win", "tie", "loss", "win"] * 25),), (0,), limit="no search")
    found = alike.scores("experts")
    low, high = (elo_of_score(0.5 + end) for end in found.interval)
    (table,) = alike.section("Policy alone", "raw").tables
    shown = dict(zip(table.columns, table.rows[0], strict=True))["Elo"]
    assert shown == f"{elo_of_score(0.625):+.1f} [{low:+.1f}, {high:+.1f}]"
    assert shown.replace(" [", " Elo, 95 % interval [") in alike.summary()[0]


def test_several_seeds_have_an_interval_of_their_networks_too() -> None:
    games = [["win", "tie", "win", "loss"] * 25, ["win", "win", "tie", "loss"] * 20 + ["loss"] * 20]
    for num in (1, 2):
        contest = AgainstSingle(tuple(duel(one) for one in games[:num]), tuple(range(num)), limit="no search")
        table = contest.section("Raw", "raw").tables[0]
        assert ("of these networks" in table.columns) == ("of these networks" in table.caption) == (num == 2)
        assert all(len(row) == len(table.columns) for row in table.rows)
    ends = contest.numbers()["arms"]["experts"]
    (low, high), (own_low, own_high) = ends["score_interval"], ends["own_score_interval"]
    assert low < own_low < own_high < high
    shown = table.rows[0][table.columns.index("of these networks")]
    own = [elo_of_score(bound) for bound in (own_low, own_high)]
    assert shown == f"[{own[0]:+.1f}, {own[1]:+.1f}]"
    field = AgainstField((small_result(),) * 2, (0, 1), limit="8 simulations", field="somebody")
    wide = field.section("With search", "searched").tables[0]
    assert "of these networks" in wide.columns
    assert all(len(row) == len(wide.columns) for row in wide.rows)


def test_every_contest_says_by_how_many_points_an_arm_is_above_the_single_network() -> None:
    field = AgainstField((small_result(),), (0,), limit="8 simulations", field="somebody")
    single = AgainstSingle((duel(["win", "tie", "win", "loss"] * 25),), (0,), limit="8 simulations")
    for contest, found, most in ((field, field.difference("experts"), 100), (single, single.scores("experts"), 50)):
        above = contest.points("experts")
        assert contest.numbers()["points"] == {"experts": asdict(above)}
        assert (above.mean, above.low, above.high) == tuple(100 * one for one in (found.mean, *found.interval))
        assert (above.variance, above.most) == (100**2 * found.own_variance, most)
    with pytest.raises(UsageError, match="no arm named 'experts'"):
        NoContest().points("experts")


def test_the_widest_table_fits_the_page() -> None:
    contest = AgainstField((small_result(),) * 3, (4, 5, 6), limit="8 simulations", field="somebody")
    table = contest.section("With search", "searched").tables[0]
    text = re.sub(r"<thead>.*?</thead>", "", render_template("table.html", table=table), flags=re.DOTALL)
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", text)]
    lines = [
        [max(len(line) for line in re.sub(r"<(?!br)[^>]*>", "", cell).split("<br>")) for cell in row] for row in rows
    ]
    # 14 px digits are 8 px wide, the padding of a cell is 2 x 9 px; the page has 896 px less its own padding.
    assert sum(8 * max(column) + 18 for column in zip(*lines, strict=True)) < 896 - 40


def test_the_markdown_shows_the_files_that_are_there(tmp_path: Path) -> None:
    write_report(tmp_path, small_report())
    text = (tmp_path / "report.md").read_text()
    files = re.findall(r"!\[[^\]]*\]\(([^)]*)\)", text)
    assert len(files) == len(figures())
    assert all((tmp_path / file).stat().st_size > 1000 for file in files)
    assert "| &lt;c> | 4 | – |" in text


def test_the_numbers_are_json_without_nan(tmp_path: Path) -> None:
    write_report(tmp_path, small_report())
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    assert numbers["nan"] is None
    assert numbers["array"] == [0, 1, 2]
    assert numbers["number"] == 0.5
    assert numbers["estimate"]["num_observations"] == 4


def test_the_same_report_has_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_report(tmp_path / name, small_report())
    assert (tmp_path / "a/report.html").read_bytes() == (tmp_path / "b/report.html").read_bytes()
    assert (tmp_path / "a/figures/loss.png").read_bytes() == (tmp_path / "b/figures/loss.png").read_bytes()


def test_images_of_files_are_taken_in(tmp_path: Path) -> None:
    write_report(tmp_path / "a", small_report())
    png = tmp_path / "a/figures/loss.png"
    report = Report("b", "", [Section("s", figures=[Figure("board", png, "A board.")])])
    write_report(tmp_path / "b", report)
    write_report(
        tmp_path / "b", Report("b", "", [Section("s", figures=[Figure("board", tmp_path / "b/figures/board.png", "")])])
    )
    assert (tmp_path / "b/figures/board.png").read_bytes() == png.read_bytes()
    assert "data:image/png;base64," in (tmp_path / "b/report.html").read_text()
    with pytest.raises(ValueError, match="expected an image in"):
        write_report(tmp_path, Report("c", "", [Section("s", figures=[Figure("x", Path("x.txt"), "")])]))


def test_a_report_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MoemctsError, match="cannot write the report"):
        write_report(tmp_path / "file", small_report())
    with pytest.raises(ValueError, match="different names"):
        write_report(tmp_path, Report("x", "", [Section("s", figures=[*figures(), *figures()])]))


def test_what_a_killed_writer_left_of_a_report_is_gone_with_the_next(tmp_path: Path) -> None:
    # Nobody's process has the number 0.
    left = [tmp_path / ".report.html.0-1.part", tmp_path / "figures" / ".elo.svg.0-1.part"]
    write_report(tmp_path, small_report())
    for path in left:
        path.write_text("half a page")
    write_report(tmp_path, small_report())
    assert not any(path.exists() for path in left)


def test_a_null_result_reads_as_one() -> None:
    difference: Difference = small_result().difference("experts")
    assert difference.verdict.startswith("undecided: +25.0 points, 95 % interval [-")
    assert difference.verdict.endswith("4 paired games")


def test_columns_of_numbers_are_right_aligned() -> None:
    table = Table(["name", "share", "interval"], [["x", "1.0 %", "[0.1, 0.2]"], ["y", None, None]])
    assert table.markdown().splitlines()[1] == "| --- | ---: | ---: |"
    assert Table(["phase", "nothing measured"], [["a", None], ["b", None]]).rights == [False, True]
    assert Table(["arm", "Elo"], [["a", "-43.7 […, …]"], ["b", "+1.0 [-2.0, …]"]]).rights == [False, True]


def test_a_row_has_a_cell_for_every_column() -> None:
    with pytest.raises(ValueError, match="expected 1 cells in row 0, got 2"):
        Table(["one"], [["a", "b"]])


def test_numbers_are_printed_as_they_are_meant() -> None:
    assert format_points((0.104, -0.03), signed=True) == "[+10.4, -3.0]"
    assert (format_p_value(0.0001), format_p_value(0.0123)) == ("< 0.001", "0.012")


@pytest.mark.parametrize(("second", "interval"), [(4.0, [4.0, 4.0]), (2.0, [3 - 12.7062, 3 + 12.7062])])
def test_intervals_without_width_say_nothing_of_how_much_seeds_differ(second: float, interval: list[float]) -> None:
    one = dict.fromkeys(("suite", "game", "gate", "scheme", "routing", "command", "commit", "machine", "date"), "a")
    one |= {"simulations": 8, "games": 10, "hours": 0.1, "loss_single": None, "loss_mixture": None}
    rows = [
        one | {"seed": seed, "points": value, "low": value, "high": value} for seed, value in enumerate((4.0, second))
    ]
    (line,) = leaderboard(rows, "two seeds").numbers["lines"]
    # Student's of two means: the quantile of one degree of freedom times half of what they differ by.
    assert [line["low"], line["high"]] == pytest.approx(interval, abs=1e-4)


def test_importing_the_report_imports_no_matplotlib() -> None:
    code = "import sys, moemcts.report, moemcts.report.plots, moemcts.arena; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

"""Drawings show what is on the board, and replays are complete files."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from moemcts_pommerman import native, variant
from moemcts_pommerman.drawing import save_png, to_array, to_svg
from moemcts_pommerman.gates import MixednessGate
from moemcts_pommerman.glyphs import PLAYER_COLOURS
from moemcts_pommerman.replay import describe_result, save_gif, save_html


@pytest.fixture(scope="module")
def states() -> list[Any]:
    state: Any = variant("OneVsOne-v0").initial_state(2)
    players = [native.Player("simple", seed) for seed in range(2)]
    states = [state]
    while not states[-1].is_over and len(states) < 60:
        states.append(states[-1].step([agent.choose(states[-1], player) for player, agent in enumerate(players)])[0])
    return states


def test_pixels_show_every_player_in_its_colour(states: list[Any]) -> None:
    pixels = to_array(states[0], cell=40)
    assert pixels.ndim == 3
    assert pixels.shape[2] == 3
    for player, colour in enumerate(PLAYER_COLOURS[:2]):
        wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
        row, column = states[0].arrays()["agents"][player, :2].tolist()
        top, left = 40 + 40 * row, 16 + 40 * column
        assert (pixels[top : top + 40, left : left + 40] == wanted).all(axis=2).sum() > 150


def test_an_animation_shows_who_dies_early_in_their_colours(tmp_path: Path) -> None:
    states: list[Any] = [variant("PommeFFACompetition-v0").initial_state(2)]
    rng = np.random.default_rng(0)
    while not states[-1].is_over:
        states.append(states[-1].step(rng.integers(6, size=4).tolist())[0])
    # Long after the deaths of some.
    states += states[-1:] * len(states)
    assert len(states[len(states) // 2].living) < 4
    save_gif(tmp_path / "game.gif", states)
    drawn = to_array(states[0], cell=28).astype(int)
    shown = np.asarray(Image.open(tmp_path / "game.gif").convert("RGB")).astype(int)[-len(drawn) :]
    for player in range(4):
        row, column = states[0].arrays()["agents"][player, :2].tolist()
        wanted = np.array([int(PLAYER_COLOURS[player][i : i + 2], 16) for i in (1, 3, 5)])
        cells = (abs(drawn - wanted) <= 2).all(axis=2)
        assert cells.sum() > 50, (row, column)
        assert abs(shown[cells] - wanted).max() < 24


def test_svg_is_xml_with_one_mark_per_thing(states: list[Any]) -> None:
    state = next(state for state in states if len(state.arrays()["bombs"]) and len(state.arrays()["flames"]) == 0)
    root = ElementTree.fromstring(to_svg(state, caption="a < b & c"))
    marks = [use.get("href") for use in root.iter("{http://www.w3.org/2000/svg}use")]
    arrays = state.arrays()
    assert marks.count("#rigid") == (arrays["board"] == 1).sum() == 16
    assert sum(str(mark).startswith("#bomb") for mark in marks) == len(arrays["bombs"])
    symbols = {symbol.get("id") for symbol in root.iter("{http://www.w3.org/2000/svg}symbol")}
    assert {str(mark)[1:] for mark in marks} == symbols


def test_text_shows_bombs_with_their_remaining_life(states: list[Any]) -> None:
    text = states[0].to_text()
    assert text.splitlines()[0] == "step 0"
    assert text.count("#") == text.count("+") == 16


def test_files_are_written_whole(states: list[Any], tmp_path: Path) -> None:
    gate = MixednessGate((3, 7), ("close", "near", "far"))
    save_png(tmp_path / "state.png", states[5])
    assert Image.open(tmp_path / "state.png").size == (round(8.8 * 48), round(10.3 * 48))
    save_gif(tmp_path / "game.gif", states, gate=gate)
    with Image.open(tmp_path / "game.gif") as animation:
        assert animation.n_frames == len(states)  # type: ignore[attr-defined]
    save_html(tmp_path / "game.html", states, gate=gate, title="<a & b>")
    page = (tmp_path / "game.html").read_text()
    assert "{{" not in page
    assert "&lt;a &amp; b&gt;" in page
    assert not re.search(r'(src|href)="(?!#)', page), "the page needs nothing else"
    game = json.loads(re.search(r'type="application/json">(.*?)</script>', page, re.DOTALL).group(1))  # type: ignore[union-attr]
    assert len(game["steps"]) == len(states)
    assert game["steps"][0]["players"][0][2] == "far"
    assert game["result"] == describe_result(states[-1])


def test_the_page_runs(states: list[Any], tmp_path: Path) -> None:
    node = shutil.which("node")
    if not node:
        pytest.skip("node is not installed")
    save_html(tmp_path / "game.html", states, gate=MixednessGate((3, 7)))
    page = (tmp_path / "game.html").read_text()
    data, script = re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL)
    stub = """
    const elements = {};
    const element = () => ({style: {}, set innerHTML(v) { this.html = v; }, setAttribute() {}, value: "1"});
    globalThis.document = {getElementById: (id) => (elements[id] ??= element()), addEventListener() {}};
    """
    end = "\nelements.slider.oninput({target: {value: '7'}}); console.log(elements.step.textContent);"
    code = f"{stub}document.getElementById('game').textContent = {json.dumps(data)};\n{script}{end}"
    done = subprocess.run([node, "-e", code.replace('"use strict";', "")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "step 7\n"


def test_nothing_to_draw_is_an_error(tmp_path: Path) -> None:
    for save in (save_gif, save_html):
        with pytest.raises(ValueError, match="expected at least one state"):
            save(tmp_path / "none", [])
    with pytest.raises(ValueError, match="expected at least 8 pixels"):
        to_array(variant("OneVsOne-v0").initial_state(), cell=2)

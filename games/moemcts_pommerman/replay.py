"""Replays of whole games, as an animated GIF or a self-contained HTML page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from moemcts.gates import PhaseGate
from moemcts_pommerman import native
from moemcts_pommerman.drawing import glyph_symbol, to_image
from moemcts_pommerman.glyphs import GLYPHS, PLAYER_COLOURS
from moemcts_pommerman.scene import board_glyphs, describe_player

# Number of frames that the last state of a GIF is shown.
_LAST_FRAMES = 12


def save_gif(
    path: str | Path,
    states: Sequence[Any],
    *,
    gate: PhaseGate | None = None,
    cell: int = 28,
    milliseconds: int = 120,
) -> None:
    """Writes the states as an animation; with a gate, the phases of the living players are shown above the board.

    Raises ValueError if there are no states.
    """
    if not states:
        raise ValueError("expected at least one state to animate, got none")
    phases = _phases(states, gate)
    captions = [_caption(state, names) for state, names in zip(states, phases, strict=True)]
    frames = [to_image(state, cell=cell, caption=text) for state, text in zip(states, captions, strict=True)]
    # A common palette keeps colours constant and frame differences small. MAXCOVERAGE picks the colours that are
    # farthest apart; the most frequent ones would miss players who die early.
    shown = np.concatenate([np.asarray(frames[i]) for i in (0, len(frames) // 2, -1)])
    palette = Image.fromarray(shown).quantize(128, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    images = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    durations = [milliseconds] * (len(images) - 1) + [milliseconds * _LAST_FRAMES]
    images[0].save(path, save_all=True, append_images=images[1:], duration=durations, loop=0, optimize=False)


def save_html(
    path: str | Path, states: Sequence[Any], *, gate: PhaseGate | None = None, title: str = "Pommerman"
) -> None:
    """Writes a page with the board, a slider over the steps, the players, their phases and the winner.

    Raises ValueError if there are no states.
    """
    if not states:
        raise ValueError("expected at least one state to show, got none")
    names = list(GLYPHS)
    numbers = {name: number for number, name in enumerate(names)}
    phases = _phases(states, gate)
    steps = []
    for state, phase_of_player in zip(states, phases, strict=True):
        marks = [[numbers[glyph], row, column] for glyph, row, column in board_glyphs(state)]
        agents = [
            [int(agent[5]), describe_player(agent), phase_of_player.get(player, "")]
            for player, agent in enumerate(state.arrays()["agents"].tolist())
        ]
        steps.append({"step": state.ply, "marks": marks, "players": agents})
    game = {
        "size": states[0].rules.board_size,
        "glyphs": names,
        "colours": PLAYER_COLOURS[: states[0].rules.num_players],
        "result": describe_result(states[-1]),
        "steps": steps,
    }
    page = files("moemcts_pommerman").joinpath("replay.html").read_text(encoding="utf-8")
    page = page.replace("{{title}}", escape(title))
    page = page.replace("{{symbols}}", "".join(map(glyph_symbol, names)))
    page = page.replace("{{game}}", json.dumps(game, separators=(",", ":")).replace("</", "<\\/"))
    Path(path).write_text(page, encoding="utf-8")


def describe_result(state: Any) -> str:
    """Returns the winners as text."""
    if not state.is_over:
        return "unfinished"
    winners = np.flatnonzero(state.returns() > 0)
    if not len(winners):
        return "tie"
    plural = "s" if len(winners) > 1 else ""
    return f"player{plural} {' and '.join(map(str, winners))} won"


def _caption(state: Any, phases: dict[int, str]) -> str:
    if state.is_over:
        return describe_result(state)
    names = list(dict.fromkeys(phases.values()))
    if len(names) == 1:
        return names[0]
    return ", ".join(f"{player} {name}" for player, name in phases.items())


def _phases(states: Sequence[Any], gate: PhaseGate | None) -> list[dict[int, str]]:
    """Returns, for each state, the phase name of each living player; empty without a gate."""
    if gate is None:
        return [{} for _ in states]
    names: list[dict[int, str]] = []
    for state in states:
        living = state.living
        if not living:
            names.append({})
            continue
        phases = gate.weights(native.Views([(state, player) for player in living])).argmax(axis=1)
        names.append({player: gate.phase_names[phase] for player, phase in zip(living, phases, strict=True)})
    return names

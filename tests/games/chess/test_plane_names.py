"""Planes are called what they show."""

from __future__ import annotations

import numpy as np
import pytest

from moemcts.plugins import plugins

FEN = "r3k2r/8/8/3pP3/8/8/3B4/R3K2R w Kkq d6 7 30"


@pytest.mark.parametrize(
    "game", ["chess", "chess?planes=v1", "chess?planes=attacks", "chess960", "crazyhouse", "threecheck", "horde"]
)
def test_every_plane_has_a_name_of_its_own(game: str) -> None:
    spec = plugins().game(game).spec
    assert len(set(spec.plane_names)) == len(spec.plane_names) == spec.observation_shape[0]
    assert spec.rows_upward


@pytest.mark.parametrize("reference", ["chess", "chess?planes=v1", "crazyhouse"])
def test_names_are_those_of_what_planes_show(reference: str) -> None:
    game = plugins().game(reference)
    fen = FEN.replace("/R3K2R ", "/R3K2R[Np] ") if reference == "crazyhouse" else FEN
    planes = dict(zip(game.spec.plane_names, game.parse_state(fen).observation(0), strict=True))
    squares = {
        "own rooks": {(0, 0), (0, 7)},
        "own bishops": {(1, 3)},
        "own pawns": {(4, 4)},
        "opponent's pawns": {(4, 3)},
        "opponent's king": {(7, 4)},
        "en passant": {(5, 3)},
    }
    for name, cells in squares.items():
        assert set(zip(*np.nonzero(planes[name]), strict=True)) == cells, name
    flags = {"own castling, king side": 1, "own castling, queen side": 0, "opponent's castling, queen side": 1}
    if reference == "chess":
        flags |= {"difference in bishops": 1 / 8, "number of own rooks": 2 / 8, "halfmoves": 7 / 50}
    if reference == "chess?planes=v1":
        flags |= {"colour": 1, "move number": 30 / 500}
    if reference == "crazyhouse":
        flags |= {"own pocket knights": 1 / 16, "opponent's pocket pawns": 1 / 16, "variant crazyhouse": 1}
    for name, number in flags.items():
        assert planes[name].min() == planes[name].max() == pytest.approx(number), name


def test_planes_of_attacks_are_called_what_they_show() -> None:
    game = plugins().game("chess?planes=attacks")
    shown = game.parse_state("4r2k/8/8/3n4/1R6/2P2B2/4N3/4K3 w - - 0 1").observation(0)
    planes = dict(zip(game.spec.plane_names, shown, strict=True))
    squares = {
        "own attacks of pawns": {"b4", "d4"},
        "opponent's attacks of king": {"g8", "g7", "h7"},
        "own hanging pieces": {"b4"},
        "opponent's hanging pieces": {"d5"},
        "own king's blockers": {"e2"},
        "squares where knights check": {"f7", "g6"},
    }
    for name, expected in squares.items():
        assert {"abcdefgh"[file] + str(1 + rank) for rank, file in np.argwhere(planes[name])} == expected, name

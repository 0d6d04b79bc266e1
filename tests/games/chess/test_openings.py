"""Opening suites are read as chess players keep them."""

from __future__ import annotations

import contextlib
from pathlib import Path

import chess
import numpy as np
import pytest

from moemcts.arena import read_openings
from moemcts.arena.openings import random_openings
from moemcts.errors import MoemctsError, UsageError
from moemcts.plugins import plugins
from moemcts_chess.board import PGN_VARIANTS, variant_tag
from moemcts_chess.game import VARIANTS, ChessGame
from moemcts_chess.imports import import_pgn
from moemcts_chess.openings import positions, quiet_builder, read_games

CHESS = plugins().game("chess")
KINGS = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"
EPD = """\
rnbqkbnr/p1ppppp1/1p6/6Np/8/6P1/PPPPPP1P/RNBQKB1R b KQkq - 0 1;
r1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R b KQkq - bm a6; id "Ruy Lopez; main"; hmvc 3; fmvn 3;

rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP w KQkq -
no position at all
8/8/8/8/8/5k2/5p2/5K2 w - - 0 90
rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -
"""
PGN = """\
[Event "book"]
[ECO "C60"]
[Opening "Ruy Lopez"]

1. e4 e5 2. Nf3 Nc6 3. Bb5 {the Spanish torture} (3. Bc4 Bc5) *

[Event "book"]

1. e4 e5 2. Ke3 *

[Event "from a position"]
[SetUp "1"]
[FEN "8/8/8/8/8/5k2/4p3/4K3 b - - 0 90"]

*

[Event "another game"]
[Variant "Antichess"]

1. e3 b5 *

[Event "castles"]

1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5 4. O-O Nf6 *
"""


def fens(path: Path, *, plies: int | None = None, game: str = "chess") -> list[str]:
    return [opening.start.fen() for opening in read_openings(plugins().game(game), path, plies=plies).openings]  # type: ignore[union-attr]


def test_positions_of_an_epd_file_are_openings(tmp_path: Path) -> None:
    path = tmp_path / "suite.epd"
    path.write_text(EPD)
    suite = read_openings(CHESS, path)
    assert [opening.name for opening in suite.openings] == ["line 1", "line 2 (Ruy Lopez; main)", "line 7"]
    assert fens(path)[1].endswith("b KQkq - 3 3")
    assert len(suite.faults) == 3
    assert suite.faults[1] == "line 5: expected an EPD, got 'no position at all'"
    assert suite.faults[2] == "line 6: the game is over"


def test_checks_and_pockets_are_part_of_a_position(tmp_path: Path) -> None:
    path = tmp_path / "suite.epd"
    path.write_text('rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 2+3 id "one check";\n')
    assert fens(path, game="threecheck")[0].split()[4:] == ["2+3", "0", "1"]
    # As Lichess writes it: the checks that each side has given.
    path.write_text("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 4 9 +2+1\n")
    assert fens(path, game="threecheck")[0].split()[4:] == ["1+2", "4", "9"]
    path.write_text("rnbqkb1r/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR[n] w KQkq - 0 1;\n")
    assert "[n]" in fens(path, game="crazyhouse")[0]


@pytest.mark.parametrize("rest", ["17", "17;", "3+1 7", "0 1 2+1", "0 1; +2+1"])
def test_numbers_that_mean_nothing_are_a_fault(rest: str, tmp_path: Path) -> None:
    path = tmp_path / "suite.epd"
    whole = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -"
    path.write_text(f"{whole} 3 9 ;; bm e4\n{whole} {rest}\n")
    suite = read_openings(CHESS, path)
    assert len(suite.openings) == 1
    assert suite.faults == (f"line 2: expected an EPD, got {f'{whole} {rest}'[:60]!r}",)


def test_ends_of_the_lines_of_a_pgn_file_are_openings(tmp_path: Path) -> None:
    path = tmp_path / "book.pgn"
    path.write_text(PGN)
    suite = read_openings(CHESS, path)
    assert [opening.name for opening in suite.openings] == ["game 1 (C60 Ruy Lopez)", "game 3", "game 5"]
    assert suite.faults[0].startswith("game 2: illegal san: 'Ke3'")
    assert suite.faults[1] == "game 4: expected a game of chess, got one of antichess"
    ends = fens(path)
    assert ends[0] == "r1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3"
    assert ends[2].startswith("r1bqk2r/pppp1ppp/2n2n2/2b1p3/2B1P3/5N2/PPPP1PPP/RNBQ1RK1 w kq - 6 5")
    assert fens(path, plies=2)[0] == "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2"


@pytest.mark.parametrize(
    ("moves", "plies", "end"),
    [
        ("1. d4 d5 (1... Nf6 2. Qh9 e6) 2. c4 e6 *", None, "rnbqkbnr/ppp2ppp/4p3/3p4/2PP4/8/PP2PPPP/RNBQKBNR w"),
        ("1. e4 e5 2. Ke3 *", 2, "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w"),
        ("1. e4 e5 2. Ke3 *", 0, "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w"),
    ],
)
def test_what_is_wrong_elsewhere_in_a_game_is_no_fault_of_its_opening(
    moves: str, plies: int | None, end: str, tmp_path: Path
) -> None:
    path = tmp_path / "book.pgn"
    path.write_text(f"{moves}\n")
    assert read_openings(CHESS, path, plies=plies).faults == ()
    (found,) = fens(path, plies=plies)
    assert found.startswith(end)


def test_openings_that_transpose_are_one(tmp_path: Path) -> None:
    path = tmp_path / "book.pgn"
    path.write_text("1. d4 d5 2. c4 e6 3. Nc3 Nf6 *\n\n1. c4 e6 2. d4 d5 3. Nc3 Nf6 *\n")
    suite = read_openings(CHESS, path)
    assert [opening.name for opening in suite.openings] == ["game 1"]
    assert suite.num_repeated == 1
    drawn = random_openings(CHESS, 3000, num_plies=4)
    boards = {" ".join(opening.start.fen().split()[:4]) for opening in drawn}  # type: ignore[union-attr]
    assert len(boards) == 3000


def test_lines_of_chess960_start_from_their_positions(tmp_path: Path) -> None:
    path = tmp_path / "book.pgn"
    path.write_text(
        '[Variant "Chess960"]\n[SetUp "1"]\n[FEN "rk5r/pppppppp/8/8/8/8/PPPPPPPP/RK5R w HAha - 0 1"]\n\n'
        "1. O-O g6 2. h3 *\n"
    )
    assert fens(path, game="chess960") == ["rk5r/pppppp1p/6p1/8/8/7P/PPPPPPP1/R4RK1 b kq - 0 2"]


@pytest.mark.parametrize("variant", ["Chess960", "Fischerandom"])
def test_a_game_of_chess960_is_none_of_chess(variant: str, tmp_path: Path) -> None:
    path = tmp_path / "book.pgn"
    # Read as chess it would lose its castling rights, and go on without them.
    fen = "nrkbbrqn/pppppppp/8/8/8/8/PPPPPPPP/NRKBBRQN w KQkq - 0 1"
    path.write_text(f'1. e4 *\n\n[Variant "{variant}"]\n[SetUp "1"]\n[FEN "{fen}"]\n\n1. e4 e5 *\n')
    assert read_openings(CHESS, path).faults == ("game 2: expected a game of chess, got one of chess960",)
    assert len(read_openings(plugins().game("chess960"), path).openings) == 2


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_variant_has_the_names_that_the_import_knows(variant: str, tmp_path: Path) -> None:
    game, path = plugins().game(variant), tmp_path / "book.pgn"
    assert isinstance(game, ChessGame)
    start = game.chess960(518) if variant == "chess960" else game.initial_state()
    move = start.board().san(next(iter(start.board().legal_moves)))
    names = [(tag, name) for tag, others in PGN_VARIANTS.items() for name in (tag, *others)]
    for number, (tag, name) in enumerate([*names, ("Suicide", "Suicide")]):
        path.write_text(f'[Event "?"]\n[Variant "{name}"]\n[Result "1-0"]\n\n1. {move} 1-0\n')
        pgn_game, out = next(read_games(path, quiet_builder())), tmp_path / str(number)
        assert pgn_game.headers["Variant"] == tag
        if tag == variant_tag(variant) or (variant == "chess" and tag == "From Position"):
            assert len(positions(game, pgn_game)) == 2
            assert import_pgn([path], game, out, reference=variant, num_threads=1).num_games == 1
            continue
        with pytest.raises(MoemctsError, match="found 1 left out by variant"):
            import_pgn([path], game, out, reference=variant, num_threads=1)
        if variant != "chess960":
            # Which plays on from openings of chess.
            with pytest.raises(ValueError, match=f"expected a game of {variant}, got one of"):
                positions(game, pgn_game)


def test_a_line_that_goes_on_behind_the_end_is_told(tmp_path: Path) -> None:
    path = tmp_path / "book.pgn"
    path.write_text(f"1. e4 e5 *\n\n{'Nf3 Nf6 Ng1 Ng8 ' * 3} *\n")
    suite = read_openings(CHESS, path)
    assert len(suite.openings) == 1
    (fault,) = suite.faults
    assert "is over after 8 plies" in fault
    assert "g1f3 follows" in fault


@pytest.mark.parametrize("name", ["suite.epd", "SUITE.EPD", "suite.txt"])
def test_a_mark_of_the_byte_order_is_no_part_of_the_first_position(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1\n", encoding="utf-8-sig")
    suite = read_openings(CHESS, path)
    assert [opening.name for opening in suite.openings] == ["line 1"]
    assert not suite.warning


def test_names_are_read_in_utf_8_and_in_latin_1(tmp_path: Path) -> None:
    path = tmp_path / "suite.epd"
    first, second = (f'{fen.removesuffix(" 0 1")} id "Réti…";\r\n' for fen in (chess.STARTING_FEN, KINGS))
    path.write_bytes(first.encode("cp1252") + second.encode())
    names = [opening.name for opening in read_openings(CHESS, path).openings]
    assert names == ["line 1 (Réti…)", "line 2 (Réti…)"]
    path.write_bytes(f'{KINGS.removesuffix(" 0 1")} id "'.encode() + b'\x81";\n')
    assert [opening.name for opening in read_openings(CHESS, path).openings] == ["line 1 (\ufffd)"]


def test_the_ending_of_a_file_is_read_in_any_case(tmp_path: Path) -> None:
    path = tmp_path / "BOOK.PGN"
    path.write_text("1. e4 e5 *\n")
    assert len(read_openings(CHESS, path).openings) == 1


def test_a_file_without_one_good_line_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "suite.epd"
    path.write_text("nonsense\n")
    with pytest.raises(UsageError, match=r"suite.epd has 1 bad entry: line 1: expected an EPD, got 'nonsense'"):
        read_openings(CHESS, path)


def test_a_file_without_games_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "book.pgn"
    path.write_text("A page about chess openings, which holds none.\n\nAnd another paragraph.\n")
    with pytest.raises(UsageError, match="has 2 bad entries: game 1: expected tags and moves, found neither"):
        read_openings(CHESS, path)
    path.write_text("")
    with pytest.raises(UsageError, match="expected positions of chess in"):
        read_openings(CHESS, path)
    path.write_text('[Event "the start position"]\n\n*\n')
    assert fens(path) == ["rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"]


@pytest.mark.parametrize("move", ["\u2658f3", "Sf3"])
def test_moves_of_other_letters_are_not_read_as_those_of_pawns(move: str, tmp_path: Path) -> None:
    path = tmp_path / "book.pgn"
    path.write_text(f"1. e4 e5 2. {move} *\n", encoding="utf-8")
    with pytest.raises(UsageError, match=rf"expected pieces as English letters in .*book.pgn, .* found {move}; save"):
        read_openings(CHESS, path)


@pytest.mark.parametrize("seed", range(40))
def test_bytes_that_are_no_games_are_one_clear_line(
    seed: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "book.pgn"
    random = np.random.default_rng(seed)
    path.write_bytes(random.integers(1 if seed % 2 else 0, 256, 2000, dtype=np.uint8).tobytes() + b"1. e4 Ke4 ) $1 ! )")
    with contextlib.suppress(MoemctsError):
        read_openings(CHESS, path)
    assert not caplog.records


def test_faults_are_told_once_and_not_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "book.pgn"
    path.write_text(PGN)
    assert len(read_openings(CHESS, path).faults) == 2
    assert not caplog.records


def test_counters_in_the_text_of_an_operation_are_none(tmp_path: Path) -> None:
    (tmp_path / "book.epd").write_text('4k3/8/8/8/8/8/4P3/4K3 w - - c0 "hmvc 140 in the old book"; fmvn 30;\n')
    assert fens(tmp_path / "book.epd") == ["4k3/8/8/8/8/8/4P3/4K3 w - - 0 30"]

"""Our tables against python-chess', on real ones of three pieces (see syzygy/SOURCE.txt)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chess
import chess.syzygy
import numpy as np
import pytest

from moemcts.errors import MoemctsError
from moemcts.evaluation import UniformEvaluator
from moemcts.plugins import plugins
from moemcts.search import Search, SearchConfig
from moemcts_chess.game import ChessGame
from moemcts_chess.tablebase import Tablebase, TablebaseEvaluator

TABLES = Path(__file__).parent / "syzygy"
VALUES = {2: 1.0, 1: 0.0, 0: 0.0, -1: 0.0, -2: -1.0}


@pytest.fixture(scope="module")
def game() -> ChessGame:
    game = plugins().game("chess")
    assert isinstance(game, ChessGame)
    return game


@pytest.fixture(scope="module")
def tables(game: ChessGame) -> Tablebase:
    return Tablebase(game, str(TABLES))


@pytest.fixture(scope="module")
def oracle() -> Iterator[chess.syzygy.Tablebase]:
    with chess.syzygy.open_tablebase(str(TABLES)) as tables:
        yield tables


def positions(number: int, seed: int = 0) -> list[chess.Board]:
    """Returns legal positions of two kings and a piece, half of them some plies after the last capture."""
    rng = np.random.default_rng(seed)
    found: list[chess.Board] = []
    while len(found) < number:
        squares = rng.choice(64, 3, replace=False)
        board = chess.Board(None)
        board.set_piece_at(int(squares[0]), chess.Piece(chess.KING, chess.WHITE))
        board.set_piece_at(int(squares[1]), chess.Piece(chess.KING, chess.BLACK))
        board.set_piece_at(int(squares[2]), chess.Piece(int(rng.integers(1, 6)), bool(rng.integers(2))))
        board.turn = bool(rng.integers(2))
        board.halfmove_clock = int(rng.integers(2)) * int(rng.integers(1, 95))
        if board.is_valid() and not board.is_game_over():
            found.append(board)
    return found


def state(game: ChessGame, board: chess.Board) -> Any:
    return game.parse_state(board.fen())


def test_all_files_of_the_folder_are_tables(tables: Tablebase) -> None:
    assert (tables.num_files, tables.max_pieces) == (10, 3)


def test_values_are_those_of_python_chess(game: ChessGame, tables: Tablebase, oracle: chess.syzygy.Tablebase) -> None:
    boards = [board for board in positions(2000) if board.halfmove_clock == 0]
    views = game.views([(state(game, board), int(not board.turn)) for board in boards])
    expected = [VALUES[oracle.probe_wdl(board)] for board in boards]
    assert tables.values(views).tolist() == expected
    others = game.views([(state(game, board), int(board.turn)) for board in boards])
    assert tables.values(others).tolist() == [-value for value in expected]


def test_a_win_that_comes_after_the_fifty_moves_is_a_draw(game: ChessGame, tables: Tablebase) -> None:
    fen = "8/8/8/8/8/3k4/8/K6R w - - {} 90"
    in_time, late = (game.parse_state(fen.format(clock)) for clock in (0, 90))
    assert tables.values(game.views([(in_time, 0), (late, 0)])).tolist() == [1.0, 0.0]


def test_a_mate_on_the_hundredth_half_move_is_a_win(game: ChessGame, tables: Tablebase) -> None:
    root = game.parse_state("7k/8/5KQ1/8/8/8/8/8 w - - 99 100")
    moves = tables.ranked(root)
    assert moves is not None
    assert game.format_action(root, 0, moves[0].action) == "g6g7"
    assert (moves[0].wdl, moves[0].value) == (2, 1.0)
    # All else is a draw: the counter is full.
    assert {move.value for move in moves if root.play([move.action]).termination != "checkmate"} == {0.0}


def test_moves_are_worth_what_python_chess_says(
    game: ChessGame, tables: Tablebase, oracle: chess.syzygy.Tablebase
) -> None:
    for board in (board for board in positions(300, seed=1) if board.halfmove_clock == 0):
        root = state(game, board)
        ranked = tables.ranked(root)
        assert ranked is not None
        assert len(ranked) == board.legal_moves.count()
        best = ranked[0]
        assert best.wdl == oracle.probe_wdl(board)
        board.push_uci(game.format_action(root, root.active_players[0], best.action))
        if not board.is_game_over():
            assert best.wdl == -oracle.probe_wdl(board)


def test_the_first_move_always_mates_with_a_queen_before_the_fifty_moves_are_over(
    game: ChessGame, tables: Tablebase
) -> None:
    position: Any = game.parse_state("8/8/3k4/8/8/8/8/KQ6 w - - 0 1")
    while players := position.active_players:
        moves = tables.ranked(position)
        assert moves is not None
        position = position.play([moves[0].action])
    assert players == ()
    assert position.termination == "checkmate"
    assert position.ply <= 20


def test_what_no_table_tells_is_not_a_number(game: ChessGame, tables: Tablebase) -> None:
    four_pieces = game.parse_state("8/8/3k4/8/8/8/8/KQR5 w - - 0 1")
    assert np.isnan(tables.values(game.views([(game.initial_state(), 0), (four_pieces, 0)]))).all()
    assert tables.ranked(four_pieces) is None


def test_a_search_takes_the_tables_values_at_its_leaves(game: ChessGame, tables: Tablebase) -> None:
    # Taking the rook leads to a won ending of three pieces, the only one that is one move away.
    root = game.parse_state("8/2P5/8/4k3/8/8/1r6/K7 w - - 0 1")
    evaluator = TablebaseEvaluator(UniformEvaluator(game.spec), tables)
    search = Search(game, SearchConfig(simulations=200))
    search.reset(game.views([(root, 0)]), [0])
    (result,) = search.run(evaluator)
    assert game.format_action(root, 0, result.best_action) == "a1b2"
    assert evaluator.num_hits > 0


@pytest.mark.parametrize(
    ("variant", "folder"), [("crazyhouse", TABLES), ("chess", Path("no/such")), ("atomic", TABLES)]
)
def test_a_folder_without_tables_of_the_game_is_one_line_that_says_so(variant: str, folder: Path) -> None:
    other = plugins().game(variant)
    assert isinstance(other, ChessGame)
    with pytest.raises(MoemctsError, match=r"no Syzygy tables|no/such|expected Syzygy tables of atomic"):
        Tablebase(other, str(folder))

"""Rules and results agree with python-chess, with the published perft numbers and with the laws of games."""

from __future__ import annotations

import os
from pathlib import Path

import chess
import numpy as np
import pytest
from chess_oracle import end, random_games

from moemcts.errors import UsageError
from moemcts.testing import check_game
from moemcts_chess.board import board as make_board
from moemcts_chess.game import VARIANTS, WITHOUT_CASTLING, ChessGame, mirrored_actions

PERFT = Path(__file__).parent / "perft.txt"
NUM_POSITIONS = int(os.environ.get("MOEMCTS_CHESS_POSITIONS", "2000"))
"""Random positions per variant; a longer run is recorded in benchmarks/results/chess_data.jsonl."""


@pytest.mark.parametrize("variant", VARIANTS)
def test_random_games_agree_with_python_chess(variant: str) -> None:
    seen: dict[int, str] = {}
    for state, board in random_games(ChessGame(variant, max_plies=1_000_000), NUM_POSITIONS):
        expected = end(board)
        assert _comparable(state.fen(), variant) == _comparable(board.fen(), variant)
        assert (state.termination is None) == (expected is None), (state, state.termination, expected)
        if expected is not None:
            assert tuple(state.returns()) == expected, state
            continue
        moves = sorted(state.uci(action) for action in state.legal_actions(state.active_players[0]))
        assert moves == sorted(board.uci(move) for move in board.legal_moves), state
        assert state.repetitions == sum(board.is_repetition(count) for count in (2, 3))
        assert seen.setdefault(state.key(), state.format()) == state.format()


def _comparable(fen: str, variant: str) -> list[str]:
    """Leaves out crazyhouse's half-move clock, which nothing depends on: python-chess counts on over pawn drops.

    Pockets are sets of letters.
    """
    fields = fen.split(" ")
    if variant != "crazyhouse":
        return fields
    pieces, _, pocket = fields[0].partition("[")
    return [pieces, "".join(sorted(pocket)), *fields[1:4], *fields[5:]]


@pytest.mark.parametrize("variant", VARIANTS)
def test_games_keep_the_laws(variant: str) -> None:
    check_game(ChessGame(variant), num_games=5)


def test_perft_agrees_with_python_chess() -> None:
    for line in PERFT.read_text().splitlines():
        if line and not line.startswith("#"):
            variant, fen, *counts = map(str.strip, line.split(";"))
            state = ChessGame(variant).parse_state(fen)
            for depth, leaves in (map(int, count.split()) for count in counts):
                if leaves <= 2_000:
                    assert _perft(state.board(), depth) == leaves == state.perft(depth), line


def _perft(board: chess.Board, depth: int) -> int:
    if depth == 0:
        return 1
    if depth == 1:
        return board.legal_moves.count()
    count = 0
    for move in board.legal_moves:
        board.push(move)
        count += _perft(board, depth - 1)
        board.pop()
    return count


def test_perft_ends_where_who_asked_for_it_says_so() -> None:
    state = ChessGame("chess").initial_state()
    assert state.perft(3, lambda: False) == 8902
    assert state.perft(12, lambda: True) is None

    def fails() -> bool:
        raise ZeroDivisionError("nothing to divide by")

    with pytest.raises(ZeroDivisionError, match="nothing to divide by"):
        state.perft(12, fails)


def test_perft_of_a_depth_that_no_stack_holds_is_refused() -> None:
    alone = ChessGame("chess").parse_state("7k/8/8/8/8/8/8/K7 w - - 0 1")
    assert alone.perft(100, lambda: True) is None
    with pytest.raises(ValueError, match="expected a depth of at most 100, got 100000"):
        alone.perft(100_000, lambda: False)


def test_all_chess960_start_positions_are_those_of_scharnagl() -> None:
    game = ChessGame("chess960")
    for number in range(960):
        state = game.chess960(number)
        assert state.fen() == chess.Board.from_chess960_pos(number).fen()
        assert state.board().chess960_pos() == number
    assert game.chess960(518).fen() == chess.STARTING_FEN
    assert len({game.initial_state(seed).fen() for seed in range(100)}) > 80


@pytest.mark.parametrize(
    ("variant", "text", "termination", "returns"),
    [
        ("chess", "startpos; moves f2f3 e7e5 g2g4 d8h4", "checkmate", (-1, 1)),
        ("chess", "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "stalemate", (0, 0)),
        ("chess", "8/8/4k3/8/8/2BK4/8/8 w - - 0 1", "insufficient material", (0, 0)),
        ("chess", "4k3/8/8/8/8/8/8/R3K3 w - - 100 90", "fifty moves", (0, 0)),
        ("chess", "7k/6Q1/6K1/8/8/8/8/8 b - - 100 90", "checkmate", (1, -1)),
        ("chess", "startpos; moves " + "g1f3 g8f6 f3g1 f6g8 " * 2, "threefold repetition", (0, 0)),
        ("antichess", "8/8/8/8/7P/8/p7/8 b - - 0 1; moves a2a1k h4h5", None, (0, 0)),
        ("antichess", "8/8/8/8/8/8/8/R7 b - - 0 40", "variant end", (-1, 1)),
        ("antichess", "8/8/8/8/7p/7P/8/8 w - - 0 40", "stalemate", (1, -1)),
        ("atomic", "rnbqkb1r/pppp1ppp/5n2/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 1; moves f1a6", None, (0, 0)),
        ("kingofthehill", "4k3/8/8/8/8/4K3/8/8 w - - 0 1; moves e3e4", "variant end", (1, -1)),
        ("threecheck", "4k3/8/8/8/8/8/8/R3K3 w - - 1+3 0 1; moves a1a8", "variant end", (1, -1)),
        ("racingkings", "8/7K/8/8/8/8/k7/8 w - - 0 1; moves h7h8", "variant end", (1, -1)),
        ("horde", "4k3/8/8/8/8/8/4r3/3P4 b - - 0 1; moves e2e1 d1d2 e1e2 d2d3 e2e3 d3d4 e3e4 d4d5 e4e5 d5d6 e5e6 d6d7",
         None, (0, 0)),
    ],
)  # fmt: skip
def test_games_end_as_on_lichess(variant: str, text: str, termination: str | None, returns: tuple[int, int]) -> None:
    state = ChessGame(variant).parse_state(text)
    assert state.termination == termination
    assert tuple(state.returns()) == returns
    assert (state.active_players == ()) == (termination is not None)


def test_a_longest_game_is_drawn() -> None:
    state = ChessGame("chess", max_plies=2).parse_state("startpos; moves e2e4 e7e5")
    assert (state.termination, state.active_players) == ("longest game", ())


def test_keys_see_what_the_rest_of_the_game_depends_on() -> None:
    chess_game = ChessGame("chess")
    shuffled = "startpos; moves g1f3 g8f6 f3g1 f6g8"
    pairs = [
        ("chess", "startpos", shuffled),
        ("chess", f"{shuffled} g1f3", "startpos; moves g1f3"),
        ("chess", "4k3/8/8/8/8/8/8/R3K3 w Q - 0 1", "4k3/8/8/8/8/8/8/R3K3 w - - 0 1"),
        ("chess", "4k3/8/8/8/8/8/8/R3K3 w - - 0 1", "4k3/8/8/8/8/8/8/R3K3 w - - 40 1"),
        ("chess", "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1", "4k3/8/8/3pP3/8/8/8/4K3 w - - 0 1"),
        ("crazyhouse", "4k3/8/8/8/8/8/8/4K3[Q] w - - 0 1", "4k3/8/8/8/8/8/8/4K3[R] w - - 0 1"),
        ("crazyhouse", "4k3/8/8/8/8/8/8/Q~3K3[] w - - 0 1", "4k3/8/8/8/8/8/8/Q3K3[] w - - 0 1"),
        ("threecheck", "4k3/8/8/8/8/8/8/4K3 w - - 1+3 0 1", "4k3/8/8/8/8/8/8/4K3 w - - 3+1 0 1"),
    ]
    for variant, one, other in pairs:
        game = ChessGame(variant)
        assert game.parse_state(one).key() != game.parse_state(other).key(), (one, other)
    assert ChessGame("chess960").chess960(518).key() != chess_game.parse_state("startpos").key()
    transposed = [chess_game.parse_state(f"startpos; moves {moves}") for moves in ("e2e4 e7e5", "e2e4 e7e5")]
    assert transposed[0].key() == transposed[1].key()


@pytest.mark.parametrize("variant", WITHOUT_CASTLING)
def test_the_mirror_maps_legal_actions_to_legal_actions(variant: str) -> None:
    game = ChessGame(variant)
    (mirror,) = game.symmetries()
    for state, _ in random_games(game, 500):
        pieces, *rest = state.fen().split(" ")
        fen = " ".join(["/".join(row[::-1] for row in pieces.split("/")), *rest[:2], "-", *rest[3:]])
        other = game.parse_state(fen)
        if "-" not in rest[2] or not state.active_players or rest[2] != "-" or state.repetitions:
            continue
        player = state.active_players[0]
        mapped = sorted(int(mirror.actions[action]) for action in state.legal_actions(player))
        assert mapped == other.legal_actions(player), fen
        fresh = game.parse_state(state.fen())
        planes = mirror.planes(fresh.observation(player)[None])[0]
        assert (planes == other.observation(player)).all()


def test_mirroring_twice_changes_nothing() -> None:
    for planes in (76, 79, 81, 84):
        actions = mirrored_actions(planes * 64)
        assert (actions[actions] == range(planes * 64)).all()


@pytest.mark.parametrize(
    ("variant", "text", "message"),
    [
        ("chess", "", "expected a FEN"),
        ("chess", "4k3/8/8/8/8/8/8/4K3[Q] w - - 0 1", "no chess position: .*only crazyhouse has pieces in hand"),
        ("threecheck", "4k3/8/8/8/8/8/8/4K3[q] w - - 3+3 0 1", "only crazyhouse has pieces in hand"),
        ("atomic", "4k3/8/8/8/8/8/8/4K3 w - - 2+3 0 1", "no atomic position: .*only three-check counts checks"),
        ("chess", "8/8/8/8 w - - 0 1", "expected a FEN"),
        ("chess", "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQ1BNR w kq - 0 1", "missing king"),
        ("chess", "4k3/8/8/8/8/8/8/4K2R b K - 0 1; moves O-O", "expected one of"),
        ("chess", "4k3/8/8/8/8/8/8/R3K3 w KX - 0 1", "expected a FEN, got .*invalid castling part"),
        ("chess", "startpos; moves e2e5", "expected one of a2a3"),
        ("chess", "startpos; last e2", "expected squares like e2e4"),
        ("chess", "startpos; seen xyz", "expected hexadecimal hashes"),
        ("chess", "startpos; whatever", "expected `last`, `seen`, `occurred` or `moves`"),
        ("chess", "startpos; occurred often", 'expected a number from 0 to 255 after `occurred`, got "often"'),
        (
            "chess",
            "startpos; seen 12",
            "expected at most 0 positions before that can be repeated, as the half-move clock",
        ),
        ("crazyhouse", f"{chess.STARTING_FEN}; seen 1", "at most 0 positions .*, as the move number says, got 1"),
        ("chess", "4k3/8/8/8/8/8/8/4K2R b K - 4 9; seen 1 2; occurred 1", "expected `seen` or `occurred`, got both"),
        ("chess", "4k3/8/8/8/8/8/8/4K2R b K - 99999 1", "expected a half-move clock of at most 48576, got 99999"),
        ("chess", "4k3/8/8/8/8/8/8/4K2R b K - 0 600000", "expected a move number of at most 524287, got 600000"),
        ("racingkings", chess.STARTING_FEN, "no racingkings position"),
    ],
)
def test_a_wrong_position_says_what_was_expected(variant: str, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ChessGame(variant).parse_state(text)


@pytest.mark.parametrize("variant", ["chess", "chess960", "crazyhouse", "atomic"])
def test_castling_rights_without_their_king_or_rook_are_left_out_as_python_chess_does(variant: str) -> None:
    rng = np.random.default_rng(0)
    num_kept = 0
    for _ in range(500):
        # Pawns in between, so that nobody is in check.
        pieces = chess.Board("8/8/pppppppp/8/8/PPPPPPPP/8/8 w - - 0 1")
        for color, home in ((chess.WHITE, chess.E1), (chess.BLACK, chess.E8)):
            king = home if rng.random() < 0.5 else int(rng.choice([home - 1, home + 2, home ^ 8]))
            rooks = set(rng.integers(8, size=3).tolist()) - {chess.square_file(king)}
            pieces.set_piece_at(king, chess.Piece(chess.KING, color))
            for file in rooks | ({0, 7} if rng.random() < 0.3 else set()):
                pieces.set_piece_at(chess.square(file, chess.square_rank(home)), chess.Piece(chess.ROOK, color))
        rights = "".join("".join(rng.permutation([*letters])[: rng.integers(3)]) for letters in ("KQAHB", "kqahb"))
        fen = f"{pieces.board_fen()} w {rights or '-'} - 0 1"
        expected = make_board(variant, fen)
        state = ChessGame(variant).parse_state(fen)
        assert state.fen() == expected.fen(), fen
        moves = sorted(state.uci(action) for action in state.legal_actions(0))
        assert moves == sorted(expected.uci(move) for move in expected.legal_moves), fen
        num_kept += expected.clean_castling_rights() != 0
    assert 50 < num_kept < 450


@pytest.mark.parametrize(
    ("variant", "fen", "rights"),
    [
        ("chess", "4k3/8/8/8/8/8/8/R3K3 w KQkq - 0 1", "Q"),
        ("chess", "8/8/8/4k3/8/8/4K3/7R w KQkq - 0 1", "-"),
        # Castled by hand in an editor: a right of Chess960 alone.
        ("chess", "rnbqkbnr/pppppppp/8/8/8/5BN1/PPPPPPPP/RNBQ1RK1 b HQkq - 0 1", "kq"),
        ("chess960", "rnbqkbnr/pppppppp/8/8/8/5BN1/PPPPPPPP/RNBQ1RK1 b HQkq - 0 1", "Qkq"),
        ("antichess", chess.STARTING_FEN, "-"),
        ("racingkings", "8/8/8/8/8/8/krbnNBRK/qrbnNBRQ w KQkq - 0 1", "-"),
    ],
)
def test_a_position_is_otherwise_as_it_was_written(variant: str, fen: str, rights: str) -> None:
    state = ChessGame(variant).parse_state(fen)
    fields = fen.split()
    fields[2] = rights
    assert state.fen() == " ".join(fields)
    assert state.key() == ChessGame(variant).parse_state(" ".join(fields)).key()


@pytest.mark.parametrize(
    "fen",
    [
        "k2B1QK1/nn1Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/3Q4/1Q4Q1[PNBRQ] w - - 0 1",
        "k2B1Q~K1/nn1Q~4/1Q~4Q~1/4Q~3/2Q~4Q~/Q~4Q~2/3Q4/1Q~4Q~1[PNBR] w - - 0 1",
    ],
)
def test_a_crazyhouse_position_has_any_number_of_moves(fen: str) -> None:
    state = ChessGame("crazyhouse").parse_state(fen)
    moves = sorted(state.uci(action) for action in state.legal_actions(0))
    assert moves == sorted(move.uci() for move in state.board().legal_moves)
    assert state.perft(1) == len(moves)


def test_wrong_options_are_refused() -> None:
    with pytest.raises(UsageError, match="no plane set named 'v9'; did you mean 'v2'"):
        ChessGame("chess", planes="v9")
    for number in (0, -3, 2**32):
        with pytest.raises(UsageError, match=f"expected max_plies from 1 to 1000000, got {number}"):
            ChessGame("chess", max_plies=number)
    with pytest.raises(UsageError, match=r"no policy map for chess named .crazy.; did you mean .crazyhouse"):
        ChessGame("chess", policy="crazy")
    with pytest.raises(UsageError, match="no policy map for antichess"):
        ChessGame("antichess", policy="chess")
    with pytest.raises(ValueError, match="no variant named"):
        ChessGame("shogi")
    state = ChessGame("chess").initial_state()
    with pytest.raises(ValueError, match="expected a legal action"):
        state.play([0])
    for variant, number in (("chess960", 960), ("chess960", -1), ("chess", 518)):
        error = f"expected chess960 and a number from 0 to 959, got {variant} and {number}"
        with pytest.raises(ValueError, match=error):
            ChessGame(variant).chess960(number)

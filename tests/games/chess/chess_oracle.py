"""Reference implementation of the chess family, from python-chess boards and the published definitions.

Deliberately slow and direct; it shares nothing with the code under test but the order of planes and policy indices.
"""

from __future__ import annotations

from collections.abc import Iterator

import chess
import chess.pgn
import numpy as np

from moemcts_chess.board import board as make_board
from moemcts_chess.game import ChessGame

DIRECTIONS = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)]
JUMPS = [(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)]
SCHOLAR = "1. e4 e5 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7# 1-0"
VARIANT_ORDER = ["chess", "antichess", "atomic", "crazyhouse", "kingofthehill", "threecheck", "horde", "racingkings"]


def random_games(game: ChessGame, num_positions: int, seed: int = 0) -> Iterator[tuple[object, chess.Board]]:
    """Yields positions of random games, as native states and as boards with moves; every tenth move goes back."""
    rng = np.random.default_rng(seed)
    count = 0
    while count < num_positions:
        state = game.initial_state(int(rng.integers(1 << 31)))
        board = make_board(game.variant, state.fen())
        while count < num_positions:
            yield state, board
            count += 1
            if not state.active_players:
                break
            action = int(rng.choice(state.legal_actions(state.active_players[0])))
            if len(board.move_stack) > 1 and rng.random() < 0.3:
                last = board.move_stack[-2]
                back = chess.Move(last.to_square, last.from_square)
                if last.drop is None and board.is_legal(back) and not board.is_castling(back):
                    action = game.parse_action(state, state.active_players[0], back.uci())
            board.push_uci(state.uci(action))
            state = state.play([action])


def end(board: chess.Board) -> tuple[float, ...] | None:
    """Returns the results of White and Black, or None if the game is not over."""
    outcome = board.outcome()
    if outcome is not None and outcome.termination not in (
        chess.Termination.FIVEFOLD_REPETITION,
        chess.Termination.SEVENTYFIVE_MOVES,
    ):
        return {None: (0.0, 0.0), True: (1.0, -1.0), False: (-1.0, 1.0)}[outcome.winner]
    if board.is_fifty_moves() or board.is_repetition(3):
        return (0.0, 0.0)
    return None


def action(board: chess.Board, move: chess.Move, variant: str) -> int:
    """Returns the policy index of a move by the published formula."""

    def seen(square: int) -> tuple[int, int]:
        x, y = chess.square_file(square), chess.square_rank(square)
        return (x, y) if board.turn or variant == "racingkings" else (x, 7 - y)

    to = seen(move.to_square)
    if move.drop is not None:
        return (76 + move.drop - 1) * 64 + to[1] * 8 + to[0]
    start = seen(move.from_square)
    step = (to[0] - start[0], to[1] - start[1])
    square = start[1] * 8 + start[0]
    if move.promotion is not None:
        piece = {chess.KNIGHT: 0, chess.BISHOP: 1, chess.ROOK: 2, chess.QUEEN: 3, chess.KING: 4}[move.promotion]
        return (64 + 3 * piece + step[0] + 1) * 64 + square
    if step in JUMPS:
        return (56 + JUMPS.index(step)) * 64 + square
    length = max(map(abs, step))
    direction = DIRECTIONS.index((step[0] // length, step[1] // length))
    return (direction * 7 + length - 1) * 64 + square


class Planes:
    """Builds planes from the point of view of the side to move."""

    def __init__(self, board: chess.Board, variant: str) -> None:
        self.board, self.variant = board, variant
        self.us = board.turn
        self.planes: list[np.ndarray] = []

    def squares(self, squares: object) -> None:
        plane = np.zeros((8, 8), dtype=np.float32)
        for square in chess.SquareSet(squares):
            plane[chess.square_rank(square), chess.square_file(square)] = 1
        self.planes.append(plane if self.us or self.variant == "racingkings" else plane[::-1])

    def number(self, number: float) -> None:
        self.planes.append(np.full((8, 8), number, dtype=np.float32))

    def pieces(self) -> None:
        for side in (self.us, not self.us):
            for piece in chess.PIECE_TYPES:
                self.squares(self.board.pieces(piece, side))

    def repetition(self) -> None:
        self.number(self.board.is_repetition(2))
        self.number(self.board.is_repetition(3))

    def en_passant(self) -> None:
        self.squares([self.board.ep_square] if self.board.has_legal_en_passant() else [])

    def castling(self) -> None:
        for side in (self.us, not self.us):
            self.number(self.board.has_kingside_castling_rights(side))
            self.number(self.board.has_queenside_castling_rights(side))

    def halfmoves(self) -> None:
        self.number(self.board.halfmove_clock / 50)

    def is_960(self) -> None:
        self.number(self.variant == "chess960")

    def last_moves(self) -> None:
        moves = self.board.move_stack[::-1][:8]
        for move in moves:
            self.squares([] if move.drop else [move.from_square])
            self.squares([move.to_square])
        for _ in range(8 - len(moves)):
            self.squares([])
            self.squares([])

    def masks(self) -> None:
        self.squares(self.board.occupied_co[self.us])
        self.squares(self.board.occupied_co[not self.us])

    def checkerboard(self) -> None:
        self.planes.append((np.indices((8, 8)).sum(axis=0) % 2).astype(np.float32))

    def material(self, kinds: int) -> None:
        for piece in chess.PIECE_TYPES[:kinds]:
            ours, theirs = (len(self.board.pieces(piece, side)) for side in (self.us, not self.us))
            self.number((ours - theirs) / 8)

    def counts(self, kinds: int) -> None:
        for piece in chess.PIECE_TYPES[:kinds]:
            self.number(len(self.board.pieces(piece, self.us)) / 8)

    def opposite_bishops(self) -> None:
        bishops = [list(self.board.pieces(chess.BISHOP, side)) for side in (True, False)]
        light = [[bool(chess.BB_SQUARES[s] & chess.BB_LIGHT_SQUARES) for s in squares] for squares in bishops]
        self.number(len(light[0]) == len(light[1]) == 1 and light[0] != light[1])

    def checkers(self) -> None:
        self.squares(self.board.checkers_mask())

    def multi(self) -> None:
        self.pieces()
        self.repetition()
        for side in (self.us, not self.us):
            for piece in chess.PIECE_TYPES[:5]:
                self.number(self.board.pockets[side].count(piece) / 16 if self.variant == "crazyhouse" else 0)
        for side in (self.us, not self.us):
            promoted = self.board.promoted if self.variant == "crazyhouse" else 0
            self.squares(promoted & self.board.occupied_co[side])
        self.en_passant()
        self.number(self.us)
        self.castling()
        self.halfmoves()
        for side in (self.us, not self.us):
            left = self.board.remaining_checks[side] if self.variant == "threecheck" else 3
            self.number(left <= 1)
            self.number(left <= 2)
        self.is_960()
        for name in VARIANT_ORDER:
            self.number(self.variant.removesuffix("960") == name)
        self.last_moves()
        self.masks()
        self.checkerboard()
        self.material(6)
        self.opposite_bishops()
        self.checkers()
        self.counts(6)

    def v1(self) -> None:
        self.pieces()
        self.repetition()
        self.en_passant()
        self.number(self.us)
        self.number(self.board.fullmove_number / 500)
        self.castling()
        self.halfmoves()
        self.is_960()
        self.last_moves()

    def v2(self) -> None:
        self.pieces()
        self.repetition()
        self.en_passant()
        self.castling()
        self.halfmoves()
        self.last_moves()
        self.is_960()
        self.masks()
        self.checkerboard()
        self.material(5)
        self.opposite_bishops()
        self.checkers()
        self.counts(5)

    def attacks(self) -> None:
        self.v2()
        self.attacked()

    def multi_attacks(self) -> None:
        self.multi()
        self.attacked()

    def attacked(self) -> None:
        board, sides = self.board, (self.us, not self.us)
        for side in sides:
            for piece in chess.PIECE_TYPES:
                self.squares([to for square in board.pieces(piece, side) for to in board.attacks(square)])
        for side in sides:
            self.squares([square for square in chess.SQUARES if len(board.attackers(side, square)) >= 2])
        for side in sides:
            self.squares([square for square in chess.SquareSet(board.occupied_co[side]) if self.hangs(square, side)])
        for side in sides:
            self.squares(self.blockers(side))
        king = only_king(board, not self.us)
        for piece in chess.PIECE_TYPES[:4]:
            self.squares([square for square in chess.SQUARES if self.attacks_from(square, piece, king)])

    def hangs(self, square: chess.Square, side: chess.Color) -> bool:
        worth = {chess.PAWN: 1, chess.KNIGHT: 3, chess.BISHOP: 3, chess.ROOK: 5, chess.QUEEN: 9, chess.KING: 99}
        own = self.board.piece_type_at(square)
        attackers = [self.board.piece_type_at(other) for other in self.board.attackers(not side, square)]
        lesser = any(worth[piece] < worth[own] for piece in attackers)
        return own != chess.KING and (lesser or (bool(attackers) and not self.board.attackers(side, square)))

    def blockers(self, side: chess.Color) -> list[chess.Square]:
        """Returns the pieces whose removal lets a further slider attack the king of that side."""
        king, found = only_king(self.board, side), []
        if king is None:
            return []
        for square in chess.SquareSet(self.board.occupied):
            board = self.board.copy(stack=False)
            before = board.attackers(not side, king)
            chess.Board.remove_piece_at(board, square)
            if board.attackers(not side, king) - before:
                found.append(square)
        return found

    def attacks_from(self, square: chess.Square, piece: chess.PieceType, king: chess.Square | None) -> bool:
        if king is None or square == king:
            return False
        board = chess.Board(None)
        for other in chess.SquareSet(self.board.occupied):
            board.set_piece_at(other, chess.Piece(chess.PAWN, self.us))
        board.set_piece_at(square, chess.Piece(piece, self.us))
        return king in board.attacks(square)


def only_king(board: chess.Board, side: chess.Color) -> chess.Square | None:
    """Returns the square of a side's only king, or None if it has none or several."""
    kings = list(board.pieces(chess.KING, side))
    return kings[0] if len(kings) == 1 else None


def planes(board: chess.Board, variant: str, name: str) -> np.ndarray:
    """Returns a plane set of a position, `[C, 8, 8]`."""
    made = Planes(board, variant)
    getattr(made, name.replace("-", "_"))()
    return np.stack(made.planes)


def lichess_score(y: int, white: int, black: int) -> int:
    """Returns the mixedness of a 2x2 region with its lower rank `y` in 1..7 (scalachess, Divider.scala)."""
    scores = {
        (0, 1): 1 + y,
        (0, 2): 2 + (6 - y) if y < 6 else 0,
        (0, 3): 3 + (7 - y) if y < 7 else 0,
        (0, 4): 3 + (7 - y) if y < 7 else 0,
        (1, 0): 1 + (8 - y),
        (1, 1): 5 + abs(4 - y),
        (1, 2): 4 + (7 - y),
        (1, 3): 5 + (7 - y),
        (2, 0): 2 + (y - 2) if y > 2 else 0,
        (2, 1): 4 + (y - 1),
        (2, 2): 7,
        (3, 0): 3 + (y - 1) if y > 1 else 0,
        (4, 0): 3 + (y - 1) if y > 1 else 0,
        (3, 1): 5 + (y - 1),
    }
    return scores.get((white, black), 0)


def crazyara_score(y: int, white: int, black: int) -> int:
    """Returns the same by CrazyAra's older table, with its engine's eight defects (`score_region` in board.cpp)."""
    defects = {
        (1, 2, 0): 2,
        (1, 3, 0): 3,
        (1, 4, 0): 3,
        (2, 2, 0): 2,
        (6, 0, 2): 2,
        (7, 0, 2): 2,
        (7, 0, 3): 3,
        (7, 0, 4): 3,
    }
    older = {
        (1, 1): 5 + abs(3 - y),
        (2, 1): 4 + y,
        (3, 1): 5 + y,
        (1, 2): 4 + (6 - y),
        (1, 3): 5 + (6 - y),
    }
    return defects.get((y, white, black), older.get((white, black), lichess_score(y, white, black)))


def measures(board: chess.Board, start_pieces: int) -> dict[str, int]:
    """Returns all measures used by gates."""
    white, black = board.occupied_co[chess.WHITE], board.occupied_co[chess.BLACK]
    mixed = {lichess_score: 0, crazyara_score: 0}
    for y in range(7):
        for x in range(7):
            region = sum(chess.BB_SQUARES[8 * (y + dy) + x + dx] for dx in (0, 1) for dy in (0, 1))
            for score in mixed:
                mixed[score] += score(y + 1, (white & region).bit_count(), (black & region).bit_count())
    pieces = (board.knights | board.bishops | board.rooks | board.queens).bit_count()
    ranks = ((white & chess.BB_RANK_1).bit_count(), (black & chess.BB_RANK_8).bit_count())
    sparse = min(ranks) < 4

    def phase(mixedness: int) -> int:
        return 2 if pieces <= 6 else int(pieces <= 10 or sparse or mixedness > 150)

    lichess, crazyara = mixed[lichess_score], mixed[crazyara_score]
    signs = (lichess > 130) + (pieces <= 10) + sparse + (board.fullmove_number > 15)
    worth = board.knights.bit_count() + board.bishops.bit_count()
    worth += 2 * board.rooks.bit_count() + 4 * board.queens.bit_count()
    return {
        "lichess": phase(lichess),
        "lichess-crazyara": phase(crazyara),
        "conjunctive": 2 if pieces <= 6 else int(not board.clean_castling_rights() and signs >= 2),
        "majors and minors": pieces,
        "back rank white": ranks[0],
        "back rank black": ranks[1],
        "mixedness": lichess,
        "mixedness-crazyara": crazyara,
        "lost material": 24 - worth,
        "lost pieces": start_pieces - board.occupied.bit_count(),
        "moves completed": board.fullmove_number - 1,
    }


def pgn(moves: str = SCHOLAR, **tags: str) -> str:
    tags = {"Event": "a", "Date": "2017.05.31", "WhiteElo": "2500", "BlackElo": "2400"} | tags
    tags.setdefault("Result", moves.split()[-1])
    return "".join(f'[{name} "{value}"]\n' for name, value in tags.items()) + f"\n{moves}\n\n"


def random_pgn(num_games: int, seed: int = 0, plies: int = 60) -> str:
    """Returns random games as written by python-chess, cut after `plies` plies."""
    rng = np.random.default_rng(seed)
    games = []
    for number in range(num_games):
        board = chess.Board()
        while not board.is_game_over(claim_draw=True) and board.ply() < plies:
            moves = sorted(board.legal_moves, key=str)
            board.push(moves[int(rng.integers(len(moves)))])
        game = chess.pgn.Game.from_board(board)
        game.headers["Date"] = f"2012.{1 + number % 12:02}.01"
        game.headers["Result"] = board.result(claim_draw=True).replace("*", "1/2-1/2")
        games.append(str(game))
    return "\n\n".join(games) + "\n"

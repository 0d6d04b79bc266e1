"""A straightforward implementation: PUCT in Python on python-chess, with a uniform policy and a constant value."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import chess
from measuring.side_by_side import rate, serve
from questions import question

C_PUCT = 2.5


@dataclass(slots=True)
class Node:
    prior: float
    visits: int = 0
    value_sum: float = 0.0
    children: dict[chess.Move, Node] = field(default_factory=dict)


def search(board: chess.Board, simulations: int) -> int:
    """Runs simulations from a position, one leaf at a time; returns their number."""
    root = Node(1.0)
    expand(root, board)
    for _ in range(simulations):
        simulate(root, board.copy(stack=False))
    return simulations


def simulate(root: Node, board: chess.Board) -> None:
    path, node = [root], root
    while node.children:
        scale = C_PUCT * math.sqrt(node.visits + 1)
        move, node = max(node.children.items(), key=lambda child: score(child[1], scale))
        board.push(move)
        path.append(node)
    value = 0.0
    if board.is_game_over():
        value = -1.0 if board.is_checkmate() else 0.0
    else:
        expand(node, board)
    for visited in reversed(path):
        value = -value
        visited.visits += 1
        visited.value_sum += value


def score(node: Node, scale: float) -> float:
    mean = node.value_sum / node.visits if node.visits else 0.0
    return mean + scale * node.prior / (1 + node.visits)


def expand(node: Node, board: chess.Board) -> None:
    moves = list(board.legal_moves)
    node.children = {move: Node(1 / len(moves)) for move in moves}


def measured(name: str, seconds: float) -> float | None:
    fen, simulations, *_ = question(name)
    board = chess.Board(fen)
    return rate(lambda: search(board, simulations), seconds)


if __name__ == "__main__":
    serve(measured)

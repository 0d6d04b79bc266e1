"""The solver of the reference search: propagation of proven results, and proof-number search."""

from __future__ import annotations

import math

from moemcts.search.nodes import UNTRIED, Node, Path

UNPROVABLE = (math.inf, math.inf)


def prove(end: Node, path: Path) -> None:
    """Propagates a new end of the game to the nodes above it, starting at its parent (Winands et al. 2008).

    A node is proven if its player has a winning action, or if all its actions lead to proven nodes. It takes the value
    of the best of them: the quickest win, or else the slowest of the best results. Nothing is proven through chance
    nodes, simultaneous moves, or steps with rewards or discounts.
    """
    child = end
    for node, _ in reversed(path):
        if len(node.seats) != 1 or child.steps:
            return
        proofs = [proof_of(node, i) for i in range(len(node.seats[0].actions))]
        known = {i: value for i, value in enumerate(proofs) if value is not None}
        value = max(known.values())
        if value < 1 and len(known) < len(proofs):
            return
        best = [node.children[(i,)] for i, proof in known.items() if proof == value]
        pick = min if value > 0 else max
        chosen = pick(best, key=lambda child: child.plies_left or 0)
        node.values = chosen.values.copy()
        node.plies_left = (chosen.plies_left or 0) + 1
        child = node


def proof_of(node: Node, i: int) -> float | None:
    """Returns the proven value of an action for a node's only player; None if it is not proven."""
    child = node.children.get((i,))
    is_known = child is not None and child.plies_left is not None and not child.steps
    return float(child.values[node.seats[0].player]) if child is not None and is_known else None


def nearest_win(node: Node, *, is_sorted: bool) -> tuple[int, ...] | None:
    """Returns the action after which a node's player is nearest to a proven win; ties go to the least scouted.

    Further ties go to the first action, by descending prior if `is_sorted`: actions are opened in that order, except at
    the Gumbel root, which opens all at once. Decided and pending children are skipped. None if no child is left, or if
    the node does not have exactly one player to move.
    """
    if len(node.seats) != 1:
        return None
    (seat,) = node.seats
    best, best_key = None, (math.inf, math.inf)
    for i in sorted(range(len(seat.actions)), key=lambda i: -float(seat.priors[i]) if is_sorted else 0.0):
        child = node.children.get((i,))
        numbers = numbers_after(child)
        if numbers == UNPROVABLE or 0 in numbers or (child is not None and child.is_pending):
            continue
        key = (numbers[seat.player], child.scouts if child else 0)
        if best is None or key < best_key:
            best, best_key = (i,), key
    return best


def renumber(new: Node, path: Path) -> None:
    """Updates the proof numbers of a new node and of the nodes above it (Allis 1994).

    A player's number is the minimum count of untried actions that would have to win to prove its win: the minimum over
    actions where it moves, and their sum elsewhere.
    """
    for node in (new, *(node for node, _ in reversed(path))):
        node.numbers = numbers_of(node)


def numbers_of(node: Node) -> tuple[float, ...]:
    """Returns a node's proof numbers for both players, from those of its children."""
    if node.plies_left == 0:
        return tuple(0.0 if value >= 1 else math.inf for value in node.values)
    if len(node.seats) != 1:
        return UNPROVABLE
    (seat,) = node.seats
    after = [numbers_after(node.children.get((i,))) for i in range(len(seat.actions))]
    return tuple((min if player == seat.player else sum)(numbers[player] for numbers in after) for player in (0, 1))


def numbers_after(child: Node | None) -> tuple[float, ...]:
    """Returns the proof numbers of the action that leads to a child; steps with rewards or discounts prove nothing."""
    if child is None:
        return UNTRIED
    return UNPROVABLE if child.steps else child.numbers

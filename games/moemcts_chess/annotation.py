"""Annotation of games by an agent: its evaluation before and after each move, the expert, and the cost of the move."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from moemcts.agents import Agent, Decision, Seat
from moemcts.errors import UsageError
from moemcts.gates import PhaseGate
from moemcts_chess.pgn import add_comment, is_annotated_by_agent, parse_judgement, set_evaluation

if TYPE_CHECKING:
    import chess.pgn

    from moemcts_chess.game import ChessGame

JUDGEMENTS = {"blunder": 0.3, "mistake": 0.2, "inaccuracy": 0.1}
"""Minimum cost of each kind of move, as a difference of values in [-1, 1]; Lichess judges differences of winning
chances this way (lichess-org/lila, Advice.scala).
"""
GLYPHS = {"blunder": 4, "mistake": 2, "inaccuracy": 6}
"""Their numeric annotation glyphs in the PGN standard: ??, ? and ?!."""


@dataclass(frozen=True, kw_only=True)
class JudgedMove:
    """A move judged by an agent."""

    player: str
    """The player's name in the game."""
    phase: str
    """The phase in which the move was made."""
    cost: float
    """By how much the move lowers the expected value, from 0 to 2; 0 if it raises it."""
    agrees: bool
    """Whether the agent would have played it."""

    @property
    def judgement(self) -> str:
        """Its kind in `JUDGEMENTS`, or an empty string."""
        return next((name for name, least in JUDGEMENTS.items() if self.cost >= least), "")


def annotate(
    game: ChessGame, pgn_game: chess.pgn.Game, states: Sequence[Any], agent: Agent, gate: PhaseGate, *, seed: int = 0
) -> list[JudgedMove]:
    """Annotates the main line of a game, whose positions are `states`, and returns its judged moves.

    Comments have the phase and the expert of the position before a move, and the evaluation of the position after it,
    from White's point of view as on Lichess. For a judged move, the agent's move is added as a variation. Earlier
    annotations by an agent are replaced; those by people are kept. `gate` names phases if the agent does not. Raises
    UsageError for an agent that does not evaluate positions.
    """
    decisions = _decisions(game, states, agent, gate, seed)
    values = [_value_for_white(state, decision) for state, decision in zip(states, decisions, strict=True)]
    board = pgn_game.board()
    moves = []
    for i, node in enumerate(pgn_game.mainline()):
        # Only the last position has no decision, and it has no move.
        decision = cast(Decision, decisions[i])
        is_white = states[i].active_players[0] == 0
        loss = values[i] - values[i + 1] if is_white else values[i + 1] - values[i]
        preferred = board.parse_uci(states[i].uci(decision.action))
        move = JudgedMove(
            player=pgn_game.headers["White" if is_white else "Black"],
            phase=decision.phase,
            cost=max(loss, 0.0),
            agrees=preferred == node.move,
        )
        _remove_annotations(node)
        if move.judgement:
            node.nags = node.nags - {*GLYPHS.values()} | {GLYPHS[move.judgement]}
            if not move.agrees and not node.parent.has_variation(preferred):
                add_comment(node.parent.add_variation(preferred), decision)
        node.set_eval(None)
        add_comment(node, decision, judgement=move.judgement)
        if states[i + 1].active_players:
            set_evaluation(node, values[i + 1], game.variant, is_white=True)
        board.push(node.move)
        moves.append(move)
    return moves


def table(moves: Iterable[JudgedMove]) -> list[dict[str, Any]]:
    """Returns a row per player and phase: the number of moves, the share on which the agent agrees, their mean cost,
    and the number of judged moves.
    """
    groups: dict[tuple[str, str], list[JudgedMove]] = {}
    for move in moves:
        groups.setdefault((move.player, move.phase), []).append(move)
    return [
        {
            "player": player,
            "phase": phase,
            "moves": len(group),
            "agreement": round(sum(move.agrees for move in group) / len(group), 4),
            "mean cost": round(sum(move.cost for move in group) / len(group), 4),
            **{name: sum(move.judgement == name for move in group) for name in reversed(JUDGEMENTS)},
        }
        for (player, phase), group in groups.items()
    ]


def _remove_annotations(node: chess.pgn.ChildNode) -> None:
    """Removes an agent's annotations of a move: its glyph, and the variation with the move that the agent preferred."""
    node.nags = node.nags - {GLYPHS.get(parse_judgement(node), 0)}
    for other in list(node.parent.variations):
        if other is not node and other.is_end() and is_annotated_by_agent(other):
            node.parent.remove_variation(other)


def _decisions(
    game: ChessGame, states: Sequence[Any], agent: Agent, gate: PhaseGate, seed: int
) -> list[Decision | None]:
    """Returns the agent's decision in each position, requested in one batch; None if the game is over."""
    views = game.views([(state, state.active_players[0]) for state in states if state.active_players])
    if not len(views):
        return [None] * len(states)
    seats = [Seat(player, np.random.default_rng([seed, row])) for row, (_, player) in enumerate(views)]
    phases = (gate.phase_names[phase] for phase in gate.weights(views).argmax(axis=1))
    with_phases = (
        decision if decision.phase else replace(decision, phase=phase)
        for decision, phase in zip(agent.act(views, seats), phases, strict=True)
    )
    return [next(with_phases) if state.active_players else None for state in states]


def _value_for_white(state: Any, decision: Decision | None) -> float:
    if decision is None:
        return float(state.returns()[0])
    if decision.value is None:
        raise UsageError(
            "expected an agent that values positions, such as experts or alpha-beta, got one that does not"
        )
    return decision.value if state.active_players[0] == 0 else -decision.value

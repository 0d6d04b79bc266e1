"""The engine's output during a search: lines, scores and progress."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from moemcts.game import Action, FloatArray
from moemcts.search import Search, SearchResult
from moemcts_chess.score import centipawns
from moemcts_chess.tablebase import RankedMove, Tablebase
from moemcts_chess.uci import protocol
from moemcts_chess.uci.loading import Resources

MAX_TABLE_LINE = 20


class Reporter:
    """Converts the results of one search to `info` lines."""

    def __init__(
        self,
        resources: Resources,
        send: Callable[[str], None],
        *,
        num_lines: int = 1,
        shows_wdl: bool = False,
        max_nodes: int = 1,
    ) -> None:
        """Takes the number of lines to show, and the number of nodes that fill the memory."""
        self._resources = resources
        self._send = send
        self._num_lines = num_lines
        self._shows_wdl = shows_wdl
        self._max_nodes = max_nodes
        self._num_earlier_hits = resources.tbhits
        self._num_earlier_nodes = 0
        self._known_value: float | None = None

    def set_known_value(self, value: float) -> None:
        """Sets the value of all moves to be searched according to tablebases, which overrides the search's values."""
        self._known_value = value

    def begin(self, result: SearchResult) -> None:
        """Records the size of a kept tree at the start."""
        self._num_earlier_nodes = result.num_nodes

    def report(
        self, state: Any, search: Search, result: SearchResult, seconds: float, *, first: Action | None = None
    ) -> Sequence[str]:
        """Reports the state of the search; returns the moves of its best line.

        `first` is the first action of the best line, if it is not the recommended one.
        """
        first = result.best_action if first is None else first
        best, *rest = sorted(
            range(len(result.actions)), key=lambda row: (result.actions[row] != first, *_sort_key(result, row))
        )
        # Untried moves have no statistics, especially if a proof of the root is all there is.
        rows = [best, *(row for row in rest if result.visits[row] or result.proven[row])]
        lines = search.lines()
        reported: list[protocol.Line] = []
        for rank, row in enumerate(rows[: self._num_lines], 1):
            actions = [actions[0] for actions in lines[row]] or [int(result.actions[row])]
            moves = moves_of(state, actions)
            if self._known_value is not None:
                reported.append(self._proven_line(moves, self._known_value, rank))
            elif result.proven[row]:
                reported.append(self._proven_line(moves, float(result.values[row]), rank, int(result.proof_plies[row])))
            else:
                value = float(result.values[row]) if result.visits[row] else result.value
                reported.append(self._estimated_line(moves, value, rank))
        self._send_info(
            reported,
            depth=len(result.principal_variation),
            seldepth=result.max_depth,
            nodes=result.num_nodes,
            new_nodes=result.num_nodes - self._num_earlier_nodes,
            seconds=seconds,
        )
        return reported[0].moves

    def report_ranked(
        self, state: Any, ranked: Sequence[RankedMove], tables: Tablebase | None, seconds: float
    ) -> Sequence[str]:
        """Reports the tablebase results at the root; returns the moves of the best line."""
        reported = []
        for rank, move in enumerate(ranked[: self._num_lines], 1):
            moves = moves_of(state, _table_line(state, move, tables))
            reported.append(self._proven_line(moves, move.value, rank))
        self._send_info(reported, depth=1, seldepth=1, nodes=1, new_nodes=1, seconds=seconds, tbhits=len(ranked))
        return reported[0].moves

    def report_policy(self, state: Any, probabilities: FloatArray, value: float, seconds: float) -> Sequence[str]:
        """Reports the network's policy without a search, `[A]`; returns its best move."""
        order = np.argsort(-probabilities, kind="stable")[: self._num_lines]
        order = order[probabilities[order] > 0]
        reported = [self._estimated_line([state.uci(int(action))], value, rank) for rank, action in enumerate(order, 1)]
        self._send_info(reported, depth=1, seldepth=1, nodes=1, new_nodes=1, seconds=seconds)
        return reported[0].moves

    def _proven_line(self, moves: Sequence[str], value: float, rank: int, plies_left: int = 0) -> protocol.Line:
        """Returns a line with a known result, 1, 0 or -1; a mate if the number of plies is known."""
        # In antichess a player's own move can lose.
        moves_left = (plies_left + 1) // 2
        score = f"mate {moves_left if value > 0 else -moves_left}" if value and plies_left else self._centipawns(value)
        wdl = 1000 * (value > 0), 1000 * (value == 0), 1000 * (value < 0)
        return protocol.Line(moves=moves, score=score, wdl=wdl if self._shows_wdl else None, rank=rank)

    def _estimated_line(self, moves: Sequence[str], value: float, rank: int) -> protocol.Line:
        """Returns a line with an estimated value."""
        wdl = protocol.win_draw_loss(value) if self._shows_wdl else None
        return protocol.Line(moves=moves, score=self._centipawns(value), wdl=wdl, rank=rank)

    def _centipawns(self, value: float) -> str:
        return f"cp {centipawns(value, self._resources.game.variant)}"

    def _send_info(
        self,
        lines: Sequence[protocol.Line],
        *,
        depth: int,
        seldepth: int,
        nodes: int,
        new_nodes: int,
        seconds: float,
        tbhits: int = 0,
    ) -> None:
        progress = protocol.Progress(
            depth=max(depth, 1),
            seldepth=max(seldepth, depth, 1),
            nodes=nodes,
            nodes_per_second=new_nodes / max(seconds, 1e-3),
            seconds=seconds,
            hashfull=min(1000 * nodes // self._max_nodes, 1000),
            tbhits=self._resources.tbhits - self._num_earlier_hits + tbhits,
            lines=lines,
        )
        for line in protocol.format_info(progress):
            self._send(line)


def _sort_key(result: SearchResult, row: int) -> tuple[int, int, int]:
    """Returns the sort key of an action: fastest wins, then by visits, then losses, slowest first."""
    visits, plies = int(result.visits[row]), int(result.proof_plies[row])
    if result.proven[row] and result.values[row] > 0:
        return 0, plies, -visits
    if result.proven[row] and result.values[row] < 0:
        return 2, -plies, -visits
    return 1, -visits, 0


def moves_of(state: Any, actions: Sequence[Action]) -> list[str]:
    """Returns a sequence of actions as moves."""
    moves = []
    for action in actions:
        moves.append(str(state.uci(int(action))))
        state = state.play([int(action)])
    return moves


def _table_line(state: Any, first: RankedMove, tables: Tablebase | None) -> list[Action]:
    actions = [first.action]
    state = state.play([first.action])
    while tables is not None and state.active_players and len(actions) < MAX_TABLE_LINE:
        ranked = tables.ranked(state)
        if not ranked:
            break
        actions.append(ranked[0].action)
        state = state.play([ranked[0].action])
    return actions

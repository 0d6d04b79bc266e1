"""Syzygy tablebases: values of positions with few pieces, for evaluators and for the choice of a move."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from moemcts.errors import MoemctsError, UsageError
from moemcts.evaluation import Evaluation, Evaluator, EvaluatorWrapper
from moemcts.game import Action, FloatArray, Views
from moemcts.native import core
from moemcts_chess.game import ChessGame


class RankedMove(NamedTuple):
    """A move and its result according to the tables, for the player who makes it."""

    action: Action
    wdl: int
    """2 win, 1 win prevented by the fifty-move rule, 0 draw, -1 loss prevented by it, -2 loss."""
    dtz: int
    """Plies to the next capture or pawn move, including this one; negative in a loss."""

    @property
    def value(self) -> float:
        """1, 0 or -1, with the fifty-move rule applied."""
        return float(int(self.wdl / 2))


class Tablebase:
    """The tables of one game of the family in one or more folders."""

    def __init__(self, game: ChessGame, folders: str | Sequence[str]) -> None:
        """Takes folders as a list, or as a string separated like the system's search paths.

        Raises MoemctsError if a folder cannot be read, UsageError if none contains a table of the game.
        """
        names = folders.split(os.pathsep) if isinstance(folders, str) else folders
        paths = [Path(name) for name in names if name]
        try:
            self._tables: Any = core.ChessTables(game.rules, paths)
        except ValueError as error:
            raise MoemctsError(str(error)) from None
        except OSError as error:
            raise MoemctsError(f"cannot read Syzygy tables from {error}") from None
        self.num_files: int = self._tables.num_files
        self.max_pieces: int = self._tables.max_pieces
        if not self.num_files:
            where = ", ".join(map(str, paths)) or "no folder"
            raise UsageError(f"expected Syzygy tables of {game.variant} in {where}, found none")

    def values(self, views: Views) -> FloatArray:
        """Returns the result for each viewer, 1, 0 or -1, or NaN if the tables do not determine it, `[N]`.

        A win prevented by the fifty-move rule is a draw.
        """
        values: FloatArray = self._tables.values(views)
        return values

    def ranked(self, state: Any) -> list[RankedMove] | None:
        """Returns the legal moves, best first; None if the tables do not cover all of them.

        Always playing the first one achieves the value of the position.
        """
        moves = self._tables.ranked(state)
        return None if moves is None else [RankedMove(*move) for move in moves]


class TablebaseEvaluator(EvaluatorWrapper):
    """Uses another evaluator's policy, and the tables' values if available."""

    def __init__(self, evaluator: Evaluator, tables: Tablebase) -> None:
        super().__init__(evaluator)
        self._tables = tables
        self.num_hits = 0
        """Number of views found in the tables."""

    def evaluate(self, views: Views) -> Evaluation:
        evaluation = self._evaluator.evaluate(views)
        table_values = self._tables.values(views)
        rows = np.flatnonzero(~np.isnan(table_values))
        if not len(rows):
            return evaluation
        self.num_hits += len(rows)
        value = np.array(evaluation.value, dtype=np.float32)
        if value.ndim == 1:
            value[rows] = table_values[rows]
        else:
            # One column per player, the viewer's first.
            value[rows, 0] = table_values[rows]
            value[rows, 1:] = -table_values[rows, None]
        return Evaluation(evaluation.logits, value)

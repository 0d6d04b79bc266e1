"""Syzygy tables: what positions with few pieces are worth, for evaluators and for the choice of a move."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from moemcts.errors import MoemctsError, UsageError
from moemcts.evaluation import Evaluation, Evaluator, Wrapping
from moemcts.game import Action, FloatArray, Views
from moemcts.native import core
from moemcts_chess.game import ChessGame


class RankedMove(NamedTuple):
    """A move by the tables, for the player who makes it."""

    action: Action
    wdl: int
    """2 a win, 1 a win that the fifty moves prevent, 0 a draw, -1 a loss that they prevent, -2 a loss."""
    dtz: int
    """Plies to the next capture or pawn move, this one included; negative where it loses."""

    @property
    def value(self) -> float:
        """1, 0 or -1, the fifty moves counted."""
        return float(int(self.wdl / 2))


class Tablebase:
    """The tables of one game of the family in some folders."""

    def __init__(self, game: ChessGame, folders: str | Sequence[str]) -> None:
        """Takes folders as a list, or as one text that separates them as the system's paths are.

        Raises MoemctsError where a folder cannot be read, UsageError where none holds a table of the game.
        """
        given = folders.split(os.pathsep) if isinstance(folders, str) else folders
        paths = [Path(folder) for folder in given if folder]
        try:
            self._tables: Any = core.ChessTables(game.rules, paths)
        except ValueError as error:
            raise MoemctsError(str(error)) from None
        except OSError as error:
            raise MoemctsError(f"no Syzygy tables can be read from {error}") from None
        self.num_files: int = self._tables.num_files
        self.max_pieces: int = self._tables.max_pieces
        if not self.num_files:
            where = ", ".join(map(str, paths)) or "no folder"
            raise UsageError(f"expected Syzygy tables of {game.variant} in {where}, found none")

    def values(self, views: Views) -> FloatArray:
        """Returns what each viewer gets, 1, 0 or -1, and NaN where no table tells, `[N]`.

        A win that the fifty moves prevent is a draw.
        """
        values: FloatArray = self._tables.values(views)
        return values

    def ranked(self, state: Any) -> list[RankedMove] | None:
        """Returns the legal moves, the best first; None where the tables do not tell about all of them.

        A player who always plays the first gets what the position is worth.
        """
        found = self._tables.ranked(state)
        return None if found is None else [RankedMove(*move) for move in found]


class TablebaseEvaluator(Wrapping):
    """Takes another evaluator's policy, and the tables' values where there are any."""

    def __init__(self, evaluator: Evaluator, tables: Tablebase) -> None:
        super().__init__(evaluator)
        self._tables = tables
        self.num_hits = 0
        """Views that the tables told about."""

    def evaluate(self, views: Views) -> Evaluation:
        evaluation = self._evaluator.evaluate(views)
        told = self._tables.values(views)
        rows = np.flatnonzero(~np.isnan(told))
        if not len(rows):
            return evaluation
        self.num_hits += len(rows)
        value = np.array(evaluation.value, dtype=np.float32)
        if value.ndim == 1:
            value[rows] = told[rows]
        else:
            # One column per player, the viewer's first.
            value[rows, 0] = told[rows]
            value[rows, 1:] = -told[rows, None]
        return Evaluation(evaluation.logits, value)

"""Phases of chess and its variants: by Lichess' rules, by remaining material, by moves played.

All of them depend only on the position and are computed natively; data, training and search share the code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol, cast

from moemcts.game import IntArray, Views
from moemcts.gates import CutGate, HardGate

PHASES: tuple[str, ...] = ("opening", "middlegame", "endgame")

FEATURES = ("majors and minors", "mixedness", "back rank white", "back rank black")
"""The features of Lichess' rules."""

AVERAGE_MOVES = 42.85
"""Average length of a game in moves, which the papers divide equally (CrazyAra, game_phase_detector.py; thesis, 3.2).
"""


class _MeasuredViews(Protocol):
    """Views with the measures used by gates."""

    def measure(self, name: str) -> IntArray: ...


def measure(views: Views, name: str) -> IntArray:
    """Returns a measure of each view's position, `[N]`; the names are those of `core.chess_measures()`."""
    return cast(_MeasuredViews, views).measure(name)


class _MeasuredGate(HardGate):
    """A gate whose phase is the native measure of the same name."""

    phase_names = PHASES
    measures: ClassVar[tuple[str, ...]] = ()
    """The measures shown as features."""

    def phases(self, views: Views) -> IntArray:
        return measure(views, self.name)

    def features(self, views: Views) -> Mapping[str, IntArray]:
        return {name: measure(views, name) for name in self.measures}


class LichessGate(_MeasuredGate):
    """Opening, middlegame and endgame by the thresholds of lichess-org/scalachess, Divider.scala.

    Endgame: at most 6 majors and minors of both sides. Otherwise middlegame: at most 10, or fewer than 4 pieces on a
    side's first rank, or mixedness above 150. Lichess divides whole games; here each position is judged alone, as in
    the papers, so a promotion can lead back to an earlier phase. `moemcts data figures` also divides games as Lichess
    shows them.

    Antichess does not count kings, as on Lichess. In crazyhouse only pieces on the board count, not those in hand. In
    horde White has no majors and minors, and in racing kings Black's first rank is empty from the start: both begin as
    middlegames, so other gates are a better choice there.
    """

    name = "lichess"
    measures = FEATURES


class LichessCrazyaraGate(_MeasuredGate):
    """The same rules with the mixedness table of CrazyAra's engine, which has a bug; for comparison only.

    `score_region` (engine/src/environments/chess_related/board.cpp) leaves a constant outside its condition, so eight
    kinds of regions count as mixed that score 0 on Lichess: the start position scores 70, not 0, and half of the
    opening becomes middlegame. The papers' networks were trained with the older, correct table and played with this
    one.
    """

    name = "lichess-crazyara"


class ConjunctiveGate(_MeasuredGate):
    """A longer opening with fewer returns to it, after the thesis' proposal in section 5.1; can go back.

    Endgame: at most 6 majors and minors. Otherwise middlegame if neither side can castle any more and two of these
    hold: mixedness above 130, at most 10 majors and minors, a sparse first rank, more than 15 moves begun. Whether a
    side has castled is judged by its castling rights, the only trace of it in a position.
    """

    name = "conjunctive"
    measures = (*FEATURES, "moves completed")


class _MeasureCutGate(CutGate):
    """Cuts a native measure."""

    measured: ClassVar[str]

    def numbers(self, views: Views) -> IntArray:
        return measure(views, self.measured)


class MoveCountGate(_MeasureCutGate):
    """Two to five equal parts of an average game, by the move number (thesis, section 3.2), or parts that start after
    given numbers of moves; never goes back.
    """

    name = "movecount"
    measured = "moves completed"

    def __init__(self, num_phases: int = 3, *, cuts: Sequence[int] | None = None) -> None:
        if num_phases not in (2, 3, 4, 5):
            raise ValueError(f"expected 2, 3, 4 or 5 phases, got {num_phases}")
        length = round(AVERAGE_MOVES / num_phases)
        super().__init__([length * part for part in range(1, num_phases)] if cuts is None else cuts)


class _LossGate(_MeasureCutGate):
    """Cuts the lost material or pieces; three phases are the opening, the middlegame and the endgame."""

    thirds: ClassVar[tuple[int, int]]
    """Cuts that divide the positions of the master games of docs/games/chess.md into three nearly equal parts."""

    def __init__(self, cuts: Sequence[int] | None = None) -> None:
        cuts = self.thirds if cuts is None else cuts
        super().__init__(cuts, PHASES if len(cuts) == 2 else ())


class MaterialGate(_LossGate):
    """Cuts the material lost, out of 24: 1 per knight or bishop, 2 per rook, 4 per queen; a promotion goes back.

    The weights are those of Fruit's tapered evaluation (Letouzey, 2004). The default cuts divide the positions of the
    master games of docs/games/chess.md into three nearly equal parts.
    """

    name = "material"
    measured = "lost material"
    thirds = (2, 11)


class PiecesGate(_LossGate):
    """Cuts the number of captured pieces and pawns; goes back only in crazyhouse, where pieces return.

    The default cuts divide the positions of the master games of docs/games/chess.md into three nearly equal parts.
    """

    name = "pieces"
    measured = "lost pieces"
    thirds = (5, 13)

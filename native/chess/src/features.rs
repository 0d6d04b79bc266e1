//! The features that plane sets consist of: groups of planes with names and units.

use crate::compact::HISTORY;
use crate::variant::VARIANTS;

/// A group of planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// P1 pawns, knights, bishops, rooks, queens, king; P2 the same.
    Pieces,
    /// The position occurred at least once before; at least twice before.
    Repetition,
    /// P1 pawns, knights, bishops, rooks, queens in hand over 16; P2 the same.
    Pockets,
    /// P1 promoted pieces; P2 the same.
    Promoted,
    /// The target of a legal en passant capture.
    EnPassant,
    /// Ones if White is viewing.
    Colour,
    /// The move number over 500.
    MoveNumber,
    /// P1 may castle to the king side, to the queen side; P2 the same.
    Castling,
    /// Half-moves since the last capture or pawn move over 50.
    Halfmoves,
    /// P1 needs one more check to win; at most two more; P2 the same.
    RemainingChecks,
    /// Ones in Chess960.
    Is960,
    /// One plane for each variant except Chess960, which has its own feature.
    VariantOneHot,
    /// Origin and target of the last eight moves, the newest first; drops have no origin; castling as in the policy.
    LastMoves,
    /// P1 pieces; P2 pieces.
    PieceMasks,
    /// Alternating zeros and ones, `[0, 0]` zero.
    Checkerboard,
    /// P1 minus P2 pieces over 8, for the first n of pawns, knights, bishops, rooks, queens, kings.
    MaterialDifference(usize),
    /// Each side has exactly one bishop, on squares of different colours.
    OppositeBishops,
    /// Pieces that give check.
    Checkers,
    /// P1 pieces over 8, for the first n kinds.
    MaterialCount(usize),
    /// Squares that P1 pawns, knights, bishops, rooks, queens, king attack; P2 the same.
    Attacks,
    /// Squares that at least two P1 pieces attack; P2 the same.
    AttackedTwice,
    /// P1 pieces attacked by a less valuable piece, or attacked and unprotected; P2 the same.
    Hanging,
    /// The only piece of either side between a P2 slider and the P1 king, pinned or blocking a discovered check; the
    /// same with sides swapped.
    Blockers,
    /// Squares from which a P1 pawn, knight, bishop, rook would give check to the P2 king.
    CheckSquares,
}

use Feature::*;

impl Feature {
    pub const fn num_planes(self) -> usize {
        match self {
            Pieces | Attacks => 12,
            Pockets => 10,
            LastMoves => 2 * HISTORY,
            Castling | RemainingChecks | CheckSquares => 4,
            Repetition | Promoted | PieceMasks | AttackedTwice | Hanging | Blockers => 2,
            VariantOneHot => VARIANTS.len() - 1,
            MaterialDifference(n) | MaterialCount(n) => n,
            EnPassant | Colour | MoveNumber | Halfmoves | Is960 | Checkerboard | OppositeBishops | Checkers => 1,
        }
    }

    /// Returns the divisor of the feature's numbers.
    pub const fn unit(self) -> f32 {
        match self {
            Pockets => 16.0,
            MoveNumber => 500.0,
            Halfmoves => 50.0,
            MaterialDifference(_) | MaterialCount(_) => 8.0,
            _ => 1.0,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Pieces => "pieces",
            Repetition => "repetition",
            Pockets => "pockets",
            Promoted => "promoted",
            EnPassant => "en passant",
            Colour => "colour",
            MoveNumber => "move number",
            Castling => "castling",
            Halfmoves => "halfmoves",
            RemainingChecks => "remaining checks",
            Is960 => "is960",
            VariantOneHot => "variant",
            LastMoves => "last moves",
            PieceMasks => "piece masks",
            Checkerboard => "checkerboard",
            MaterialDifference(_) => "material difference",
            OppositeBishops => "opposite bishops",
            Checkers => "checkers",
            MaterialCount(_) => "material count",
            Attacks => "attacks",
            AttackedTwice => "attacked twice",
            Hanging => "hanging",
            Blockers => "blockers",
            CheckSquares => "check squares",
        }
    }
}

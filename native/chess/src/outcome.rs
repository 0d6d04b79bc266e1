//! The ends of games.

use shakmaty::variant::{Variant as Board, VariantPosition};
use shakmaty::{attacks, Bitboard, Color, KnownOutcome, Position, Role};

use crate::moves::with_legal_moves;
use crate::variant::Rules;

/// Why a game is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Termination {
    Checkmate,
    Stalemate,
    /// A king on the hill, an exploded king, a third check, a won race, a side without pieces.
    VariantEnd,
    InsufficientMaterial,
    FiftyMoves,
    Threefold,
    MaxPlies,
}

impl Termination {
    pub fn name(self) -> &'static str {
        match self {
            Self::Checkmate => "checkmate",
            Self::Stalemate => "stalemate",
            Self::VariantEnd => "variant end",
            Self::InsufficientMaterial => "insufficient material",
            Self::FiftyMoves => "fifty moves",
            Self::Threefold => "threefold repetition",
            Self::MaxPlies => "longest game",
        }
    }
}

/// A result with its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    pub winner: Option<Color>,
    pub termination: Termination,
}

/// Returns how the game ended, or None if it is not over.
///
/// Draws that a player could claim, by the fifty-move rule or threefold repetition, end the game at once, as usual for
/// engines. `repetitions` is the number of earlier occurrences of the position.
pub fn end(position: &VariantPosition, rules: &Rules, repetitions: u8, ply: u32) -> Option<End> {
    let draw = |termination| Some(End { winner: None, termination });
    if position.is_variant_end() {
        return Some(End { winner: variant_winner(position), termination: Termination::VariantEnd });
    }
    if !has_legal_move(position) {
        return Some(end_without_moves(position));
    }
    if position.is_insufficient_material() {
        return draw(Termination::InsufficientMaterial);
    }
    if rules.variant.progresses && position.halfmoves() >= 100 {
        return draw(Termination::FiftyMoves);
    }
    if repetitions >= 2 {
        return draw(Termination::Threefold);
    }
    if ply >= rules.max_plies {
        return draw(Termination::MaxPlies);
    }
    None
}

fn variant_winner(position: &VariantPosition) -> Option<Color> {
    match position.variant_outcome().known() {
        Some(KnownOutcome::Decisive { winner }) => Some(winner),
        Some(KnownOutcome::Draw) => None,
        // Antichess: the side that is not to move has no pieces left, and has won.
        None => Some(!position.turn()),
    }
}

fn end_without_moves(position: &VariantPosition) -> End {
    if let Some(KnownOutcome::Decisive { winner }) = position.variant_outcome().known() {
        return End { winner: Some(winner), termination: Termination::Stalemate };
    }
    if position.is_check() {
        End { winner: Some(!position.turn()), termination: Termination::Checkmate }
    } else {
        End { winner: None, termination: Termination::Stalemate }
    }
}

/// Returns whether the side to move has a legal move.
///
/// Out of check, a pawn or knight that shares no line with its king is not pinned, so one free square in front of it
/// decides; only the other positions need the full list.
fn has_legal_move(position: &VariantPosition) -> bool {
    let needs_full_list = matches!(position, VariantPosition::Antichess(_) | VariantPosition::RacingKings(_));
    if !needs_full_list && !position.is_check() {
        let king = position.board().king_of(position.turn());
        let lines = king.map_or(Bitboard::EMPTY, |king| attacks::queen_attacks(king, Bitboard::EMPTY));
        let empty = !position.board().occupied();
        let pawns = position.our(Role::Pawn) & !lines;
        let forward = if position.turn().is_white() { pawns.shift(8) } else { pawns.shift(-8) };
        let knights = position.our(Role::Knight) & !lines;
        if (forward & empty).any() || knights.into_iter().any(|from| (attacks::knight_attacks(from) & empty).any()) {
            return true;
        }
    }
    with_legal_moves(position, |moves| !moves.is_empty())
}

/// Returns the pieces that give check in the sense of the variant.
pub fn checkers(board: &shakmaty::Board, rules: Board, turn: Color) -> Bitboard {
    let Some(king) = board.king_of(turn) else {
        return Bitboard::EMPTY;
    };
    let adjacent_kings = (attacks::king_attacks(king) & board.kings() & board.by_color(!turn)).any();
    match rules {
        Board::Antichess => Bitboard::EMPTY,
        Board::Atomic if adjacent_kings => Bitboard::EMPTY,
        _ => board.attacks_to(king, !turn, board.occupied()),
    }
}

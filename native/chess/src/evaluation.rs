//! Static evaluation: material, piece placement, and the goal of each variant.

use shakmaty::variant::Variant as Board;
use shakmaty::{Color, Piece, Position, Role, Square};

use crate::state::Chess;

/// Centipawns of pawn, knight, bishop, rook, queen, king (Michniewski, Simplified Evaluation Function, 1995).
const MATERIAL: [i32; 6] = [100, 320, 330, 500, 900, 0];
/// A piece in hand can be dropped nearly anywhere, but a pawn still has to advance.
const HAND: [i32; 6] = [120, 330, 330, 450, 800, 0];
/// The cost of still having a piece in antichess: the farther it moves, the more it can be forced to capture.
const BURDEN: [i32; 6] = [100, 120, 150, 190, 240, 90];

/// Returns the static evaluation for the side to move, in centipawns; the end of the game is not considered.
pub fn evaluate(state: &Chess) -> i32 {
    let white = evaluate_side(state, Color::White) - evaluate_side(state, Color::Black);
    state.turn().fold_wb(white, -white)
}

/// Returns the value of a piece in centipawns, by which captures are ordered.
pub fn material(role: Role) -> i32 {
    MATERIAL[role_index(role)]
}

fn evaluate_side(state: &Chess, color: Color) -> i32 {
    let (position, board) = (state.position(), state.position().board());
    let rules = state.variant().board;
    let has_queens = (board.by_role(Role::Queen) & board.by_color(!color)).any();
    let mut sum = 0;
    for square in board.by_color(color) {
        let Some(role) = board.role_at(square) else { continue };
        sum += match rules {
            Board::Antichess => -BURDEN[role_index(role)],
            // Pieces only support the king's race.
            Board::RacingKings => MATERIAL[role_index(role)] / 2,
            _ => MATERIAL[role_index(role)] + square_value(role, square, color, has_queens),
        };
    }
    let king = board.by_piece(Piece { color, role: Role::King }).into_iter().next();
    sum + match (rules, king) {
        (Board::KingOfTheHill, Some(king)) => 35 * centrality(king),
        (Board::RacingKings, Some(king)) => 90 * i32::from(king.rank()),
        (Board::ThreeCheck, _) => {
            let checks_given =
                position.remaining_checks().map_or(0, |checks| 3 - i32::from(u8::from(*checks.get(color))));
            80 * checks_given * (checks_given + 1)
        }
        (Board::Crazyhouse, _) => position.pockets().map_or(0, |pockets| {
            Role::ALL.into_iter().map(|role| HAND[role_index(role)] * i32::from(*pockets.get(color).get(role))).sum()
        }),
        _ => 0,
    }
}

/// Returns the value of a square for a piece: advanced pawns, central pieces, and a king at home while there are
/// queens.
fn square_value(role: Role, square: Square, color: Color, has_queens: bool) -> i32 {
    let rank = i32::from(square.rank());
    let advance = color.fold_wb(rank, 7 - rank);
    match role {
        Role::Pawn => 3 * advance * advance / 2 + 5 * centrality(square) - 10,
        Role::Knight => 14 * centrality(square) - 20,
        Role::Bishop => 6 * centrality(square) - 8 + if advance == 0 { -8 } else { 0 },
        Role::Rook => i32::from(advance == 6) * 15,
        Role::Queen => 3 * centrality(square),
        Role::King if has_queens => -14 * advance - 10 * centrality(square),
        Role::King => 10 * centrality(square),
    }
}

/// Returns 0 on the edge of the board to 3 in its centre.
fn centrality(square: Square) -> i32 {
    let from_edge = |line: i32| line.min(7 - line);
    from_edge(square.file().into()).min(from_edge(square.rank().into()))
}

fn role_index(role: Role) -> usize {
    role as usize - Role::Pawn as usize
}

//! What a position is worth at a glance: material, where the pieces stand, and what each variant is played for.

use shakmaty::variant::Variant as Board;
use shakmaty::{Color, Piece, Position, Role, Square};

use crate::state::Chess;

/// Centipawns of pawn, knight, bishop, rook, queen, king (Michniewski, Simplified Evaluation Function, 1995).
const MATERIAL: [i32; 6] = [100, 320, 330, 500, 900, 0];
/// In the hand a piece is anywhere soon, but a pawn has its way before it.
const HAND: [i32; 6] = [120, 330, 330, 450, 800, 0];
/// What it costs to still have a piece where all are to be lost: the further it sees, the more it is made to take.
const BURDEN: [i32; 6] = [100, 120, 150, 190, 240, 90];

/// Returns what the position is worth to the side to move, in centipawns; says nothing about the end of the game.
pub fn evaluate(state: &Chess) -> i32 {
    let white = side(state, Color::White) - side(state, Color::Black);
    state.turn().fold_wb(white, -white)
}

/// Returns the centipawns of a piece, the unit in which captures are compared.
pub fn material(role: Role) -> i32 {
    MATERIAL[index(role)]
}

fn side(state: &Chess, color: Color) -> i32 {
    let (position, board) = (state.position(), state.position().board());
    let rules = state.variant().board;
    let has_queens = (board.by_role(Role::Queen) & board.by_color(!color)).any();
    let mut sum = 0;
    for square in board.by_color(color) {
        let Some(role) = board.role_at(square) else { continue };
        sum += match rules {
            Board::Antichess => -BURDEN[index(role)],
            // Pieces only help the king to run.
            Board::RacingKings => MATERIAL[index(role)] / 2,
            _ => MATERIAL[index(role)] + place(role, square, color, has_queens),
        };
    }
    let king = board.by_piece(Piece { color, role: Role::King }).into_iter().next();
    sum + match (rules, king) {
        (Board::KingOfTheHill, Some(king)) => 35 * centrality(king),
        (Board::RacingKings, Some(king)) => 90 * i32::from(king.rank()),
        (Board::ThreeCheck, _) => {
            let given = position.remaining_checks().map_or(0, |checks| 3 - i32::from(u8::from(*checks.get(color))));
            80 * given * (given + 1)
        }
        (Board::Crazyhouse, _) => position.pockets().map_or(0, |pockets| {
            Role::ALL.into_iter().map(|role| HAND[index(role)] * i32::from(*pockets.get(color).get(role))).sum()
        }),
        _ => 0,
    }
}

/// Returns what a square adds to a piece: pawns forward, pieces to the middle, the king home while queens are about.
fn place(role: Role, square: Square, color: Color, has_queens: bool) -> i32 {
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

fn index(role: Role) -> usize {
    role as usize - Role::Pawn as usize
}

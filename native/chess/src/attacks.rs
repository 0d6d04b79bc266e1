//! Attacks of pieces, and what follows from them: hanging pieces, blockers, and squares that give check.

use shakmaty::{attacks, Bitboard, Board, ByColor, ByRole, Color, Piece, Role};

/// The squares attacked by one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attacks {
    /// Squares attacked by pieces of each role, including own pieces that they protect.
    pub by_role: ByRole<Bitboard>,
    /// Squares attacked by at least one piece.
    pub once: Bitboard,
    /// Squares attacked by at least two pieces.
    pub twice: Bitboard,
}

impl Attacks {
    pub fn of(board: &Board, color: Color) -> Self {
        let mut found = Self::default();
        for role in Role::ALL {
            for square in board.by_piece(Piece { color, role }) {
                let attacked = attacks::attacks(square, Piece { color, role }, board.occupied());
                *found.by_role.get_mut(role) |= attacked;
                found.twice |= found.once & attacked;
                found.once |= attacked;
            }
        }
        found
    }

    /// Returns the squares attacked by pieces of less value than that role; knights and bishops have equal value.
    fn by_less_than(&self, role: Role) -> Bitboard {
        let roles = &self.by_role;
        match role {
            Role::Pawn => Bitboard::EMPTY,
            Role::Knight | Role::Bishop => roles.pawn,
            Role::Rook => roles.pawn | roles.knight | roles.bishop,
            Role::Queen | Role::King => roles.pawn | roles.knight | roles.bishop | roles.rook,
        }
    }
}

/// Returns the pieces of a side, except its king, that are attacked by a less valuable piece, or attacked and
/// unprotected.
pub fn hanging(board: &Board, attacks: &ByColor<Attacks>, color: Color) -> Bitboard {
    let (own, others) = (attacks.get(color), attacks.get(!color));
    let loose = others.once & !own.once;
    let roles = Role::ALL.into_iter().filter(|&role| role != Role::King);
    roles.fold(Bitboard::EMPTY, |found, role| {
        found | board.by_piece(Piece { color, role }) & (loose | others.by_less_than(role))
    })
}

/// Returns the pieces of either side that are alone between a slider and the opposing king `king_of`.
pub fn blockers(board: &Board, king_of: Color) -> Bitboard {
    let Some(king) = board.king_of(king_of) else { return Bitboard::EMPTY };
    let straight = attacks::rook_attacks(king, Bitboard::EMPTY) & board.rooks_and_queens();
    let diagonal = attacks::bishop_attacks(king, Bitboard::EMPTY) & board.bishops_and_queens();
    let snipers = (straight | diagonal) & board.by_color(!king_of);
    let between = snipers.into_iter().map(|sniper| attacks::between(king, sniper) & board.occupied());
    between.filter(|pieces| pieces.count() == 1).fold(Bitboard::EMPTY, |found, piece| found | piece)
}

/// Returns the squares from which a pawn, knight, bishop or rook of a side attacks the other side's king.
pub fn check_squares(board: &Board, color: Color) -> [Bitboard; 4] {
    board.king_of(!color).map_or([Bitboard::EMPTY; 4], |king| {
        [Role::Pawn, Role::Knight, Role::Bishop, Role::Rook]
            .map(|role| attacks::attacks(king, Piece { color: !color, role }, board.occupied()))
    })
}

#[cfg(test)]
mod tests {
    use shakmaty::{fen::Fen, Square};

    use super::*;

    fn board(fen: &str) -> Board {
        fen.parse::<Fen>().unwrap().into_setup().board
    }

    fn squares(names: &str) -> Bitboard {
        names.split_whitespace().map(|name| name.parse::<Square>().unwrap()).collect()
    }

    #[test]
    fn a_piece_hangs_before_a_lesser_one_or_unprotected() {
        // The rook is protected and attacked by a knight; the bishop is attacked only by a queen, but unprotected.
        let board = board("4k3/8/8/3n4/1R6/P4B1q/8/4K3 w - - 0 1");
        let attacks = ByColor::new_with(|color| Attacks::of(&board, color));
        assert_eq!(hanging(&board, &attacks, Color::White), squares("b4 f3"));
        // The knight attacked by White's bishop is unprotected, too.
        assert_eq!(hanging(&board, &attacks, Color::Black), squares("d5"));
        assert!(attacks.white.twice.is_disjoint(squares("b4 f3")));
        assert!(attacks.white.once.contains(Square::B4));
    }

    #[test]
    fn blockers_of_both_sides_are_found_one_at_a_time() {
        // One knight is pinned by the rook, the other blocks a discovered check; two pawns in front of the queen are no
        // blockers.
        let board = board("4r2k/6N1/5B2/q7/8/2P5/3PN3/4K3 w - - 0 1");
        assert_eq!([Color::White, Color::Black].map(|side| blockers(&board, side)), [squares("e2"), squares("g7")]);
    }

    #[test]
    fn check_squares_attack_the_other_king() {
        let board = board("7k/8/8/8/8/8/8/K7 w - - 0 1");
        let [pawns, knights, bishops, rooks] = check_squares(&board, Color::White);
        assert_eq!([pawns, knights], [squares("g7"), squares("f7 g6")]);
        assert_eq!([bishops.count(), rooks.count()], [7, 14]);
    }
}

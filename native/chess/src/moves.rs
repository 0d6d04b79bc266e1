//! Legal moves, however many there are: `shakmaty`'s lists end where only a crowded crazyhouse position goes.

use shakmaty::variant::VariantPosition;
use shakmaty::{CastlingSide, Move, MoveList, Position, Role, Square};

/// Moves that a piece of each role has at most, from pawn to king: a pawn that promotes takes or steps in four ways each.
const MOST: [(Role, usize); 6] =
    [(Role::Pawn, 12), (Role::Knight, 8), (Role::Bishop, 13), (Role::Rook, 14), (Role::Queen, 27), (Role::King, 8)];
const CASTLINGS: usize = 2;

/// Hands the legal moves on.
///
/// All pieces of a board together never have more moves than a list of `shakmaty` holds, but with drops they can: with a
/// dozen promoted queens on the board and a piece of every role in hand.
pub fn with_legal_moves<R>(position: &VariantPosition, look: impl FnOnce(&[Move]) -> R) -> R {
    if is_crowded(position) {
        look(&one_by_one(position))
    } else {
        look(&position.legal_moves())
    }
}

/// Returns whether there may be more moves than a list holds.
fn is_crowded(position: &VariantPosition) -> bool {
    let VariantPosition::Crazyhouse(position) = position else { return false };
    let on_board: usize = MOST.iter().map(|&(role, most)| most * position.our(role).count()).sum();
    let free = (!position.board().occupied()).count();
    let in_hand = position.pockets().map_or(0, |pockets| {
        let pocket = pockets.get(position.turn());
        MOST.iter().filter(|&&(role, _)| *pocket.get(role) > 0).count()
    });
    on_board + CASTLINGS + in_hand * free > MoveList::new().capacity()
}

/// Returns the legal moves, asked for by role and square.
fn one_by_one(position: &VariantPosition) -> Vec<Move> {
    let mut moves = Vec::new();
    for to in Square::ALL {
        MOST.iter().for_each(|&(role, _)| moves.extend(position.san_candidates(role, to)));
    }
    for side in CastlingSide::ALL {
        moves.extend(position.castling_moves(side));
    }
    moves
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::{parse_state, perft};
    use crate::variant::{Rules, Variant, VARIANTS};
    use crate::Chess;
    use moemcts_tree::Rng;

    fn sorted(moves: &[Move]) -> Vec<String> {
        let mut names: Vec<String> = moves.iter().map(|m| format!("{m:?}")).collect();
        names.sort();
        names
    }

    #[test]
    fn moves_that_are_asked_for_one_by_one_are_all_and_each_once() {
        for variant in &VARIANTS {
            let mut rng = Rng::new(7);
            let mut state = Chess::new(Rules::of(variant));
            while !state.is_over() && state.num_plies() < 60 {
                let moves = state.position().legal_moves();
                assert_eq!(sorted(&one_by_one(state.position())), sorted(&moves), "{}", variant.name);
                state.play_move(moves[rng.below(moves.len())]);
            }
        }
    }

    /// As many as python-chess counts.
    #[test]
    fn a_position_has_more_moves_than_a_list_holds() {
        let rules = Rules::of(Variant::named("crazyhouse").unwrap());
        for (fen, num) in [
            ("k2B1QK1/nn1Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/3Q4/1Q4Q1[PNBRQ] w - - 0 1", 452),
            ("k2B1Q~K1/nn1Q~4/1Q~4Q~1/4Q~3/2Q~4Q~/Q~4Q~2/3Q4/1Q~4Q~1[PNBR] w - - 0 1", 405),
        ] {
            let state = parse_state(fen, rules).unwrap();
            assert!(is_crowded(state.position()));
            assert_eq!(with_legal_moves(state.position(), <[Move]>::len), num);
            assert_eq!(perft(&state, 1, &|| false), Some(num as u64));
        }
    }
}

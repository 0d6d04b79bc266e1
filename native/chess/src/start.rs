//! The 960 start positions of Chess960.

use shakmaty::variant::{Chess, VariantPosition};
use shakmaty::{Board, CastlingMode, FromSetup, Setup};

/// The number of start positions of Chess960.
pub const NUM_CHESS960: u32 = 960;

/// Returns the Chess960 start position with a Scharnagl number below 960; 518 is the standard one.
pub fn chess960(scharnagl: u32) -> VariantPosition {
    let board = Board::chess960(scharnagl % NUM_CHESS960);
    let castling_rights = board.rooks();
    let setup = Setup { board, castling_rights, ..Setup::initial() };
    Chess::from_setup(setup, CastlingMode::Chess960).unwrap_or_default().into()
}

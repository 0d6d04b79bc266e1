//! Classic two-player board games with alternating moves: each game defines its rules, and the rest is shared.

#![forbid(unsafe_code)]

pub mod breakthrough;
pub mod careful;
pub mod cells;
pub mod connect_four;
pub mod hex;
pub mod othello;
pub mod perft;
pub mod position;
pub mod record;
pub mod solver;
pub mod text;
pub mod tic_tac_toe;

pub use breakthrough::Breakthrough;
pub use careful::Careful;
pub use cells::Cells;
pub use connect_four::ConnectFour;
pub use hex::Hex;
pub use othello::Othello;
pub use perft::perft;
pub use position::{Ending, Position, Rules};
pub use tic_tac_toe::TicTacToe;

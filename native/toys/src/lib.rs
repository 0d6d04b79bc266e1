//! Small games written in Rust, for tests and measurements of the search.

#![forbid(unsafe_code)]

pub mod rows;

pub use rows::{ConnectFour, TicTacToe};

//! The small native games.

use crate::native_game;
use moemcts_tree::NoAgent;
use pyo3::prelude::*;

native_game! {
    binding: TicTacToeBinding, state: moemcts_toys::TicTacToe, agent: NoAgent,
    extract_agent: crate::game::no_agent,
    classes: TicTacToeState, TicTacToeViews, TicTacToeSearch
}

native_game! {
    binding: ConnectFourBinding, state: moemcts_toys::ConnectFour, agent: NoAgent,
    extract_agent: crate::game::no_agent,
    classes: ConnectFourState, ConnectFourViews, ConnectFourSearch
}

#[pymethods]
impl TicTacToeState {
    /// The empty board.
    #[staticmethod]
    fn initial() -> Self {
        Self(moemcts_toys::TicTacToe::default())
    }
}

#[pymethods]
impl ConnectFourState {
    /// The empty board.
    #[staticmethod]
    fn initial() -> Self {
        Self(moemcts_toys::ConnectFour::default())
    }
}

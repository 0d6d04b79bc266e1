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

    /// The position with these stones of the player to move and of the other one.
    #[staticmethod]
    fn of(own: u64, other: u64) -> Self {
        Self(moemcts_toys::TicTacToe::of(own, other))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (u64, u64))> {
        Ok((slf.get_type().getattr("of")?, slf.get().0.stones()))
    }
}

#[pymethods]
impl ConnectFourState {
    /// The empty board.
    #[staticmethod]
    fn initial() -> Self {
        Self(moemcts_toys::ConnectFour::default())
    }

    /// The position with these stones of the player to move and of the other one.
    #[staticmethod]
    fn of(own: u64, other: u64) -> Self {
        Self(moemcts_toys::ConnectFour::of(own, other))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (u64, u64))> {
        Ok((slf.get_type().getattr("of")?, slf.get().0.stones()))
    }
}

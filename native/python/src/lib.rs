//! `moemcts._core`: the native search and the native games, as Python sees them.

mod game;
mod python_game;
mod search;
mod toys;

use pyo3::prelude::*;

#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::python_game::PythonSearch;
    #[pymodule_export]
    use crate::search::KeptTree;
    #[pymodule_export]
    use crate::toys::{ConnectFourSearch, ConnectFourState, ConnectFourViews};
    #[pymodule_export]
    use crate::toys::{TicTacToeSearch, TicTacToeState, TicTacToeViews};
}

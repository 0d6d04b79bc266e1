//! `moemcts._core`: Python bindings of the native search and the native games.

mod alpha_beta;
mod cache_index;
mod chess;
mod chess_packed;
mod classics;
mod cross_entropy;
mod game;
mod interruption;
mod kept_tree;
mod native_game;
mod options;
mod packed;
mod playouts;
mod pommerman;
mod python_game;
mod rollouts;
mod search;
mod search_class;
mod syzygy;

use pyo3::prelude::*;

#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::cache_index::CacheIndex;
    #[pymodule_export]
    use crate::chess::{
        chess_divisions, chess_measure, chess_measures, chess_pack, chess_plane_sets, chess_policy_maps,
    };
    #[pymodule_export]
    use crate::chess::{ChessImporter, ChessRules, ChessSearch, ChessState, ChessViews};
    #[pymodule_export]
    use crate::chess_packed::{chess_unpack, ChessPackedViews};
    #[pymodule_export]
    use crate::classics::{
        BreakthroughSearch, BreakthroughState, BreakthroughViews, ClassicsCareful, ConnectFourSearch, ConnectFourState,
        ConnectFourViews, HexSearch, HexState, HexViews, OthelloSearch, OthelloState, OthelloViews, TicTacToeSearch,
        TicTacToeState, TicTacToeViews,
    };
    #[pymodule_export]
    use crate::cross_entropy::{cross_entropy, cross_entropy_gradient};
    #[pymodule_export]
    use crate::kept_tree::KeptTree;
    #[pymodule_export]
    use crate::packed::gather_rows;
    #[pymodule_export]
    use crate::playouts::{python_playout_search, python_playouts};
    #[pymodule_export]
    use crate::pommerman::{
        pommerman_decisions, pommerman_games, pommerman_ids, pommerman_planes, pommerman_replay, pommerman_transform,
        pommerman_transform_actions, PommermanPlayer, PommermanRules, PommermanScripted, PommermanSearch,
        PommermanState, PommermanViews,
    };
    #[pymodule_export]
    use crate::python_game::PythonSearch;
    #[pymodule_export]
    use crate::syzygy::ChessTables;
    use pyo3::prelude::*;
    use pyo3::types::PyTuple;

    /// Collects the state classes, so that `moemcts.native` can register them.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        // NumPy's C API is loaded on first use; a Ctrl-C during that would cause a panic.
        drop(numpy::PyArray1::<u8>::zeros(py, 0, false));
        let states = [
            py.get_type::<ChessState>(),
            py.get_type::<PommermanState>(),
            py.get_type::<TicTacToeState>(),
            py.get_type::<ConnectFourState>(),
            py.get_type::<OthelloState>(),
            py.get_type::<BreakthroughState>(),
            py.get_type::<HexState>(),
        ];
        module.add("IS_OPTIMISED", !cfg!(debug_assertions))?;
        module.add("STATE_TYPES", PyTuple::new(py, states)?)
    }
}

//! The classic board games: the same classes for each game, and the agent that plays all of them.

use crate::game::{pack_rows, unpack_rows, PackedRows};
use crate::native_game;
use moemcts_classics::{Breakthrough, Careful, Cells, ConnectFour, Hex, Othello, Position, Rules, TicTacToe};
use moemcts_tree::Rng;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The agent that wins in one move, prevents such a win, and is otherwise random; searches can use it natively.
#[pyclass(frozen, module = "moemcts._core")]
pub struct ClassicsCareful;

#[pymethods]
impl ClassicsCareful {
    #[new]
    fn new() -> Self {
        Self
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> Bound<'py, pyo3::types::PyTuple> {
        pyo3::types::PyTuple::empty(py)
    }
}

fn careful(object: &Bound<'_, PyAny>) -> PyResult<Careful> {
    Ok(object.cast::<ClassicsCareful>().map(|_| Careful)?)
}

fn rules<R: Rules>(rows: Option<usize>, columns: Option<usize>) -> PyResult<R> {
    let default = R::default();
    R::sized(rows.unwrap_or(default.rows()), columns.unwrap_or(default.columns())).map_err(PyValueError::new_err)
}

fn packed<R: Rules>(position: &Position<R>) -> Vec<u8> {
    let mut record = Vec::new();
    position.pack(&mut record);
    record
}

/// Returns the position of a record; an error if its board has another size.
fn unpacked<R: Rules>(bytes: &[u8], rules: R) -> Result<Position<R>, String> {
    let position = Position::unpack(bytes)?;
    check_size(&position, rules)?;
    Ok(position)
}

fn check_size<R: Rules>(position: &Position<R>, rules: R) -> Result<(), String> {
    if position.rules == rules {
        return Ok(());
    }
    let size = |rules: R| format!("{} rows and {} columns", rules.rows(), rules.columns());
    Err(format!("expected positions on a board of {}, got one of {}", size(rules), size(position.rules)))
}

/// Defines the Python classes of one classic game.
macro_rules! classic_game {
    ($binding:ident, $rules:ty, $state:ident, $views:ident, $search:ident) => {
        native_game! {
            binding: $binding, state: Position<$rules>, agent: Careful, extract_agent: careful,
            classes: $state, $views, $search
        }

        #[pymethods]
        impl $state {
            /// The start position on a board of this size.
            #[staticmethod]
            #[pyo3(signature = (rows=None, columns=None))]
            fn initial(rows: Option<usize>, columns: Option<usize>) -> PyResult<Self> {
                Ok(Self(Position::start(rules(rows, columns)?)))
            }

            /// Parses a position written as rows of cells, the player to move and the ply.
            #[staticmethod]
            #[pyo3(signature = (text, rows=None, columns=None))]
            fn parse(text: &str, rows: Option<usize>, columns: Option<usize>) -> PyResult<Self> {
                Position::parse(rules(rows, columns)?, text).map(Self).map_err(PyValueError::new_err)
            }

            fn format(&self) -> String {
                self.0.format()
            }

            /// The rows of the drawn board, top row first.
            fn drawn(&self) -> Vec<String> {
                self.0.drawn()
            }

            fn pack<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
                PyBytes::new(py, &packed(&self.0))
            }

            #[staticmethod]
            fn unpack(data: &[u8]) -> PyResult<Self> {
                Position::unpack(data).map(Self).map_err(PyValueError::new_err)
            }

            fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
                Ok((slf.get_type().getattr("unpack")?, (slf.get().pack(slf.py()),)))
            }

            fn __repr__(&self) -> String {
                format!("{} at {}", stringify!($state), self.0.format())
            }

            fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
                other.cast::<Self>().is_ok_and(|other| other.get().0 == self.0)
            }

            fn __hash__(&self) -> PyResult<u64> {
                self.key()
            }
        }

        #[pymethods]
        impl $views {
            /// Raises ValueError unless the positions are on a board of this size.
            fn check_size(&self, rows: usize, columns: usize) -> PyResult<()> {
                // All views of a batch have the same rules.
                let Some((position, _)) = self.0.first() else { return Ok(()) };
                check_size(position, rules(Some(rows), Some(columns))?).map_err(PyValueError::new_err)
            }

            /// Returns the packed positions and the offsets of each, `[N + 1]`.
            fn pack<'py>(&self, py: Python<'py>) -> PackedRows<'py> {
                pack_rows(py, self.0.iter(), |(position, _), data| position.pack(data))
            }

            /// Returns views of packed positions on a board of this size, from the point of view of `players`, `[N]`.
            #[staticmethod]
            #[pyo3(signature = (data, offsets, players, rows=None, columns=None))]
            fn unpack(
                py: Python<'_>,
                data: PyReadonlyArray1<'_, u8>,
                offsets: PyReadonlyArray1<'_, i64>,
                players: PyReadonlyArray1<'_, i64>,
                rows: Option<usize>,
                columns: Option<usize>,
            ) -> PyResult<Self> {
                let rules = rules::<$rules>(rows, columns)?;
                let (data, offsets, players) = (data.as_slice()?, offsets.as_slice()?, players.as_slice()?);
                unpack_rows(py, data, offsets, players, |bytes| unpacked(bytes, rules)).map(Self)
            }

            /// Returns the number of stones on each board, `[N]`.
            fn stones<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
                PyArray1::from_iter(py, self.0.iter().map(|(position, _)| i64::from(position.occupied().len())))
            }

            /// Returns the actions of the careful agent, with one seed for each view.
            fn careful(&self, seeds: Vec<u64>) -> PyResult<Vec<u32>> {
                if seeds.len() != self.0.len() || self.0.iter().any(|(position, _)| position.is_over()) {
                    return Err(PyValueError::new_err(
                        "expected positions in which the game goes on, and a seed for each",
                    ));
                }
                let views = self.0.iter().zip(seeds);
                Ok(views.map(|((position, _), seed)| Careful::choose(position, &mut Rng::new(seed))).collect())
            }
        }
    };
}

classic_game!(ConnectFourBinding, ConnectFour, ConnectFourState, ConnectFourViews, ConnectFourSearch);
classic_game!(TicTacToeBinding, TicTacToe, TicTacToeState, TicTacToeViews, TicTacToeSearch);
classic_game!(OthelloBinding, Othello, OthelloState, OthelloViews, OthelloSearch);
classic_game!(BreakthroughBinding, Breakthrough, BreakthroughState, BreakthroughViews, BreakthroughSearch);
classic_game!(HexBinding, Hex, HexState, HexViews, HexSearch);

//! Views of packed positions of the chess family, which gates and planes read in the format of datasets.

use moemcts_chess::{notation, Compact, Rules};
use moemcts_tree::Player;
use numpy::{PyArray1, PyArray2, PyArray4, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::chess::{parse_measure, ChessRules, ChessState, ChessViews};
use crate::game::{encode_planes, new_view, player_below, split_views};
use crate::playouts::Arms;

type Bytes<'py> = PyReadonlyArray1<'py, u8>;
type Integers<'py> = PyReadonlyArray1<'py, i64>;
type IntegerArray<'py> = Bound<'py, PyArray1<i64>>;

/// Views of packed positions, which are unpacked into states only on demand.
#[pyclass(frozen, module = "moemcts._core")]
pub struct ChessPackedViews {
    rules: Rules,
    bytes: Vec<u8>,
    /// The start of each row, and the end of the last one.
    offsets: Vec<usize>,
    players: Vec<u8>,
}

impl ChessPackedViews {
    fn row(&self, row: usize) -> &[u8] {
        &self.bytes[self.offsets[row]..self.offsets[row + 1]]
    }

    fn compacts(&self) -> impl Iterator<Item = Compact> + '_ {
        // The lengths of rows were checked before.
        (0..self.players.len()).filter_map(|row| Compact::from_bytes(self.row(row)))
    }

    fn pair(&self, row: usize) -> PyResult<(moemcts_chess::Chess, Player)> {
        match notation::unpack(self.row(row), self.rules) {
            Ok(state) => Ok((state, self.players[row].into())),
            Err(error) => Err(PyValueError::new_err(format!("row {row}: {error}"))),
        }
    }
}

#[pymethods]
impl ChessPackedViews {
    fn __len__(&self) -> usize {
        self.players.len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, row: i64) -> PyResult<Bound<'py, PyAny>> {
        let (state, player) = self.pair(crate::game::parse_row(row, self.players.len())?)?;
        new_view(py, ChessState(state), player)
    }

    fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }

    #[allow(clippy::type_complexity)]
    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (ChessRules, Bound<'py, PyArray1<u8>>, IntegerArray<'py>, IntegerArray<'py>))>
    {
        let (py, views) = (slf.py(), slf.get());
        let offsets = PyArray1::from_iter(py, views.offsets.iter().map(|&offset| offset as i64));
        let data = PyArray1::from_slice(py, &views.bytes);
        let unpack = py.import("moemcts._core")?.getattr("chess_unpack")?;
        Ok((unpack, (ChessRules(views.rules), data, offsets, views.players(py))))
    }

    /// Returns the given rows, in that order.
    fn take(&self, rows: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut taken = Self { rules: self.rules, bytes: Vec::new(), offsets: vec![0], players: Vec::new() };
        for number in crate::game::parse_rows(rows)? {
            let row = crate::game::parse_row(number, self.players.len())?;
            taken.bytes.extend_from_slice(self.row(row));
            taken.offsets.push(taken.bytes.len());
            taken.players.push(self.players[row]);
        }
        Ok(taken)
    }

    /// Returns views of unpacked states; raises ValueError if bytes are not a valid position.
    fn unpacked(&self, py: Python<'_>) -> PyResult<ChessViews> {
        py.detach(|| (0..self.players.len()).map(|row| self.pair(row)).collect::<PyResult<_>>()).map(ChessViews)
    }

    /// Returns the planes of each view, `[N, C, 8, 8]`, in the first rows of `out` if given.
    #[pyo3(signature = (out=None))]
    fn observations<'py>(
        &self,
        py: Python<'py>,
        out: Option<Bound<'py, PyArray4<f32>>>,
    ) -> PyResult<Bound<'py, PyArray4<f32>>> {
        let planes = self.rules.planes;
        let shape = if self.players.is_empty() { [0; 3] } else { [planes.num_planes(), 8, 8] };
        encode_planes(py, self.players.len(), shape, out, |row, out| {
            if let Some(position) = Compact::from_bytes(self.row(row)) {
                planes.encode(&position, moemcts_chess::state::color(self.players[row].into())).write(out);
            }
            Ok(())
        })
    }

    fn players<'py>(&self, py: Python<'py>) -> IntegerArray<'py> {
        PyArray1::from_iter(py, self.players.iter().map(|&player| i64::from(player)))
    }

    fn plies<'py>(&self, py: Python<'py>) -> IntegerArray<'py> {
        PyArray1::from_iter(py, self.compacts().map(|position| i64::from(position.ply())))
    }

    /// Returns one of the measures used by gates for each view, `[N]`.
    fn measure<'py>(&self, py: Python<'py>, name: &str) -> PyResult<IntegerArray<'py>> {
        let measure = parse_measure(name)?;
        let numbers: Vec<i64> = py.detach(|| self.compacts().map(|position| measure.of(&position)).collect());
        Ok(PyArray1::from_vec(py, numbers))
    }

    fn glance<'py>(&self, py: Python<'py>) -> PyResult<IntegerArray<'py>> {
        Ok(self.unpacked(py)?.glance(py))
    }

    /// Returns the key of each view's position, `[N]`.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        crate::game::keys(py, &self.unpacked(py)?.0)
    }

    fn legal_mask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<bool>>> {
        crate::game::legal_mask(py, &self.unpacked(py)?.0)
    }

    /// Returns the mean returns of random playouts from each view, by player, `[N, P]`.
    #[pyo3(signature = (num, seed, *, discount=1.0))]
    fn playouts<'py>(
        &self,
        py: Python<'py>,
        num: u32,
        seed: u64,
        discount: f64,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        crate::playouts::playouts(py, &self.unpacked(py)?.0, 2, num, seed, discount)
    }

    /// Searches each view by playouts; returns the actions, visits and value sums of each.
    #[pyo3(signature = (seeds, *, playouts=None, seconds=None, exploration=None, depth=None, discount=1.0))]
    #[allow(clippy::too_many_arguments)]
    fn playout_search<'py>(
        &self,
        py: Python<'py>,
        seeds: Vec<u64>,
        playouts: Option<u32>,
        seconds: Option<f64>,
        exploration: Option<f64>,
        depth: Option<u32>,
        discount: f64,
    ) -> PyResult<Vec<Arms<'py>>> {
        let config = crate::playouts::playout_config(playouts, seconds, exploration, depth, discount)?;
        crate::playouts::search_views(py, &self.unpacked(py)?.0, 2, seeds, config)
    }
}

/// Returns views of packed positions from the point of view of `players`.
///
/// Raises ValueError if the number of players differs, or rows are too short or of another game. The positions
/// themselves are validated only when a state is needed.
#[pyfunction]
pub fn chess_unpack(
    rules: &ChessRules,
    data: Bytes<'_>,
    offsets: Integers<'_>,
    players: Integers<'_>,
) -> PyResult<ChessPackedViews> {
    let rows = split_views(data.as_slice()?, offsets.as_slice()?, players.as_slice()?)?;
    let mut views = ChessPackedViews {
        rules: rules.0,
        bytes: Vec::with_capacity(rows.iter().map(|(bytes, _)| bytes.len()).sum()),
        offsets: Vec::with_capacity(rows.len() + 1),
        players: Vec::with_capacity(rows.len()),
    };
    views.offsets.push(0);
    for (row, (bytes, player)) in rows.into_iter().enumerate() {
        let row_error = |error: String| PyValueError::new_err(format!("row {row}: {error}"));
        notation::check_packed(bytes, rules.0).map_err(row_error)?;
        let player = player_below(2, player).map_err(row_error)?;
        views.bytes.extend_from_slice(bytes);
        views.offsets.push(views.bytes.len());
        views.players.push(player as u8);
    }
    Ok(views)
}

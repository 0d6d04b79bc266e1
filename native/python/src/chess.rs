//! The chess family.

use std::path::PathBuf;

use moemcts_chess::gates::{division, Measure};
use moemcts_chess::pgn::{Filter, Importer, Rejection};
use moemcts_chess::{notation, start, Chess, Compact, PlaneSet, PolicyMap, Rules, Variant, PLANE_SETS, POLICY_MAPS};
use moemcts_tree::NoAgent;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::game::{pack_rows, split_rows, PackedRows};
use crate::interruption::Interruption;
use crate::native_game;

native_game! {
    binding: ChessBinding, state: Chess, agent: NoAgent,
    extract_agent: crate::game::reject_agent,
    classes: ChessState, ChessViews, ChessSearch
}

type Bytes<'py> = PyReadonlyArray1<'py, u8>;
type Integers<'py> = PyReadonlyArray1<'py, i64>;
type IntegerArray<'py> = Bound<'py, PyArray1<i64>>;

/// The rules and encodings of one game of the family.
#[pyclass(frozen, module = "moemcts._core")]
pub struct ChessRules(pub(crate) Rules);

#[pymethods]
impl ChessRules {
    /// Uses the variant's own plane set, policy map and maximum length unless given.
    #[new]
    #[pyo3(signature = (variant, *, planes=None, policy=None, max_plies=None))]
    fn new(variant: &str, planes: Option<&str>, policy: Option<&str>, max_plies: Option<u32>) -> PyResult<Self> {
        let variant = Variant::named(variant).ok_or_else(|| unknown_name("variant", variant))?;
        let mut rules = Rules::of(variant);
        if let Some(name) = planes {
            rules.planes = PlaneSet::named(name).ok_or_else(|| unknown_name("plane set", name))?;
        }
        if let Some(name) = policy {
            rules.policy = PolicyMap::named(name)
                .filter(|map| map.covers(variant.policy))
                .ok_or_else(|| unknown_name(&format!("policy map for {}", variant.name), name))?;
        }
        rules.max_plies = max_plies.unwrap_or(Rules::DEFAULT_MAX_PLIES);
        if !(1..=Rules::MAX_PLIES_LIMIT).contains(&rules.max_plies) {
            let (most, got) = (Rules::MAX_PLIES_LIMIT, rules.max_plies);
            return Err(PyValueError::new_err(format!("expected max_plies from 1 to {most}, got {got}")));
        }
        Ok(Self(rules))
    }

    #[getter]
    fn variant(&self) -> &'static str {
        self.0.variant.name
    }

    #[getter]
    fn planes(&self) -> &'static str {
        self.0.planes.name
    }

    #[getter]
    fn policy(&self) -> &'static str {
        self.0.policy.name
    }

    #[getter]
    fn max_plies(&self) -> u32 {
        self.0.max_plies
    }

    #[getter]
    fn num_planes(&self) -> usize {
        self.0.planes.num_planes()
    }

    #[getter]
    fn num_actions(&self) -> usize {
        self.0.policy.num_actions()
    }

    #[allow(clippy::type_complexity)]
    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<((&'static str,), Bound<'py, PyDict>)> {
        let options = PyDict::new(py);
        options.set_item("planes", self.planes())?;
        options.set_item("policy", self.policy())?;
        options.set_item("max_plies", self.max_plies())?;
        Ok(((self.variant(),), options))
    }

    /// Returns the name, number of planes and unit of each feature of the plane set.
    fn features(&self) -> Vec<(&'static str, usize, f32)> {
        let features = self.0.planes.features.iter();
        features.map(|feature| (feature.name(), feature.num_planes(), feature.unit())).collect()
    }
}

#[pymethods]
impl ChessState {
    /// Returns the start position of the variant.
    #[staticmethod]
    fn start(rules: &ChessRules) -> Self {
        Self(Chess::new(rules.0))
    }

    /// Returns the Chess960 start position of a Scharnagl number below 960.
    #[staticmethod]
    fn chess960(rules: &ChessRules, number: i64) -> PyResult<Self> {
        let valid = u32::try_from(number).ok().filter(|&valid| valid < start::NUM_CHESS960 && rules.0.variant.is_960());
        let Some(valid) = valid else {
            let variant = rules.0.variant.name;
            return Err(PyValueError::new_err(format!(
                "expected chess960 and a number from 0 to 959, got {variant} and {number}"
            )));
        };
        Ok(Self(Chess::from_position(start::chess960(valid), rules.0)))
    }

    /// Returns the position of a FEN, with or without its history.
    #[staticmethod]
    fn parse(rules: &ChessRules, text: &str) -> PyResult<Self> {
        notation::parse_state(text, rules.0).map(Self).map_err(PyValueError::new_err)
    }

    /// Returns one line that `parse` reads back: the FEN and the relevant history.
    fn format(&self) -> String {
        notation::format_state(&self.0)
    }

    fn fen(&self) -> String {
        notation::fen(&self.0)
    }

    /// Returns the legal action written in UCI or SAN.
    fn action(&self, text: &str) -> PyResult<u32> {
        notation::parse_move(text, &self.0).map(|m| self.0.action(m)).map_err(PyValueError::new_err)
    }

    /// Returns a legal action in UCI.
    fn uci(&self, action: u32) -> PyResult<String> {
        Ok(notation::uci_move(self.legal_move(action)?, &self.0))
    }

    /// Returns a legal action in SAN, without check signs.
    fn san(&self, action: u32) -> PyResult<String> {
        Ok(notation::san_move(self.legal_move(action)?, &self.0))
    }

    #[getter]
    fn variant(&self) -> &'static str {
        self.0.variant().name
    }

    /// How often the position occurred before.
    #[getter]
    fn repetitions(&self) -> u8 {
        self.0.repetitions()
    }

    /// Why the game is over, or None if it is not.
    #[getter]
    fn termination(&self) -> Option<&'static str> {
        self.0.termination().map(|termination| termination.name())
    }

    /// Returns one of the measures used by gates.
    fn measure(&self, name: &str) -> PyResult<i64> {
        Ok(parse_measure(name)?.of(&Compact::of(&self.0)))
    }

    /// Returns the number of leaves of the tree of legal moves at that depth; draws do not end games.
    ///
    /// None if `stop`, which is polled, returned true. Raises ValueError for a depth above 100.
    #[pyo3(signature = (depth, stop=None))]
    fn perft(&self, py: Python<'_>, depth: u32, stop: Option<Py<PyAny>>) -> PyResult<Option<u64>> {
        if depth > notation::MAX_PERFT_DEPTH {
            let most = notation::MAX_PERFT_DEPTH;
            return Err(PyValueError::new_err(format!("expected a depth of at most {most}, got {depth}")));
        }
        let interruption = Interruption::with_callback(stop);
        let leaves = py.detach(|| notation::perft(&self.0, depth, &|| interruption.should_stop()));
        interruption.check()?;
        Ok(leaves)
    }

    /// Returns the position that was packed by `pack`.
    #[staticmethod]
    fn unpack(rules: &ChessRules, data: &[u8]) -> PyResult<Self> {
        notation::unpack(data, rules.0).map(Self).map_err(PyValueError::new_err)
    }

    #[allow(clippy::type_complexity)]
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (ChessRules, Bound<'py, PyBytes>))> {
        let state = &slf.get().0;
        let data = PyBytes::new(slf.py(), &notation::pack(state));
        Ok((slf.get_type().getattr("unpack")?, (ChessRules(*state.rules()), data)))
    }

    /// Returns the `chess.Board` of the variant, without the move history.
    fn board<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("moemcts_chess.board")?.call_method1("board", (self.variant(), self.fen()))
    }

    fn __repr__(&self) -> String {
        format!("<{} {}>", self.variant(), self.fen())
    }
}

impl ChessState {
    fn legal_move(&self, action: u32) -> PyResult<moemcts_chess::Move> {
        self.0.legal_move(action).ok_or_else(|| PyValueError::new_err(format!("expected a legal action, got {action}")))
    }
}

#[pymethods]
impl ChessViews {
    /// Returns the same views with the planes of `rules`; raises ValueError if their variant or policy map differs.
    fn encoded_as<'py>(slf: Bound<'py, Self>, rules: &ChessRules) -> PyResult<Bound<'py, Self>> {
        let (views, wanted) = (&slf.get().0, &rules.0);
        let mut is_encoded = true;
        for (state, _) in views {
            let got = state.rules();
            if got.variant.id != wanted.variant.id || got.policy != wanted.policy {
                return Err(PyValueError::new_err(format!(
                    "expected positions of {} with the policy map {}, got {} with {}",
                    wanted.variant.name, wanted.policy.name, got.variant.name, got.policy.name
                )));
            }
            is_encoded &= got.planes == wanted.planes;
        }
        if is_encoded {
            return Ok(slf);
        }
        let encoded = views.iter().map(|(state, player)| (state.clone().with_planes(wanted.planes), *player));
        Bound::new(slf.py(), Self(encoded.collect()))
    }

    /// Returns the static evaluation of each position for its viewer, in centipawns, `[N]`.
    pub fn glance<'py>(&self, py: Python<'py>) -> IntegerArray<'py> {
        let score = |(state, viewer): &(Chess, usize)| {
            let centipawns = i64::from(moemcts_chess::evaluation::evaluate(state));
            if moemcts_chess::state::player(state.turn()) == *viewer {
                centipawns
            } else {
                -centipawns
            }
        };
        let scores: Vec<i64> = py.detach(|| self.0.iter().map(score).collect());
        PyArray1::from_vec(py, scores)
    }

    /// Returns one of the measures used by gates for each view, `[N]`.
    fn measure<'py>(&self, py: Python<'py>, name: &str) -> PyResult<IntegerArray<'py>> {
        let measure = parse_measure(name)?;
        let numbers: Vec<i64> = py.detach(|| self.0.iter().map(|(state, _)| measure.of(&Compact::of(state))).collect());
        Ok(PyArray1::from_vec(py, numbers))
    }
}

/// Returns the names of the measures used by gates.
#[pyfunction]
pub fn chess_measures() -> Vec<&'static str> {
    Measure::ALL.iter().map(|(name, _)| *name).collect()
}

/// Returns the names of the plane sets.
#[pyfunction]
pub fn chess_plane_sets() -> Vec<&'static str> {
    PLANE_SETS.iter().map(|set| set.name).collect()
}

/// Returns the names of the policy maps that cover every move of a variant.
#[pyfunction]
pub fn chess_policy_maps(variant: &str) -> PyResult<Vec<&'static str>> {
    let own = Variant::named(variant).ok_or_else(|| unknown_name("variant", variant))?.policy;
    Ok(POLICY_MAPS.iter().filter(|map| map.covers(own)).map(|map| map.name).collect())
}

/// Returns positions as bytes, and their offsets.
#[pyfunction]
pub fn chess_pack<'py>(py: Python<'py>, states: Vec<PyRef<'py, ChessState>>) -> PackedRows<'py> {
    pack_rows(py, states.iter(), |state, data| data.extend(notation::pack(&state.0)))
}

/// Returns one of the measures used by gates for each packed position, `[N]`.
#[pyfunction]
pub fn chess_measure<'py>(
    py: Python<'py>,
    data: Bytes<'py>,
    offsets: Integers<'py>,
    name: &str,
) -> PyResult<IntegerArray<'py>> {
    let measure = parse_measure(name)?;
    let positions = parse_compacts(data.as_slice()?, offsets.as_slice()?)?;
    Ok(PyArray1::from_vec(py, py.detach(|| positions.iter().map(|position| measure.of(position)).collect())))
}

/// Returns the phase boundaries of each game by Lichess' rules: rows of its first middlegame and first endgame
/// position, -1 if there is none.
///
/// Game `i` has the packed positions `games[i]..games[i + 1]`.
#[pyfunction]
pub fn chess_divisions<'py>(
    py: Python<'py>,
    data: Bytes<'py>,
    offsets: Integers<'py>,
    games: Integers<'py>,
) -> PyResult<(IntegerArray<'py>, IntegerArray<'py>)> {
    let positions = parse_compacts(data.as_slice()?, offsets.as_slice()?)?;
    let (mut middles, mut ends) = (Vec::new(), Vec::new());
    for bounds in games.as_slice()?.windows(2) {
        let range = bounds[0] as usize..bounds[1] as usize;
        let game = positions.get(range).ok_or_else(|| PyValueError::new_err("expected rows of games that ascend"))?;
        let row = |at: Option<usize>| at.map_or(-1, |at| bounds[0] + at as i64);
        let (middle, end) = division(game);
        middles.push(row(middle));
        ends.push(row(end));
    }
    Ok((PyArray1::from_vec(py, middles), PyArray1::from_vec(py, ends)))
}

/// Reads the games of a PGN file, some hundreds at a time.
#[pyclass(module = "moemcts._core")]
pub struct ChessImporter(Importer);

#[pymethods]
impl ChessImporter {
    /// Opens a file; raises OSError if that fails. Dates are numbers like 20171231.
    #[new]
    #[pyo3(signature = (path, rules, *, threads, min_elo=0, min_plies=0, max_plies=u32::MAX, results=vec![1, 0, -1],
                        since=0, until=u32::MAX))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        path: PathBuf,
        rules: &ChessRules,
        threads: usize,
        min_elo: u16,
        min_plies: u32,
        max_plies: u32,
        results: Vec<i8>,
        since: u32,
        until: u32,
    ) -> PyResult<Self> {
        let filter = Filter { min_elo, min_plies, max_plies, results, since, until };
        Ok(Self(Importer::open(&path, rules.0, filter, threads)?))
    }

    /// Bytes of the file read so far, and its size.
    #[getter]
    fn progress(&self) -> (u64, u64) {
        self.0.progress()
    }

    /// Returns the next games as arrays, or None after the last; raises OSError if the file is damaged.
    fn next_games<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let importer = &mut self.0;
        let games = py.detach(|| importer.next_games()).map_err(|error| PyOSError::new_err(error.to_string()))?;
        let Some(games) = games else {
            return Ok(None);
        };
        let column =
            |number: fn(&moemcts_chess::pgn::Game) -> i64| PyArray1::from_iter(py, games.games.iter().map(number));
        let block = PyDict::new(py);
        block.set_item("lengths", column(|game| game.len.into()))?;
        block.set_item("results", column(|game| game.result.into()))?;
        block.set_item("dates", column(|game| game.date.into()))?;
        block.set_item("white_elo", column(|game| game.elo[0].into()))?;
        block.set_item("black_elo", column(|game| game.elo[1].into()))?;
        block.set_item("lines", column(|game| game.line as i64))?;
        block.set_item("actions", PyArray1::from_vec(py, games.actions))?;
        block.set_item("positions", PyArray1::from_vec(py, games.positions))?;
        let rejected = PyDict::new(py);
        for rejection in Rejection::ALL {
            rejected.set_item(rejection.name(), games.rejected[rejection as usize])?;
        }
        block.set_item("rejected", rejected)?;
        let damaged: Vec<(u64, String)> =
            games.damaged.into_iter().map(|damage| (damage.line, damage.reason)).collect();
        block.set_item("damaged", damaged)?;
        Ok(Some(block))
    }
}

fn unknown_name(kind: &str, name: &str) -> PyErr {
    PyValueError::new_err(format!("no {kind} named {name:?}"))
}

pub fn parse_measure(name: &str) -> PyResult<Measure> {
    let names = || chess_measures().join(", ");
    Measure::named(name).ok_or_else(|| PyValueError::new_err(format!("expected one of {}, got {name:?}", names())))
}

fn parse_compacts(data: &[u8], offsets: &[i64]) -> PyResult<Vec<Compact>> {
    let short = || PyValueError::new_err(format!("expected positions of at least {} bytes", Compact::BYTES));
    split_rows(data, offsets)?.into_iter().map(|bytes| Compact::from_bytes(bytes).ok_or_else(short)).collect()
}

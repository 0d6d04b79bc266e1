//! Index of an evaluation cache: which views are cached, and in which row of its arrays.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The cache key of a view: the key of its position, its ply and the viewing player.
type ViewKey = (u64, i64, i64);

/// The cache keys of `N` views as Python passes them, one array per column.
type Columns<'py> = (PyReadonlyArray1<'py, u64>, PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>);

/// For every view its cached row, or -1; the distinct views to be evaluated; for every uncached view, its index among
/// these, -1 for the others.
type Lookup<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>);

/// Hashes the words of an identity by multiplication; most game keys are hashes already.
#[derive(Clone, Copy, Default)]
struct WordHasher(u64);

impl Hasher for WordHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    // Folds both halves of the product, so that every bit of a word affects the bits that a table uses.
    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.0.rotate_left(23) ^ word) * 0x9E37_79B9_7F4A_7C15;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    fn write_i64(&mut self, word: i64) {
        self.write_u64(word as u64);
    }
}

type Hashing = BuildHasherDefault<WordHasher>;

/// The identities of the rows of a cache.
#[pyclass(frozen, module = "moemcts._core")]
pub struct CacheIndex(Mutex<Index>);

impl CacheIndex {
    fn index(&self) -> MutexGuard<'_, Index> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl CacheIndex {
    /// Creates an empty index with `size` rows.
    #[new]
    fn new(size: usize) -> PyResult<Self> {
        if size == 0 {
            return Err(PyValueError::new_err("expected at least one row"));
        }
        Ok(Self(Mutex::new(Index { size, ..Index::default() })))
    }

    /// Returns the cached row of each view `[N]`, the views to evaluate `[M]`, and for each view its index in these
    /// `[N]`.
    fn find<'py>(&self, py: Python<'py>, views: Columns<'py>) -> PyResult<Lookup<'py>> {
        let keys = view_keys(&views)?;
        let (cached_rows, to_evaluate, evaluation_rows) = py.detach(|| self.index().find(&keys));
        Ok((
            PyArray1::from_vec(py, cached_rows),
            PyArray1::from_vec(py, to_evaluate),
            PyArray1::from_vec(py, evaluation_rows),
        ))
    }

    /// Assigns rows to views, replacing the oldest, and returns them; of more views than rows, only the last are
    /// stored.
    fn keep<'py>(&self, py: Python<'py>, views: Columns<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let keys = view_keys(&views)?;
        Ok(PyArray1::from_vec(py, py.detach(|| self.index().keep(&keys))))
    }
}

fn view_keys((keys, plies, players): &Columns) -> PyResult<Vec<ViewKey>> {
    let (keys, plies, players) = (keys.as_slice()?, plies.as_slice()?, players.as_slice()?);
    if plies.len() != keys.len() || players.len() != keys.len() {
        return Err(PyValueError::new_err("expected a key, a ply and a player of each view"));
    }
    Ok(keys.iter().zip(plies).zip(players).map(|((&key, &ply), &player)| (key, ply, player)).collect())
}

#[derive(Default)]
struct Index {
    size: usize,
    rows: HashMap<ViewKey, usize, Hashing>,
    /// The identity stored in each row.
    key_of_row: Vec<ViewKey>,
    next_row: usize,
}

impl Index {
    fn find(&self, keys: &[ViewKey]) -> (Vec<i64>, Vec<i64>, Vec<i64>) {
        let mut cached_rows = vec![-1; keys.len()];
        let mut evaluation_rows = vec![-1; keys.len()];
        let mut to_evaluate = Vec::new();
        let mut index_of: HashMap<ViewKey, usize, Hashing> = HashMap::default();
        for (row, key) in keys.iter().enumerate() {
            if let Some(&cached_row) = self.rows.get(key) {
                cached_rows[row] = cached_row as i64;
                continue;
            }
            // A position that occurs twice is evaluated once.
            let index = *index_of.entry(*key).or_insert_with(|| {
                to_evaluate.push(row as i64);
                to_evaluate.len() - 1
            });
            evaluation_rows[row] = index as i64;
        }
        (cached_rows, to_evaluate, evaluation_rows)
    }

    fn keep(&mut self, keys: &[ViewKey]) -> Vec<i64> {
        let start = keys.len().saturating_sub(self.size);
        let assign_row = |key: &ViewKey| {
            let row = self.next_row;
            if row == self.key_of_row.len() {
                self.key_of_row.push(*key);
            } else {
                let old_key = std::mem::replace(&mut self.key_of_row[row], *key);
                // The identity may have been assigned another row since.
                if self.rows.get(&old_key) == Some(&row) {
                    self.rows.remove(&old_key);
                }
            }
            self.rows.insert(*key, row);
            self.next_row = (row + 1) % self.size;
            row as i64
        };
        keys[start..].iter().map(assign_row).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::BuildHasher;

    use super::*;

    fn index(size: usize) -> Index {
        Index { size, ..Index::default() }
    }

    fn views(keys: &[u64]) -> Vec<ViewKey> {
        keys.iter().map(|&key| (key, 0, 0)).collect()
    }

    #[test]
    fn a_view_that_is_new_twice_is_evaluated_once() {
        let mut index = index(8);
        assert_eq!(index.keep(&views(&[7, 9])), [0, 1]);
        let (cached_rows, to_evaluate, evaluation_rows) = index.find(&views(&[5, 9, 5, 6, 7]));
        assert_eq!(
            (cached_rows, to_evaluate, evaluation_rows),
            (vec![-1, 1, -1, -1, 0], vec![0, 3], vec![0, -1, 0, 1, -1])
        );
    }

    #[test]
    fn plies_and_players_tell_views_apart() {
        let mut index = index(8);
        index.keep(&[(1, 2, 3)]);
        assert_eq!(index.find(&[(1, 2, 3), (1, 3, 3), (1, 2, 0)]).0, [0, -1, -1]);
    }

    #[test]
    fn the_oldest_are_forgotten_first() {
        let mut index = index(3);
        // More than the capacity: the last three are kept.
        assert_eq!(index.keep(&views(&[1, 2, 3, 4])), [0, 1, 2]);
        assert_eq!(index.find(&views(&[1, 2, 3, 4])).0, [-1, 0, 1, 2]);
        assert_eq!(index.keep(&views(&[5, 6])), [0, 1]);
        assert_eq!(index.find(&views(&[2, 3, 4, 5, 6])).0, [-1, -1, 2, 0, 1]);
    }

    #[test]
    fn what_is_kept_twice_is_known_while_its_later_row_stands() {
        let mut index = index(2);
        assert_eq!(index.keep(&views(&[1, 1])), [0, 1]);
        assert_eq!(index.keep(&views(&[2])), [0]);
        assert_eq!(index.find(&views(&[1, 2])).0, [1, 0]);
    }

    #[test]
    fn identities_that_differ_in_one_small_number_are_spread() {
        let hash = |key: u64, ply: i64| Hashing::default().hash_one((key, ply, 0i64));
        let all: Vec<u64> = (0..64).flat_map(|key| (0..8).map(move |ply| hash(key, ply))).collect();
        let low: HashSet<u64> = all.iter().map(|word| word & 0xFFFF).collect();
        let high: HashSet<u64> = all.iter().map(|word| word >> 48).collect();
        assert!(low.len() > 500 && high.len() > 500, "{} {}", low.len(), high.len());
    }
}

//! Defines the Python search class of a game.

/// Defines the Python search class of a game.
#[macro_export]
macro_rules! search_class {
    ($name:ident, $binding:ty, $make:expr) => {
        /// A search of many trees with shared batches; `moemcts.search.Search` wraps it.
        #[pyclass(module = "moemcts._core")]
        pub struct $name($crate::search::SearchCore<$binding>);

        #[pymethods]
        impl $name {
            /// Creates a search for a game from a dictionary of all settings.
            #[new]
            fn new(game: &Bound<'_, PyAny>, options: &Bound<'_, pyo3::types::PyDict>) -> PyResult<Self> {
                let make: fn(&Bound<'_, PyAny>) -> PyResult<$binding> = $make;
                $crate::search::SearchCore::new(make(game)?, options).map(Self)
            }

            #[pyo3(signature = (roots, seeds, others, kept=None, root_actions=None))]
            fn reset(
                &mut self,
                roots: &Bound<'_, PyAny>,
                seeds: Vec<u64>,
                others: Vec<$crate::search::OtherAgents<'_>>,
                kept: Option<Vec<Option<PyRef<'_, $crate::kept_tree::KeptTree>>>>,
                root_actions: Option<Vec<Option<Vec<u32>>>>,
            ) -> PyResult<()> {
                self.0.reset(roots, seeds, others, kept, root_actions)
            }

            fn select<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                self.0.select(py)
            }

            /// The range of rows selected last: the first, and one after the last.
            #[getter]
            fn rows(&self) -> (usize, usize) {
                self.0.rows()
            }

            /// Views of the external players whose replies are needed, and the tree of each.
            fn awaiting<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Vec<u32>)> {
                self.0.awaiting(py)
            }

            fn reply(&mut self, actions: Vec<u32>) -> PyResult<()> {
                self.0.reply(actions)
            }

            #[pyo3(signature = (logits, value, rows=None))]
            fn backup(
                &mut self,
                py: Python<'_>,
                logits: &Bound<'_, PyAny>,
                value: &Bound<'_, PyAny>,
                rows: Option<&Bound<'_, PyAny>>,
            ) -> PyResult<()> {
                self.0.backup(py, $crate::search::arrays(logits, value)?, rows)
            }

            /// Makes the search fail until the next reset, as leaves were found but not reported.
            fn fail(&mut self) {
                self.0.fail();
            }

            fn results<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyList>> {
                self.0.results(py)
            }

            fn limit(&mut self, simulations: u32) {
                self.0.limit(simulations);
            }

            fn lines(&self, tree: i64) -> PyResult<Vec<Vec<Vec<u32>>>> {
                self.0.lines(tree)
            }

            /// Numbers of batches and rows since the last reset.
            #[getter]
            fn counts(&self) -> (u64, u64) {
                self.0.counts()
            }

            fn keep(&mut self) -> Vec<$crate::kept_tree::KeptTree> {
                self.0.keep()
            }
        }
    };
}

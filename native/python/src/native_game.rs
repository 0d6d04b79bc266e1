//! The Python classes of a native game: state, views and search.

/// Defines the Python classes of one native game: state, views and search.
///
/// Further methods of the state and the views go into separate `#[pymethods]` blocks.
#[macro_export]
macro_rules! native_game {
    (
        binding: $binding:ident, state: $state:ty, agent: $agent:ty, extract_agent: $extract:expr,
        classes: $py_state:ident, $py_views:ident, $py_search:ident
    ) => {
        pub struct $binding;

        /// An immutable position.
        #[pyclass(frozen, module = "moemcts._core")]
        #[derive(Clone)]
        pub struct $py_state(pub $state);

        #[pymethods]
        impl $py_state {
            #[getter]
            fn ply(&self) -> PyResult<u32> {
                Ok(moemcts_tree::State::ply(&self.0)?)
            }

            #[getter]
            fn active_players<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyTuple>> {
                pyo3::types::PyTuple::new(py, $crate::game::player_numbers($crate::game::active_players(&self.0)?))
            }

            fn legal_actions(&self, player: i64) -> PyResult<Vec<u32>> {
                $crate::game::legal_actions(&self.0, $crate::game::parse_player(player)?)
            }

            fn search_actions(&self, player: i64) -> PyResult<Vec<u32>> {
                $crate::game::search_actions(&self.0, $crate::game::parse_player(player)?)
            }

            fn chances<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, numpy::PyArray1<f32>>> {
                $crate::game::chances(py, &self.0)
            }

            fn rewards<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, numpy::PyArray1<f32>>> {
                $crate::game::rewards(py, &self.0)
            }

            fn is_decided(&self, player: i64) -> PyResult<bool> {
                $crate::game::is_decided(&self.0, player)
            }

            fn play(&self, actions: Vec<i64>) -> PyResult<Self> {
                $crate::game::play(&self.0, &$crate::game::parse_actions(&actions)?).map(Self)
            }

            fn returns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, numpy::PyArray1<f32>>> {
                $crate::game::returns(py, &self.0)
            }

            fn observation<'py>(&self, py: Python<'py>, player: i64) -> PyResult<Bound<'py, numpy::PyArray3<f32>>> {
                $crate::game::observation(py, &self.0, player)
            }

            fn key(&self) -> PyResult<u64> {
                Ok(moemcts_tree::State::key(&self.0)?)
            }

            fn position_key(&self) -> PyResult<u64> {
                Ok(moemcts_tree::State::position_key(&self.0)?)
            }

            fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
                slf
            }

            fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
                slf
            }
        }

        /// A batch of views that are encoded together.
        #[pyclass(frozen, module = "moemcts._core")]
        pub struct $py_views(pub Vec<($state, usize)>);

        #[pymethods]
        impl $py_views {
            /// Creates views from pairs of a state and a player.
            #[new]
            fn new(pairs: Vec<(PyRef<'_, $py_state>, i64)>) -> PyResult<Self> {
                let pairs = pairs.iter().map(|(state, player)| {
                    let player = $crate::game::parse_seat(&state.0, *player)?;
                    Ok((state.0.clone(), player))
                });
                $crate::game::checked_pairs(pairs).map(Self)
            }

            #[allow(clippy::type_complexity)]
            fn __reduce__<'py>(
                slf: &Bound<'py, Self>,
            ) -> (Bound<'py, pyo3::types::PyType>, (Vec<($py_state, usize)>,)) {
                let pairs = slf.get().0.iter().map(|(state, player)| ($py_state(state.clone()), *player));
                (slf.get_type(), (pairs.collect(),))
            }

            fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
                slf
            }

            fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
                slf
            }

            fn __len__(&self) -> usize {
                self.0.len()
            }

            fn __getitem__<'py>(&self, py: Python<'py>, row: i64) -> PyResult<Bound<'py, PyAny>> {
                let (state, player) = &self.0[$crate::game::parse_row(row, self.0.len())?];
                $crate::game::new_view(py, $py_state(state.clone()), *player)
            }

            fn take(&self, rows: &Bound<'_, PyAny>) -> PyResult<Self> {
                $crate::game::take_rows(&self.0, &$crate::game::parse_rows(rows)?).map(Self)
            }

            /// Returns the planes of each view, `[N, C, H, W]`, in the first rows of `out` if given.
            #[pyo3(signature = (out=None))]
            fn observations<'py>(
                &self,
                py: Python<'py>,
                out: Option<Bound<'py, numpy::PyArray4<f32>>>,
            ) -> PyResult<Bound<'py, numpy::PyArray4<f32>>> {
                $crate::game::observations(py, &self.0, out)
            }

            fn players<'py>(&self, py: Python<'py>) -> Bound<'py, numpy::PyArray1<i64>> {
                numpy::PyArray1::from_iter(py, self.0.iter().map(|(_, player)| *player as i64))
            }

            fn plies<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, numpy::PyArray1<i64>>> {
                let plies = self.0.iter().map(|(state, _)| Ok(i64::from(moemcts_tree::State::ply(state)?)));
                Ok(numpy::PyArray1::from_vec(py, plies.collect::<PyResult<_>>()?))
            }

            /// Returns the key of each view's position, `[N]`.
            fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, numpy::PyArray1<u64>>> {
                $crate::game::keys(py, &self.0)
            }

            fn legal_mask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, numpy::PyArray2<bool>>> {
                $crate::game::legal_mask(py, &self.0)
            }

            /// Returns the mean returns of random playouts from each view, by player, `[N, P]`.
            #[pyo3(signature = (num, seed, *, discount=1.0))]
            fn playouts<'py>(
                &self,
                py: Python<'py>,
                num: u32,
                seed: u64,
                discount: f64,
            ) -> PyResult<Bound<'py, numpy::PyArray2<f32>>> {
                $crate::playouts::playouts(py, &self.0, $crate::game::num_players(&self.0), num, seed, discount)
            }

            /// Plays on from each view with native agents, one per player, at random for players without one.
            #[pyo3(signature = (plies, agents, seed, *, discount=1.0))]
            #[allow(clippy::type_complexity)]
            fn roll_out<'py>(
                &self,
                py: Python<'py>,
                plies: u32,
                agents: Vec<Option<Bound<'py, PyAny>>>,
                seed: u64,
                discount: f64,
            ) -> PyResult<(Self, $crate::rollouts::Rewards<'py>, $crate::rollouts::Scales<'py>)> {
                let binding = $binding;
                let agents = agents.iter().map(|agent| {
                    agent.as_ref().map(|agent| $crate::game::Binding::extract_agent(&binding, agent)).transpose()
                });
                let agents: Vec<Option<$agent>> = agents.collect::<PyResult<_>>()?;
                let (pairs, paid, scales) = $crate::rollouts::roll_out(py, &self.0, plies, &agents, seed, discount)?;
                Ok((Self(pairs), paid, scales))
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
            ) -> PyResult<Vec<$crate::playouts::Arms<'py>>> {
                let config = $crate::playouts::playout_config(playouts, seconds, exploration, depth, discount)?;
                $crate::playouts::search_views(py, &self.0, $crate::game::num_players(&self.0), seeds, config)
            }
        }

        impl $crate::game::Binding for $binding {
            type State = $state;
            type Agent = $agent;
            const IS_NATIVE: bool = true;

            fn extract_views(&self, views: &Bound<'_, PyAny>) -> PyResult<Vec<($state, usize)>> {
                // Packed views know how to become these.
                let unpacked = match views.getattr_opt("unpacked")? {
                    Some(unpacked) => unpacked.call0()?,
                    None => views.clone(),
                };
                match unpacked.cast::<$py_views>() {
                    Ok(views) => Ok(views.get().0.clone()),
                    Err(_) => Err($crate::game::not_views(stringify!($py_views), views)),
                }
            }

            fn new_views<'py>(&self, py: Python<'py>, pairs: Vec<($state, usize)>) -> PyResult<Bound<'py, PyAny>> {
                Ok(Bound::new(py, $py_views(pairs))?.into_any())
            }

            fn rules_key(&self, state: &$state) -> u64 {
                moemcts_tree::Observe::rules_key(state)
            }

            fn extract_agent(&self, object: &Bound<'_, PyAny>) -> PyResult<$agent> {
                $extract(object)
            }
        }

        $crate::search_class!($py_search, $binding, |_game: &Bound<'_, PyAny>| Ok($binding));
    };
}

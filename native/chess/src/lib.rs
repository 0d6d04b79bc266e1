//! The chess family: every variant that Lichess plays, on the rules of `shakmaty`, for the search, the data and the networks.
//!
//! One board serves all: a `Variant` is a row of a table, a `Chess` state is a value, and planes, gates and data sets all
//! look at the same 80-byte `Compact` position.

#![forbid(unsafe_code)]

pub mod alpha_beta;
pub mod attacks;
pub mod compact;
pub mod evaluation;
pub mod features;
pub mod gates;
mod moves;
pub mod notation;
pub mod outcome;
pub mod pgn;
pub mod planes;
pub mod policy;
pub mod seen;
pub mod start;
pub mod state;
pub mod syzygy;
pub mod variant;
mod zobrist;

pub use compact::Compact;
pub use outcome::Termination;
pub use planes::{PlaneSet, PLANE_SETS};
pub use policy::{PolicyMap, POLICY_MAPS};
pub use shakmaty::Move;
pub use state::Chess;
pub use syzygy::Tables;
pub use variant::{Rules, Variant, VARIANTS};

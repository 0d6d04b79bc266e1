//! The chess family: every variant on Lichess, with the rules of `shakmaty`, for search, datasets and networks.
//!
//! One implementation serves all variants: a `Variant` is a row of a table, a `Chess` state is a value, and planes,
//! gates and datasets all use the same 80-byte `Compact` position.

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

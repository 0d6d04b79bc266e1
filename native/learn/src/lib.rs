//! Performance-critical parts of training: the cross-entropy of policies over many actions.

#![deny(unsafe_code)]

pub mod cross_entropy;
mod lanes;
mod number;

pub use cross_entropy::{gradient, losses, Losses, Policies, Targets};
pub use number::{Bf16, Number};

//! Pommerman.

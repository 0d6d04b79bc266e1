//! Small games written in Rust, for tests and measurements of the search.

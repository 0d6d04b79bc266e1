//! Games from PGN files: streamed, filtered, validated move by move, and stored as compact positions.

mod chunks;
mod filter;
mod games;
mod san;
mod scanner;
mod source;

pub use chunks::{Chunk, Chunks};
pub use filter::{Filter, Header, Rejection};
pub use games::{read_games, Damage, Game, Games};
pub use san::WrittenMove;
pub use source::{ReadProgress, Source};

use std::io;
use std::path::Path;

use rayon::prelude::*;

use crate::variant::Rules;

/// Reads a file in batches of some hundreds of games, on several threads.
pub struct Importer {
    chunks: Chunks<Source>,
    progress: ReadProgress,
    rules: Rules,
    filter: Filter,
    pool: rayon::ThreadPool,
}

impl Importer {
    /// Opens a file, plain or compressed with zstd, bzip2 or gzip, regardless of its name.
    pub fn open(path: &Path, rules: Rules, filter: Filter, threads: usize) -> io::Result<Self> {
        let source = Source::open(path)?;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(io::Error::other)?;
        Ok(Self { progress: source.progress(), chunks: Chunks::new(source), rules, filter, pool })
    }

    /// Returns the number of bytes read so far, and the size of the file.
    pub fn progress(&self) -> (u64, u64) {
        self.progress.get()
    }

    /// Returns the next games, or None after the last.
    pub fn next_games(&mut self) -> io::Result<Option<Games>> {
        let mut chunks = Vec::new();
        while chunks.len() < 2 * self.pool.current_num_threads() {
            match self.chunks.next().transpose()? {
                Some(chunk) => chunks.push(chunk),
                None => break,
            }
        }
        if chunks.is_empty() {
            return Ok(None);
        }
        let (rules, filter) = (self.rules, &self.filter);
        let parts: Vec<Games> =
            self.pool.install(|| chunks.par_iter().map(|chunk| read_games(chunk, rules, filter)).collect());
        Ok(Some(parts.into_iter().reduce(Games::concatenate).unwrap_or_default()))
    }
}

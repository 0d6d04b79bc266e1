//! Text files, optionally compressed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// The decompressed text of a file.
pub struct Source {
    reader: Box<dyn Read + Send + Sync>,
    progress: ReadProgress,
}

/// The progress of reading a file.
#[derive(Clone, Debug, Default)]
pub struct ReadProgress {
    bytes_read: Arc<AtomicU64>,
    size: u64,
}

impl ReadProgress {
    /// Returns the number of bytes read so far, and the size of the file.
    pub fn get(&self) -> (u64, u64) {
        (self.bytes_read.load(Ordering::Relaxed), self.size)
    }
}

impl Source {
    /// Opens a file; the compression is detected by its first bytes, not its name.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let progress = ReadProgress { bytes_read: Arc::default(), size: file.metadata()?.len() };
        let mut counted =
            BufReader::with_capacity(1 << 17, CountingReader { file, bytes_read: progress.bytes_read.clone() });
        let reader: Box<dyn Read + Send + Sync> = match counted.fill_buf()? {
            [0x28, 0xB5, 0x2F, 0xFD, ..] => Box::new(zstd::Decoder::with_buffer(counted)?),
            [b'B', b'Z', b'h', ..] => Box::new(bzip2::bufread::MultiBzDecoder::new(counted)),
            [0x1F, 0x8B, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(counted)),
            _ => Box::new(counted),
        };
        Ok(Self { reader, progress })
    }

    pub fn progress(&self) -> ReadProgress {
        self.progress.clone()
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buffer)
    }
}

struct CountingReader {
    file: File,
    bytes_read: Arc<AtomicU64>,
}

impl Read for CountingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.file.read(buffer)?;
        self.bytes_read.fetch_add(len as u64, Ordering::Relaxed);
        Ok(len)
    }
}

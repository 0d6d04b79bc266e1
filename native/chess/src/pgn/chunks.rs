//! Splitting of text between games.

use std::io::{self, Read};

/// Whole games, and their line in the file.
#[derive(Debug)]
pub struct Chunk {
    pub text: Vec<u8>,
    /// The line number of the first byte, from 1.
    pub line: u64,
}

const TARGET_LEN: usize = 1 << 18;
/// No game is this long; a file without an empty line before a tag is not PGN.
const MAX_LEN: usize = 1 << 26;

/// An upper bound on the length of tag names.
const MAX_NAME: usize = 256;

/// Splits a text into chunks of about 256 KiB, each ending before a line that starts with `[` after an empty line.
pub struct Chunks<R> {
    source: R,
    buffer: Vec<u8>,
    line: u64,
    is_finished: bool,
}

impl<R: Read> Chunks<R> {
    pub fn new(source: R) -> Self {
        Self { source, buffer: Vec::new(), line: 1, is_finished: false }
    }

    fn take_chunk(&mut self, len: usize) -> Chunk {
        let buffer = self.buffer.split_off(len);
        let text = std::mem::replace(&mut self.buffer, buffer);
        let line = self.line;
        self.line += text.iter().filter(|&&byte| byte == b'\n').count() as u64;
        Chunk { text, line }
    }

    fn next_chunk(&mut self) -> io::Result<Option<Chunk>> {
        let mut target_len = TARGET_LEN;
        while !self.is_finished {
            while self.buffer.len() < target_len && !self.is_finished {
                let missing = (target_len - self.buffer.len()) as u64;
                self.is_finished = self.source.by_ref().take(missing).read_to_end(&mut self.buffer)? == 0;
            }
            if self.is_finished {
                break;
            }
            if let Some(len) = boundary(&self.buffer) {
                return Ok(Some(self.take_chunk(len)));
            }
            target_len *= 2;
            if target_len > MAX_LEN {
                let text = format!("expected PGN, found no game within {} MiB from line {}", MAX_LEN >> 20, self.line);
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
        }
        let len = self.buffer.len();
        Ok((len > 0).then(|| self.take_chunk(len)))
    }
}

impl<R: Read> Iterator for Chunks<R> {
    type Item = io::Result<Chunk>;

    fn next(&mut self) -> Option<Self::Item> {
        let chunk = self.next_chunk();
        if chunk.is_err() {
            self.is_finished = true;
            self.buffer.clear();
        }
        chunk.transpose()
    }
}

/// Returns the start of the last game in the text, unless the text starts with it.
fn boundary(text: &[u8]) -> Option<usize> {
    (1..text.len()).rev().find(|&i| starts_game(text, i))
}

/// Returns whether a game starts at a byte: a tag with its value, after an empty line.
pub fn starts_game(text: &[u8], i: usize) -> bool {
    let is_behind_empty_line = text[..i]
        .strip_suffix(b"\n")
        .is_some_and(|before| before.strip_suffix(b"\r").unwrap_or(before).ends_with(b"\n"));
    let tag = &text[i..text.len().min(i + MAX_NAME)];
    is_behind_empty_line
        && tag.get(1).is_some_and(u8::is_ascii_alphanumeric)
        && tag.iter().find(|&&byte| byte == b'"' || byte == b'\n') == Some(&b'"')
        && tag[0] == b'['
}

//! Positions as bytes: rows, columns, ply (two bytes, little-endian), the first and the second player's stones.

use crate::cells::Cells;
use crate::position::{Position, Rules};

const HEADER_LEN: usize = 4;

impl<R: Rules> Position<R> {
    /// Appends the position's record, 20 bytes on boards of up to 64 cells and 36 on larger ones.
    pub fn pack(&self, out: &mut Vec<u8>) {
        out.extend([self.rules.rows() as u8, self.rules.columns() as u8]);
        out.extend(self.plies().to_le_bytes());
        self.stones_of(0).write(out);
        self.stones_of(1).write(out);
    }

    /// Returns the position of a record; the error explains why there is none.
    pub fn unpack(bytes: &[u8]) -> Result<Self, String> {
        let expected = HEADER_LEN + 2 * R::Cells::NUM_BYTES;
        if bytes.len() != expected {
            return Err(format!("expected a position of {expected} bytes, got {}", bytes.len()));
        }
        let rules = R::sized(bytes[0].into(), bytes[1].into())?;
        let stones = bytes[HEADER_LEN..].split_at(R::Cells::NUM_BYTES);
        let stones = [R::Cells::read(stones.0), R::Cells::read(stones.1)];
        Self::of(rules, stones, u16::from_le_bytes([bytes[2], bytes[3]]))
    }
}

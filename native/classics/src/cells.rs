//! Sets of cells of a board, as bit sets.

use std::fmt::Debug;
use std::hash::Hash;
use std::ops::{BitAnd, BitOr, BitXor, Not};

/// A set of cells; a game uses the smallest type that fits its largest board.
pub trait Cells:
    Copy
    + Debug
    + Eq
    + Hash
    + Send
    + Sync
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
    + 'static
{
    const NONE: Self;
    /// The size of a set in a record, in bytes.
    const NUM_BYTES: usize;

    fn one(cell: u32) -> Self;

    fn has(self, cell: u32) -> bool;

    fn len(self) -> u32;

    fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// Returns the lower and the upper 64 bits.
    fn words(self) -> [u64; 2];

    fn write(self, out: &mut Vec<u8>);

    /// Reads a set written by `write` from the first `NUM_BYTES` bytes.
    fn read(bytes: &[u8]) -> Self;

    /// Returns the cells in ascending order.
    fn iter(self) -> impl Iterator<Item = u32>;
}

macro_rules! cells {
    ($bits:ty, $words:expr) => {
        impl Cells for $bits {
            const NONE: Self = 0;
            const NUM_BYTES: usize = size_of::<Self>();

            fn one(cell: u32) -> Self {
                1 << cell
            }

            fn has(self, cell: u32) -> bool {
                self >> cell & 1 == 1
            }

            fn len(self) -> u32 {
                self.count_ones()
            }

            fn words(self) -> [u64; 2] {
                $words(self)
            }

            fn write(self, out: &mut Vec<u8>) {
                out.extend(self.to_le_bytes());
            }

            fn read(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<Self>()];
                own.copy_from_slice(&bytes[..size_of::<Self>()]);
                Self::from_le_bytes(own)
            }

            fn iter(self) -> impl Iterator<Item = u32> {
                let mut rest = self;
                std::iter::from_fn(move || {
                    (rest != 0).then(|| {
                        let cell = rest.trailing_zeros();
                        rest &= rest - 1;
                        cell
                    })
                })
            }
        }
    };
}

cells!(u64, |bits| [bits, 0]);
cells!(u128, |bits| [bits as u64, (bits >> 64) as u64]);

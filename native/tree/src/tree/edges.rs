//! Edges, the opened actions of nodes with their statistics; those of one seat are contiguous.

use super::{NodeId, NONE};
use crate::memory::{self, CacheLine};

/// The index of a seat's first edge.
pub type EdgeId = u32;

/// The index of an edge within its seat, in the order of opening.
pub type Slot = u32;

#[derive(Clone, Debug)]
pub struct Edge {
    pub value_sum: f64,
    pub prior: f32,
    pub visits: u32,
    pub in_flight: u32,
    /// The first child of this edge; used only for a node's first seat.
    pub(super) child: NodeId,
    /// Hint where that child's own edges start, so that they can be prefetched before the child has been read.
    pub(super) prefetch_hint: EdgeId,
    /// Whether the edge is a proven loss; such edges are no longer selected.
    pub(super) is_lost: bool,
}

impl Edge {
    pub(super) const fn new(prior: f32) -> Self {
        Self { value_sum: 0.0, prior, visits: 0, in_flight: 0, child: NONE, prefetch_hint: NONE, is_lost: false }
    }
}

/// A seat with at most this many moves gets room for all of its edges at once.
const MAX_PREALLOCATED: u32 = 8;
const EDGES_PER_LINE: usize = memory::CACHE_LINE / size_of::<Edge>();

/// The edges of all seats, in blocks that are aligned to cache lines and have power-of-two sizes.
///
/// A block that its seat has outgrown is reused for the next seat that needs one of its size.
#[derive(Clone, Default)]
pub(super) struct Edges {
    lines: Vec<CacheLine<Edge, EDGES_PER_LINE>>,
    /// Starts of unused blocks, by the logarithm of their size.
    free: Vec<Vec<EdgeId>>,
}

impl Edges {
    pub fn clear(&mut self) {
        self.lines.clear();
        self.free.iter_mut().for_each(Vec::clear);
    }

    /// Returns the number of edges that the allocated lines hold.
    pub fn len(&self) -> usize {
        self.lines.len() * EDGES_PER_LINE
    }

    pub fn as_slice(&self) -> &[Edge] {
        memory::flat(&self.lines)
    }

    #[inline]
    pub fn get(&self, first: EdgeId, slot: Slot) -> &Edge {
        &self.as_slice()[(first + slot) as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, first: EdgeId, slot: Slot) -> &mut Edge {
        &mut memory::flat_mut(&mut self.lines)[(first + slot) as usize]
    }

    #[inline]
    pub fn block(&self, first: EdgeId, len: u32) -> &[Edge] {
        match len {
            0 => &[],
            _ => &self.as_slice()[first as usize..(first + len) as usize],
        }
    }

    #[inline]
    pub fn block_mut(&mut self, first: EdgeId, len: u32) -> &mut [Edge] {
        match len {
            0 => &mut [],
            _ => &mut memory::flat_mut(&mut self.lines)[first as usize..(first + len) as usize],
        }
    }

    /// Appends an edge to a block of `len` edges of a seat with `num_moves` moves; returns the new start of the block.
    pub fn push(&mut self, first: EdgeId, len: u32, num_moves: u32, edge: Edge) -> EdgeId {
        let is_full = num_moves > MAX_PREALLOCATED && len as usize >= EDGES_PER_LINE && len.is_power_of_two();
        let first = if len == 0 || is_full {
            self.move_block(first, len, (len as usize + 1).next_power_of_two().max(min_block_size(num_moves)))
        } else {
            first
        };
        *self.get_mut(first, len) = edge;
        first
    }

    /// Returns the start of a new block for the first `len` edges of a seat with `num_moves` moves.
    pub fn reserve(&mut self, len: u32, num_moves: u32) -> EdgeId {
        self.allocate((len as usize).next_power_of_two().max(min_block_size(num_moves)))
    }

    fn move_block(&mut self, first: EdgeId, len: u32, size: usize) -> EdgeId {
        let start = self.allocate(size);
        if len > 0 {
            let (from, to) = (first as usize / EDGES_PER_LINE, start as usize / EDGES_PER_LINE);
            for i in 0..len as usize / EDGES_PER_LINE {
                self.lines[to + i] = self.lines[from + i].clone();
            }
            self.free[len.trailing_zeros() as usize].push(first);
        }
        start
    }

    fn allocate(&mut self, size: usize) -> EdgeId {
        let size_class = size.trailing_zeros() as usize;
        if self.free.len() <= size_class {
            self.free.resize_with(size_class + 1, Vec::new);
        }
        if let Some(start) = self.free[size_class].pop() {
            return start;
        }
        let start = self.lines.len() * EDGES_PER_LINE;
        memory::reserve(&mut self.lines, size / EDGES_PER_LINE);
        self.lines.resize_with(start / EDGES_PER_LINE + size / EDGES_PER_LINE, || {
            CacheLine([const { Edge::new(0.0) }; EDGES_PER_LINE])
        });
        start as EdgeId
    }

    #[inline(always)]
    pub fn prefetch(&self, first: EdgeId) {
        memory::prefetch(&self.lines, first as usize / EDGES_PER_LINE);
    }
}

/// Returns the size of a seat's first block; a seat with few moves gets room for all edges, so its block never moves.
fn min_block_size(num_moves: u32) -> usize {
    match num_moves {
        0..=MAX_PREALLOCATED => (num_moves as usize).next_power_of_two().max(EDGES_PER_LINE),
        _ => EDGES_PER_LINE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_edges_share_a_cache_line() {
        assert_eq!(EDGES_PER_LINE, 2);
    }

    #[test]
    fn blocks_that_grow_in_turns_keep_their_edges_and_reuse_what_was_left() {
        let mut edges = Edges::default();
        let mut blocks = [(NONE, 0u32); 20];
        for round in 0..33u32 {
            for (i, (first, len)) in blocks.iter_mut().enumerate() {
                if round % (i as u32 + 1) == 0 {
                    *first = edges.push(*first, *len, 40, Edge::new((100 * i as u32 + *len) as f32));
                    *len += 1;
                }
            }
        }
        for (i, &(first, len)) in blocks.iter().enumerate() {
            assert_eq!(first as usize % EDGES_PER_LINE, 0);
            let priors: Vec<f32> = edges.block(first, len).iter().map(|edge| edge.prior).collect();
            let expected: Vec<f32> = (0..len).map(|slot| (100 * i as u32 + slot) as f32).collect();
            assert_eq!(priors, expected);
        }
        let held: usize = blocks.iter().map(|(_, len)| (*len as usize).next_power_of_two().max(EDGES_PER_LINE)).sum();
        let free: usize = edges.free.iter().enumerate().map(|(size_class, starts)| starts.len() << size_class).sum();
        assert_eq!(held + free, edges.as_slice().len());
        assert!(free < held);
    }

    #[test]
    fn the_block_of_a_seat_with_few_moves_stays_where_it_is() {
        for num_moves in 1..=8 {
            let mut edges = Edges::default();
            let first = edges.push(NONE, 0, num_moves, Edge::new(0.0));
            let other = edges.push(NONE, 0, num_moves, Edge::new(-1.0));
            for len in 1..num_moves {
                assert_eq!(edges.push(first, len, num_moves, Edge::new(len as f32)), first);
            }
            assert!(edges.block(first, num_moves).iter().map(|edge| edge.prior).eq((0..num_moves).map(|i| i as f32)));
            assert_eq!(edges.get(other, 0).prior, -1.0);
        }
    }
}

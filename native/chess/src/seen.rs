//! The positions that a game can still repeat, shared between the states along a search path.

use std::sync::Arc;

const BLOCK: usize = 8;

/// A persistent list of keys, the newest last; clones share all but the newest eight.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    recent: [u64; BLOCK],
    len: u32,
    older: Option<Arc<Block>>,
}

#[derive(Debug)]
struct Block {
    keys: [u64; BLOCK],
    older: Option<Arc<Block>>,
}

impl Seen {
    pub fn len(&self) -> usize {
        self.len as usize
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    pub fn push(&mut self, key: u64) {
        let slot = self.len as usize % BLOCK;
        if slot == 0 && self.len > 0 {
            let older = self.older.take();
            self.older = Some(Arc::new(Block { keys: self.recent, older }));
        }
        self.recent[slot] = key;
        self.len += 1;
    }

    /// Returns the number of occurrences of `key` in the list.
    pub fn count(&self, key: u64) -> usize {
        let mut count = self.newest().iter().filter(|&&seen| seen == key).count();
        let mut block = self.older.as_deref();
        while let Some(Block { keys, older }) = block {
            count += keys.iter().filter(|&&seen| seen == key).count();
            block = older.as_deref();
        }
        count
    }

    /// Returns the keys, oldest first.
    pub fn to_vec(&self) -> Vec<u64> {
        let mut blocks = vec![self.newest()];
        let mut block = self.older.as_deref();
        while let Some(Block { keys, older }) = block {
            blocks.push(keys);
            block = older.as_deref();
        }
        blocks.into_iter().rev().flatten().copied().collect()
    }

    fn newest(&self) -> &[u64] {
        match self.len as usize {
            0 => &[],
            len => &self.recent[..(len - 1) % BLOCK + 1],
        }
    }
}

impl Drop for Seen {
    /// Iterative, as recursive drops of a long list would overflow the stack.
    #[inline]
    fn drop(&mut self) {
        let mut older = self.older.take();
        while let Some(block) = older.and_then(Arc::into_inner) {
            older = block.older;
        }
    }
}

impl FromIterator<u64> for Seen {
    fn from_iter<I: IntoIterator<Item = u64>>(keys: I) -> Self {
        let mut seen = Self::default();
        keys.into_iter().for_each(|key| seen.push(key));
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_returns_what_was_pushed() {
        for len in 0..40 {
            let keys: Vec<u64> = (0..len).map(|i| i % 7).collect();
            let seen: Seen = keys.iter().copied().collect();
            assert_eq!(seen.to_vec(), keys);
            assert_eq!(seen.len(), keys.len());
            for key in 0..8 {
                assert_eq!(seen.count(key), keys.iter().filter(|&&k| k == key).count());
            }
        }
    }

    #[test]
    fn a_list_of_any_length_is_dropped_on_a_small_stack() {
        let drops = || {
            let seen: Seen = (0..400_000).collect();
            let mut longer = seen.clone();
            longer.push(0);
            drop(seen);
            assert_eq!(longer.count(1), 1);
        };
        std::thread::Builder::new().stack_size(1 << 16).spawn(drops).unwrap().join().unwrap();
    }
}

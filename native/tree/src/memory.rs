//! Memory layout and hints. The only `unsafe` code of the crate is here.
//!
//! Nothing here changes a value: hints may be ignored, and lines are a plain array aligned to cache lines.

#![allow(unsafe_code)]

/// Size of a cache line in bytes.
pub const CACHE_LINE: usize = 64;

/// Values that share one cache line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct CacheLine<T, const N: usize>(pub [T; N]);

/// Returns the values of all lines as one slice.
pub fn flat<T, const N: usize>(lines: &[CacheLine<T, N>]) -> &[T] {
    const { assert!(N > 0 && size_of::<T>() * N == CACHE_LINE) };
    // SAFETY: a line is as large as its values and has no padding, so `lines` consists of `N` times as many values, all
    // of which are initialised and borrowed for as long as `lines` is.
    unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), lines.len() * N) }
}

/// Returns the values of all lines as one mutable slice.
pub fn flat_mut<T, const N: usize>(lines: &mut [CacheLine<T, N>]) -> &mut [T] {
    const { assert!(N > 0 && size_of::<T>() * N == CACHE_LINE) };
    // SAFETY: as in `flat`; `lines` is borrowed exclusively.
    unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), lines.len() * N) }
}

/// Prefetches the cache line of an item; a no-op if the index is out of range.
#[inline(always)]
pub fn prefetch<T>(items: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(item) = items.get(index) {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        // SAFETY: a prefetch has no effect visible to the program, and the address is that of an item.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, index);
}

/// Ensures capacity for `num` more items.
///
/// Large allocations use huge pages, whose addresses are translated faster, requested before they are touched. While
/// growing, the old and the new memory coexist; use this for what every descent reads.
#[inline(always)]
pub fn reserve<T>(items: &mut Vec<T>, num: usize) {
    if items.capacity() - items.len() < num {
        grow(items, num);
    }
}

/// Returns zeros, in huge pages if there are many: page faults cost more than filling the memory.
pub fn zeros(num: usize) -> Vec<f32> {
    let mut items = vec![0.0; num];
    if num * size_of::<f32>() >= HUGE_PAGE_THRESHOLD {
        request_huge_pages(&mut items);
    }
    items
}

#[cold]
#[inline(never)]
fn grow<T>(items: &mut Vec<T>, num: usize) {
    let size = (items.len() + num).max(2 * items.capacity());
    if size * size_of::<T>() < HUGE_PAGE_THRESHOLD {
        items.reserve(num);
        return;
    }
    let mut larger = Vec::with_capacity(size);
    request_huge_pages(&mut larger);
    larger.append(items);
    *items = larger;
}

/// Requests huge pages for the whole capacity of a vector.
#[cfg(target_os = "linux")]
fn request_huge_pages<T>(items: &mut Vec<T>) {
    let size = items.capacity() * size_of::<T>();
    let start = items.as_mut_ptr() as usize;
    let first = start.next_multiple_of(HUGE_PAGE);
    let last = (start + size) / HUGE_PAGE * HUGE_PAGE;
    if first < last {
        // SAFETY: the range lies within one allocation of this vector, and the advice changes no content. If the system
        // does not support it, the call has no effect.
        unsafe { libc::madvise(first as *mut libc::c_void, last - first, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn request_huge_pages<T>(_: &mut Vec<T>) {}

#[cfg(target_os = "linux")]
const HUGE_PAGE: usize = 2 << 20;

/// Size in bytes below which huge pages are not worth it.
const HUGE_PAGE_THRESHOLD: usize = 2 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_a_plain_array_of_their_values() {
        let mut lines: Vec<CacheLine<u64, 8>> = (0..5).map(|i| CacheLine([i; 8])).collect();
        flat_mut(&mut lines)[17] = 99;
        let expected: Vec<u64> = (0..40).map(|i| if i == 17 { 99 } else { i / 8 }).collect();
        assert_eq!(flat(&lines), expected);
        assert_eq!(flat(&lines).as_ptr() as usize % CACHE_LINE, 0);
        assert!(flat::<u64, 8>(&[]).is_empty());
    }

    #[test]
    fn a_vector_that_grows_through_huge_pages_keeps_what_it_holds() {
        let mut items: Vec<u64> = Vec::new();
        for i in 0..3_000_000 {
            reserve(&mut items, 1);
            items.push(i);
        }
        assert!(items.iter().copied().eq(0..3_000_000));
    }

    #[test]
    fn zeros_are_zero_however_many() {
        for num in [0, 1, 1000, 5_000_000] {
            assert!(zeros(num).iter().all(|&zero| zero == 0.0) && zeros(num).len() == num);
        }
    }

    #[test]
    fn a_prefetch_of_anything_does_nothing() {
        let items = [1, 2, 3];
        (0..10).for_each(|i| prefetch(&items, i));
        prefetch::<u8>(&[], 0);
        prefetch(&items, usize::MAX);
        assert_eq!(items, [1, 2, 3]);
    }
}

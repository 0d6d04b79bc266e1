//! What the search tells the machine about its memory. The only `unsafe` code of the crate is here.
//!
//! Nothing here changes a value: hints may be ignored, and lines are a plain array that starts where a cache line does.

#![allow(unsafe_code)]

/// Bytes that come from memory together.
pub const LINE: usize = 64;

/// Some values that share one cache line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Line<T, const N: usize>(pub [T; N]);

/// Returns the values in lines, one after the other.
pub fn flat<T, const N: usize>(lines: &[Line<T, N>]) -> &[T] {
    const { assert!(N > 0 && size_of::<T>() * N == LINE) };
    // SAFETY: a line is as large as its values and has no padding, so `lines` is `N` times as many of these, all of
    // which are initialised and borrowed as long as `lines` is.
    unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), lines.len() * N) }
}

/// Returns the values in lines, one after the other.
pub fn flat_mut<T, const N: usize>(lines: &mut [Line<T, N>]) -> &mut [T] {
    const { assert!(N > 0 && size_of::<T>() * N == LINE) };
    // SAFETY: as in `flat`; `lines` is borrowed for the caller alone.
    unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), lines.len() * N) }
}

/// Asks for the line where an item lies, as it will be read soon; does nothing where there is no such item.
#[inline(always)]
pub fn prefetch<T>(items: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(item) = items.get(index) {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        // SAFETY: a prefetch reads nothing that the program sees, and the address is that of an item.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, index);
}

/// Sees to it that so many more items fit.
///
/// Large memory is asked for in huge pages, which are found faster, before it is touched. While it grows, there is twice
/// as much of it: this is for what every descent reads.
#[inline(always)]
pub fn make_room<T>(items: &mut Vec<T>, num: usize) {
    if items.capacity() - items.len() < num {
        grow(items, num);
    }
}

/// Returns zeros, in huge pages where they are many: touching fresh memory page by page costs more than filling it.
pub fn zeros(num: usize) -> Vec<f32> {
    let mut items = vec![0.0; num];
    if num * size_of::<f32>() >= MANY {
        advise(&mut items);
    }
    items
}

#[cold]
#[inline(never)]
fn grow<T>(items: &mut Vec<T>, num: usize) {
    let size = (items.len() + num).max(2 * items.capacity());
    if size * size_of::<T>() < MANY {
        items.reserve(num);
        return;
    }
    let mut larger = Vec::with_capacity(size);
    advise(&mut larger);
    larger.append(items);
    *items = larger;
}

/// Asks for huge pages for all that a vector has room for.
#[cfg(target_os = "linux")]
fn advise<T>(items: &mut Vec<T>) {
    let size = items.capacity() * size_of::<T>();
    let start = items.as_mut_ptr() as usize;
    let first = start.next_multiple_of(HUGE_PAGE);
    let last = (start + size) / HUGE_PAGE * HUGE_PAGE;
    if first < last {
        // SAFETY: the range lies within one allocation of this vector, and the advice changes no content. Where the
        // system does not follow it, that is all that happens.
        unsafe { libc::madvise(first as *mut libc::c_void, last - first, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn advise<T>(_: &mut Vec<T>) {}

#[cfg(target_os = "linux")]
const HUGE_PAGE: usize = 2 << 20;

/// Less memory than this, in bytes, is found quickly anyway.
const MANY: usize = 2 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_a_plain_array_of_their_values() {
        let mut lines: Vec<Line<u64, 8>> = (0..5).map(|i| Line([i; 8])).collect();
        flat_mut(&mut lines)[17] = 99;
        let expected: Vec<u64> = (0..40).map(|i| if i == 17 { 99 } else { i / 8 }).collect();
        assert_eq!(flat(&lines), expected);
        assert_eq!(flat(&lines).as_ptr() as usize % LINE, 0);
        assert!(flat::<u64, 8>(&[]).is_empty());
    }

    #[test]
    fn a_vector_that_grows_through_huge_pages_keeps_what_it_holds() {
        let mut items: Vec<u64> = Vec::new();
        for i in 0..3_000_000 {
            make_room(&mut items, 1);
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

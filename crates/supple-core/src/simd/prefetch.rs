//! Hints to the cache.

#![allow(unsafe_code, reason = "prefetching is an intrinsic with a raw pointer")]

/// Bytes per cache line.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Prefetches a value that will be read soon: short runs of memory end before the hardware prefetcher has detected the
/// sequential access.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..size_of::<T>().div_ceil(LINE) {
        let at = std::ptr::from_ref(value).cast::<i8>().wrapping_add(LINE * line);
        // SAFETY: a hint that reads nothing and cannot fail, whatever the address; SSE is part of every x86-64.
        unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

//! SIMD vectors of one or two 16-byte lanes. This is the only unsafe code of the filters.
//!
//! Kernels are generic over [`Lanes`], and run with every instruction set of the machine. A value
//! of an instruction set's type proves that the instruction set is available, so its operations are
//! safe. Loads and stores check the slice bounds once per group of rows. All of this is inlined
//! into a function that is compiled for the instruction set; otherwise every operation would be a
//! call.

use std::marker::PhantomData;
use std::ops::Range;

/// Runs as much of `kernel` as vectors can process, with the best instruction set of the machine.
#[cfg(not(test))]
pub(super) fn vectorised(kernel: &mut impl Kernel) {
    machine::run(kernel);
}

/// Like the above, limited to the instruction sets that the test allows.
#[cfg(test)]
pub(super) fn vectorised(kernel: &mut impl Kernel) {
    machine::run_at_level(tests::LEVEL.get(), kernel);
}

/// Streams of equal length in separate slices.
#[derive(Clone, Copy)]
pub(super) struct SeparateStreams<'a, const N: usize> {
    starts: [*const u8; N],
    len: usize,
    of: PhantomData<&'a [u8]>,
}

impl<'a, const N: usize> SeparateStreams<'a, N> {
    /// Creates streams with the length of the shortest slice.
    pub fn new(streams: [&'a [u8]; N]) -> Self {
        let len = streams.iter().map(|s| s.len()).min().unwrap_or(0);
        SeparateStreams {
            starts: streams.map(<[u8]>::as_ptr),
            len,
            of: PhantomData,
        }
    }
}

/// A computation that continues where the last run stopped, and may leave a remainder.
pub(super) trait Kernel {
    /// Processes as much as whole vectors of these lanes can. Must be `#[inline(always)]`.
    fn run<L: Lanes>(&mut self, lanes: L);
}

/// An instruction set: operations on vectors of `LANES` independent lanes of 16 bytes.
pub(super) trait Lanes: Copy {
    /// A vector.
    type V: Copy;
    /// Number of lanes of a vector.
    const LANES: usize;
    /// Number of bytes that `get_half` reads for each lane, 8 or 16.
    const HALF: usize;

    /// Loads the lanes at `low` and, with two lanes, at `high`.
    ///
    /// # Safety
    /// 16 bytes must be readable at `low`, and at `high` with two lanes.
    unsafe fn get(self, low: *const u8, high: *const u8) -> Self::V;
    /// Like `get`, for lanes of which only the first halves are used.
    ///
    /// # Safety
    /// `HALF` bytes must be readable at `low`, and at `high` with two lanes.
    unsafe fn get_half(self, low: *const u8, high: *const u8) -> Self::V;
    /// Stores a whole vector.
    ///
    /// # Safety
    /// 16 * `LANES` bytes must be writable at `to`.
    unsafe fn put(self, v: Self::V, to: *mut u8);
    /// Stores one lane.
    ///
    /// # Safety
    /// 16 bytes must be writable at `to`.
    unsafe fn put_lane(self, v: Self::V, lane: usize, to: *mut u8);
    /// Stores one lane with a non-temporal store, if the instruction set has one.
    /// [`Lanes::store_fence`] must follow before other threads read the bytes.
    ///
    /// # Safety
    /// As for `put_lane`; `to` must be a multiple of 16.
    unsafe fn put_non_temporal(self, v: Self::V, lane: usize, to: *mut u8);
    /// Orders non-temporal stores before later stores.
    fn store_fence(self);
    /// Stores the two halves of one lane.
    ///
    /// # Safety
    /// 8 bytes must be writable at `first`, and at `second`.
    unsafe fn put_halves(self, v: Self::V, lane: usize, first: *mut u8, second: *mut u8);
    /// Prefetches the cache line of byte `at`, which may be out of range.
    fn prefetch(self, bytes: &[u8], at: usize);

    /// Returns a vector with `n` in every byte.
    fn splat(self, n: u8) -> Self::V;
    /// Interleaves the bytes of `a` and `b`: those of the lanes' first halves, and those of their
    /// second halves.
    fn zip(self, a: Self::V, b: Self::V) -> (Self::V, Self::V);
    /// Returns the bitwise exclusive or.
    fn xor(self, a: Self::V, b: Self::V) -> Self::V;
    /// Returns the bitwise and.
    fn and(self, a: Self::V, b: Self::V) -> Self::V;
    /// Returns the bitwise or.
    fn or(self, a: Self::V, b: Self::V) -> Self::V;
    /// Shifts each 64-bit little-endian integer right.
    fn shr<const BITS: i32>(self, v: Self::V) -> Self::V;
    /// Shifts each 64-bit little-endian integer left.
    fn shl<const BITS: i32>(self, v: Self::V) -> Self::V;
    /// Adds bytes modulo 256.
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// Returns the prefix sum within each lane: each byte plus all bytes before it.
    fn prefix_sum(self, v: Self::V) -> Self::V;
    /// Broadcasts the last byte of each lane within the lane.
    fn last(self, v: Self::V) -> Self::V;

    /// Loads `N` vectors from `src`: lane `l` of vector `r` from `at + r * stride + l * step`.
    #[inline(always)]
    fn load<const N: usize>(
        self,
        src: &[u8],
        at: usize,
        stride: usize,
        step: usize,
    ) -> [Self::V; N] {
        assert!(reach::<Self>(at, N, stride, step, 16) <= src.len());
        let mut v = [self.splat(0); N];
        for (r, v) in v.iter_mut().enumerate() {
            // SAFETY: the assertion ensures that at + r * stride + l * step + 16 is within `src`
            // for r < N and l < LANES.
            *v = unsafe {
                let low = src.as_ptr().add(at + r * stride);
                self.get(low, low.wrapping_add(step))
            };
        }
        v
    }

    /// Loads a vector from each stream, at offset `at`.
    #[inline(always)]
    fn load_streams<const N: usize>(self, streams: &SeparateStreams<N>, at: usize) -> [Self::V; N] {
        assert!(at.saturating_add(16 * Self::LANES) <= streams.len);
        let mut v = [self.splat(0); N];
        for (begin, v) in streams.starts.into_iter().zip(&mut v) {
            // SAFETY: each stream has `len` bytes, and the assertion ensures that at + 16 * LANES
            // is within.
            *v = unsafe {
                let low = begin.add(at);
                self.get(low, low.wrapping_add(16))
            };
        }
        v
    }

    /// Like `load`, for lanes whose second halves are unspecified; `HALF` bytes of each must be in
    /// range.
    #[inline(always)]
    fn load_halves<const N: usize>(
        self,
        src: &[u8],
        at: usize,
        stride: usize,
        step: usize,
    ) -> [Self::V; N] {
        assert!(reach::<Self>(at, N, stride, step, Self::HALF) <= src.len());
        let mut v = [self.splat(0); N];
        for (r, v) in v.iter_mut().enumerate() {
            // SAFETY: as in `load`, with HALF bytes.
            *v = unsafe {
                let low = src.as_ptr().add(at + r * stride);
                self.get_half(low, low.wrapping_add(step))
            };
        }
        v
    }

    /// Stores vectors; the inverse of `load`.
    #[inline(always)]
    fn store<const N: usize>(
        self,
        v: [Self::V; N],
        dst: &mut [u8],
        at: usize,
        stride: usize,
        step: usize,
    ) {
        assert!(reach::<Self>(at, N, stride, step, 16) <= dst.len());
        for (r, v) in v.into_iter().enumerate() {
            // SAFETY: as in `load`, at + r * stride + l * step + 16 is within `dst`; adjacent lanes
            // are one range.
            unsafe {
                let low = dst.as_mut_ptr().add(at + r * stride);
                if step == 16 {
                    self.put(v, low);
                } else {
                    for lane in 0..Self::LANES {
                        self.put_lane(v, lane, low.add(lane * step));
                    }
                }
            }
        }
    }

    /// Like `store`, for lanes at multiples of 16 bytes in memory. Only lanes at offset `from` or
    /// higher are stored; those within `lines` with non-temporal stores. The caller must call
    /// `store_fence` afterwards.
    #[inline(always)]
    fn store_non_temporal<const N: usize>(
        self,
        v: [Self::V; N],
        dst: &mut [u8],
        at: usize,
        step: usize,
        from: usize,
        lines: &Range<usize>,
    ) {
        assert!(reach::<Self>(at, N, 16, step, 16) <= dst.len());
        assert!((dst.as_ptr().addr().wrapping_add(at) | step).is_multiple_of(16));
        let whole = from.max(lines.start) <= at && reach::<Self>(at, N, 16, step, 16) <= lines.end;
        for lane in 0..Self::LANES {
            for (r, v) in v.into_iter().enumerate() {
                let offset = at + r * 16 + lane * step;
                // SAFETY: the assertions ensure that offset + 16 is within `dst`, as in `load`, and
                // that the address is a multiple of 16.
                unsafe {
                    let to = dst.as_mut_ptr().add(offset);
                    if whole || offset >= from && lines.contains(&offset) {
                        self.put_non_temporal(v, lane, to);
                    } else if offset >= from {
                        self.put_lane(v, lane, to);
                    }
                }
            }
        }
    }

    /// Stores halves of lanes, `stride` apart: those of the first lanes from `at`, those of the
    /// second from `at + step`. Where they overlap, the one at the higher offset takes precedence.
    #[inline(always)]
    fn store_halves<const N: usize>(
        self,
        v: [Self::V; N],
        dst: &mut [u8],
        at: usize,
        stride: usize,
        step: usize,
    ) {
        assert!(reach::<Self>(at, 2 * N, stride, step, 8) <= dst.len());
        for lane in 0..Self::LANES {
            for (r, v) in v.into_iter().enumerate() {
                // SAFETY: the assertion ensures that at + (2 * r + 1) * stride + lane * step + 8 is
                // within `dst`.
                unsafe {
                    let first = dst.as_mut_ptr().add(at + 2 * r * stride + lane * step);
                    self.put_halves(v, lane, first, first.add(stride));
                }
            }
        }
    }

    /// Prefetches `len` bytes from `at`. The hardware prefetcher stops at the end of a page, and
    /// predicts stores poorly.
    #[inline(always)]
    fn prefetch_range(self, bytes: &[u8], at: usize, len: usize) {
        for line in (0..len).step_by(64) {
            self.prefetch(bytes, at.wrapping_add(line));
        }
    }
}

/// Returns the end of `rows` rows of lanes of `width` bytes; saturates on overflow.
#[inline(always)]
fn reach<L: Lanes>(at: usize, rows: usize, stride: usize, step: usize, width: usize) -> usize {
    let last = (rows - 1)
        .saturating_mul(stride)
        .saturating_add((L::LANES - 1).saturating_mul(step));
    at.saturating_add(last).saturating_add(width)
}

/// Defines vector operations by intrinsics that require only an instruction set.
#[allow(unused_macros)]
macro_rules! operations {
    ($(fn $name:ident $(<const $bits:ident>)? ($($arg:ident: $of:ty),*) -> $to:ty = $body:expr;)*) => { $(
        #[inline(always)]
        fn $name $(<const $bits: i32>)? (self, $($arg: $of),*) -> $to {
            // SAFETY: `self` proves that the instruction set is available.
            unsafe { $body }
        }
    )* };
}

#[cfg(target_arch = "x86_64")]
mod machine {
    use super::{Kernel, Lanes};
    use std::arch::x86_64::*;

    /// Runs with AVX2 if the machine has it, and with SSE2 for the remainder.
    pub fn run(kernel: &mut impl Kernel) {
        if let Some(lanes) = Avx2::detect() {
            // SAFETY: such a value exists only if AVX2 is available.
            unsafe { with_avx2(lanes, kernel) }
        }
        kernel.run(Sse2);
    }

    /// Levels: only plain code, SSE2, or all.
    #[cfg(test)]
    pub fn run_at_level(level: usize, kernel: &mut impl Kernel) {
        match level {
            0 => {}
            1 => kernel.run(Sse2),
            _ => run(kernel),
        }
    }

    #[target_feature(enable = "avx2")]
    fn with_avx2(lanes: Avx2, kernel: &mut impl Kernel) {
        kernel.run(lanes);
    }

    /// SSE2, which every x86-64 processor has.
    #[derive(Clone, Copy)]
    pub struct Sse2;

    /// AVX2, with two lanes.
    #[derive(Clone, Copy)]
    pub struct Avx2(());

    impl Avx2 {
        /// Returns a value if the machine has AVX2. The standard library caches the result.
        pub fn detect() -> Option<Avx2> {
            std::arch::is_x86_feature_detected!("avx2").then_some(Avx2(()))
        }
    }

    impl Lanes for Sse2 {
        type V = __m128i;
        const LANES: usize = 1;
        const HALF: usize = 8;

        #[inline(always)]
        unsafe fn get(self, low: *const u8, _: *const u8) -> __m128i {
            // SAFETY: guaranteed by the caller.
            unsafe { _mm_loadu_si128(low.cast()) }
        }
        #[inline(always)]
        unsafe fn get_half(self, low: *const u8, _: *const u8) -> __m128i {
            // SAFETY: guaranteed by the caller.
            unsafe { _mm_loadl_epi64(low.cast()) }
        }
        #[inline(always)]
        unsafe fn put(self, v: __m128i, to: *mut u8) {
            // SAFETY: guaranteed by the caller.
            unsafe { _mm_storeu_si128(to.cast(), v) }
        }
        #[inline(always)]
        unsafe fn put_lane(self, v: __m128i, _: usize, to: *mut u8) {
            // SAFETY: guaranteed by the caller.
            unsafe { _mm_storeu_si128(to.cast(), v) }
        }
        #[inline(always)]
        unsafe fn put_non_temporal(self, v: __m128i, _: usize, to: *mut u8) {
            // SAFETY: guaranteed by the caller.
            unsafe { _mm_stream_si128(to.cast(), v) }
        }
        #[inline(always)]
        fn store_fence(self) {
            // SAFETY: every x86-64 has it.
            unsafe { _mm_sfence() }
        }
        #[inline(always)]
        unsafe fn put_halves(self, v: __m128i, _: usize, first: *mut u8, second: *mut u8) {
            // SAFETY: guaranteed by the caller; neither store requires alignment (`_mm_storeh_pd`
            // does).
            unsafe {
                let v = _mm_castsi128_pd(v);
                first.cast::<f64>().write_unaligned(_mm_cvtsd_f64(v));
                second
                    .cast::<f64>()
                    .write_unaligned(_mm_cvtsd_f64(_mm_unpackhi_pd(v, v)));
            }
        }
        #[inline(always)]
        fn prefetch(self, bytes: &[u8], at: usize) {
            // SAFETY: every x86-64 has it; a prefetch is not an access, and cannot fail at any
            // address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().wrapping_add(at).cast()) }
        }
        operations! {
            fn splat(n: u8) -> __m128i = _mm_set1_epi8(n as i8);
            fn zip(a: __m128i, b: __m128i) -> (__m128i, __m128i) = (_mm_unpacklo_epi8(a, b), _mm_unpackhi_epi8(a, b));
            fn xor(a: __m128i, b: __m128i) -> __m128i = _mm_xor_si128(a, b);
            fn and(a: __m128i, b: __m128i) -> __m128i = _mm_and_si128(a, b);
            fn or(a: __m128i, b: __m128i) -> __m128i = _mm_or_si128(a, b);
            fn shr<const BITS>(v: __m128i) -> __m128i = _mm_srli_epi64::<BITS>(v);
            fn shl<const BITS>(v: __m128i) -> __m128i = _mm_slli_epi64::<BITS>(v);
            fn add(a: __m128i, b: __m128i) -> __m128i = _mm_add_epi8(a, b);
            fn prefix_sum(v: __m128i) -> __m128i = {
                let v = _mm_add_epi8(v, _mm_slli_si128::<1>(v));
                let v = _mm_add_epi8(v, _mm_slli_si128::<2>(v));
                let v = _mm_add_epi8(v, _mm_slli_si128::<4>(v));
                _mm_add_epi8(v, _mm_slli_si128::<8>(v))
            };
            fn last(v: __m128i) -> __m128i = _mm_shuffle_epi32::<0xff>(_mm_shufflehi_epi16::<0xff>(_mm_unpackhi_epi8(v, v)));
        }
    }

    impl Lanes for Avx2 {
        type V = __m256i;
        const LANES: usize = 2;
        // loading a half into the second lane takes one step more than loading a whole lane
        const HALF: usize = 16;

        #[inline(always)]
        unsafe fn get(self, low: *const u8, high: *const u8) -> __m256i {
            // SAFETY: `self` proves AVX2; the rest is guaranteed by the caller.
            unsafe { _mm256_loadu2_m128i(high.cast(), low.cast()) }
        }
        #[inline(always)]
        unsafe fn get_half(self, low: *const u8, high: *const u8) -> __m256i {
            // SAFETY: guaranteed by the caller.
            unsafe { self.get(low, high) }
        }
        #[inline(always)]
        unsafe fn put(self, v: __m256i, to: *mut u8) {
            // SAFETY: as in `get`.
            unsafe { _mm256_storeu_si256(to.cast(), v) }
        }
        #[inline(always)]
        unsafe fn put_lane(self, v: __m256i, lane: usize, to: *mut u8) {
            // SAFETY: as in `get`.
            unsafe {
                Sse2.put(
                    if lane == 0 {
                        _mm256_castsi256_si128(v)
                    } else {
                        _mm256_extracti128_si256::<1>(v)
                    },
                    to,
                )
            }
        }
        #[inline(always)]
        unsafe fn put_non_temporal(self, v: __m256i, lane: usize, to: *mut u8) {
            // SAFETY: as in `get`.
            unsafe {
                Sse2.put_non_temporal(
                    if lane == 0 {
                        _mm256_castsi256_si128(v)
                    } else {
                        _mm256_extracti128_si256::<1>(v)
                    },
                    lane,
                    to,
                )
            }
        }
        #[inline(always)]
        fn store_fence(self) {
            Sse2.store_fence();
        }
        #[inline(always)]
        unsafe fn put_halves(self, v: __m256i, lane: usize, first: *mut u8, second: *mut u8) {
            // SAFETY: as in `get`.
            unsafe {
                let v = if lane == 0 {
                    _mm256_castsi256_si128(v)
                } else {
                    _mm256_extracti128_si256::<1>(v)
                };
                Sse2.put_halves(v, 0, first, second);
            }
        }
        #[inline(always)]
        fn prefetch(self, bytes: &[u8], at: usize) {
            Sse2.prefetch(bytes, at);
        }
        operations! {
            fn splat(n: u8) -> __m256i = _mm256_set1_epi8(n as i8);
            fn zip(a: __m256i, b: __m256i) -> (__m256i, __m256i) = (_mm256_unpacklo_epi8(a, b), _mm256_unpackhi_epi8(a, b));
            fn xor(a: __m256i, b: __m256i) -> __m256i = _mm256_xor_si256(a, b);
            fn and(a: __m256i, b: __m256i) -> __m256i = _mm256_and_si256(a, b);
            fn or(a: __m256i, b: __m256i) -> __m256i = _mm256_or_si256(a, b);
            fn shr<const BITS>(v: __m256i) -> __m256i = _mm256_srli_epi64::<BITS>(v);
            fn shl<const BITS>(v: __m256i) -> __m256i = _mm256_slli_epi64::<BITS>(v);
            fn add(a: __m256i, b: __m256i) -> __m256i = _mm256_add_epi8(a, b);
            fn prefix_sum(v: __m256i) -> __m256i = {
                let v = _mm256_add_epi8(v, _mm256_slli_si256::<1>(v));
                let v = _mm256_add_epi8(v, _mm256_slli_si256::<2>(v));
                let v = _mm256_add_epi8(v, _mm256_slli_si256::<4>(v));
                _mm256_add_epi8(v, _mm256_slli_si256::<8>(v))
            };
            fn last(v: __m256i) -> __m256i = _mm256_shuffle_epi8(v, _mm256_set1_epi8(15));
        }
    }
}

#[cfg(all(
    target_arch = "aarch64",
    target_feature = "neon",
    target_endian = "little"
))]
mod machine {
    use super::{Kernel, Lanes};
    use std::arch::aarch64::*;

    /// Runs with NEON.
    pub fn run(kernel: &mut impl Kernel) {
        kernel.run(Neon);
    }

    /// Levels: only plain code, or NEON.
    #[cfg(test)]
    pub fn run_at_level(level: usize, kernel: &mut impl Kernel) {
        if level > 0 {
            run(kernel);
        }
    }

    /// NEON, which every 64-bit ARM processor has.
    #[derive(Clone, Copy)]
    struct Neon;

    impl Lanes for Neon {
        type V = uint8x16_t;
        const LANES: usize = 1;
        const HALF: usize = 8;

        #[inline(always)]
        unsafe fn get(self, low: *const u8, _: *const u8) -> uint8x16_t {
            // SAFETY: guaranteed by the caller.
            unsafe { vld1q_u8(low) }
        }
        #[inline(always)]
        unsafe fn get_half(self, low: *const u8, _: *const u8) -> uint8x16_t {
            // SAFETY: guaranteed by the caller.
            unsafe { vcombine_u8(vld1_u8(low), vdup_n_u8(0)) }
        }
        #[inline(always)]
        unsafe fn put(self, v: uint8x16_t, to: *mut u8) {
            // SAFETY: guaranteed by the caller.
            unsafe { vst1q_u8(to, v) }
        }
        #[inline(always)]
        unsafe fn put_lane(self, v: uint8x16_t, _: usize, to: *mut u8) {
            // SAFETY: guaranteed by the caller.
            unsafe { vst1q_u8(to, v) }
        }
        /// Rust has no stable intrinsic for non-temporal stores and prefetches on ARM yet.
        #[inline(always)]
        unsafe fn put_non_temporal(self, v: uint8x16_t, lane: usize, to: *mut u8) {
            // SAFETY: guaranteed by the caller.
            unsafe { self.put_lane(v, lane, to) }
        }
        #[inline(always)]
        fn store_fence(self) {}
        #[inline(always)]
        unsafe fn put_halves(self, v: uint8x16_t, _: usize, first: *mut u8, second: *mut u8) {
            // SAFETY: guaranteed by the caller.
            unsafe {
                vst1_u8(first, vget_low_u8(v));
                vst1_u8(second, vget_high_u8(v));
            }
        }
        #[inline(always)]
        fn prefetch(self, _: &[u8], _: usize) {}
        operations! {
            fn splat(n: u8) -> uint8x16_t = vdupq_n_u8(n);
            fn zip(a: uint8x16_t, b: uint8x16_t) -> (uint8x16_t, uint8x16_t) = (vzip1q_u8(a, b), vzip2q_u8(a, b));
            fn xor(a: uint8x16_t, b: uint8x16_t) -> uint8x16_t = veorq_u8(a, b);
            fn and(a: uint8x16_t, b: uint8x16_t) -> uint8x16_t = vandq_u8(a, b);
            fn or(a: uint8x16_t, b: uint8x16_t) -> uint8x16_t = vorrq_u8(a, b);
            fn shr<const BITS>(v: uint8x16_t) -> uint8x16_t = vreinterpretq_u8_u64(vshrq_n_u64::<BITS>(vreinterpretq_u64_u8(v)));
            fn shl<const BITS>(v: uint8x16_t) -> uint8x16_t = vreinterpretq_u8_u64(vshlq_n_u64::<BITS>(vreinterpretq_u64_u8(v)));
            fn add(a: uint8x16_t, b: uint8x16_t) -> uint8x16_t = vaddq_u8(a, b);
            fn prefix_sum(v: uint8x16_t) -> uint8x16_t = {
                let zero = vdupq_n_u8(0);
                let v = vaddq_u8(v, vextq_u8::<15>(zero, v));
                let v = vaddq_u8(v, vextq_u8::<14>(zero, v));
                let v = vaddq_u8(v, vextq_u8::<12>(zero, v));
                vaddq_u8(v, vextq_u8::<8>(zero, v))
            };
            fn last(v: uint8x16_t) -> uint8x16_t = vdupq_laneq_u8::<15>(v);
        }
    }
}

/// Other targets: the plain code does all of the work.
#[cfg(not(any(
    target_arch = "x86_64",
    all(
        target_arch = "aarch64",
        target_feature = "neon",
        target_endian = "little"
    )
)))]
mod machine {
    pub fn run(_: &mut impl super::Kernel) {}

    #[cfg(test)]
    pub fn run_at_level(_: usize, _: &mut impl super::Kernel) {}
}

#[cfg(test)]
pub(super) mod tests {
    use std::cell::Cell;

    thread_local! {
        /// The instruction sets that kernels may use.
        pub(super) static LEVEL: Cell<usize> = const { Cell::new(LEVELS - 1) };
    }

    /// Number of levels: only plain code, the minimum of the architecture, everything that the
    /// machine has.
    const LEVELS: usize = 3;

    /// Runs `test` at each level.
    pub fn at_each_level(mut test: impl FnMut()) {
        for level in 0..LEVELS {
            LEVEL.set(level);
            test();
        }
    }
}

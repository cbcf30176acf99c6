//! Complex numbers, float functions, read-only loads and emulated memory against their
//! definitions.

#![allow(
    unsafe_code,
    unsafe_op_in_unsafe_fn,
    reason = "a kernel, whose contract covers its body"
)]

use warpstride_device::emulator::{self, LaunchConfig, Memory};
use warpstride_device::prelude::*;

/// Small whole numbers: every operation on them is exact, so results can be compared by equality.
fn pairs() -> impl Iterator<Item = (Complex32, Complex32, Complex32)> {
    let part = |k: i32| (k * 7 % 11 - 5) as f32;
    (0..200).map(move |k| {
        (
            Complex32::new(part(k), part(k + 1)),
            Complex32::new(part(3 * k), part(k + 5)),
            Complex32::new(part(k + 2), part(5 * k)),
        )
    })
}

#[test]
fn complex_arithmetic_is_that_of_the_definition() {
    for (a, b, c) in pairs() {
        let product = Complex32::new(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
        let with_conjugate = Complex32::new(a.re * b.re + a.im * b.im, a.re * b.im - a.im * b.re);
        let mut sum = a;
        sum += b;
        assert_eq!(sum, Complex32::new(a.re + b.re, a.im + b.im));
        sum -= b;
        assert_eq!(sum, a);
        assert_eq!(a - b, a + -b);
        assert_eq!(a * b, product);
        assert_eq!(a.mul_add(b, c), product + c);
        assert_eq!(a.conj() * b, with_conjugate);
        assert_eq!(a.conj_mul_add(b, c), with_conjugate + c);
        assert_eq!(a.scale_add(3.0, c), a * 3.0 + c);
        assert_eq!(a * a.conj(), Complex32::new(a.norm_sqr(), 0.0));
        assert_eq!(a * Complex32::ONE + Complex32::ZERO, a);
    }
}

#[test]
fn complex_numbers_are_aligned_for_one_load() {
    assert_eq!((size_of::<Complex32>(), align_of::<Complex32>()), (8, 8));
    assert_eq!(
        (size_of::<Complex32x2>(), align_of::<Complex32x2>()),
        (16, 16)
    );
}

#[test]
fn float_functions_are_those_of_the_definition() {
    for k in 1..1000 {
        let x = k as f32 * 0.37;
        let exact = f64::from(x);
        // The host's values are rounded once: half a unit in the last place.
        let close = |found: f32, exact: f64| (f64::from(found) - exact).abs() <= 6e-8 * exact.abs();
        assert!(close(GpuFloat::sqrt(x), exact.sqrt()));
        assert!(close(float::sqrt_approx(x), exact.sqrt()));
        assert!(close(float::rsqrt_approx(x), 1.0 / exact.sqrt()));
        assert!(close(float::div_approx(1.0, x), 1.0 / exact));
        assert!(close(GpuFloat::mul_add(x, 3.0, 1.0), 3.0 * exact + 1.0));
        assert!((f64::from(float::sin_approx(x)) - exact.sin()).abs() <= 6e-8);
        assert!((f64::from(float::cos_approx(x)) - exact.cos()).abs() <= 6e-8);
    }
    let halves = [-1.5_f32, -0.5, 0.5, 1.5, 2.5];
    assert_eq!(
        halves.map(GpuFloat::round_ties_even),
        [-2.0, 0.0, 0.0, 2.0, 2.0]
    );
    assert_eq!(halves.map(GpuFloat::floor), [-2.0, -1.0, 0.0, 1.0, 2.0]);
    assert_eq!(halves.map(GpuFloat::ceil), [-1.0, 0.0, 1.0, 2.0, 3.0]);
}

/// Both complex numbers of a pair, and the first alone, through the read-only cache.
#[kernel(block = 32)]
pub unsafe fn load(#[len(3 * n)] out: *mut Complex32, #[len(n)] pairs: *const Complex32x2, n: u32) {
    for i in thread::grid_stride(n as usize) {
        let Complex32x2([a, b]) = mem::load_read_only(pairs.add(i));
        *out.add(3 * i) = a;
        *out.add(3 * i + 1) = b;
        *out.add(3 * i + 2) = mem::load_read_only(pairs.cast::<Complex32>().add(2 * i));
    }
}

#[test]
fn read_only_loads_give_the_value() {
    let values: Vec<_> = pairs().map(|(a, b, _)| Complex32x2([a, b])).collect();
    let there = Memory::try_copy_of(&values).expect("memory");
    let mut out = Memory::try_zeroed(3 * values.len()).expect("memory");
    let launch = Load {
        out: out.write(),
        pairs: there.read(),
        n: values.len() as u32,
    };
    emulator::launch(&launch, LaunchConfig::linear(&launch, 2, 32)).expect("a launch");
    for (found, Complex32x2([a, b])) in out.as_slice().chunks(3).zip(values) {
        assert_eq!(found, [a, b, a]);
    }
}

#[test]
fn memory_is_aligned_and_knows_its_ends() {
    for len in [0, 1, 63, 64, 65, 1000] {
        let mut memory = Memory::<f32>::try_poisoned(len).expect("memory");
        assert!(memory.as_slice().iter().all(|v| v.is_nan()));
        assert_eq!(memory.read().as_ptr().addr() % 256, 0);
        assert_eq!((memory.as_slice().len(), memory.read().len()), (len, len));
        assert_eq!(memory.check_canaries(), Ok(()));
        let start = memory.write().as_ptr();
        // SAFETY: the zones before and behind are part of the allocation.
        unsafe {
            *start.sub(1) = 0.0;
            assert_eq!(memory.check_canaries(), Err(-4));
            *start.sub(1) = f32::from_bits(0xC5C5_C5C5);
            assert_eq!(memory.check_canaries(), Ok(()));
            *start.add(len) = 0.0;
        }
        assert_eq!(memory.check_canaries(), Err(4 * len as isize));
    }
    assert!(Memory::<f32>::try_zeroed(usize::MAX / 2).is_none());
}

#[test]
fn rounding_to_an_integer_takes_halves_to_even_and_saturates() {
    for (x, expected) in [
        (0.5, 0),
        (1.5, 2),
        (2.5, 2),
        (-0.5, 0),
        (-1.5, -2),
        (0.499_999_97, 0),
        (8_388_609.0, 8_388_609),
        (2_147_483_520.0, 2_147_483_520),
        (2_147_483_648.0, i32::MAX),
        (-2_147_483_648.0, i32::MIN),
        (-3e9, i32::MIN),
        (f32::INFINITY, i32::MAX),
        (f32::NEG_INFINITY, i32::MIN),
        (f32::NAN, 0),
        (1e-40, 0),
    ] {
        assert_eq!(float::round_to_i32(x), expected, "{x}");
    }
}

#[test]
fn sums_of_64_bits_wrap() {
    let mut sum = u64::MAX - 1;
    // SAFETY: the address of a live variable, which nothing else accesses.
    unsafe {
        atomic::add_u64(&raw mut sum, 5);
        mem::prefetch_l2(&raw const sum);
    }
    assert_eq!(sum, 3);
}

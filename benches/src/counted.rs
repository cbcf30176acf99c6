//! Numbers that count the operations on them, to measure how much arithmetic a form factor takes,
//! whatever its branches.

use std::cell::Cell;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};
use warpstride_kernels::sas::real::Real;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// Instructions of a GPU's double-precision units that a division takes (an estimate and its
/// refinement); a square root takes as many.
const DIVISION: u64 = 9;
/// Instructions of an inverse square root.
const INVERSE_ROOT: u64 = 6;

/// A double-precision number whose operations count a GPU's instructions.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Counted(pub f64);

/// Counts the instructions of `work`.
pub fn count(work: impl FnOnce()) -> u64 {
    COUNT.set(0);
    work();
    COUNT.get()
}

fn counted(instructions: u64, value: f64) -> Counted {
    COUNT.set(COUNT.get() + instructions);
    Counted(value)
}

macro_rules! binary {
    ($($trait:ident $method:ident $cost:expr;)*) => {$(
        impl $trait for Counted {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                counted($cost, self.0.$method(other.0))
            }
        }
    )*};
}

binary! {
    Add add 1;
    Sub sub 1;
    Mul mul 1;
    Div div DIVISION;
}

impl Neg for Counted {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl AddAssign for Counted {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Counted {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Real for Counted {
    type Mask = bool;
    const SINGLE: bool = false;

    fn of(value: f64) -> Self {
        Self(value)
    }
    fn mul_add(self, b: Self, c: Self) -> Self {
        counted(1, self.0.mul_add(b.0, c.0))
    }
    fn sqrt(self) -> Self {
        counted(DIVISION, self.0.sqrt())
    }
    fn abs(self) -> Self {
        Self(self.0.abs())
    }
    fn round(self) -> Self {
        counted(1, self.0.round_ties_even())
    }
    fn max(self, other: Self) -> Self {
        counted(1, f64::max(self.0, other.0))
    }
    fn min(self, other: Self) -> Self {
        counted(1, f64::min(self.0, other.0))
    }
    fn inverse_sqrt(self) -> Self {
        counted(INVERSE_ROOT, 1.0 / self.0.sqrt())
    }
    fn flip_where_odd(self, marked: Self) -> Self {
        Self(self.0.flip_where_odd(marked.0))
    }
    fn times_power_of_two(self, marked: Self) -> Self {
        counted(2, self.0.times_power_of_two(marked.0))
    }
    fn split_exponent(self) -> (Self, Self) {
        let (mantissa, exponent) = self.0.split_exponent();
        (counted(1, mantissa), Self(exponent))
    }
    fn less(self, other: Self) -> bool {
        let _ = counted(1, 0.0);
        self.0 < other.0
    }
    fn choose(mask: bool, yes: impl FnOnce() -> Self, no: impl FnOnce() -> Self) -> Self {
        if mask { yes() } else { no() }
    }
    fn map(self, function: impl Fn(f64) -> f64) -> Self {
        Self(function(self.0))
    }
    fn first(self) -> f64 {
        self.0
    }
    fn count(self, most: u32) -> u32 {
        self.0.count(most)
    }
}

#[cfg(test)]
mod tests {
    use super::{Counted, count};
    use warpstride_kernels::sas::real::Real;

    #[test]
    fn instructions_are_counted() {
        let x = Counted(2.0);
        assert_eq!(count(|| assert_eq!(x.mul_add(x, x), Counted(6.0))), 1);
        assert_eq!(count(|| assert_eq!(x * x - x, x)), 2);
        assert_eq!(count(|| assert_eq!(x / x, Counted(1.0))), 9);
    }
}

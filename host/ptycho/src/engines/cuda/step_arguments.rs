//! What kernels take of a step.

use crate::Step;
use crate::engines::updates::Denominator;
use warpstride_kernels::ptycho::pie_pass::{OBJECT, PROBE};

/// The bits of what a step updates.
pub(super) fn updates(step: &Step) -> u32 {
    let bit = |of: bool, bit: u32| if of { bit } else { 0 };
    bit(step.update_object, OBJECT) | bit(step.update_probe, PROBE)
}

/// α of a denominator, as kernels take it.
pub(super) fn alpha(denominator: Denominator) -> f32 {
    match denominator {
        Denominator::Floor => -1.0,
        Denominator::Mixed(alpha) => alpha as f32,
    }
}

//! The division of the coils among devices: plain data.

use crate::Problem;
use std::ops::Range;

/// The coils of each device that takes part, from the first on: contiguous, as equal as possible,
/// at least one each. Without coil maps every coil has an image of its own, and one device has all
/// of them.
#[must_use]
pub fn coil_parts(problem: &Problem, devices: usize) -> Vec<Range<usize>> {
    parts(problem.coils(), problem.maps().is_some(), devices)
}

fn parts(coils: usize, maps: bool, devices: usize) -> Vec<Range<usize>> {
    let most = if maps { coils } else { 1 };
    let devices = devices.clamp(1, most.max(1));
    let bound = |device: usize| device * coils / devices;
    (0..devices).map(|i| bound(i)..bound(i + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_coil_is_in_one_part_and_no_part_is_empty() {
        for coils in 1..20 {
            for devices in 1..9 {
                let parts = parts(coils, true, devices);
                assert_eq!(parts.len(), devices.min(coils));
                let all: Vec<usize> = parts.iter().cloned().flatten().collect();
                assert!(all.into_iter().eq(0..coils), "{parts:?}");
                let lengths = parts.iter().map(ExactSizeIterator::len);
                let (least, most) = (lengths.clone().min(), lengths.max());
                assert!(least > Some(0) && most <= least.map(|n| n + 1), "{parts:?}");
                let one = super::parts(coils, false, devices);
                assert_eq!((one.len(), one[0].clone()), (1, 0..coils));
            }
        }
    }
}

//! The memory that a reconstruction needs.

use super::Precision;
use crate::run::MemoryEstimate;

/// The memory of a run with `shape` (frames, modes, rows, columns) and the object's (rows, columns). Host memory
/// includes the scan.
#[must_use]
pub fn memory_estimate(
    [frames, modes, rows, columns]: [usize; 4],
    object_shape: [usize; 2],
    precision: Precision,
) -> MemoryEstimate {
    let wide = |n: usize| n as u64;
    let pixels = wide(frames).saturating_mul(wide(rows).saturating_mul(wide(columns)));
    let waves = pixels.saturating_mul(wide(modes));
    let object = wide(object_shape[0]).saturating_mul(wide(object_shape[1]));
    let probe = wide(modes).saturating_mul(wide(rows).saturating_mul(wide(columns)));
    let complex: u64 = if precision == Precision::F64 { 16 } else { 8 };
    // Counts and magnitudes (4 bytes each), the magnitudes once more in the engine's order,
    // the exit waves and their spectra, the spectra once more while they are saved; start
    // values, fluence and result in double precision.
    let shared = pixels
        .saturating_mul(8)
        .saturating_add(object.saturating_mul(64))
        .saturating_add(probe.saturating_mul(64));
    let cpu = shared
        .saturating_add(pixels.saturating_mul(4))
        .saturating_add(waves.saturating_mul(3 * complex));
    // Exit waves, their work copy and cuFFT's work area, magnitudes; object with sums.
    let device = waves
        .saturating_mul(24)
        .saturating_add(pixels.saturating_mul(4))
        .saturating_add(object.saturating_mul(32))
        .saturating_add(probe.saturating_mul(40));
    MemoryEstimate {
        cpu,
        gpu_host: shared.saturating_add(waves.saturating_mul(8)),
        gpu_device: device,
        advice: "take fewer probe modes (--probe-modes), fewer frames (--set data.frames=[0,100]) or a smaller part of each (--set data.crop=[64,64])",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absurd_sizes_saturate_instead_of_wrapping() {
        let estimate = memory_estimate(
            [usize::MAX, 64, 9999, 9999],
            [usize::MAX, 2],
            Precision::F64,
        );
        assert_eq!((estimate.cpu, estimate.gpu_device), (u64::MAX, u64::MAX));
    }

    #[test]
    fn a_second_mode_costs_its_exit_waves() {
        let of = |modes| memory_estimate([10, modes, 64, 64], [200, 200], Precision::F32);
        let (one, two) = (of(1), of(2));
        // The waves, their spectra and the spectra in the checkpoint; with a GPU only the last of them
        // are on the host.
        let (waves, probe) = (10 * 4096 * 8, 4096 * 64);
        assert_eq!(two.cpu - one.cpu, 3 * waves + probe);
        assert_eq!(two.gpu_host - one.gpu_host, waves + probe);
    }
}

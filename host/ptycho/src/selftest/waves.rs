//! Exit waves as kernels have them: complex numbers of two f32, or pairs of bf16.

use crate::GpuWaves;
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::float::{pack_bf16x2, unpack_bf16x2};
use warpstride_selftest::bench::{Case, CaseDevice, all_wide, relative_error};

/// How waves are stored in the cases of a kernel.
pub(super) const STORED: [GpuWaves; 2] = [GpuWaves::F32, GpuWaves::Bf16];

/// A buffer of waves.
pub(super) enum Waves<M: Device> {
    F32(M::Buffer<Complex32>),
    Bf16(M::Buffer<u32>),
}

impl<M: Device> Waves<M> {
    /// A buffer with these values, rounded if they are stored in bf16.
    pub(super) fn upload(
        on: CaseDevice<'_, M>,
        values: &[Complex32],
        stored: GpuWaves,
    ) -> Result<Self> {
        Ok(match stored {
            GpuWaves::F32 => Self::F32(on.upload(values)?),
            GpuWaves::Bf16 => {
                let pairs: Vec<u32> = values.iter().map(pair).collect();
                Self::Bf16(on.upload(&pairs)?)
            }
        })
    }

    /// A buffer that must be written, or must not be read.
    pub(super) fn poisoned(on: CaseDevice<'_, M>, len: usize, stored: GpuWaves) -> Result<Self> {
        Ok(match stored {
            GpuWaves::F32 => Self::F32(on.poisoned(len)?),
            GpuWaves::Bf16 => Self::Bf16(on.poisoned(len)?),
        })
    }

    /// The values; exact.
    pub(super) fn values(&self, on: CaseDevice<'_, M>) -> Result<Vec<Complex32>> {
        match self {
            Self::F32(buffer) => {
                let mut values = vec![Complex32::ZERO; buffer.len()];
                on.download(buffer, &mut values)?;
                Ok(values)
            }
            Self::Bf16(buffer) => {
                let mut pairs = vec![0; buffer.len()];
                on.download(buffer, &mut pairs)?;
                Ok(pairs.into_iter().map(widened).collect())
            }
        }
    }

    /// ‖values − reference‖/‖reference‖; of values in bf16 without what rounding to the nearest may
    /// change.
    pub(super) fn error(&self, on: CaseDevice<'_, M>, reference: &[Complex<f64>]) -> Result<f64> {
        match self {
            Self::F32(buffer) => on.error(buffer, reference),
            Self::Bf16(_) => {
                let parts = |v: &Complex<f64>| [v.re, v.im];
                let values = all_wide(&self.values(on)?);
                let reference: Vec<f64> = reference.iter().flat_map(parts).collect();
                let pairs = values.iter().flat_map(parts).zip(&reference);
                let unrounded: Vec<f64> = pairs.map(|(v, of)| nearest(v, *of)).collect();
                Ok(relative_error(&unrounded, &reference))
            }
        }
    }
}

/// `value` moved towards `reference` by at most half a unit in the last place of bf16: `reference`
/// itself if `value` is it, rounded to the nearest.
fn nearest(value: f64, reference: f64) -> f64 {
    // Eight bits of significand: half a unit in the last place is 2⁻⁸ of the power of two below the
    // value.
    const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
    let half = f64::from_bits(reference.to_bits() & EXPONENT) / 256.0;
    let distance = reference - value;
    // NaN stays.
    value + distance.clamp(-half, half)
}

/// A number as a pair, rounded.
pub(super) fn pair(value: &Complex32) -> u32 {
    pack_bf16x2(value.re, value.im)
}

/// The number of a pair.
fn widened(pair: u32) -> Complex32 {
    let (re, im) = unpack_bf16x2(pair);
    Complex32::new(re, im)
}

/// `values` as they are read again where they are stored.
pub(super) fn stored(values: Vec<Complex32>, stored: GpuWaves) -> Vec<Complex32> {
    match stored {
        GpuWaves::F32 => values,
        GpuWaves::Bf16 => values.iter().map(|v| widened(pair(v))).collect(),
    }
}

/// Bytes of a stored value.
pub(super) fn bytes(stored: GpuWaves) -> usize {
    match stored {
        GpuWaves::F32 => 8,
        GpuWaves::Bf16 => 4,
    }
}

/// A case of the kernel with this name for waves that are stored so.
pub(super) fn case(kernel: &str, stored: GpuWaves, text: String) -> Case {
    let entry = match stored {
        GpuWaves::F32 => kernel.to_owned(),
        GpuWaves::Bf16 => format!("{kernel}_bf16"),
    };
    let found = warpstride_kernels::ptycho::registry()
        .iter()
        .find(|kernel| kernel.entry == entry);
    match found {
        Some(kernel) => Case::with(*kernel, text),
        None => Case::named("no such kernel", text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_in_bf16_have_no_error_and_others_have() {
        // Neighbours of 1 + 2⁻⁷/4 are 1 and 1 + 2⁻⁷; 1 is the nearest.
        let [unit, reference] = [2.0_f64.powi(-7), 1.0 + 2.0_f64.powi(-9)];
        assert_eq!(nearest(1.0, reference), reference);
        assert_eq!(nearest(-1.0, -reference), -reference);
        assert!(nearest(1.0 + unit, reference) > reference + unit / 8.0);
        assert!(nearest(1.0 - unit, reference) < reference - unit / 8.0);
        assert!(nearest(f64::NAN, reference).is_nan());
        assert_eq!(nearest(0.0, 0.0), 0.0);
    }
}

//! Exit waves of the fused step in bf16: to and from a saved state, which has them in single
//! precision, and back to the memory of separate kernels.

use crate::engines::cuda::memory::buffers::Buffers;
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::float::{pack_bf16x2, unpack_bf16x2};
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::widen_waves::PtychoWidenWaves;

/// Writes the exit waves, in real space, to `spectra`, and frees those in bf16.
pub(in crate::engines::cuda) fn to_spectra<M: Device>(
    device: &M,
    buffers: &mut Buffers<M>,
) -> Result<()> {
    let elements = buffers.packed_waves.len();
    buffers.spectra = device.alloc("the exit waves' spectra", elements)?;
    device.launch(
        &PtychoWidenWaves {
            to: buffers.spectra.write(),
            from: buffers.packed_waves.read(),
            elements,
        },
        Work::Elements(elements),
    )?;
    buffers.packed_waves = device.alloc("the exit waves in bf16", 0)?;
    Ok(())
}

/// The exit waves; exact.
pub(in crate::engines::cuda) fn download<M: Device>(
    device: &M,
    buffers: &Buffers<M>,
) -> Result<Vec<Complex<f32>>> {
    let mut pairs = vec![0_u32; buffers.packed_waves.len()];
    device.download(&buffers.packed_waves, &mut pairs)?;
    Ok(pairs.into_iter().map(widened).collect())
}

/// Rounds `waves` to bf16, which does not change those of [`download`].
pub(in crate::engines::cuda) fn upload<M: Device>(
    device: &M,
    buffers: &mut Buffers<M>,
    waves: &[Complex<f32>],
) -> Result<()> {
    let pairs: Vec<u32> = waves.iter().map(narrowed).collect();
    device.upload(&mut buffers.packed_waves, &pairs)
}

pub(in crate::engines::cuda) fn widened(pair: u32) -> Complex<f32> {
    let (re, im) = unpack_bf16x2(pair);
    Complex::new(re, im)
}

pub(in crate::engines::cuda) fn narrowed(value: &Complex<f32>) -> u32 {
    pack_bf16x2(value.re, value.im)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A state that is saved and restored has the same bits, whatever its values: zeros with signs,
    /// subnormal numbers, the largest and the smallest.
    #[test]
    fn widened_pairs_are_narrowed_to_themselves() {
        for bits in 0..=u16::MAX {
            let pair = u32::from(bits) << 16 | u32::from(bits ^ 0x8000);
            let value = widened(pair);
            if value.re.is_finite() {
                assert_eq!(narrowed(&value), pair, "{pair:#x}");
            }
        }
    }
}

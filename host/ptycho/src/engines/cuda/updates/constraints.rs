//! Mirrors cpu/updates/constraints.rs: supports of the probe. The kernel `ptycho_probe_finish`
//! applies the real-space one.

use crate::engines::cpu::{disc, disc_at_origin};
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::layout::Layout;
use warpstride_cuda::gpu::{Buffer, Device, Direction, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{copy_waves::PtychoCopyWaves, scale_layers::PtychoScaleLayers};

/// The supports that are currently on the device.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(in crate::engines::cuda) struct Supports {
    real: Option<f64>,
    fourier: Option<f64>,
}

impl Supports {
    /// Uploads the supports that differ from those of the last iteration.
    pub(in crate::engines::cuda) fn set<M: Device>(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &mut Buffers<M>,
        supports: [Option<f64>; 2],
    ) -> Result<()> {
        let [real, fourier] = supports;
        let (rows, columns) = (layout.rows as usize, layout.columns as usize);
        if self.real != real {
            let support = real.map_or_else(
                || vec![1.0; rows * columns],
                |fraction| disc(rows, columns, fraction),
            );
            device.upload(&mut buffers.support, &support)?;
        }
        if let Some(fraction) = fourier
            && self.fourier != fourier
        {
            let support = disc_at_origin(rows, columns, fraction);
            device.upload(&mut buffers.fourier_support, &support)?;
        }
        *self = Self { real, fourier };
        Ok(())
    }
}

/// Multiplies every mode's spectrum by the Fourier support; does nothing if the gate is closed.
///
/// With a closed gate the probe must not change at all, but a forward and an inverse transform
/// would round. They are therefore applied to a copy, which is copied back through the gate.
pub(in crate::engines::cuda) fn fourier_support<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    fft: &M::Fft,
) -> Result<()> {
    let elements = layout.probe_elements() as u32;
    let all = Work::Elements(layout.probe_elements());
    // The first slice of the sums, which the probe update no longer needs.
    let work = &mut buffers.probe_sums;
    let copy = PtychoCopyWaves {
        to: work.write(),
        from: buffers.probe.read(),
        gate: buffers.open.read(),
        elements,
    };
    device.launch(&copy, all)?;
    device.fft(fft, work, Direction::Forward)?;
    let support = PtychoScaleLayers {
        waves: work.write(),
        weights: buffers.fourier_support.read(),
        gate: buffers.open.read(),
        layers: layout.modes,
        pixels: layout.pixels(),
        factor: layout.scale(),
    };
    device.launch(&support, all)?;
    device.fft(fft, work, Direction::Inverse)?;
    let copy_back = PtychoCopyWaves {
        to: buffers.probe.write(),
        from: work.read(),
        gate: buffers.gate.read(),
        elements,
    };
    device.launch(&copy_back, all)
}

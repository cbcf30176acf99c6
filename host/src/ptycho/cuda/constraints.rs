//! Mirrors cpu/constraints.rs: supports of the probe. The real-space one is part of `probe_finish`.

use super::buffers::{Buffers, Layout};
use crate::gpu::{Buffer, Direction, Machine, Result};
use crate::ptycho::cpu::{disc, disc_at_origin};
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{copy_waves::CopyWaves, scale_layers::ScaleLayers};

/// The supports that are on the device at present.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Supports {
    real: Option<f64>,
    fourier: Option<f64>,
}

impl Supports {
    /// Uploads what differs from the last iteration's.
    pub(super) fn set<M: Machine>(
        &mut self,
        machine: &M,
        layout: &Layout,
        buffers: &mut Buffers<M>,
        wanted: [Option<f64>; 2],
    ) -> Result<()> {
        let [real, fourier] = wanted;
        let (rows, columns) = (layout.rows as usize, layout.columns as usize);
        if self.real != real {
            let support = real.map_or_else(
                || vec![1.0; rows * columns],
                |share| disc(rows, columns, share),
            );
            machine.upload(&mut buffers.support, &support)?;
        }
        if let Some(share) = fourier
            && self.fourier != fourier
        {
            let support = disc_at_origin(rows, columns, share);
            machine.upload(&mut buffers.fourier_support, &support)?;
        }
        *self = Self { real, fourier };
        Ok(())
    }
}

/// Multiplies every mode's spectrum by the Fourier support; nothing while the gate is shut.
///
/// Behind a shut gate the probe must not change at all, and a transform there and back would round:
/// so it is done on a copy, which comes home through the gate.
pub(super) fn fourier_support<M: Machine>(
    machine: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    fft: &M::Fft,
) -> Result<()> {
    let elements = layout.probe_elements() as u32;
    let all = Work::Elements(layout.probe_elements());
    // The first slice of the sums, which the probe update is done with.
    let work = &mut buffers.probe_sums;
    let out = CopyWaves {
        to: work.write(),
        from: buffers.probe.read(),
        gate: buffers.open.read(),
        elements,
    };
    machine.launch(&out, all)?;
    machine.fft(fft, work, Direction::Forward)?;
    let support = ScaleLayers {
        waves: work.write(),
        weights: buffers.fourier_support.read(),
        gate: buffers.open.read(),
        layers: layout.modes,
        pixels: layout.pixels(),
        factor: layout.scale(),
    };
    machine.launch(&support, all)?;
    machine.fft(fft, work, Direction::Inverse)?;
    let home = CopyWaves {
        to: buffers.probe.write(),
        from: work.read(),
        gate: buffers.gate.read(),
        elements,
    };
    machine.launch(&home, all)
}

//! What the detector measures of waves, and the sums that its background is fitted to.

use super::{DetectorBuffers, Frames, Source};
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::layout::Layout;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    detector_intensities::PtychoDetectorIntensities, detector_sums::PtychoDetectorSums,
};

impl<M: Device> DetectorBuffers<M> {
    /// Writes the intensities that the detector measures of the waves of some frames to `values`
    /// (frame, row, column).
    pub(super) fn measure(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &Buffers<M>,
        of: &Frames<'_, M>,
        source: &Source<'_, M>,
    ) -> Result<()> {
        let elements = of.elements(layout);
        self.reserve(device, elements)?;
        let adds = self.has_background;
        let (others, parts) = source.mixed.unwrap_or((source.waves, [1.0, 0.0]));
        device.launch(
            &PtychoDetectorIntensities {
                intensities: self.values.write(),
                waves: source.waves.read(),
                others: others.read(),
                scales: buffers.scales.read(),
                order: of.order.unwrap_or(&buffers.open).read(),
                background: self.background.read(),
                frames: layout.frames,
                first: of.first,
                count: of.count,
                modes: layout.waves(),
                pixels: layout.pixels(),
                first_wave: of.order.map_or(of.first, |_| 0),
                mixed: u32::from(source.mixed.is_some()),
                scaled: u32::from(of.order.is_some()),
                add: u32::from(adds && self.kernels.is_none()),
                part: parts[0],
                other_part: parts[1],
                scale: layout.scale(),
            },
            Work::Elements(elements),
        )?;
        self.blur(device, elements, adds)
    }

    /// Adds the frames of a batch, whose measured intensities are in `values`, to the sums of the
    /// iteration, if it has some.
    pub(super) fn add_to_sums(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &Buffers<M>,
        of: &Frames<'_, M>,
    ) -> Result<()> {
        let (true, Some(order)) = (self.collects, of.order) else {
            return Ok(());
        };
        device.launch(
            &PtychoDetectorSums {
                sums: self.sums.write(),
                measured: self.values.read(),
                magnitudes: buffers.magnitudes.read(),
                background: self.background.read(),
                order: order.read(),
                frames: layout.frames,
                first: of.first,
                count: of.count,
                pixels: layout.pixels(),
                floor: self.floor,
            },
            Work::Elements(layout.pixels() as usize),
        )
    }
}

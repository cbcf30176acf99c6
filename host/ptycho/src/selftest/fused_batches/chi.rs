//! The kernels `ptycho_frame_chi_64` and `…_128`.

use super::super::batch_waves::Batch;
use super::super::shape::{Shape, Source};
use super::scan::{Scan, worst_metric};
use super::values::ranges;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::frame_chi::{PtychoFrameChi64, PtychoFrameChi128};
use warpstride_selftest::bench::{Bench, Case, all_f64, all_wide};

pub(super) fn chi<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("frame chi", &shape);
    let scan = Scan::new(&mut source, shape);
    let batch = Batch::new(&mut source, &shape);
    let most = batch.count + 1;
    let before = [0; 5].map(|_| source.reals(shape.frames as usize, 0.0, 1.0));
    // The metrics of the other frames must stay, and so must the waves after the last frame.
    let mut metrics = before.each_ref().map(|values| all_f64(values));
    let old = source.complex(most as usize * shape.pixels());
    let mut waves = all_wide(&old);
    let (probe, object) = (all_wide(&scan.probe), all_wide(&scan.object));
    for (member, frame) in batch.frames().iter().enumerate() {
        let (values, found) = scan.chi(*frame as usize, &probe, &object);
        waves[member * shape.pixels()..][..shape.pixels()].copy_from_slice(&values);
        for (metric, found) in metrics.iter_mut().zip(found) {
            metric[*frame as usize] = found;
        }
    }
    let order = on.upload(&batch.order)?;
    let ranges = on.upload(&ranges(&batch))?;
    let uploaded = scan.on(on)?;
    let [errors, moved, photon, residual, free] = before.each_ref().map(|values| on.upload(values));
    let text = format!("{shape}, {}", batch.label());
    let case = if shape.rows == 64 {
        Case::of::<PtychoFrameChi64<'_, Emulated>>(text)
    } else {
        Case::of::<PtychoFrameChi128<'_, Emulated>>(text)
    };
    bench.run(
        case.timed(shape.timed, 12 * batch.elements(&shape)),
        (
            on.upload(&old)?,
            on.poisoned::<u32>(2)?,
            [errors?, moved?, photon?, residual?, free?],
        ),
        |device, (chi, largest, [errors, moved, photon, residual, free])| {
            macro_rules! launch {
                ($kernel:ident) => {
                    device.launch(
                        &$kernel {
                            chi: chi.write(),
                            largest: largest.write(),
                            errors: errors.write(),
                            moved: moved.write(),
                            photon: photon.write(),
                            residual: residual.write(),
                            free: free.write(),
                            probe: uploaded.probe.read(),
                            object: uploaded.object.read(),
                            magnitudes: uploaded.magnitudes.read(),
                            scales: uploaded.scales.read(),
                            corners: uploaded.corners.read(),
                            order: order.read(),
                            ranges: ranges.read(),
                            roots: uploaded.roots.read(),
                            frames: shape.frames,
                            most,
                            batches: 3,
                            batch: 1,
                            object_rows: shape.object_rows,
                            object_columns: shape.object_columns,
                        },
                        Work::Blocks(most as usize),
                    )
                };
            }
            if shape.rows == 64 {
                launch!(PtychoFrameChi64)
            } else {
                launch!(PtychoFrameChi128)
            }
        },
        |on, (chi, largest, found)| {
            let worst = on.error(chi, &waves)?.max(on.error(largest, &[0, 0])?);
            Ok(worst.max(worst_metric(on, found, &metrics)?))
        },
    )
}

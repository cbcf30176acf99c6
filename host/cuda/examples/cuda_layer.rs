//! The CUDA layer used directly: a second stream beside that of the device, events between the two,
//! page-locked copies that overlap with a kernel, and a cuFFT plan.
//!
//! Frames are uploaded in batches through two pairs of buffers: while the device computes the exit
//! waves of one batch, the next one is copied. Then the last batch is transformed, and the result
//! is checked with Parseval's theorem.
//!
//!     cargo run --release -p warpstride-cuda --example cuda_layer

use std::io::Write as _;

use warpstride_cuda::cuda::{
    DeviceBuffer, Event, Kernels, PinnedBuffer, PinnedKind, Priority, Stream, Timing, Transfer,
};
use warpstride_cuda::gpu::{CudaDevice, Device, Direction, GpuError, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Cuda, Work};
use warpstride_kernels::ptycho::exit_wave_build::PtychoExitWaveBuild;

const BATCHES: usize = 8;
const FRAMES: usize = 256;
const SIDE: usize = 128;
/// Complex numbers per batch.
const BATCH: usize = FRAMES * SIDE * SIDE;

/// The buffers of one batch.
struct Slot {
    psi: DeviceBuffer<Complex32>,
    /// The page-locked buffer, unless its copy is pending.
    pinned: Option<PinnedBuffer<Complex32>>,
    /// Recorded after the copy.
    arrived: Event,
    /// Recorded after the kernel that reads the buffer.
    consumed: Event,
}

impl Slot {
    fn new(device: &CudaDevice) -> Result<Self> {
        let context = device.context();
        Ok(Self {
            psi: device.alloc("exit waves", BATCH)?,
            pinned: Some(PinnedBuffer::zeroed(
                context,
                PinnedKind::WriteCombined,
                "exit waves on the host",
                BATCH,
            )?),
            arrived: Event::new(context, Timing::Off)?,
            consumed: Event::new(context, Timing::Off)?,
        })
    }
}

fn run(device: &CudaDevice, out: &mut impl std::io::Write) -> anyhow::Result<()> {
    let compute = device.stream();
    let copies = Stream::new(device.context(), Priority::High)?;
    let probe = device.alloc::<Complex32>("probe", SIDE * SIDE)?;
    let object = device.alloc::<Complex32>("object", SIDE * SIDE)?;
    let corners = device.alloc::<[u32; 2]>("corners", FRAMES)?;
    let mut aux = device.alloc::<Complex32>("arguments of the Fourier step", BATCH)?;
    let mut slots = [Slot::new(device)?, Slot::new(device)?];
    let mut pending: [Option<Transfer<Complex32>>; 2] = [None, None];

    let (start, end) = (
        Event::new(device.context(), Timing::On)?,
        Event::new(device.context(), Timing::On)?,
    );
    start.record(compute)?;
    copies.wait_event(&start)?;
    for batch in 0..BATCHES {
        let index = batch % 2;
        let slot = &mut slots[index];
        let mut pinned = match (pending[index].take(), slot.pinned.take()) {
            (Some(copy), _) => copy.wait()?,
            (None, Some(first)) => first,
            (None, None) => anyhow::bail!("a page-locked buffer was lost"),
        };
        pinned.fill(Complex32::new(batch as f32 + 1.0, 0.0));
        // The device buffer may be overwritten when the kernel of two batches ago has read it.
        copies.wait_event(&slot.consumed)?;
        pending[index] = Some(copies.upload(pinned, &mut slot.psi, 0)?);
        slot.arrived.record(&copies)?;

        compute.wait_event(&slot.arrived)?;
        let kernel = PtychoExitWaveBuild::<Cuda> {
            aux: aux.write(),
            psi: slot.psi.read(),
            probe: probe.read(),
            object: object.read(),
            corners: corners.read(),
            frames: FRAMES as u32,
            modes: 1,
            rows: SIDE as u32,
            columns: SIDE as u32,
            object_rows: SIDE as u32,
            object_columns: SIDE as u32,
            parts: 1,
            c_po: 0.0,
            c_psi: 0.5,
            psi_frames: FRAMES as u32,
        };
        device
            .module()
            .launch::<GpuError>(compute, &kernel, Work::Blocks(FRAMES))?;
        slot.consumed.record(compute)?;
    }
    end.record(compute)?;
    end.synchronize()?;
    let milliseconds = f64::from(end.elapsed_ms(&start)?);
    let bytes = (BATCHES * BATCH * size_of::<Complex32>()) as f64;
    writeln!(
        out,
        "{BATCHES} batches of {FRAMES} frames: {milliseconds:.2} ms, {:.1} GB/s to the device",
        bytes / milliseconds / 1e6
    )?;

    let plan = device.plan_fft(&[SIDE, SIDE], FRAMES)?;
    let power = |device: &CudaDevice, data: &DeviceBuffer<Complex32>| -> Result<f64> {
        let mut host = vec![Complex32::ZERO; BATCH];
        device.download(data, &mut host)?;
        Ok(host.iter().map(|value| f64::from(value.norm_sqr())).sum())
    };
    let before = power(device, &aux)?;
    let milliseconds = device.time_ms(&mut || device.fft(&plan, &mut aux, Direction::Forward))?;
    let after = power(device, &aux)? / (SIDE * SIDE) as f64;
    writeln!(
        out,
        "cuFFT of {FRAMES} × {SIDE} × {SIDE}: {milliseconds:.3} ms, power {before:.6e} before and \
         {after:.6e} after"
    )?;
    anyhow::ensure!(
        (before - after).abs() <= 1e-4 * before,
        "Parseval's theorem"
    );
    Ok(())
}

fn kernels() -> Kernels {
    Kernels::new(80, warpstride_ptx::PTYCHO[0].text()).only(|name| name == "ptycho_exit_wave_build")
}

fn main() -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let device = match CudaDevice::new(0, &kernels()) {
        Ok(device) => device,
        Err(GpuError::Cuda(why)) if why.no_device() => {
            writeln!(out, "skipped: {why}")?;
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    writeln!(out, "on {}", device.device_name())?;
    run(&device, &mut out)
}

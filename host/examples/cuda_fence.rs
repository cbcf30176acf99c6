//! The CUDA fence for one's own work: a stream of one's own beside the machine's, events between
//! them, page-locked copies that overlap with a kernel, and a cuFFT plan.
//!
//! Frames come in batches through two pairs of buffers: while the device computes the exit waves of
//! one batch, the copy engine brings the next. Then the last batch is transformed, and Parseval's
//! theorem says whether that was right.
//!
//!     cargo run --release --example cuda_fence

use std::io::Write as _;

use warpstride::cuda::{
    DeviceBuffer, Event, PinnedBuffer, PinnedKind, Priority, Stream, Timing, Transfer,
};
use warpstride::gpu::{CudaMachine, Direction, GpuError, Machine, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Cuda, Work};
use warpstride_kernels::ptycho::exit_wave_build::ExitWaveBuild;

const BATCHES: usize = 8;
const FRAMES: usize = 256;
const SIDE: usize = 128;
/// Complex numbers of a batch.
const BATCH: usize = FRAMES * SIDE * SIDE;

/// The buffers of one batch.
struct Slot {
    psi: DeviceBuffer<Complex32>,
    /// The host's side, unless its copy is under way.
    pinned: Option<PinnedBuffer<Complex32>>,
    /// Set when the copy has arrived.
    arrived: Event,
    /// Set when the kernel has read it.
    consumed: Event,
}

impl Slot {
    fn new(machine: &CudaMachine) -> Result<Self> {
        let context = machine.context();
        Ok(Self {
            psi: machine.alloc("exit waves", BATCH)?,
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

fn run(machine: &CudaMachine, out: &mut impl std::io::Write) -> anyhow::Result<()> {
    let compute = machine.stream();
    let copies = Stream::new(machine.context(), Priority::High)?;
    let probe = machine.alloc::<Complex32>("probe", SIDE * SIDE)?;
    let object = machine.alloc::<Complex32>("object", SIDE * SIDE)?;
    let corners = machine.alloc::<[u32; 2]>("corners", FRAMES)?;
    let mut aux = machine.alloc::<Complex32>("arguments of the Fourier step", BATCH)?;
    let mut slots = [Slot::new(machine)?, Slot::new(machine)?];
    let mut under_way: [Option<Transfer<Complex32>>; 2] = [None, None];

    let (start, end) = (
        Event::new(machine.context(), Timing::On)?,
        Event::new(machine.context(), Timing::On)?,
    );
    start.record(compute)?;
    copies.wait_event(&start)?;
    for batch in 0..BATCHES {
        let place = batch % 2;
        let slot = &mut slots[place];
        let mut pinned = match (under_way[place].take(), slot.pinned.take()) {
            (Some(copy), _) => copy.wait()?,
            (None, Some(first)) => first,
            (None, None) => anyhow::bail!("a page-locked buffer was lost"),
        };
        pinned.fill(Complex32::new(batch as f32 + 1.0, 0.0));
        // The device's buffer may be overwritten when the kernel of two batches ago has read it.
        copies.wait_event(&slot.consumed)?;
        under_way[place] = Some(copies.upload(pinned, &mut slot.psi, 0)?);
        slot.arrived.record(&copies)?;

        compute.wait_event(&slot.arrived)?;
        let kernel = ExitWaveBuild::<Cuda> {
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
        };
        machine
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

    let plan = machine.plan_fft(&[SIDE, SIDE], FRAMES)?;
    let power = |machine: &CudaMachine, data: &DeviceBuffer<Complex32>| -> Result<f64> {
        let mut host = vec![Complex32::ZERO; BATCH];
        machine.download(data, &mut host)?;
        Ok(host.iter().map(|value| f64::from(value.norm_sqr())).sum())
    };
    let before = power(machine, &aux)?;
    let milliseconds = machine.time_ms(&mut || machine.fft(&plan, &mut aux, Direction::Forward))?;
    let after = power(machine, &aux)? / (SIDE * SIDE) as f64;
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

fn main() -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let machine = match CudaMachine::new(0) {
        Ok(machine) => machine,
        Err(GpuError::Cuda(why)) if why.no_machine() => {
            writeln!(out, "nothing to show here: {why}")?;
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    writeln!(out, "on {}", machine.device_name())?;
    run(&machine, &mut out)
}

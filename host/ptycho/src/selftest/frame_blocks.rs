//! The kernels of blocks of frames (`ptycho_gather_frames`, `ptycho_put_back_metrics`,
//! `ptycho_widen_counts`), and copies beside the queue.

use super::shape::{Shape, Source};
use rand::RngExt;
use rand::seq::SliceRandom;
use std::ops::Range;
use std::sync::Arc;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::FREE;
use warpstride_kernels::ptycho::frame_blocks::{
    MASKED_COUNTS, PtychoGatherFrames, PtychoPutBackMetrics, PtychoWidenCounts,
};
use warpstride_selftest::bench::{Bench, Case, all_f64};

/// Most frames of a case.
const MOST: usize = 10_007;

/// Codes from which on pixels are free: some, none, all.
const FIRST_FREE: [u32; 3] = [40_000, 65_535, 0];

/// Copies that a queue is checked with.
const COPIES: usize = 20;

pub(super) fn cases<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    gather(bench, shape)?;
    put_back(bench, shape)?;
    for first_free in FIRST_FREE {
        widen(bench, shape, first_free)?;
    }
    beside(bench, shape)
}

/// Frames of a scan in some order, and the part of it that is a block: all but the first and the
/// last fifth.
fn block_of(source: &mut Source, shape: &Shape) -> (Vec<u32>, Range<usize>) {
    let frames = shape.frame_elements().min(MOST);
    let mut order: Vec<u32> = (0..frames as u32).collect();
    order.shuffle(&mut source.random);
    let fifth = frames / 5;
    (order, fifth..frames - fifth)
}

fn gather<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("gather", &shape);
    let (order, block) = block_of(&mut source, &shape);
    let frames = order.len();
    let corners: Vec<[u32; 2]> = (0..frames)
        .map(|_| [0, 1].map(|_| source.random.random_range(0..900)))
        .collect();
    let pairs = source.reals(2 * frames, -0.5, 0.5);
    let fractions: Vec<[f32; 2]> = pairs.chunks_exact(2).map(|v| [v[0], v[1]]).collect();
    let scales = source.reals(frames, 0.5, 2.0);
    let of_block = |place: usize| order[block.start + place] as usize;
    let count = block.len();
    let new_corners: Vec<[u32; 2]> = (0..count).map(|p| corners[of_block(p)]).collect();
    let new_fractions: Vec<[f64; 2]> = (0..count)
        .map(|p| fractions[of_block(p)].map(f64::from))
        .collect();
    let new_scales: Vec<f64> = (0..count).map(|p| f64::from(scales[of_block(p)])).collect();
    let from_corners = on.upload(&corners)?;
    let from_fractions = on.upload(&fractions)?;
    let from_scales = on.upload(&scales)?;
    let first = block.start as u32;
    let order = on.upload(&order)?;
    bench.run(
        Case::of::<PtychoGatherFrames<'_, Emulated>>(format!("{count} of {frames} frames")).exact(),
        (
            on.poisoned::<[u32; 2]>(count)?,
            on.poisoned::<[f32; 2]>(count)?,
            on.poisoned::<f32>(count)?,
        ),
        |device, (corners, fractions, scales)| {
            let launch = PtychoGatherFrames {
                to_corners: corners.write(),
                to_fractions: fractions.write(),
                to_scales: scales.write(),
                corners: from_corners.read(),
                fractions: from_fractions.read(),
                scales: from_scales.read(),
                order: order.read(),
                frames: frames as u32,
                first,
                count: count as u32,
            };
            device.launch(&launch, Work::Elements(count))
        },
        |on, (corners, fractions, scales)| {
            let corners = on.largest_error(corners, &new_corners)?;
            let fractions = on.largest_error(fractions, &new_fractions)?;
            Ok(corners.max(fractions).max(on.error(scales, &new_scales)?))
        },
    )
}

/// What the block does not have keeps its value.
fn put_back<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("put back", &shape);
    let (order, block) = block_of(&mut source, &shape);
    let (frames, count) = (order.len(), block.len());
    let mut metrics = |len: usize| [0; 5].map(|_| source.reals(len, 0.1, 1.0));
    let (old, new) = (metrics(frames), metrics(count));
    let mut reference = old.each_ref().map(|values| all_f64(values));
    for (metric, new) in reference.iter_mut().zip(&new) {
        for (place, value) in new.iter().enumerate() {
            metric[order[block.start + place] as usize] = f64::from(*value);
        }
    }
    let mut of_block = Vec::new();
    for values in &new {
        of_block.push(on.upload(values)?);
    }
    let mut of_scan = Vec::new();
    for values in &old {
        of_scan.push(on.upload(values)?);
    }
    let first = block.start as u32;
    let order = on.upload(&order)?;
    bench.run(
        Case::of::<PtychoPutBackMetrics<'_, Emulated>>(format!("{count} of {frames} frames"))
            .exact(),
        of_scan,
        |device, of_scan| {
            let (
                [errors, moved, photon, residual, free],
                [of_errors, of_moved, of_photon, of_residual, of_free],
            ) = (&mut of_scan[..], &of_block[..])
            else {
                unreachable!("five metrics each")
            };
            let launch = PtychoPutBackMetrics {
                errors: errors.write(),
                moved: moved.write(),
                photon: photon.write(),
                residual: residual.write(),
                free: free.write(),
                block_errors: of_errors.read(),
                block_moved: of_moved.read(),
                block_photon: of_photon.read(),
                block_residual: of_residual.read(),
                block_free: of_free.read(),
                order: order.read(),
                frames: frames as u32,
                first,
                count: count as u32,
            };
            device.launch(&launch, Work::Elements(count))
        },
        |on, of_scan| {
            let mut worst = 0.0_f64;
            for (found, reference) in of_scan.iter().zip(&reference) {
                worst = worst.max(on.error(found, reference)?);
            }
            Ok(worst)
        },
    )
}

/// Every code, as often as there are pixels for.
fn widen<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, first_free: u32) -> Result<()> {
    let on = bench.on();
    let pixels = shape.frames as usize * shape.pixels();
    let codes: Vec<u16> = (0..pixels).map(|n| (n * 40_503) as u16).collect();
    let magnitude = |code: &u16| {
        let number = u32::from(*code);
        let root = |counts: u32| (counts as f32).sqrt();
        f64::from(if *code == MASKED_COUNTS {
            -1.0
        } else if number >= first_free {
            FREE - root(number - first_free)
        } else {
            root(number)
        })
    };
    let reference: Vec<f64> = codes.iter().map(magnitude).collect();
    let counts = on.upload(&codes)?;
    bench.run(
        Case::of::<PtychoWidenCounts<'_, Emulated>>(format!(
            "{pixels} pixels, free from {first_free}"
        ))
        .exact()
        .timed(shape.timed, 6 * pixels),
        on.poisoned::<f32>(pixels)?,
        |device, magnitudes| {
            let launch = PtychoWidenCounts {
                magnitudes: magnitudes.write(),
                counts: counts.read(),
                pixels,
                first_free,
            };
            device.launch(&launch, Work::Elements(pixels))
        },
        |on, magnitudes| on.error(magnitudes, &reference),
    )
}

/// Values that are sent beside the queue while kernels read what was sent before: each kernel sees
/// its own.
fn beside<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let (on, device) = (bench.on(), bench.device());
    let pixels = shape.frames as usize * shape.pixels();
    let mut host = device.pinned::<u16>("a self-test", COPIES * pixels)?;
    for (place, code) in host.iter_mut().enumerate() {
        *code = ((place / pixels.max(1)) * 1000 + place % 997) as u16;
    }
    let expected: Vec<f64> = host
        .iter()
        .map(|code| f64::from(f32::from(*code).sqrt()))
        .collect();
    let host = Arc::new(host);
    let mut slots: Vec<Option<M::Buffer<u16>>> = Vec::new();
    let mut arriving: Vec<Option<M::Arriving<u16>>> = Vec::new();
    // The copy in two parts.
    let parts = |copy: usize| {
        let (first, half) = (copy * pixels, pixels / 2);
        [first..first + half, first + half..first + pixels]
    };
    for copy in 0..2 {
        let buffer = on.poisoned::<u16>(pixels)?;
        arriving.push(Some(device.send_beside(&host, &parts(copy), buffer)?));
        slots.push(None);
    }
    let mut widened = Vec::new();
    for copy in 0..COPIES {
        let slot = copy % 2;
        if let Some(sent) = arriving[slot].take() {
            slots[slot] = Some(device.arrived(sent)?);
        }
        let mut magnitudes = on.poisoned::<f32>(pixels)?;
        if let Some(counts) = slots[slot].take() {
            let launch = PtychoWidenCounts {
                magnitudes: magnitudes.write(),
                counts: counts.read(),
                pixels,
                first_free: u32::from(MASKED_COUNTS),
            };
            device.launch(&launch, Work::Elements(pixels))?;
            if copy + 2 < COPIES {
                arriving[slot] = Some(device.send_beside(&host, &parts(copy + 2), counts)?);
            }
        }
        widened.push(magnitudes);
    }
    let mut worst = 0.0_f64;
    for (copy, magnitudes) in widened.iter().enumerate() {
        let reference = &expected[copy * pixels..(copy + 1) * pixels];
        worst = worst.max(on.error(magnitudes, reference)?);
    }
    let case = Case::named("copies beside", format!("{COPIES} of {pixels} elements")).exact();
    bench.run(case, (), |_, ()| Ok(()), |_, ()| Ok(worst))
}

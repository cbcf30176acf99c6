//! Frames that lost the beam are found, and those of absorbing specimens are not, in scans that are
//! computed here.

use super::{BadFrames, merged};
use crate::data::{Geometry, Mask, Propagation, Scan};
use ndarray::{Array2, Array3, Axis, s};
use num_complex::Complex;
use warpstride_fft::Fft2;

const SIDE: usize = 32;
const ROWS: usize = 9;
const STEP: usize = 4;
const GEOMETRY: Geometry = Geometry {
    wavelength: 1e-10,
    distance: 1.0,
    pixel_size: [1e-4; 2],
    propagation: Propagation::FarField,
};

/// A number from 0 to 1 that looks random.
fn random(n: usize) -> f64 {
    let mut bits = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// Frames of a raster with so many photons in the beam, of a specimen that transmits this part of
/// the amplitude at (row, column) and shifts phases a little; the beam has this part of its photons
/// in each frame. Counts are rounded at random.
fn frames(
    photons: f64,
    transmitted: impl Fn(f64, f64) -> f64,
    beam: impl Fn(usize) -> f64,
) -> Array3<f32> {
    let middle = (SIDE / 2) as f64;
    let probe = Array2::from_shape_fn((SIDE, SIDE), |(r, c)| {
        let square = (r as f64 - middle).powi(2) + (c as f64 - middle).powi(2);
        Complex::from_polar((-square / 32.0).exp(), 0.06 * square)
    });
    let power: f64 = probe.iter().map(Complex::norm_sqr).sum();
    let mut fft = Fft2::<f64>::new(SIDE, SIDE);
    let mut frames = Array3::zeros((ROWS * ROWS, SIDE, SIDE));
    for (number, mut frame) in frames.outer_iter_mut().enumerate() {
        let corner = [number / ROWS * STEP, number % ROWS * STEP];
        let mut wave = Array2::from_shape_fn((SIDE, SIDE), |(r, c)| {
            let [y, x] = [(r + corner[0]) as f64, (c + corner[1]) as f64];
            let phase = 0.5 * (0.7 * y).sin() * (0.5 * x + 0.1 * y).cos();
            // The zero frequency is in the middle.
            let sign = if (r + c) % 2 == 0 { 1.0 } else { -1.0 };
            sign * probe[[r, c]] * Complex::from_polar(transmitted(y, x), phase)
        });
        fft.forward(wave.as_slice_mut().unwrap());
        // The transform is unitary.
        let scale = photons * beam(number) / power;
        for (((r, c), value), counts) in wave.indexed_iter().zip(&mut frame) {
            let chance = random((number * SIDE + r) * SIDE + c);
            *counts = (value.norm_sqr() * scale + chance).floor() as f32;
        }
    }
    frames
}

fn clear(photons: f64) -> Array3<f32> {
    frames(photons, |_, _| 1.0, |_| 1.0)
}

fn scan(frames: Array3<f32>) -> Scan {
    let step = GEOMETRY.object_pixel(SIDE, SIDE)[0] * STEP as f64;
    let positions = Array2::from_shape_fn((frames.dim().0, 2), |(frame, axis)| {
        step * [frame / ROWS, frame % ROWS][axis] as f64
    });
    Scan::new(frames, None, positions, GEOMETRY, None).unwrap()
}

fn found(frames: Array3<f32>) -> BadFrames {
    BadFrames::find(&scan(frames)).unwrap()
}

/// Replaces the counts of a frame by stray light, or background, of so many counts a pixel.
fn lose(frames: &mut Array3<f32>, number: usize, background: f64) {
    let mut frame = frames.index_axis_mut(Axis(0), number);
    for ((r, c), counts) in frame.indexed_iter_mut() {
        let chance = random((number * SIDE + r) * SIDE + c + 7_000_000);
        *counts = (background + chance).floor() as f32;
    }
}

#[test]
fn frames_without_beam_are_found_wherever_they_are() {
    let dump: Vec<usize> = (30..46).collect();
    let most: Vec<usize> = (0..81).filter(|n| n % 5 > 1).collect();
    for lost in [
        &[40][..],
        &[7, 8, 9, 30],
        &[0, 1, 2],
        &[79, 80],
        &dump[..],
        &most[..],
    ] {
        for photons in [3e3, 1e6] {
            let mut frames = clear(photons);
            for number in lost {
                lose(&mut frames, *number, 0.05);
            }
            let expected = BadFrames {
                without_beam: lost.to_vec(),
                ..BadFrames::default()
            };
            assert_eq!(found(frames), expected, "{photons}");
        }
    }
    // A background of five times the beam's light.
    let mut frames = clear(1e4) + 50.0;
    for number in [5, 44, 45] {
        lose(&mut frames, number, 50.0);
    }
    assert_eq!(found(frames).without_beam, [5, 44, 45]);
    // A shutter that leaks.
    let leak = |n: usize| if [20, 21, 60].contains(&n) { 1e-3 } else { 1.0 };
    let leaked = found(self::frames(1e6, |_, _| 1.0, leak));
    assert_eq!(leaked.certain(), [20, 21, 60]);
    // Few frames.
    let mut few = clear(1e5).slice(s![..4, .., ..]).to_owned();
    lose(&mut few, 2, 0.05);
    assert_eq!(found(few).without_beam, [2]);
}

/// Numbers in an order that looks random.
fn shuffled() -> Vec<usize> {
    let mut all: Vec<usize> = (0..ROWS * ROWS).collect();
    all.sort_by(|a, b| random(a + 31).total_cmp(&random(b + 31)));
    all
}

#[test]
fn most_frames_can_be_those_without_beam() {
    let shuffled = shuffled();
    for number in [40, 41, 61, 67, 78, 79, 80] {
        for background in [0.1, 0.005, 1e-4, 0.0, 3.0] {
            for together in [false, true] {
                let mut lost: Vec<usize> = match together {
                    true => (0..number).collect(),
                    false => shuffled[..number].to_vec(),
                };
                lost.sort_unstable();
                let mut frames = clear(1e5);
                for frame in &lost {
                    lose(&mut frames, *frame, background);
                }
                // Frames without counts that are fewer than half are masked as such.
                if number == 40 {
                    lost.retain(|frame| frames.index_axis(Axis(0), *frame).sum() > 0.0);
                }
                let expected = BadFrames {
                    without_beam: lost,
                    ..BadFrames::default()
                };
                let found = found(frames);
                assert_eq!(found, expected, "{number} {background} {together}");
            }
        }
    }
    // A pixel that counts by itself in each frame.
    let mut frames = clear(1e5);
    for frame in &shuffled[..67] {
        lose(&mut frames, *frame, 0.1);
    }
    for pixel in [[16, 16], [3, 25]] {
        let mut frames = frames.clone();
        frames.slice_mut(s![.., pixel[0], pixel[1]]).fill(1000.0);
        assert_eq!(found(frames).without_beam.len(), 67);
    }
}

#[test]
fn bright_frames_among_many_are_not_taken_for_those_with_beam() {
    let some = [5, 13, 40, 41, 77];
    // A light that was switched on, of even light or from one side.
    for gradient in [0.0, 3.0] {
        for kept in [1, 5] {
            let mut frames = clear(1e4);
            for number in &some[..kept] {
                let mut frame = frames.index_axis_mut(Axis(0), *number);
                for ((r, _), counts) in frame.indexed_iter_mut() {
                    *counts += (100.0 + gradient * 30.0 * r as f64) as f32;
                }
            }
            let found = found(frames);
            assert!(found.without_beam.is_empty(), "{gradient} {kept} {found:?}");
            let named = merged(&[&found.certain(), &found.doubtful()]);
            assert_eq!(named, some[..kept], "{gradient} {kept} {found:?}");
        }
    }
}

#[test]
fn a_small_hole_in_an_opaque_specimen_loses_no_frame() {
    for radius in [3.0, 6.0, 10.0, 14.0] {
        for background in [0.0, 0.02, 1.0] {
            let hole = |y: f64, x: f64| f64::from(u8::from((y - 32.0).hypot(x - 32.0) < radius));
            let mut frames = frames(1e6, hole, |_| 1.0);
            for (number, counts) in frames.iter_mut().enumerate() {
                *counts += (background + random(number + 9_000_000)).floor() as f32;
            }
            let found = found(frames);
            assert_eq!(found, BadFrames::default(), "{radius} {background}");
        }
    }
}

#[test]
fn frames_that_are_too_bright_or_doubtful_are_found() {
    let beam = |factor: f64, of: &'static [usize]| {
        frames(
            1e5,
            |_, _| 1.0,
            move |n| if of.contains(&n) { factor } else { 1.0 },
        )
    };
    assert_eq!(found(beam(10.0, &[13])).too_bright, [13]);
    assert_eq!(found(beam(100.0, &[13, 14, 77])).too_bright, [13, 14, 77]);
    assert_eq!(found(beam(0.5, &[12, 55])).doubtful(), [12, 55]);
    assert_eq!(found(beam(0.5, &[12, 55])).darker, [12, 55]);
    assert_eq!(found(beam(2.0, &[33])).brighter, [33]);
    for part in [s![33, .., SIDE / 2..], s![33, ..SIDE / 2, ..]] {
        let mut half = clear(1e5);
        half.slice_mut(part).fill(0.0);
        assert_eq!(found(half).doubtful(), [33]);
    }
    for by in [3, 5, 8, 12, 16] {
        let mut moved = clear(1e5);
        let frame = moved.index_axis(Axis(0), 33).to_owned();
        moved
            .index_axis_mut(Axis(0), 33)
            .indexed_iter_mut()
            .for_each(|((r, c), counts)| *counts = frame[[(r + by) % SIDE, c]]);
        let expected = BadFrames {
            unlike: vec![33],
            ..BadFrames::default()
        };
        assert_eq!(found(moved), expected, "{by}");
    }
}

#[test]
fn good_scans_lose_no_frame() {
    let none = BadFrames::default();
    let all = |_: f64, _: f64| 1.0;
    for (name, frames) in [
        ("a clear specimen", clear(1e6)),
        ("a faint beam", clear(300.0)),
        ("a few counts", clear(20.0)),
        (
            "a beam that decays to a third",
            frames(1e5, all, |n| 1.0 - n as f64 / 121.0),
        ),
        (
            "injections",
            frames(1e5, all, |n| 1.0 - 0.012 * (n % 20) as f64),
        ),
        (
            "a beam that flickers",
            frames(1e5, all, |n| 0.6 + 0.4 * random(n)),
        ),
        ("one frame", clear(1e5).slice(s![..1, .., ..]).to_owned()),
        ("two frames", clear(1e5).slice(s![..2, .., ..]).to_owned()),
        ("four frames", clear(1e5).slice(s![..4, .., ..]).to_owned()),
    ] {
        assert_eq!(found(frames), none, "{name}");
    }
    for absorbed in [0.95_f64, 0.9975] {
        let dark = (1.0 - absorbed).sqrt();
        let of = |is_dark: &dyn Fn(f64, f64) -> bool| {
            let specimen = |y: f64, x: f64| if is_dark(y, x) { dark } else { 1.0 };
            found(frames(1e6, specimen, |_| 1.0))
        };
        let board = |y: f64, x: f64| ((y / 22.0).floor() + (x / 22.0).floor()) % 2.0 == 0.0;
        let grain = |y: f64, x: f64| (y - 32.0).hypot(x - 32.0) < 6.0;
        assert_eq!(of(&board), none, "patches, {absorbed}");
        assert_eq!(of(&|y, x| !grain(y, x)), none, "a hole, {absorbed}");
        assert_eq!(of(&grain), none, "a grain, {absorbed}");
        assert_eq!(
            of(&|y, _| y > 31.0),
            none,
            "an edge along lines, {absorbed}"
        );
        assert_eq!(
            of(&|_, x| x > 31.0),
            none,
            "an edge across lines, {absorbed}"
        );
        assert_eq!(
            of(&|y, _| (y - 31.0).abs() < 3.0),
            none,
            "a wire, {absorbed}"
        );
    }
}

#[test]
fn the_only_clear_part_of_an_absorber_may_be_a_corner() {
    let specimen = |y: f64, x: f64| if y + x < 92.0 { 0.05_f64.sqrt() } else { 1.0 };
    let found = found(frames(1e6, specimen, |_| 1.0));
    assert_eq!(found, BadFrames::default());
}

#[test]
fn absorbers_lose_no_frame_at_low_dose_or_with_a_background() {
    let half = |_: f64, x: f64| if x > 31.0 { 0.05_f64.sqrt() } else { 1.0 };
    for photons in [200.0, 300.0, 500.0, 1e3, 3e3] {
        let found = found(frames(photons, half, |_| 1.0));
        assert_eq!(found.certain(), Vec::<usize>::new(), "{photons}");
    }
    // Whole lines of frames are behind the bar, one after the other.
    let bar = |y: f64, _: f64| f64::from(u8::from((y - 32.0).abs() > 12.0));
    let mut frames = frames(1e6, bar, |_| 1.0);
    for (number, counts) in frames.iter_mut().enumerate() {
        *counts += (0.05 + random(number + 9_000_000)).floor() as f32;
    }
    assert_eq!(found(frames).certain(), Vec::<usize>::new());
}

#[test]
fn a_part_of_the_detector_that_is_missing_in_some_frames_is_found() {
    let board = |y: f64, x: f64| match ((y / 22.0).floor() + (x / 22.0).floor()) % 2.0 == 0.0 {
        true => 0.05_f64.sqrt(),
        false => 1.0,
    };
    let parts = [
        ("upper half", s![.., ..SIDE / 2, ..]),
        ("quarter", s![.., SIDE / 2.., ..SIDE / 2]),
        ("chip", s![.., 12..20, 14..18]),
        ("row", s![.., 15..16, ..]),
        ("column", s![.., .., 17..18]),
    ];
    for (specimen, whole) in [
        ("clear", clear(1e5)),
        ("absorber", frames(1e6, board, |_| 1.0)),
    ] {
        for (name, part) in &parts {
            for number in [1, 24, 48] {
                // All parts of an absorber's patterns are dim in some frames.
                if specimen == "absorber" && (*name == "quarter" || *name == "chip" || number == 1)
                {
                    continue;
                }
                let mut lost = shuffled()[..number].to_vec();
                lost.sort_unstable();
                let mut frames = whole.clone();
                for frame in &lost {
                    let mut frame = frames.slice_mut(s![*frame..=*frame, .., ..]);
                    frame.slice_mut(*part).fill(0.0);
                }
                let expected = BadFrames {
                    incomplete: lost,
                    ..BadFrames::default()
                };
                assert_eq!(found(frames), expected, "{specimen} {name} {number}");
            }
        }
    }
    // Stray counts in what is missing.
    let mut frames = clear(1e5);
    for frame in 20..50 {
        frames.slice_mut(s![frame, ..SIDE / 2, ..]).fill(0.0);
        frames[[frame, 3, frame - 20]] = 7.0;
    }
    assert_eq!(found(frames).doubtful(), Vec::from_iter(20..50));
    // Where pixels are masked in a frame, nothing is missing.
    let mut frames = clear(1e5);
    let mut valid = Array3::from_elem(frames.dim(), true);
    for (frame, masked) in [(5, true), (40, true), (41, false)] {
        frames.slice_mut(s![frame, ..SIDE / 2, ..]).fill(0.0);
        (valid.slice_mut(s![frame, ..SIDE / 2, ..])).fill(!masked);
    }
    let positions = scan(frames.clone()).positions().clone();
    let scan = Scan::new(
        frames,
        Some(Mask::PerFrame(valid)),
        positions,
        GEOMETRY,
        None,
    )
    .unwrap();
    assert_eq!(BadFrames::find(&scan).unwrap().doubtful(), [41]);
}

#[test]
fn opaque_grids_lose_no_frame_and_miss_no_part() {
    for photons in [1e3, 1e4, 1e5] {
        for (period, bar) in [(24.0, 8.0), (16.0, 6.0)] {
            for seed in 0..4 {
                let [down, right] = [0, 1].map(|axis| (random(2 * seed + axis) * period).floor());
                let grid = |y: f64, x: f64| {
                    let is_bar = (y + down) % period < bar || (x + right) % period < bar;
                    f64::from(u8::from(!is_bar))
                };
                let found = found(frames(photons, grid, |_| 1.0));
                let case = format!("{photons} {period} {seed}");
                assert_eq!(found.certain(), Vec::<usize>::new(), "{case}");
                assert_eq!(found.incomplete, Vec::<usize>::new(), "{case}");
            }
        }
    }
}

#[test]
fn many_bad_frames_anywhere_are_found() {
    for (number, factor) in [(10, 0.5), (16, 0.2), (16, 0.5), (16, 2.5), (24, 0.4)] {
        let mut some = shuffled()[..number].to_vec();
        some.sort_unstable();
        let of = some.clone();
        let beam = move |n: usize| if of.contains(&n) { factor } else { 1.0 };
        let found = found(frames(1e5, |_, _| 1.0, beam));
        let named = merged(&[&found.certain(), &found.doubtful()]);
        assert_eq!(named, some, "{number} {factor} {found:?}");
    }
}

#[test]
fn frames_with_too_much_in_a_part_do_not_make_the_others_incomplete() {
    for part in [s![.., .., ..], s![.., 2..3, ..], s![.., ..8, ..8]] {
        for step in [2, 6] {
            let mut frames = clear(1e5) + 1.0;
            let mut hot = frames.slice_mut(s![1..;step, .., ..]);
            hot.slice_mut(part).mapv_inplace(|counts| counts + 2000.0);
            let found = found(frames);
            let good = |frame: &usize| frame % step != 1;
            assert!(!found.incomplete.iter().any(good), "{step} {found:?}");
            assert!(!found.certain().iter().any(good), "{step} {found:?}");
        }
    }
}

#[test]
fn lines_and_chips_of_a_few_frames_are_found_wherever_they_are() {
    for (name, part) in [
        ("row", s![14..15, ..]),
        ("column", s![.., 18..19]),
        ("two rows", s![17..19, ..]),
        ("a chip", s![13..21, 11..19]),
        ("a higher chip", s![10..19, 14..22]),
    ] {
        for lost in [&[40][..], &[3, 30, 77], &[5, 6, 7, 8, 9]] {
            let mut frames = clear(1e5);
            for frame in lost {
                let mut frame = frames.index_axis_mut(Axis(0), *frame);
                frame.slice_mut(part).fill(0.0);
            }
            let found = found(frames);
            let named = merged(&[&found.certain(), &found.doubtful()]);
            assert_eq!(named, lost, "{name} {found:?}");
        }
    }
}

#[test]
fn rows_that_are_hot_in_some_frames_name_these() {
    let every_second: Vec<usize> = (0..81).filter(|n| n % 2 == 1).collect();
    for lost in [&[40, 41][..], &every_second] {
        let mut frames = clear(1e5);
        for frame in lost {
            frames
                .slice_mut(s![*frame, 5, ..])
                .mapv_inplace(|c| c + 300.0);
        }
        assert_eq!(found(frames).bright_lines, lost);
    }
}

#[test]
fn frames_that_slipped_by_a_row_are_found() {
    let slipped: Vec<usize> = (0..81).filter(|n| n % 3 == 1).collect();
    for by in [1, 2, 31] {
        let mut frames = clear(1e5);
        let before = frames.clone();
        for frame in &slipped {
            for row in 0..SIDE {
                let from = before.slice(s![*frame, (row + SIDE - by) % SIDE, ..]);
                frames.slice_mut(s![*frame, row, ..]).assign(&from);
            }
        }
        let found = found(frames);
        assert_eq!(found.doubtful(), slipped, "{by} {found:?}");
    }
}

#[test]
fn many_bright_frames_are_named_and_not_the_others() {
    for every in [2, 3, 4] {
        let beam = move |n: usize| if n % every == 1 { 10.0 } else { 1.0 };
        let found = found(frames(1e5, |_, _| 1.0, beam));
        let bright: Vec<usize> = (0..81).filter(|n| n % every == 1).collect();
        let named = merged(&[&found.certain(), &found.doubtful()]);
        assert_eq!(named, bright, "{every} {found:?}");
    }
}

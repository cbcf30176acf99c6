//! The kernel against a plain loop over the definition, at shapes that divide by nothing.

#![cfg(feature = "ptycho")]

use warpstride_device::Complex32;
use warpstride_device::emulator::{self, LaunchConfig, Memory, Order};
use warpstride_device::launch::Launch as _;
use warpstride_kernels::ptycho::exit_wave_build::PtychoExitWaveBuild;

/// Numbers without a pattern in −1 … 1 (a linear congruence).
fn noise(len: usize, seed: u32) -> Vec<Complex32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..len).map(|_| Complex32::new(next(), next())).collect()
}

struct Case {
    frames: u32,
    modes: u32,
    rows: u32,
    columns: u32,
    margin: [u32; 2],
    c_po: f32,
    c_psi: f32,
}

/// Runs in the emulator and returns the largest deviation from the definition in f64.
fn deviation(case: &Case, grid: u32, block: u32, order: Order) -> f64 {
    let &Case {
        frames,
        modes,
        rows,
        columns,
        margin,
        c_po,
        c_psi,
    } = case;
    let (object_rows, object_columns) = (rows + margin[0], columns + margin[1]);
    let pixels = (rows * columns) as usize;
    let waves = (frames * modes) as usize * pixels;
    let psi = noise(waves, 1);
    let probe = noise(modes as usize * pixels, 2);
    let object = noise((object_rows * object_columns) as usize, 3);
    let corners: Vec<[u32; 2]> = (0..frames)
        .map(|f| [f * 7 % (margin[0] + 1), f * 5 % (margin[1] + 1)])
        .collect();

    let mut aux = Memory::try_poisoned(waves).expect("memory");
    let psi_there = Memory::try_copy_of(&psi).expect("memory");
    let probe_there = Memory::try_copy_of(&probe).expect("memory");
    let object_there = Memory::try_copy_of(&object).expect("memory");
    let corners_there = Memory::try_copy_of(&corners).expect("memory");
    let launch = PtychoExitWaveBuild {
        aux: aux.write(),
        psi: psi_there.read(),
        probe: probe_there.read(),
        object: object_there.read(),
        corners: corners_there.read(),
        frames,
        modes,
        rows,
        columns,
        object_rows,
        object_columns,
        c_po,
        parts: 3,
        c_psi,
        psi_frames: frames,
    };
    let config = LaunchConfig::linear(&launch, grid, block);
    emulator::launch_in(&launch, config, order).expect("a launch");
    assert_eq!(aux.check_canaries(), Ok(()));

    let wide = |z: Complex32| (f64::from(z.re), f64::from(z.im));
    let mut worst = 0.0_f64;
    for (frame, [r, c]) in corners.iter().enumerate() {
        for mode in 0..modes as usize {
            for row in 0..rows as usize {
                for column in 0..columns as usize {
                    let pixel = row * columns as usize + column;
                    let at = (frame * modes as usize + mode) * pixels + pixel;
                    let o = wide(
                        object
                            [(*r as usize + row) * object_columns as usize + *c as usize + column],
                    );
                    let p = wide(probe[mode * pixels + pixel]);
                    let w = wide(psi[at]);
                    let (a, b) = (f64::from(c_po), f64::from(c_psi));
                    let re = a * (p.0 * o.0 - p.1 * o.1) + b * w.0;
                    let im = a * (p.0 * o.1 + p.1 * o.0) + b * w.1;
                    let found = wide(aux.as_slice()[at]);
                    let error = (found.0 - re).hypot(found.1 - im);
                    // NaN (the poison of an unwritten element) must not pass a comparison.
                    assert!(error.is_finite(), "frame {frame} mode {mode} pixel {pixel}");
                    worst = worst.max(error);
                }
            }
        }
    }
    worst
}

#[test]
fn equals_the_definition_at_odd_shapes() {
    let shapes = [
        (1, 1, 1, 1),
        (3, 1, 7, 5),
        (5, 3, 13, 17),
        (2, 2, 1, 67),
        (2, 1, 41, 1),
    ];
    for (frames, modes, rows, columns) in shapes {
        for (grid, block) in [(1, 32), (2, 64), (7, 256)] {
            let case = Case {
                frames,
                modes,
                rows,
                columns,
                margin: [3, 4],
                c_po: 2.0,
                c_psi: -1.0,
            };
            // Values are below 2 · 2 + √2; a few roundings of 6·10⁻⁸ each.
            let error = deviation(&case, grid, block, Order::Ascending);
            assert!(error < 2e-6, "{rows} × {columns}: {error}");
        }
    }
}

#[test]
fn does_not_read_psi_without_need() {
    let case = Case {
        frames: 2,
        modes: 2,
        rows: 5,
        columns: 3,
        margin: [0, 0],
        c_po: 1.0,
        c_psi: 0.0,
    };
    assert!(deviation(&case, 1, 32, Order::Descending) < 1e-6);
}

#[test]
fn no_frames_write_nothing() {
    let case = Case {
        frames: 0,
        modes: 1,
        rows: 4,
        columns: 4,
        margin: [1, 1],
        c_po: 1.0,
        c_psi: 1.0,
    };
    assert!(deviation(&case, 3, 64, Order::Ascending) < f64::MIN_POSITIVE);
}

#[test]
fn short_arguments_are_refused() {
    let mut aux = Memory::try_zeroed(11).expect("memory");
    let values = Memory::try_zeroed(12).expect("memory");
    let corners = Memory::try_zeroed(1).expect("memory");
    let mut launch = PtychoExitWaveBuild {
        aux: aux.write(),
        psi: values.read(),
        probe: values.read(),
        object: values.read(),
        corners: corners.read(),
        frames: 1,
        modes: 1,
        rows: 3,
        columns: 4,
        object_rows: 3,
        object_columns: 4,
        parts: 1,
        c_po: 1.0,
        c_psi: 0.0,
        psi_frames: 1,
    };
    let error = launch.check().expect_err("aux is short");
    assert_eq!(
        error.to_string(),
        "kernel ptycho_exit_wave_build: argument aux: expected 12 elements or more, found 11"
    );
    // 2⁶⁴ wraps to a small number in plain arithmetic.
    (launch.frames, launch.modes, launch.rows) = (u32::MAX, u32::MAX, u32::MAX);
    assert_eq!(launch.check().expect_err("too large").needed, usize::MAX);
}

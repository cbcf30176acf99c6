//! The machine against plain sums, and what it refuses.

use warpstride_kernels::ptycho::object_update_atomic::ObjectUpdateAtomic;

use super::*;

type C = num_complex::Complex<f64>;

/// Plain sums, in double precision.
fn naive(frame: &[Complex32], [slices, rows, columns]: [usize; 3], sign: f64) -> Vec<C> {
    let turn = |k: usize, n: usize, len: usize| {
        C::from_polar(
            1.0,
            sign * std::f64::consts::TAU * ((k * n) % len) as f64 / len as f64,
        )
    };
    let places = || (0..frame.len()).map(|i| (i / columns / rows, i / columns % rows, i % columns));
    places()
        .map(|(o, p, q)| {
            places()
                .zip(frame)
                .map(|((slice, row, column), value)| {
                    C::new(value.re.into(), value.im.into())
                        * turn(o, slice, slices)
                        * turn(p, row, rows)
                        * turn(q, column, columns)
                })
                .sum()
        })
        .collect()
}

fn noise(len: usize) -> Vec<Complex32> {
    let mut state = 0x9E37_79B9_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 8_388_608.0 - 1.0
    };
    (0..len).map(|_| Complex32::new(next(), next())).collect()
}

#[test]
fn transforms_are_the_plain_sums_at_odd_shapes() {
    let machine = EmulatedMachine::new();
    for (shape, batch) in [
        ([1, 1, 1], 1),
        ([1, 1, 7], 2),
        ([1, 5, 1], 3),
        ([1, 3, 5], 2),
        ([1, 7, 11], 2),
        ([1, 8, 6], 1),
        ([2, 1, 3], 2),
        ([3, 4, 5], 2),
        ([7, 2, 4], 1),
    ] {
        let frame = shape.iter().product();
        let host = noise(frame * batch);
        // One slice is planned as two axes.
        let axes = if shape[0] == 1 { &shape[1..] } else { &shape };
        let plan = machine.plan_fft(axes, batch).unwrap();
        let mut data = machine.alloc::<Complex32>("data", host.len()).unwrap();
        for (direction, sign) in [(Direction::Forward, -1.0), (Direction::Inverse, 1.0)] {
            machine.upload(&mut data, &host).unwrap();
            machine.fft(&plan, &mut data, direction).unwrap();
            for (got, values) in data.as_slice().chunks(frame).zip(host.chunks(frame)) {
                let expected = naive(values, shape, sign);
                let scale = expected.iter().map(|c| c.norm()).fold(0.0, f64::max);
                for (got, expected) in got.iter().zip(&expected) {
                    let error = (C::new(got.re.into(), got.im.into()) - expected).norm();
                    assert!(error <= 1e-6 * scale, "{shape:?}: {error} of {scale}");
                }
            }
        }
    }
}

#[test]
fn a_transform_of_nothing_and_a_short_buffer_are_refused() {
    let machine = EmulatedMachine::new();
    assert!(machine.plan_fft(&[0, 4], 1).is_err());
    assert!(machine.plan_fft(&[usize::MAX, 4], 1).is_err());
    assert!(machine.plan_fft(&[4], 4).is_err());
    assert!(machine.plan_fft(&[2, 2, 2, 2], 1).is_err());
    let plan = machine.plan_fft(&[4, 4], 2).unwrap();
    let mut short = machine.alloc("data", 31).unwrap();
    let error = machine
        .fft(&plan, &mut short, Direction::Forward)
        .unwrap_err();
    assert!(error.to_string().contains("32"), "{error}");
}

#[test]
fn copies_keep_values_and_refuse_other_sizes() {
    let machine = EmulatedMachine::new();
    let host = noise(37);
    let mut one = machine.alloc::<Complex32>("one", 37).unwrap();
    let mut other = machine.alloc::<Complex32>("other", 37).unwrap();
    machine.upload(&mut one, &host).unwrap();
    machine.copy(&one, &mut other).unwrap();
    let late = machine.fetch(&other).unwrap();
    machine.zero(&mut other).unwrap();
    assert_eq!(late.wait().unwrap(), host);
    let mut back = vec![1.0_f32; 2 * 37];
    machine.download(&other, &mut back).unwrap();
    assert!(back.iter().all(|value| *value == 0.0));

    for error in [
        machine.upload(&mut one, &host[1..]).unwrap_err(),
        machine.download(&one, &mut back[1..]).unwrap_err(),
    ] {
        assert!(
            matches!(error, GpuError::Size { buffer: 296, .. }),
            "{error}"
        );
    }
    let mut short = machine.alloc::<Complex32>("short", 36).unwrap();
    assert!(machine.copy(&one, &mut short).is_err());
    assert!(machine.alloc::<u64>("too much", usize::MAX / 4).is_err());
}

#[test]
fn parts_go_out_and_come_back() {
    let machine = EmulatedMachine::new();
    let mut host = machine.pinned::<u32>("numbers", 9).unwrap();
    for (place, value) in host.iter_mut().enumerate() {
        *value = place as u32;
    }
    let host = Arc::new(host);
    let mut buffer = machine.alloc::<u32>("numbers", 7).unwrap();
    machine.send(&host, 2..7, &mut buffer, 1).unwrap();
    let back = machine.pinned::<u32>("numbers", 5).unwrap();
    let back = machine.receive(&buffer, &[4..7, 0..0, 0..2], back);
    assert_eq!(back.unwrap().wait().unwrap(), [5, 6, 0, 0, 2]);

    for (range, at) in [(7..10, 0), (0..7, 1), (0..0, 8)] {
        assert!(
            machine.send(&host, range.clone(), &mut buffer, at).is_err(),
            "{range:?} to {at}"
        );
    }
    for parts in [[6..8, 0..0], [0..3, 0..3]] {
        let back = machine.pinned::<u32>("numbers", 5).unwrap();
        assert!(machine.receive(&buffer, &parts, back).is_err());
    }
    assert!(machine.pinned::<u64>("too much", usize::MAX / 4).is_err());
}

#[test]
fn only_what_a_kernel_leaves_open_is_made_smaller() {
    let size = |work, block| size_of_launch(work, block, false);
    assert_eq!(
        size(Work::Elements(65), [256, 1, 1]),
        Some(([2, 1, 1], [64, 1, 1]))
    );
    assert_eq!(
        size(Work::Elements(9999), [32, 1, 1]),
        Some(([4, 1, 1], [32, 1, 1]))
    );
    assert_eq!(
        size(Work::Blocks(3), [16, 16, 1]),
        Some(([3, 1, 1], [16, 16, 1]))
    );
    assert_eq!(
        size(Work::Grid([9, 2, 1]), [256, 1, 1]),
        Some(([9, 2, 1], [256, 1, 1]))
    );
    assert_eq!(
        size_of_launch(Work::Elements(65), [256, 1, 1], true),
        Some(([1, 1, 1], [256, 1, 1]))
    );
    assert_eq!(size(Work::Elements(0), [256, 1, 1]), None);
    assert_eq!(size(Work::Grid([0, 1, 1]), [256, 1, 1]), None);
}

/// An object update of one frame of 2 × 2 on an object of 4 × 4, which goes beyond it where the
/// frame's corner does.
fn update(machine: &EmulatedMachine, corner: [u32; 2]) -> Result<()> {
    let mut numerator = machine.alloc::<Complex32>("numerators", 16)?;
    let mut denominator = machine.alloc::<f32>("denominators", 16)?;
    let mut probe = machine.alloc::<Complex32>("probe", 4)?;
    let power = machine.alloc::<f32>("power", 4)?;
    let mut psi = machine.alloc::<Complex32>("waves", 4)?;
    let mut corners = machine.alloc::<[u32; 2]>("corners", 1)?;
    let gate = machine.alloc::<u32>("gate", 1)?;
    machine.upload(&mut probe, &[1.0_f32; 8])?;
    machine.upload(&mut psi, &[1.0_f32; 8])?;
    machine.upload(&mut corners, &corner)?;
    machine.launch(
        &ObjectUpdateAtomic {
            numerator: numerator.write(),
            denominator: denominator.write(),
            probe: probe.read(),
            power: power.read(),
            psi: psi.read(),
            corners: corners.read(),
            gate: gate.read(),
            frames: 1,
            modes: 1,
            rows: 2,
            columns: 2,
            object_rows: 4,
            object_columns: 4,
            parts: 1,
            scale: 1.0,
        },
        Work::Blocks(1),
    )
}

#[test]
fn a_write_outside_of_a_buffer_names_kernel_and_buffer() {
    let machine = EmulatedMachine::new();
    update(&machine, [2, 2]).unwrap();
    // Row 4, column 3 would be element 19 of 16.
    let error = update(&machine, [3, 3]).unwrap_err();
    match &error {
        GpuError::Overrun {
            kernel: "object_update_atomic",
            buffer: "numerators",
            bytes: 128,
            ..
        } => {}
        other => panic!("{other}"),
    }
    // Those buffers are gone, and with them what was wrong.
    update(&machine, [0, 0]).unwrap();
}

//! The emulated device: transforms against direct sums, copies, and errors.

use warpstride_kernels::ptycho::object_update_atomic::PtychoObjectUpdateAtomic;

use super::*;

type C = num_complex::Complex<f64>;

/// Direct sums in double precision.
fn naive(frame: &[Complex32], [slices, rows, columns]: [usize; 3], sign: f64) -> Vec<C> {
    let phase = |k: usize, n: usize, len: usize| {
        C::from_polar(
            1.0,
            sign * std::f64::consts::TAU * ((k * n) % len) as f64 / len as f64,
        )
    };
    let indices =
        || (0..frame.len()).map(|i| (i / columns / rows, i / columns % rows, i % columns));
    indices()
        .map(|(o, p, q)| {
            indices()
                .zip(frame)
                .map(|((slice, row, column), value)| {
                    C::new(value.re.into(), value.im.into())
                        * phase(o, slice, slices)
                        * phase(p, row, rows)
                        * phase(q, column, columns)
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
fn transforms_equal_direct_sums_at_odd_shapes() {
    let device = EmulatedDevice::new();
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
        let plan = device.plan_fft(axes, batch).unwrap();
        let mut data = device.alloc::<Complex32>("data", host.len()).unwrap();
        for (direction, sign) in [(Direction::Forward, -1.0), (Direction::Inverse, 1.0)] {
            device.upload(&mut data, &host).unwrap();
            device.fft(&plan, &mut data, direction).unwrap();
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
fn empty_transforms_and_short_buffers_are_errors() {
    let device = EmulatedDevice::new();
    assert!(device.plan_fft(&[0, 4], 1).is_err());
    assert!(device.plan_fft(&[usize::MAX, 4], 1).is_err());
    assert!(device.plan_fft(&[4], 4).is_err());
    assert!(device.plan_fft(&[2, 2, 2, 2], 1).is_err());
    let plan = device.plan_fft(&[4, 4], 2).unwrap();
    let mut short = device.alloc("data", 31).unwrap();
    let error = device
        .fft(&plan, &mut short, Direction::Forward)
        .unwrap_err();
    assert!(error.to_string().contains("32"), "{error}");
}

#[test]
fn copies_keep_values_and_check_sizes() {
    let device = EmulatedDevice::new();
    let host = noise(37);
    let mut one = device.alloc::<Complex32>("one", 37).unwrap();
    let mut other = device.alloc::<Complex32>("other", 37).unwrap();
    device.upload(&mut one, &host).unwrap();
    device.copy(&one, &mut other).unwrap();
    let pending = device.read_back(&other).unwrap();
    device.zero(&mut other).unwrap();
    assert_eq!(pending.wait().unwrap(), host);
    let mut back = vec![1.0_f32; 2 * 37];
    device.download(&other, &mut back).unwrap();
    assert!(back.iter().all(|value| *value == 0.0));

    for error in [
        device.upload(&mut one, &host[1..]).unwrap_err(),
        device.download(&one, &mut back[1..]).unwrap_err(),
    ] {
        assert!(
            matches!(error, GpuError::Size { buffer: 296, .. }),
            "{error}"
        );
    }
    let mut short = device.alloc::<Complex32>("short", 36).unwrap();
    assert!(device.copy(&one, &mut short).is_err());
    assert!(device.alloc::<u64>("too much", usize::MAX / 4).is_err());
}

#[test]
fn ranges_are_sent_and_received() {
    let device = EmulatedDevice::new();
    let mut host = device.pinned::<u32>("numbers", 9).unwrap();
    for (i, value) in host.iter_mut().enumerate() {
        *value = i as u32;
    }
    let host = Arc::new(host);
    let mut buffer = device.alloc::<u32>("numbers", 7).unwrap();
    device.send(&host, 2..7, &mut buffer, 1).unwrap();
    let back = device.pinned::<u32>("numbers", 5).unwrap();
    let back = device.receive(&buffer, &[4..7, 0..0, 0..2], back);
    assert_eq!(back.unwrap().wait().unwrap(), [5, 6, 0, 0, 2]);

    for (range, at) in [(7..10, 0), (0..7, 1), (0..0, 8)] {
        assert!(
            device.send(&host, range.clone(), &mut buffer, at).is_err(),
            "{range:?} to {at}"
        );
    }
    for parts in [[6..8, 0..0], [0..3, 0..3]] {
        let back = device.pinned::<u32>("numbers", 5).unwrap();
        assert!(device.receive(&buffer, &parts, back).is_err());
    }
    assert!(device.pinned::<u64>("too much", usize::MAX / 4).is_err());
}

#[test]
fn only_sizes_that_a_kernel_does_not_fix_are_reduced() {
    let info = |block, exact_block, cluster| KernelInfo {
        entry: "any",
        block,
        exact_block,
        min_blocks: 0,
        hot: false,
        f64_allowed: false,
        min_arch: 80,
        cluster,
    };
    let size = |work, block| size_of_launch(work, &info(block, false, 1));
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
        size_of_launch(Work::Elements(65), &info([256, 1, 1], true, 1)),
        Some(([1, 1, 1], [256, 1, 1]))
    );
    let blocks = |work, cluster| {
        size_of_launch(work, &info([64, 1, 1], false, cluster)).map(|([x, ..], _)| x)
    };
    assert_eq!(blocks(Work::Elements(65), 4), Some(4));
    assert_eq!(blocks(Work::Blocks(3), 2), Some(4));
    assert_eq!(blocks(Work::Clusters(3), 1), Some(3));
    assert_eq!(blocks(Work::Clusters(9), 2), Some(4));
    assert_eq!(blocks(Work::Clusters(1), 8), Some(8));
    assert_eq!(blocks(Work::Clusters(0), 8), None);
    assert_eq!(size(Work::Elements(0), [256, 1, 1]), None);
    assert_eq!(size(Work::Grid([0, 1, 1]), [256, 1, 1]), None);
}

/// An object update of one frame of 2 × 2 on an object of 4 × 4, which writes outside of the object
/// if `corner` is too large.
fn update(device: &EmulatedDevice, corner: [u32; 2]) -> Result<()> {
    let mut numerator = device.alloc::<Complex32>("numerators", 16)?;
    let mut denominator = device.alloc::<f32>("denominators", 16)?;
    let mut probe = device.alloc::<Complex32>("probe", 4)?;
    let power = device.alloc::<f32>("power", 4)?;
    let mut psi = device.alloc::<Complex32>("waves", 4)?;
    let mut corners = device.alloc::<[u32; 2]>("corners", 1)?;
    let gate = device.alloc::<u32>("gate", 1)?;
    device.upload(&mut probe, &[1.0_f32; 8])?;
    device.upload(&mut psi, &[1.0_f32; 8])?;
    device.upload(&mut corners, &corner)?;
    device.launch(
        &PtychoObjectUpdateAtomic {
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
fn a_write_outside_of_a_buffer_is_an_error_with_kernel_and_buffer() {
    let device = EmulatedDevice::new();
    update(&device, [2, 2]).unwrap();
    // Row 4, column 3 would be element 19 of 16.
    let error = update(&device, [3, 3]).unwrap_err();
    match &error {
        GpuError::Overrun {
            kernel: "ptycho_object_update_atomic",
            buffer: "numerators",
            bytes: 128,
            ..
        } => {}
        other => panic!("{other}"),
    }
    // The buffers of the failed launch are gone, so the error does not reappear.
    update(&device, [0, 0]).unwrap();
}

#[test]
fn a_profile_has_what_was_done_while_it_was_on_in_order() {
    let device = EmulatedDevice::new();
    update(&device, [2, 2]).unwrap();
    assert_eq!(device.take_profile().unwrap(), []);
    device.start_profile().unwrap();
    update(&device, [2, 2]).unwrap();
    let mut waves = device.alloc::<Complex32>("waves", 6).unwrap();
    let mut others = device.alloc::<Complex32>("waves", 6).unwrap();
    device.copy(&waves, &mut others).unwrap();
    device.zero(&mut waves).unwrap();
    let plan = device.plan_fft(&[2, 3], 1).unwrap();
    device.fft(&plan, &mut waves, Direction::Forward).unwrap();
    (device.fft_to(&plan, &waves, &mut others, Direction::Inverse)).unwrap();
    let mut pinned = device.pinned::<Complex32>("host", 6).unwrap();
    pinned = device
        .receive(&waves, &[0..1, 3..5], pinned)
        .unwrap()
        .wait()
        .unwrap();
    let pinned = Arc::new(pinned);
    device.send(&pinned, 2..4, &mut waves, 0).unwrap();
    let arriving = device.send_beside(&pinned, &[0..1, 4..6], waves).unwrap();
    let waves = device.arrived(arriving).unwrap();
    device.read_back(&waves).unwrap();
    device.download(&waves, &mut [0.0_f32; 12]).unwrap();
    let spans = device.take_profile().unwrap();
    let found: Vec<_> = spans
        .iter()
        .map(|span| (span.device, span.stream, span.name, span.bytes))
        .collect();
    let work = |name, bytes| (0, "work", name, bytes);
    // Complex numbers have 8 bytes.
    let expected = [
        work("upload", Some(32)),
        work("upload", Some(32)),
        work("upload", Some(8)),
        work("ptycho_object_update_atomic", None),
        work("copy", Some(48)),
        work("fill", Some(48)),
        work("forward transform", None),
        work("inverse transform", None),
        work("receive", Some(24)),
        work("send", Some(16)),
        (0, "copies", "send", Some(24)),
        work("read back", Some(48)),
        work("download", Some(48)),
    ];
    assert_eq!(found, expected);
    assert!(spans[0].start_us >= 0.0);
    assert!(spans.iter().all(|span| span.end_us >= span.start_us));
    let ordered = |pair: &[ProfileSpan]| pair[1].start_us >= pair[0].end_us;
    assert!(spans.windows(2).all(ordered));
    update(&device, [2, 2]).unwrap();
    assert_eq!(device.take_profile().unwrap(), []);
}

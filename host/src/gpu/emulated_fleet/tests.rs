use warpstride_device::Complex32;
use warpstride_kernels::ptycho::object_update_atomic::ObjectUpdateAtomic;
use warpstride_kernels::ptycho::scale_layers::ScaleLayers;

use super::*;

fn ramp(len: usize) -> Vec<f32> {
    (0..len).map(|i| i as f32 + 0.5).collect()
}

fn filled(fleet: &EmulatedFleet, device: usize, values: &[f32]) -> PlacedBuffer<f32> {
    let mut buffer = fleet.alloc(device, "values", values.len()).unwrap();
    fleet.upload(&mut buffer, 0, values).unwrap();
    buffer
}

fn held<T: Pod + Send>(fleet: &EmulatedFleet, buffer: &PlacedBuffer<T>) -> Vec<T> {
    let mut values = vec![T::zeroed(); buffer.len()];
    fleet.download(buffer, 0, &mut values).unwrap();
    values
}

/// Every pair of devices, a device and itself among them, both ways: what arrives is what was
/// sent, and nothing beside it changes.
#[test]
fn rows_arrive_in_their_place_and_nowhere_else() {
    let fleet = EmulatedFleet::new(3);
    let sent = ramp(29);
    for (from, to) in (0..3).flat_map(|from| (0..3).map(move |to| (from, to))) {
        for direct in [true, false] {
            let source = filled(&fleet, from, &sent);
            let mut target = filled(&fleet, to, &[-1.0; 17]);
            let relay = fleet.relay(from, to, 7, direct).unwrap();
            for (range, at) in [(3..10, 1), (28..29, 16), (5..5, 17)] {
                fleet
                    .push(&relay, Lane::Top, &source, range, &mut target, at)
                    .unwrap();
            }
            fleet.await_push(&relay, to, Lane::Bulk).unwrap();
            let mut expected = [-1.0; 17];
            expected[1..8].copy_from_slice(&sent[3..10]);
            expected[16] = sent[28];
            assert_eq!(held(&fleet, &target), expected, "{from} → {to}, {direct}");
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_and_the_device_named() {
    let fleet = EmulatedFleet::new(3);
    let source = filled(&fleet, 1, &ramp(10));
    let mut target = filled(&fleet, 2, &ramp(10));
    let relay = fleet.relay(1, 2, 4, false).unwrap();
    let mut push = |range, at| fleet.push(&relay, Lane::Bulk, &source, range, &mut target, at);
    push(0..4, 6).unwrap();
    for (range, at, device) in [
        (0..5, 0, 1),
        (8..11, 0, 1),
        (0..4, 7, 2),
        (0..1, usize::MAX, 2),
    ] {
        let error = push(range.clone(), at).unwrap_err();
        assert!(
            matches!(&error, GpuError::OnDevice { device: found, .. } if *found == device),
            "{range:?} to {at}: {error}"
        );
    }

    let mut here = filled(&fleet, 1, &ramp(10));
    let error = fleet.push(&relay, Lane::Bulk, &source, 0..1, &mut here, 0);
    assert!(error.unwrap_err().to_string().contains("the target"));
    let error = fleet.upload(&mut here, 8, &[0.0; 3]).unwrap_err();
    assert!(error.to_string().starts_with("GPU 1: "), "{error}");
    assert!(fleet.download(&here, 11, &mut []).is_err());
    assert!(fleet.copy(1, Lane::Bulk, &target, &mut here).is_err());
    assert!(here.read_range(3..11).is_err());
    #[expect(
        clippy::reversed_empty_ranges,
        reason = "as a caller's mistake would be"
    )]
    let turned = here.write_range(4..3);
    assert!(turned.is_err());
    assert!(matches!(
        fleet.mark(3),
        Err(GpuError::NotInFleet {
            device: 3,
            devices: 3
        })
    ));
    let mark = fleet.mark(0).unwrap();
    fleet.wait(&mark, 2, Lane::Top).unwrap();
    fleet.record(&mark, 0, Lane::Top).unwrap();
    assert!(fleet.record(&mark, 1, Lane::Top).is_err());
}

/// A launch on some elements does not touch their neighbours.
#[test]
fn ranges_are_launch_arguments() {
    let fleet = EmulatedFleet::new(2);
    let mut waves = fleet.alloc::<Complex32>(1, "waves", 9).unwrap();
    let ones: Vec<_> = ramp(9)
        .into_iter()
        .map(|re| Complex32::new(re, 0.0))
        .collect();
    fleet.upload(&mut waves, 0, &ones).unwrap();
    let weights = filled(&fleet, 1, &[2.0; 8]);
    let gate = fleet.alloc::<u32>(1, "gate", 1).unwrap();
    let kernel = ScaleLayers {
        waves: waves.write_range(2..6).unwrap(),
        weights: weights.read_range(4..8).unwrap(),
        gate: gate.read(),
        layers: 1,
        pixels: 4,
        factor: 4.0,
    };
    fleet
        .launch(1, Lane::Bulk, &kernel, Work::Elements(4))
        .unwrap();
    fleet.drain().unwrap();
    for (at, (got, sent)) in held(&fleet, &waves).iter().zip(&ones).enumerate() {
        let factor = if (2..6).contains(&at) { 8.0 } else { 1.0 };
        assert_eq!(got.re, factor * sent.re, "element {at}");
    }

    let short = ScaleLayers {
        waves: waves.write_range(2..6).unwrap(),
        weights: weights.read_range(4..7).unwrap(),
        gate: gate.read(),
        layers: 1,
        pixels: 4,
        factor: 4.0,
    };
    let error = fleet.launch(1, Lane::Bulk, &short, Work::Elements(4));
    let text = error.unwrap_err().to_string();
    assert!(
        text.starts_with("GPU 1: ") && text.contains("weights"),
        "{text}"
    );
}

/// One frame of 2 × 2 at row 3, column 3 of an object of 4 × 4.
#[test]
fn a_write_outside_of_a_buffer_names_the_device() {
    let fleet = EmulatedFleet::new(2);
    let complex = |what, len| fleet.alloc::<Complex32>(1, what, len).unwrap();
    let (mut numerator, mut probe, mut psi) = (complex("n", 16), complex("p", 4), complex("w", 4));
    for waves in [&mut probe, &mut psi] {
        let ones = [Complex32::new(1.0, 1.0); 4];
        fleet.upload(waves, 0, &ones).unwrap();
    }
    let mut denominator = filled(&fleet, 1, &[0.0; 16]);
    let power = filled(&fleet, 1, &[0.0; 4]);
    let mut corners = fleet.alloc::<[u32; 2]>(1, "corners", 1).unwrap();
    fleet.upload(&mut corners, 0, &[[3, 3]]).unwrap();
    let gate = fleet.alloc::<u32>(1, "gate", 1).unwrap();
    let kernel = ObjectUpdateAtomic {
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
    };
    let error = fleet.launch(1, Lane::Top, &kernel, Work::Blocks(1));
    match error.unwrap_err() {
        GpuError::OnDevice { device: 1, error } => {
            assert!(matches!(*error, GpuError::Overrun { .. }), "{error}");
        }
        other => panic!("{other}"),
    }
}

#[test]
fn times_are_in_the_order_of_the_calls() {
    let fleet = EmulatedFleet::new(2);
    let source = filled(&fleet, 0, &ramp(8));
    let mut target = filled(&fleet, 1, &ramp(8));
    let mut next = filled(&fleet, 1, &ramp(8));
    assert_eq!(fleet.stretches().unwrap(), []);
    fleet.profile().unwrap();
    let relay = fleet.relay(0, 1, 8, false).unwrap();
    fleet
        .push(&relay, Lane::Bottom, &source, 0..8, &mut target, 0)
        .unwrap();
    fleet.copy(1, Lane::Bulk, &target, &mut next).unwrap();
    let stretches = fleet.stretches().unwrap();
    let places: Vec<_> = stretches
        .iter()
        .map(|stretch| (stretch.device, stretch.lane, stretch.name))
        .collect();
    assert_eq!(
        places,
        [
            (0, "bottom", "push to host"),
            (1, "relay", "push from host"),
            (1, "bulk", "copy")
        ]
    );
    assert!(stretches[0].start_us >= 0.0);
    assert!(stretches.iter().all(|one| one.end_us >= one.start_us));
    let ordered = |pair: &[Stretch]| pair[1].start_us >= pair[0].end_us;
    assert!(stretches.windows(2).all(ordered));
    assert_eq!(fleet.stretches().unwrap(), []);
}

#[test]
fn nothing_is_recorded_and_all_pairs_are_linked() {
    let fleet = EmulatedFleet::new(3);
    let mut called = false;
    let recording = fleet.capture(&mut || {
        called = true;
        Ok(())
    });
    assert!(recording.unwrap().is_none() && !called);
    assert_eq!(fleet.links().len(), 6);
    assert!(fleet.links().iter().all(|link| link.from != link.to));
}

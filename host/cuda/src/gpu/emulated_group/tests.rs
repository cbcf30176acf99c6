use warpstride_device::Complex32;
use warpstride_kernels::ptycho::object_update_atomic::PtychoObjectUpdateAtomic;
use warpstride_kernels::ptycho::scale_layers::PtychoScaleLayers;

use super::*;

fn ramp(len: usize) -> Vec<f32> {
    (0..len).map(|i| i as f32 + 0.5).collect()
}

fn filled(group: &EmulatedDeviceGroup, device: usize, values: &[f32]) -> EmulatedGroupBuffer<f32> {
    let mut buffer = group.alloc(device, "values", values.len()).unwrap();
    group.upload(&mut buffer, 0, values).unwrap();
    buffer
}

fn contents<T: Pod + Send>(group: &EmulatedDeviceGroup, buffer: &EmulatedGroupBuffer<T>) -> Vec<T> {
    let mut values = vec![T::zeroed(); buffer.len()];
    group.download(buffer, 0, &mut values).unwrap();
    values
}

/// Sends between all pairs of devices, including a device and itself, direct and through the host.
#[test]
fn sends_change_exactly_the_target_range() {
    let group = EmulatedDeviceGroup::new(3);
    let sent = ramp(29);
    for (from, to) in (0..3).flat_map(|from| (0..3).map(move |to| (from, to))) {
        for direct in [true, false] {
            let source = filled(&group, from, &sent);
            let mut target = filled(&group, to, &[-1.0; 17]);
            let peer_channel = group.peer_channel(from, to, 7, direct).unwrap();
            for (range, at) in [(3..10, 1), (28..29, 16), (5..5, 17)] {
                group
                    .send(
                        &peer_channel,
                        StreamId::Top,
                        &source,
                        range,
                        &mut target,
                        at,
                    )
                    .unwrap();
            }
            group
                .wait_for_send(&peer_channel, to, StreamId::Bulk)
                .unwrap();
            let mut expected = [-1.0; 17];
            expected[1..8].copy_from_slice(&sent[3..10]);
            expected[16] = sent[28];
            assert_eq!(
                contents(&group, &target),
                expected,
                "{from} → {to}, {direct}"
            );
        }
    }
}

#[test]
fn ranges_and_devices_are_checked_and_errors_name_the_device() {
    let group = EmulatedDeviceGroup::new(3);
    let source = filled(&group, 1, &ramp(10));
    let mut target = filled(&group, 2, &ramp(10));
    let peer_channel = group.peer_channel(1, 2, 4, false).unwrap();
    let mut send = |range, at| {
        group.send(
            &peer_channel,
            StreamId::Bulk,
            &source,
            range,
            &mut target,
            at,
        )
    };
    send(0..4, 6).unwrap();
    for (range, at, device) in [
        (0..5, 0, 1),
        (8..11, 0, 1),
        (0..4, 7, 2),
        (0..1, usize::MAX, 2),
    ] {
        let error = send(range.clone(), at).unwrap_err();
        assert!(
            matches!(&error, GpuError::OnDevice { device: found, .. } if *found == device),
            "{range:?} to {at}: {error}"
        );
    }

    let mut local = filled(&group, 1, &ramp(10));
    let error = group.send(&peer_channel, StreamId::Bulk, &source, 0..1, &mut local, 0);
    assert!(error.unwrap_err().to_string().contains("the target"));
    let error = group.upload(&mut local, 8, &[0.0; 3]).unwrap_err();
    assert!(error.to_string().starts_with("GPU 1: "), "{error}");
    assert!(group.download(&local, 11, &mut []).is_err());
    assert!(group.copy(1, StreamId::Bulk, &target, &mut local).is_err());
    assert!(local.read_range(3..11).is_err());
    #[expect(
        clippy::reversed_empty_ranges,
        reason = "an invalid range is part of the test"
    )]
    let reversed = local.write_range(4..3);
    assert!(reversed.is_err());
    assert!(matches!(
        group.event(3),
        Err(GpuError::NotInGroup {
            device: 3,
            devices: 3
        })
    ));
    let event = group.event(0).unwrap();
    group.wait(&event, 2, StreamId::Top).unwrap();
    group.record(&event, 0, StreamId::Top).unwrap();
    assert!(group.record(&event, 1, StreamId::Top).is_err());
}

/// A launch on a range of elements does not change the elements beside it.
#[test]
fn ranges_can_be_launch_arguments() {
    let group = EmulatedDeviceGroup::new(2);
    let mut waves = group.alloc::<Complex32>(1, "waves", 9).unwrap();
    let ones: Vec<_> = ramp(9)
        .into_iter()
        .map(|re| Complex32::new(re, 0.0))
        .collect();
    group.upload(&mut waves, 0, &ones).unwrap();
    let weights = filled(&group, 1, &[2.0; 8]);
    let gate = group.alloc::<u32>(1, "gate", 1).unwrap();
    let kernel = PtychoScaleLayers {
        waves: waves.write_range(2..6).unwrap(),
        weights: weights.read_range(4..8).unwrap(),
        gate: gate.read(),
        layers: 1,
        pixels: 4,
        factor: 4.0,
    };
    group
        .launch(1, StreamId::Bulk, &kernel, Work::Elements(4))
        .unwrap();
    group.drain().unwrap();
    for (at, (got, sent)) in contents(&group, &waves).iter().zip(&ones).enumerate() {
        let factor = if (2..6).contains(&at) { 8.0 } else { 1.0 };
        assert_eq!(got.re, factor * sent.re, "element {at}");
    }

    let short = PtychoScaleLayers {
        waves: waves.write_range(2..6).unwrap(),
        weights: weights.read_range(4..7).unwrap(),
        gate: gate.read(),
        layers: 1,
        pixels: 4,
        factor: 4.0,
    };
    let error = group.launch(1, StreamId::Bulk, &short, Work::Elements(4));
    let text = error.unwrap_err().to_string();
    assert!(
        text.starts_with("GPU 1: ") && text.contains("weights"),
        "{text}"
    );
}

/// One frame of 2 × 2 at row 3, column 3 of an object of 4 × 4.
#[test]
fn a_write_outside_of_a_buffer_is_an_error_with_the_device() {
    let group = EmulatedDeviceGroup::new(2);
    let complex = |what, len| group.alloc::<Complex32>(1, what, len).unwrap();
    let (mut numerator, mut probe, mut psi) = (complex("n", 16), complex("p", 4), complex("w", 4));
    for waves in [&mut probe, &mut psi] {
        let ones = [Complex32::new(1.0, 1.0); 4];
        group.upload(waves, 0, &ones).unwrap();
    }
    let mut denominator = filled(&group, 1, &[0.0; 16]);
    let power = filled(&group, 1, &[0.0; 4]);
    let mut corners = group.alloc::<[u32; 2]>(1, "corners", 1).unwrap();
    group.upload(&mut corners, 0, &[[3, 3]]).unwrap();
    let gate = group.alloc::<u32>(1, "gate", 1).unwrap();
    let kernel = PtychoObjectUpdateAtomic {
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
    let error = group.launch(1, StreamId::Top, &kernel, Work::Blocks(1));
    match error.unwrap_err() {
        GpuError::OnDevice { device: 1, error } => {
            assert!(matches!(*error, GpuError::Overrun { .. }), "{error}");
        }
        other => panic!("{other}"),
    }
}

#[test]
fn spans_are_in_the_order_of_the_calls() {
    let group = EmulatedDeviceGroup::new(2);
    let source = filled(&group, 0, &ramp(8));
    let mut target = filled(&group, 1, &ramp(8));
    let mut next = filled(&group, 1, &ramp(8));
    assert_eq!(group.profile_spans().unwrap(), []);
    group.profile().unwrap();
    let peer_channel = group.peer_channel(0, 1, 8, false).unwrap();
    group
        .send(
            &peer_channel,
            StreamId::Bottom,
            &source,
            0..8,
            &mut target,
            0,
        )
        .unwrap();
    group.copy(1, StreamId::Bulk, &target, &mut next).unwrap();
    let profile_spans = group.profile_spans().unwrap();
    let names: Vec<_> = profile_spans
        .iter()
        .map(|span| (span.device, span.stream, span.name))
        .collect();
    assert_eq!(
        names,
        [
            (0, "bottom", "send to host"),
            (1, "receive", "receive from host"),
            (1, "bulk", "copy")
        ]
    );
    assert!(profile_spans[0].start_us >= 0.0);
    assert!(
        profile_spans
            .iter()
            .all(|span| span.end_us >= span.start_us)
    );
    let ordered = |pair: &[ProfileSpan]| pair[1].start_us >= pair[0].end_us;
    assert!(profile_spans.windows(2).all(ordered));
    assert_eq!(group.profile_spans().unwrap(), []);
}

#[test]
fn graphs_are_not_supported_and_all_pairs_are_linked() {
    let group = EmulatedDeviceGroup::new(3);
    let mut called = false;
    let graph = group.capture(&mut || {
        called = true;
        Ok(())
    });
    assert!(graph.unwrap().is_none() && !called);
    assert_eq!(group.links().len(), 6);
    assert!(group.links().iter().all(|link| link.from != link.to));
}

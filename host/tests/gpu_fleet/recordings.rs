//! Recorded work of all devices against the same work queued step by step.

use warpstride::gpu::{Fleet, GpuError, Lane};

use super::MINUTE;
use super::ring::Ring;
use super::support::{fleet, held, scale, within};

/// Whether a device sends directly.
type Directly = fn(usize) -> bool;

/// Which devices do.
const WAYS: [(&str, Directly); 3] = [
    ("direct", |_| true),
    ("through the host", |_| false),
    ("mixed", |device| device % 2 == 0),
];

#[test]
fn gpu_replays_are_what_was_recorded_in_order_with_everything_else() {
    within(2 * MINUTE, "recordings", || {
        let Some(fleet) = fleet("recordings", 1) else {
            return;
        };
        let mut direct_way = Vec::new();
        for (way, direct) in WAYS {
            let mut plain = Ring::new(&fleet, direct);
            let start = plain.values(&fleet);
            for _ in 0..9 {
                plain.step(&fleet).unwrap();
            }
            let expected = plain.values(&fleet);
            assert!(expected != start);
            // The way of the rows changes no value.
            if direct_way.is_empty() {
                direct_way.clone_from(&expected);
            }
            assert!(expected == direct_way, "{way}");

            let mut ring = Ring::new(&fleet, direct);
            let mut recording = fleet
                .capture(&mut || {
                    ring.step(&fleet)?;
                    ring.step(&fleet)
                })
                .unwrap()
                .unwrap();
            assert!(ring.values(&fleet) == start, "{way}: recorded, not done");
            // Steps and replays in turn, between which the host waits for nothing.
            ring.step(&fleet).unwrap();
            fleet.replay(&mut recording).unwrap();
            fleet.replay(&mut recording).unwrap();
            ring.step(&fleet).unwrap();
            ring.step(&fleet).unwrap();
            fleet.replay(&mut recording).unwrap();
            assert!(ring.values(&fleet) == expected, "{way}");
        }
    });
}

#[test]
fn gpu_a_thousand_replays_of_two_recordings() {
    within(2 * MINUTE, "1000 replays", || {
        let Some(fleet) = fleet("1000 replays", 1) else {
            return;
        };
        for (way, direct) in WAYS {
            let mut plain = Ring::new(&fleet, direct);
            for _ in 0..3000 {
                plain.step(&fleet).unwrap();
            }
            let expected = plain.values(&fleet);
            let mut ring = Ring::new(&fleet, direct);
            let mut record = |steps: usize| {
                let recorded =
                    fleet.capture(&mut || (0..steps).try_for_each(|_| ring.step(&fleet)));
                recorded.unwrap().unwrap()
            };
            let (mut one, mut two) = (record(1), record(2));
            for _ in 0..1000 {
                fleet.replay(&mut one).unwrap();
                fleet.replay(&mut two).unwrap();
            }
            assert!(ring.values(&fleet) == expected, "{way}");
        }
    });
}

#[test]
fn gpu_a_recording_that_fails_leaves_the_fleet_as_it_was() {
    within(MINUTE, "failed recordings", || {
        let Some(fleet) = fleet("failed recordings", 1) else {
            return;
        };
        let mut ring = Ring::new(&fleet, |_| false);
        let mut plain = Ring::new(&fleet, |_| false);
        let last = fleet.devices() - 1;
        let mut data = fleet.alloc::<f32>(last, "data", 100).unwrap();
        fleet.upload(&mut data, 0, &[1.0; 100]).unwrap();

        let refused = fleet.capture(&mut || {
            ring.step(&fleet)?;
            scale(&fleet, (last, Lane::Default), &mut data, 0..100, 2.0)
        });
        let text = refused.unwrap_err().to_string();
        assert!(text.starts_with(&format!("GPU {last}: ")), "{text}");
        let refused = fleet.capture(&mut || {
            ring.step(&fleet)?;
            Err(GpuError::NoDevices)
        });
        assert!(matches!(refused, Err(GpuError::NoDevices)), "its own error");
        let refused = fleet.capture(&mut || {
            let within = fleet.capture(&mut || Ok(()))?;
            assert!(within.is_none(), "a recording within a recording");
            Ok(())
        });
        assert!(refused.unwrap_err().to_string().contains("recording"));
        let mut host = [0.0; 3];
        let refused = fleet.capture(&mut || fleet.download(&data, 0, &mut host));
        let text = refused.unwrap_err().to_string();
        assert!(
            text.starts_with(&format!("GPU {last}: ")) && text.contains("host"),
            "{text}"
        );

        assert_eq!(held(&fleet, &data), [1.0; 100]);
        let recorded = fleet.capture(&mut || ring.step(&fleet));
        fleet.replay(&mut recorded.unwrap().unwrap()).unwrap();
        ring.step(&fleet).unwrap();
        plain.step(&fleet).unwrap();
        plain.step(&fleet).unwrap();
        assert!(ring.values(&fleet) == plain.values(&fleet));
    });
}

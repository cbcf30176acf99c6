//! Captured work of all devices against the same work queued step by step.

use warpstride_cuda::gpu::{DeviceGroup, GpuError, StreamId};

use super::MINUTE;
use super::ring::Ring;
use super::support::{contents, group, scale, with_time_limit};

/// Whether the device with this index sends directly.
type IsDirect = fn(usize) -> bool;

/// How the devices send.
const ROUTES: [(&str, IsDirect); 3] = [
    ("direct", |_| true),
    ("through the host", |_| false),
    ("mixed", |device| device % 2 == 0),
];

#[test]
fn gpu_graphs_run_the_captured_work_in_order_with_other_work() {
    with_time_limit(2 * MINUTE, "graphs", || {
        let Some(group) = group("graphs", 1) else {
            return;
        };
        let mut direct_values = Vec::new();
        for (route, direct) in ROUTES {
            let mut plain = Ring::new(&group, direct);
            let start = plain.values(&group);
            for _ in 0..9 {
                plain.step(&group).unwrap();
            }
            let expected = plain.values(&group);
            assert!(expected != start);
            // The route does not change the values.
            if direct_values.is_empty() {
                direct_values.clone_from(&expected);
            }
            assert!(expected == direct_values, "{route}");

            let mut ring = Ring::new(&group, direct);
            let mut graph = group
                .capture(&mut || {
                    ring.step(&group)?;
                    ring.step(&group)
                })
                .unwrap()
                .unwrap();
            assert!(ring.values(&group) == start, "{route}: captured, not run");
            // Steps and graph launches alternate; the host waits for none of them.
            ring.step(&group).unwrap();
            group.replay(&mut graph).unwrap();
            group.replay(&mut graph).unwrap();
            ring.step(&group).unwrap();
            ring.step(&group).unwrap();
            group.replay(&mut graph).unwrap();
            assert!(ring.values(&group) == expected, "{route}");
        }
    });
}

#[test]
fn gpu_a_thousand_launches_of_two_graphs() {
    with_time_limit(2 * MINUTE, "1000 launches", || {
        let Some(group) = group("1000 launches", 1) else {
            return;
        };
        for (route, direct) in ROUTES {
            let mut plain = Ring::new(&group, direct);
            for _ in 0..3000 {
                plain.step(&group).unwrap();
            }
            let expected = plain.values(&group);
            let mut ring = Ring::new(&group, direct);
            let mut capture = |steps: usize| {
                let graph = group.capture(&mut || (0..steps).try_for_each(|_| ring.step(&group)));
                graph.unwrap().unwrap()
            };
            let (mut one, mut two) = (capture(1), capture(2));
            for _ in 0..1000 {
                group.replay(&mut one).unwrap();
                group.replay(&mut two).unwrap();
            }
            assert!(ring.values(&group) == expected, "{route}");
        }
    });
}

#[test]
fn gpu_a_failed_capture_leaves_the_group_usable() {
    with_time_limit(MINUTE, "failed captures", || {
        let Some(group) = group("failed captures", 1) else {
            return;
        };
        let mut ring = Ring::new(&group, |_| false);
        let mut plain = Ring::new(&group, |_| false);
        let last = group.devices() - 1;
        let mut data = group.alloc::<f32>(last, "data", 100).unwrap();
        group.upload(&mut data, 0, &[1.0; 100]).unwrap();

        let refused = group.capture(&mut || {
            ring.step(&group)?;
            scale(&group, (last, StreamId::Default), &mut data, 0..100, 2.0)
        });
        let text = refused.unwrap_err().to_string();
        assert!(text.starts_with(&format!("GPU {last}: ")), "{text}");
        let refused = group.capture(&mut || {
            ring.step(&group)?;
            Err(GpuError::NoDevices)
        });
        assert!(
            matches!(refused, Err(GpuError::NoDevices)),
            "the error of the work"
        );
        let refused = group.capture(&mut || {
            let within = group.capture(&mut || Ok(()))?;
            assert!(within.is_none(), "a capture within a capture");
            Ok(())
        });
        assert!(
            refused
                .unwrap_err()
                .to_string()
                .contains("a capture within a capture")
        );
        let mut host = [0.0; 3];
        let refused = group.capture(&mut || group.download(&data, 0, &mut host));
        let text = refused.unwrap_err().to_string();
        assert!(
            text.starts_with(&format!("GPU {last}: ")) && text.contains("host"),
            "{text}"
        );

        assert_eq!(contents(&group, &data), [1.0; 100]);
        let graph = group.capture(&mut || ring.step(&group));
        group.replay(&mut graph.unwrap().unwrap()).unwrap();
        ring.step(&group).unwrap();
        plain.step(&group).unwrap();
        plain.step(&group).unwrap();
        assert!(ring.values(&group) == plain.values(&group));
    });
}

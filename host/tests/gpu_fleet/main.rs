//! CUDA devices as a fleet, on real devices. Without one, or with too few, every test says that it
//! was skipped.
//!
//! Oracles: rows that arrive as they were sent; a recorded computation against the same one queued
//! step by step, bit for bit; the driver's own account of its memory; the host's clock.

#![expect(unsafe_code, reason = "typed launches of hand-written PTX")]

mod failure;
#[path = "../fence_ptx/mod.rs"]
mod fence_ptx;
mod recordings;
mod ring;
mod support;
mod timeline;

use std::time::Duration;

use warpstride::cuda::{CudaError, list_devices};
use warpstride::gpu::{CudaFleet, Fleet, GpuError, Lane};

use fence_ptx::Scale;
use ring::Ring;
use support::{fleet, held, scale, within};

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn gpu_pushes_arrive_whole_directly_and_through_the_host() {
    within(MINUTE, "pushes", || {
        let Some(fleet) = fleet("pushes", 1) else {
            return;
        };
        let sent: Vec<u8> = (0..200_003_usize).map(|i| (i * 31 % 251) as u8).collect();
        let count = fleet.devices();
        for (from, to) in (0..count).flat_map(|from| (0..count).map(move |to| (from, to))) {
            let mut source = fleet.alloc(from, "source", sent.len()).unwrap();
            fleet.upload(&mut source, 0, &sent).unwrap();
            for direct in [true, false] {
                let relay = fleet.relay::<u8>(from, to, 131_071, direct).unwrap();
                for (at, place, len) in [
                    (0, 1, 0),
                    (1, 7, 1),
                    (3, 5, 1021),
                    (7001, 1, 65_539),
                    (2, 3, 131_071),
                ] {
                    let mut target = fleet.alloc::<u8>(to, "target", sent.len()).unwrap();
                    fleet
                        .push(&relay, Lane::Top, &source, at..at + len, &mut target, place)
                        .unwrap();
                    fleet.await_push(&relay, to, Lane::Bulk).unwrap();
                    fleet.synchronize(to, Lane::Bulk).unwrap();
                    let mut expected = vec![0; sent.len()];
                    expected[place..place + len].copy_from_slice(&sent[at..at + len]);
                    assert!(
                        held(&fleet, &target) == expected,
                        "{from} → {to}, direct: {direct}, {len} bytes"
                    );
                }
            }
        }
    });
}

/// Many pushes through one relay, without a wait of the host: none overtakes another.
#[test]
fn gpu_pushes_through_one_relay_keep_their_order() {
    within(MINUTE, "pushes in a row", || {
        let Some(fleet) = fleet("pushes in a row", 1) else {
            return;
        };
        let (len, last) = (40_000, fleet.devices() - 1);
        let mut source = fleet.alloc::<f32>(0, "source", len).unwrap();
        for direct in [true, false] {
            fleet.upload(&mut source, 0, &vec![1.0; len]).unwrap();
            let mut target = fleet.alloc::<f32>(last, "target", len).unwrap();
            let relay = fleet.relay(0, last, 1000, direct).unwrap();
            for row in 0..40 {
                let range = 1000 * row..1000 * (row + 1);
                scale(
                    &fleet,
                    (0, Lane::Bulk),
                    &mut source,
                    range.clone(),
                    row as f32,
                )
                .unwrap();
                let at = range.start;
                fleet
                    .push(&relay, Lane::Bulk, &source, range, &mut target, at)
                    .unwrap();
            }
            fleet.drain().unwrap();
            let got = held(&fleet, &target);
            let right = |(at, value): (usize, &f32)| *value == (at / 1000) as f32;
            assert!(got.iter().enumerate().all(right), "direct: {direct}");
        }
    });
}

#[test]
fn gpu_lanes_are_those_of_their_device() {
    within(MINUTE, "lanes", || {
        let Some(fleet) = fleet("lanes", 1) else {
            return;
        };
        for device in 0..fleet.devices() {
            let mut data = fleet.alloc::<f32>(device, "data", 1000).unwrap();
            fleet.upload(&mut data, 0, &[1.0; 1000]).unwrap();
            for lane in [Lane::Default, Lane::Bulk, Lane::Top, Lane::Bottom] {
                scale(&fleet, (device, lane), &mut data, 3..997, 2.0).unwrap();
                fleet.synchronize(device, lane).unwrap();
            }
            let expected = |at| if (3..997).contains(&at) { 16.0 } else { 1.0 };
            let got = held(&fleet, &data);
            assert!(
                got.iter()
                    .enumerate()
                    .all(|(at, value)| *value == expected(at))
            );
            let kernel = Scale {
                data: data.write(),
                count: 1000,
                factor: 1.0,
            };
            let blocks = fleet.resident_blocks(device, &kernel).unwrap();
            assert!(blocks > 0);
            let (free, total) = fleet.memory(device).unwrap();
            assert!(0 < free && free < total);
            assert_eq!(fleet.ordinal(device), device);
        }
    });
}

#[test]
fn gpu_links_are_those_that_the_driver_lists() {
    within(MINUTE, "links", || {
        let Some(fleet) = fleet("links", 2) else {
            return;
        };
        let listed = list_devices().unwrap();
        let links = fleet.links();
        assert_eq!(links.len(), fleet.devices() * (fleet.devices() - 1));
        for link in links {
            let peers = &listed[link.from].peers;
            let peer = peers.iter().find(|peer| peer.ordinal == link.to).unwrap();
            assert_eq!(link.direct, peer.direct, "{link:?}");
        }
    });
}

#[test]
fn gpu_what_does_not_fit_is_refused_and_the_device_named() {
    within(MINUTE, "refusals", || {
        let twice = CudaFleet::new(&[1, 0, 1]).unwrap_err();
        assert!(
            matches!(twice, GpuError::DeviceTwice { device: 1 }),
            "{twice}"
        );
        assert!(matches!(CudaFleet::new(&[]), Err(GpuError::NoDevices)));
        let Some(fleet) = fleet("refusals", 1) else {
            return;
        };
        let missing = list_devices().unwrap().len();
        let error = CudaFleet::new(&[0, missing]).unwrap_err();
        assert!(
            matches!(error, GpuError::Cuda(CudaError::Ordinal { .. })),
            "{error}"
        );
        let last = fleet.devices() - 1;
        let source = fleet.alloc::<f32>(0, "source", 10).unwrap();
        let mut target = fleet.alloc::<f32>(last, "target", 10).unwrap();
        for direct in [true, false] {
            let relay = fleet.relay(0, last, 4, direct).unwrap();
            for (range, at) in [(0..5, 0), (8..11, 0), (0..4, 7), (0..1, usize::MAX)] {
                let refused = fleet.push(&relay, Lane::Top, &source, range, &mut target, at);
                assert!(matches!(refused, Err(GpuError::OnDevice { .. })));
            }
        }
        assert!(matches!(
            fleet.mark(last + 1),
            Err(GpuError::NotInFleet { .. })
        ));
        let total = fleet.memory(last).unwrap().1;
        let text = fleet
            .alloc::<u8>(last, "the field", 2 * total)
            .unwrap_err()
            .to_string();
        let begin = format!("GPU {last}: out of device memory: the field");
        assert!(text.starts_with(&begin), "{text}");
        fleet.drain().unwrap();
    });
}

#[test]
fn gpu_memory_comes_back_when_a_fleet_is_done() {
    within(2 * MINUTE, "memory", || {
        let Some(fleet) = fleet("memory", 1) else {
            return;
        };
        let turn = || {
            let mut ring = Ring::new(&fleet, |device| device % 2 == 0);
            let big: Vec<_> = (0..fleet.devices())
                .map(|device| fleet.alloc::<u8>(device, "big", 64 << 20).unwrap())
                .collect();
            let mut recording = fleet.capture(&mut || ring.step(&fleet)).unwrap().unwrap();
            for _ in 0..10 {
                fleet.replay(&mut recording).unwrap();
                ring.step(&fleet).unwrap();
            }
            // Before the recording, so that the frees have to wait for it.
            drop((ring, big));
            fleet.drain().unwrap();
        };
        let free = || -> Vec<usize> {
            let devices = 0..fleet.devices();
            devices
                .map(|device| fleet.memory(device).unwrap().0)
                .collect()
        };
        turn();
        let before = free();
        for _ in 0..20 {
            turn();
        }
        // 20 leaked buffers would be 1.3 GB; other programs of the device may take a little.
        for (before, after) in before.into_iter().zip(free()) {
            assert!(
                after + (64 << 20) >= before,
                "{before} bytes free, then {after}"
            );
        }
    });
}

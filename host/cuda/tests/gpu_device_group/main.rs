//! A group of CUDA devices, on real devices. Without enough of them, every test prints that it is
//! skipped.
//!
//! Oracles: data that arrive as they were sent; a captured computation against the same one queued
//! step by step, bit for bit; the free memory that the driver reports; and the clock of the host.

#![expect(unsafe_code, reason = "typed launches of hand-written PTX")]

mod failure;
mod graphs;
mod ring;
mod support;
#[path = "../test_ptx/mod.rs"]
mod test_ptx;
mod timeline;

use std::time::Duration;

use warpstride_cuda::cuda::{CudaError, Kernels, list_devices};
use warpstride_cuda::gpu::{CudaDeviceGroup, DeviceGroup, GpuError, StreamId};

use ring::Ring;
use support::{contents, group, scale, with_time_limit};
use test_ptx::Scale;

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn gpu_sends_change_exactly_the_target_range_by_either_route() {
    with_time_limit(MINUTE, "sends", || {
        let Some(group) = group("sends", 1) else {
            return;
        };
        let sent: Vec<u8> = (0..200_003_usize).map(|i| (i * 31 % 251) as u8).collect();
        let count = group.devices();
        for (from, to) in (0..count).flat_map(|from| (0..count).map(move |to| (from, to))) {
            let mut source = group.alloc(from, "source", sent.len()).unwrap();
            group.upload(&mut source, 0, &sent).unwrap();
            for direct in [true, false] {
                let peer_channel = group.peer_channel::<u8>(from, to, 131_071, direct).unwrap();
                for (from_element, to_element, len) in [
                    (0, 1, 0),
                    (1, 7, 1),
                    (3, 5, 1021),
                    (7001, 1, 65_539),
                    (2, 3, 131_071),
                ] {
                    let mut target = group.alloc::<u8>(to, "target", sent.len()).unwrap();
                    group
                        .send(
                            &peer_channel,
                            StreamId::Top,
                            &source,
                            from_element..from_element + len,
                            &mut target,
                            to_element,
                        )
                        .unwrap();
                    group
                        .wait_for_send(&peer_channel, to, StreamId::Bulk)
                        .unwrap();
                    group.synchronize(to, StreamId::Bulk).unwrap();
                    let mut expected = vec![0; sent.len()];
                    expected[to_element..to_element + len]
                        .copy_from_slice(&sent[from_element..from_element + len]);
                    assert!(
                        contents(&group, &target) == expected,
                        "{from} → {to}, direct: {direct}, {len} bytes"
                    );
                }
            }
        }
    });
}

/// Many sends through one channel while the host waits for none: they keep their order.
#[test]
fn gpu_sends_through_one_channel_keep_their_order() {
    with_time_limit(MINUTE, "consecutive sends", || {
        let Some(group) = group("consecutive sends", 1) else {
            return;
        };
        let (len, last) = (40_000, group.devices() - 1);
        let mut source = group.alloc::<f32>(0, "source", len).unwrap();
        for direct in [true, false] {
            group.upload(&mut source, 0, &vec![1.0; len]).unwrap();
            let mut target = group.alloc::<f32>(last, "target", len).unwrap();
            let peer_channel = group.peer_channel(0, last, 1000, direct).unwrap();
            for row in 0..40 {
                let range = 1000 * row..1000 * (row + 1);
                scale(
                    &group,
                    (0, StreamId::Bulk),
                    &mut source,
                    range.clone(),
                    row as f32,
                )
                .unwrap();
                let at = range.start;
                group
                    .send(
                        &peer_channel,
                        StreamId::Bulk,
                        &source,
                        range,
                        &mut target,
                        at,
                    )
                    .unwrap();
            }
            group.drain().unwrap();
            let got = contents(&group, &target);
            let right = |(at, value): (usize, &f32)| *value == (at / 1000) as f32;
            assert!(got.iter().enumerate().all(right), "direct: {direct}");
        }
    });
}

#[test]
fn gpu_streams_belong_to_their_device() {
    with_time_limit(MINUTE, "streams", || {
        let Some(group) = group("streams", 1) else {
            return;
        };
        for device in 0..group.devices() {
            let mut data = group.alloc::<f32>(device, "data", 1000).unwrap();
            group.upload(&mut data, 0, &[1.0; 1000]).unwrap();
            for stream in [
                StreamId::Default,
                StreamId::Bulk,
                StreamId::Top,
                StreamId::Bottom,
            ] {
                scale(&group, (device, stream), &mut data, 3..997, 2.0).unwrap();
                group.synchronize(device, stream).unwrap();
            }
            let expected = |at| if (3..997).contains(&at) { 16.0 } else { 1.0 };
            let got = contents(&group, &data);
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
            let blocks = group.resident_blocks(device, &kernel).unwrap();
            assert!(blocks > 0);
            let (free, total) = group.memory(device).unwrap();
            assert!(0 < free && free < total);
            assert_eq!(group.ordinal(device), device);
        }
    });
}

#[test]
fn gpu_links_agree_with_the_list_of_devices() {
    with_time_limit(MINUTE, "links", || {
        let Some(group) = group("links", 2) else {
            return;
        };
        let listed = list_devices().unwrap();
        let links = group.links();
        assert_eq!(links.len(), group.devices() * (group.devices() - 1));
        for link in links {
            let peers = &listed[link.from].peers;
            let peer = peers.iter().find(|peer| peer.ordinal == link.to).unwrap();
            assert_eq!(link.direct, peer.direct, "{link:?}");
        }
    });
}

#[test]
fn gpu_ranges_and_devices_are_checked_and_errors_name_the_device() {
    with_time_limit(MINUTE, "errors", || {
        let twice = CudaDeviceGroup::new(&[1, 0, 1], &Kernels::default()).unwrap_err();
        assert!(
            matches!(twice, GpuError::DeviceTwice { device: 1 }),
            "{twice}"
        );
        assert!(matches!(
            CudaDeviceGroup::new(&[], &Kernels::default()),
            Err(GpuError::NoDevices)
        ));
        let Some(group) = group("errors", 1) else {
            return;
        };
        let missing = list_devices().unwrap().len();
        let error = CudaDeviceGroup::new(&[0, missing], &Kernels::default()).unwrap_err();
        assert!(
            matches!(error, GpuError::Cuda(CudaError::Ordinal { .. })),
            "{error}"
        );
        let last = group.devices() - 1;
        let source = group.alloc::<f32>(0, "source", 10).unwrap();
        let mut target = group.alloc::<f32>(last, "target", 10).unwrap();
        for direct in [true, false] {
            let peer_channel = group.peer_channel(0, last, 4, direct).unwrap();
            for (range, at) in [(0..5, 0), (8..11, 0), (0..4, 7), (0..1, usize::MAX)] {
                let refused = group.send(
                    &peer_channel,
                    StreamId::Top,
                    &source,
                    range,
                    &mut target,
                    at,
                );
                assert!(matches!(refused, Err(GpuError::OnDevice { .. })));
            }
        }
        assert!(matches!(
            group.event(last + 1),
            Err(GpuError::NotInGroup { .. })
        ));
        let total = group.memory(last).unwrap().1;
        let text = group
            .alloc::<u8>(last, "the field", 2 * total)
            .unwrap_err()
            .to_string();
        let begin = format!("GPU {last}: out of device memory: the field");
        assert!(text.starts_with(&begin), "{text}");
        group.drain().unwrap();
    });
}

#[test]
fn gpu_memory_is_freed_after_graphs_are_dropped() {
    with_time_limit(2 * MINUTE, "memory", || {
        let Some(group) = group("memory", 1) else {
            return;
        };
        let cycle = || {
            let mut ring = Ring::new(&group, |device| device % 2 == 0);
            let big: Vec<_> = (0..group.devices())
                .map(|device| group.alloc::<u8>(device, "big", 64 << 20).unwrap())
                .collect();
            let mut graph = group.capture(&mut || ring.step(&group)).unwrap().unwrap();
            for _ in 0..10 {
                group.replay(&mut graph).unwrap();
                ring.step(&group).unwrap();
            }
            // Before the graph, so that the frees are deferred.
            drop((ring, big));
            group.drain().unwrap();
        };
        let free = || -> Vec<usize> {
            let devices = 0..group.devices();
            devices
                .map(|device| group.memory(device).unwrap().0)
                .collect()
        };
        cycle();
        let before = free();
        for _ in 0..20 {
            cycle();
        }
        // 20 leaked buffers would be 1.3 GB; other programs may allocate a little meanwhile.
        for (before, after) in before.into_iter().zip(free()) {
            assert!(
                after + (64 << 20) >= before,
                "{before} bytes free, then {after}"
            );
        }
    });
}

//! Features for several devices: the default stream, copies of ranges between devices, peer
//! channels, and events in graphs. A device can be its own peer, so most tests need only one.

use std::io::Write as _;
use std::sync::Arc;

use warpstride_cuda::cuda::{
    Context, CudaError, DeviceBuffer, Event, Graph, Module, PeerChannel, Priority, Staging, Stream,
    Timing, copy_range_between, enable_peer_access, list_devices,
};
use warpstride_cuda::gpu::GpuError;
use warpstride_device::launch::Work;

use super::device;
use super::test_ptx::{Scale, kernels};

/// Devices 0 and 1, or device 0 twice if there is only one.
fn pair(test: &str) -> Option<[Arc<Context>; 2]> {
    let first = device(test)?;
    if list_devices().unwrap().len() < 2 {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED {test} between two devices: there is only one device, used as its own peer"
        );
        return Some([Arc::clone(&first), first]);
    }
    let second = Context::new(1).unwrap();
    enable_peer_access(&first, &second).unwrap();
    enable_peer_access(&second, &first).unwrap();
    Some([first, second])
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 % 251) as u8).collect()
}

fn filled(context: &Arc<Context>, values: &[u8]) -> DeviceBuffer<u8> {
    let mut buffer = DeviceBuffer::zeroed(context, "values", values.len()).unwrap();
    let stream = Stream::new(context, Priority::Normal).unwrap();
    let mut staging = Staging::new(context);
    staging.upload(&stream, values, &mut buffer).unwrap();
    stream.synchronize().unwrap();
    buffer
}

fn contents(buffer: &DeviceBuffer<u8>) -> Vec<u8> {
    let mut values = vec![0; buffer.len()];
    let stream = Stream::new(buffer.context(), Priority::Normal).unwrap();
    let mut staging = Staging::new(buffer.context());
    staging.download(&stream, buffer, &mut values).unwrap();
    values
}

/// Zeros with `count` bytes of [`bytes`] from byte `from` at byte `to`.
fn expected(len: usize, from: usize, to: usize, count: usize) -> Vec<u8> {
    let mut values = vec![0; len];
    values[to..to + count].copy_from_slice(&bytes(len)[from..from + count]);
    values
}

/// Unaligned source offsets, target offsets and counts.
const ODD: [(usize, usize, usize); 5] = [
    (0, 0, 0),
    (1, 7, 1),
    (3, 5, 1021),
    (70_001, 1, 65_539),
    (0, 0, 140_001),
];
const LEN: usize = 140_001;

#[test]
fn copies_between_devices_change_exactly_the_target_range() {
    let Some([first, second]) = pair("copies of ranges") else {
        return;
    };
    for (one, other) in [(&first, &second), (&second, &first)] {
        let source = filled(one, &bytes(LEN));
        // In a stream of the sender and in one of the receiver.
        for context in [one, other] {
            let stream = Stream::new(context, Priority::High).unwrap();
            for (from, to, count) in ODD {
                let mut target = DeviceBuffer::zeroed(other, "target", LEN).unwrap();
                let range = from..from + count;
                copy_range_between(&stream, &source, range, &mut target, to).unwrap();
                stream.synchronize().unwrap();
                assert_eq!(contents(&target), expected(LEN, from, to, count));
            }
        }
        let stream = Stream::new(one, Priority::Normal).unwrap();
        let mut target = DeviceBuffer::zeroed(other, "target", 10).unwrap();
        for (range, at) in [(0..11, 0), (LEN - 1..LEN + 1, 0), (0..1, usize::MAX)] {
            let refused = copy_range_between(&stream, &source, range, &mut target, at);
            assert!(matches!(refused, Err(CudaError::Range { .. })));
        }
    }
}

#[test]
fn a_peer_channel_delivers_what_was_sent_even_in_a_graph() {
    let Some([one, other]) = pair("peer channels") else {
        return;
    };
    let (sending, receiving) = (
        Stream::new(&one, Priority::High).unwrap(),
        Stream::new(&other, Priority::High).unwrap(),
    );
    let sent = Event::new(&one, Timing::Off).unwrap();
    let received = Event::new(&other, Timing::Off).unwrap();
    let source = filled(&one, &bytes(LEN));
    let channel = PeerChannel::<u8>::new(&one, &other, "rows", LEN).unwrap();
    let mut target = DeviceBuffer::zeroed(&other, "target", LEN).unwrap();
    let transfer = |target: &mut DeviceBuffer<u8>, (from, to, count): (usize, usize, usize)| {
        channel.send(&sending, &source, from..from + count)?;
        sent.record(&sending)?;
        receiving.wait_event(&sent)?;
        channel.receive(&receiving, count, target, to)?;
        received.record(&receiving)?;
        sending.wait_event(&received)
    };
    for odd in ODD {
        sending.synchronize().unwrap();
        receiving.zero(&mut target).unwrap();
        transfer(&mut target, odd).unwrap();
        sending.synchronize().unwrap();
        let (from, to, count) = odd;
        assert_eq!(contents(&target), expected(LEN, from, to, count));

        receiving.zero(&mut target).unwrap();
        receiving.synchronize().unwrap();
        let mut graph =
            Graph::capture::<CudaError>(&sending, || transfer(&mut target, odd)).unwrap();
        assert!(
            contents(&target).iter().all(|value| *value == 0),
            "captured, not run"
        );
        graph.launch(&sending).unwrap();
        sending.synchronize().unwrap();
        assert_eq!(contents(&target), expected(LEN, from, to, count));
    }

    let short = PeerChannel::<u8>::new(&one, &other, "rows", 8).unwrap();
    assert!(short.send(&sending, &source, 0..9).is_err());
    assert!(short.receive(&receiving, 9, &mut target, 0).is_err());
    assert!(short.send(&sending, &source, LEN - 1..LEN + 1).is_err());
    assert!(short.receive(&receiving, 2, &mut target, LEN - 1).is_err());
    drop((channel, short));
    assert_eq!(one.take_drop_errors(), (0, None));
    assert_eq!(other.take_drop_errors(), (0, None));
}

/// The peer channel and the buffers are dropped while a graph that uses them exists.
#[test]
fn a_graph_keeps_the_memory_of_its_peer_channels() {
    let Some([one, other]) = pair("graphs with peer channels") else {
        return;
    };
    let stream = Stream::new(&one, Priority::Normal).unwrap();
    let receiving = Stream::new(&other, Priority::Normal).unwrap();
    let [sent, received] = [&one, &other].map(|context| Event::new(context, Timing::Off).unwrap());
    let mut graph = {
        let channel = PeerChannel::<u8>::new(&one, &other, "rows", LEN).unwrap();
        let source = filled(&one, &bytes(LEN));
        let mut target = DeviceBuffer::zeroed(&other, "target", LEN).unwrap();
        Graph::capture::<CudaError>(&stream, || {
            channel.send(&stream, &source, 0..LEN)?;
            sent.record(&stream)?;
            receiving.wait_event(&sent)?;
            channel.receive(&receiving, LEN, &mut target, 0)?;
            received.record(&receiving)?;
            stream.wait_event(&received)
        })
        .unwrap()
    };
    let others = filled(&other, &vec![9; LEN]);
    for _ in 0..10 {
        graph.launch(&stream).unwrap();
    }
    stream.synchronize().unwrap();
    assert!(contents(&others).iter().all(|value| *value == 9));
    drop(graph);
    assert_eq!(one.take_drop_errors(), (0, None));
    assert_eq!(other.take_drop_errors(), (0, None));
}

#[test]
fn the_default_stream_works_and_cannot_be_captured() {
    let Some(context) = device("the default stream") else {
        return;
    };
    let module = Module::load(&context, &kernels()).unwrap();
    let mut data = DeviceBuffer::<f32>::zeroed(&context, "data", 1000).unwrap();
    let mut staging = Staging::new(&context);
    let values = super::ramp(1000);
    for _ in 0..2 {
        // Dropping the handle does not destroy the driver's stream.
        let stream = Stream::legacy_default(&context);
        staging
            .upload(&stream, bytemuck::cast_slice(&values), &mut data)
            .unwrap();
        let kernel = Scale {
            data: data.write(),
            count: 1000,
            factor: 4.0,
        };
        super::launch(&module, &stream, &kernel, Work::Elements(1000));
        let mut back = vec![0.0_f32; 1000];
        staging
            .download(&stream, &data, bytemuck::cast_slice_mut(&mut back))
            .unwrap();
        assert!(
            back.iter()
                .zip(&values)
                .all(|(got, sent)| *got == 4.0 * sent)
        );
        assert!(stream.is_idle().unwrap());
        let refused = Graph::capture::<CudaError>(&stream, || stream.zero(&mut data));
        assert!(matches!(refused, Err(CudaError::Captured { .. })));
    }
    let blocks = module
        .resident_blocks(&Scale {
            data: data.write(),
            count: 1000,
            factor: 1.0,
        })
        .unwrap();
    // All architectures so far allow at most 2048 threads per multiprocessor.
    assert!((1..=8).contains(&blocks), "{blocks}");
    assert_eq!(context.take_drop_errors(), (0, None));
}

#[test]
fn events_of_a_graph_time_every_launch_and_live_as_long_as_the_graph() {
    let Some(context) = device("events in graphs") else {
        return;
    };
    let module = Module::load(&context, &kernels()).unwrap();
    let stream = Stream::new(&context, Priority::Normal).unwrap();
    let len = 1 << 24;
    let mut data = DeviceBuffer::<f32>::zeroed(&context, "data", len).unwrap();
    let event = || Event::new(&context, Timing::On).unwrap();
    let (origin, start, end) = (event(), event(), event());
    let mut graph = Graph::capture::<GpuError>(&stream, || {
        start.record_in_graph(&stream)?;
        let kernel = Scale {
            data: data.write(),
            count: len as u32,
            factor: 2.0,
        };
        module.launch::<GpuError>(&stream, &kernel, Work::Elements(len))?;
        Ok(end.record_in_graph(&stream)?)
    })
    .unwrap();
    origin.record(&stream).unwrap();
    let mut last = 0.0;
    for _ in 0..3 {
        graph.launch(&stream).unwrap();
        stream.synchronize().unwrap();
        let begin = start.elapsed_ms(&origin).unwrap();
        let took = end.elapsed_ms(&start).unwrap();
        // The kernel moves 128 MB, which takes longer than a microsecond.
        assert!(begin >= last && took > 1e-3, "{begin} ms, {took} ms");
        last = begin + took;
    }
    drop((start, end));
    graph.launch(&stream).unwrap();
    stream.synchronize().unwrap();
    drop(graph);
    assert_eq!(context.take_drop_errors(), (0, None));
}

//! Graphs: what they run, which memory they keep, and what they cannot contain.

use std::io::Write as _;
use std::sync::Arc;

use warpstride_cuda::cuda::{
    Context, CudaError, DeviceBuffer, Graph, Module, PinnedBuffer, PinnedKind, Priority, Staging,
    Stream, copy_between, enable_peer_access, list_devices,
};
use warpstride_cuda::gpu::GpuError;
use warpstride_device::launch::Work;

use super::test_ptx::{Scale, kernels};
use super::{device, ramp};

#[test]
fn a_graph_runs_the_captured_launches() {
    let Some(context) = device("graphs") else {
        return;
    };
    let module = Module::load(&context, &kernels()).unwrap();
    let stream = Stream::new(&context, Priority::Normal).unwrap();
    let mut staging = Staging::new(&context);
    let values = ramp(5000);
    let mut data = DeviceBuffer::<f32>::zeroed(&context, "data", 5000).unwrap();
    let mut kept = DeviceBuffer::<f32>::zeroed(&context, "kept", 5000).unwrap();
    let mut graph = Graph::capture::<GpuError>(&stream, || {
        for factor in [2.0, 8.0] {
            let kernel = Scale {
                data: data.write(),
                count: 5000,
                factor,
            };
            module.launch::<GpuError>(&stream, &kernel, Work::Elements(5000))?;
        }
        Ok(stream.copy(&data, &mut kept)?)
    })
    .unwrap();
    assert_eq!(graph.nodes(), 3);
    staging
        .upload(&stream, bytemuck::cast_slice(&values), &mut data)
        .unwrap();
    for times in 1..=3 {
        graph.launch(&stream).unwrap();
        let mut back = vec![0.0_f32; 5000];
        staging
            .download(&stream, &kept, bytemuck::cast_slice_mut(&mut back))
            .unwrap();
        let factor = 16.0_f32.powi(times);
        assert!(
            back.iter()
                .zip(&values)
                .all(|(got, sent)| *got == factor * sent)
        );
    }

    // Buffers dropped while the graph exists are kept, so launching it is still sound.
    let free = context.memory().unwrap().free;
    drop((data, kept, module));
    graph.launch(&stream).unwrap();
    stream.synchronize().unwrap();
    drop(graph);
    assert!(context.memory().unwrap().free >= free);
    assert_eq!(context.take_drop_errors(), (0, None));
}

#[test]
fn copies_with_the_host_cannot_be_captured_and_the_stream_stays_usable() {
    let Some(context) = device("capture") else {
        return;
    };
    let stream = Stream::new(&context, Priority::Normal).unwrap();
    let mut data = DeviceBuffer::<f32>::zeroed(&context, "data", 16).unwrap();
    let new = || PinnedBuffer::<f32>::zeroed(&context, PinnedKind::Plain, "p", 16).unwrap();
    let pinned = new();
    let error = Graph::capture::<CudaError>(&stream, || {
        stream.upload(pinned, &mut data, 0)?.wait()?;
        Ok(())
    })
    .unwrap_err();
    assert!(matches!(error, CudaError::Captured { .. }), "{error}");
    stream.upload(new(), &mut data, 0).unwrap().wait().unwrap();
    assert_eq!(context.take_drop_errors(), (0, None));
}

/// A buffer with the same value everywhere, uploaded from the host.
fn filled(context: &Arc<Context>, stream: &Stream, len: usize, value: f32) -> DeviceBuffer<f32> {
    let mut buffer = DeviceBuffer::zeroed(context, "filled", len).unwrap();
    let pinned = PinnedBuffer::from_slice(context, PinnedKind::Plain, "v", &vec![value; len]);
    let sent = stream.upload(pinned.unwrap(), &mut buffer, 0).unwrap();
    sent.wait().unwrap();
    buffer
}

/// The contents of a buffer after all queued work.
fn contents(stream: &Stream, buffer: &DeviceBuffer<f32>) -> Vec<f32> {
    let mut back = vec![0.0_f32; buffer.len()];
    Staging::new(buffer.context())
        .download(stream, buffer, bytemuck::cast_slice_mut(&mut back))
        .unwrap();
    back
}

/// Elements of a buffer that gets its own allocation of the driver, so that memory freed too early
/// would be reused by the next buffer of this size.
const LARGE: usize = 3 << 20;

#[test]
fn a_device_has_one_context_so_a_graph_keeps_memory_of_either_handle() {
    let Some(context) = device("one context") else {
        return;
    };
    let again = Context::new(0).unwrap();
    assert!(Arc::ptr_eq(&context, &again));

    let stream = Stream::new(&context, Priority::Normal).unwrap();
    let from = filled(&again, &stream, LARGE, 3.0);
    let mut to = DeviceBuffer::<f32>::zeroed(&context, "to", LARGE).unwrap();
    let mut graph = Graph::capture::<CudaError>(&stream, || stream.copy(&from, &mut to)).unwrap();
    drop(from);
    let _next = filled(&again, &stream, LARGE, 5.0);
    graph.launch(&stream).unwrap();
    assert!(contents(&stream, &to).iter().all(|value| *value == 3.0));
    drop(graph);
    assert_eq!(context.take_drop_errors(), (0, None));
}

#[test]
fn copies_between_devices_and_graphs_in_graphs_are_refused() {
    let Some(context) = device("refused captures") else {
        return;
    };
    let stream = Stream::new(&context, Priority::Normal).unwrap();
    let from = filled(&context, &stream, 1000, 7.0);
    let mut to = DeviceBuffer::<f32>::zeroed(&context, "to", 1000).unwrap();
    let error = Graph::capture::<CudaError>(&stream, || copy_between(&stream, &from, &mut to));
    assert!(
        matches!(error, Err(CudaError::Captured { .. })),
        "{error:?}"
    );
    let mut zero = Graph::capture::<CudaError>(&stream, || stream.zero(&mut to)).unwrap();
    let error = Graph::capture::<CudaError>(&stream, || zero.launch(&stream));
    assert!(
        matches!(error, Err(CudaError::Captured { .. })),
        "{error:?}"
    );

    // The same copy without a capture; a device is its own peer.
    copy_between(&stream, &from, &mut to).unwrap();
    assert_eq!(contents(&stream, &to), [7.0; 1000]);
    zero.launch(&stream).unwrap();
    assert_eq!(contents(&stream, &to), [0.0; 1000]);
}

/// A capture is the first CUDA call of a thread, which has no current context yet.
#[test]
fn a_new_thread_can_capture() {
    let Some(context) = device("new thread") else {
        return;
    };
    let stream = Stream::new(&context, Priority::Normal).unwrap();
    let mut data = filled(&context, &stream, 1000, 2.0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut graph =
                Graph::capture::<CudaError>(&stream, || stream.zero(&mut data)).unwrap();
            graph.launch(&stream).unwrap();
        });
    });
    assert_eq!(contents(&stream, &data), [0.0; 1000]);
}

/// Copies with the host, queued by one thread while another one captures the same stream, run or
/// are refused, but are never captured.
#[test]
fn a_capture_by_another_thread_contains_no_host_memory() {
    let Some(context) = device("capturing and copying threads") else {
        return;
    };
    let stream = Stream::new(&context, Priority::Normal).unwrap();
    let mut zeroed = filled(&context, &stream, 1000, 2.0);
    let mut target = DeviceBuffer::<f32>::zeroed(&context, "target", 1000).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..300 {
                let values = PinnedBuffer::<f32>::zeroed(&context, PinnedKind::Plain, "p", 1000);
                match stream.upload(values.unwrap(), &mut target, 0) {
                    Ok(copy) => assert_eq!(copy.wait().unwrap().len(), 1000),
                    Err(error) => {
                        assert!(matches!(error, CudaError::Captured { .. }), "{error}");
                    }
                }
            }
        });
        for _ in 0..300 {
            let mut graph =
                Graph::capture::<CudaError>(&stream, || stream.zero(&mut zeroed)).unwrap();
            assert_eq!(graph.nodes(), 1);
            graph.launch(&stream).unwrap();
        }
    });
    assert_eq!(context.take_drop_errors(), (0, None));
}

#[test]
fn a_graph_keeps_memory_of_another_device() {
    let Some(here) = device("graphs over peers") else {
        return;
    };
    if list_devices().unwrap().len() < 2 {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED graphs over peers: there is only one device"
        );
        return;
    }
    let there = Context::new(1).unwrap();
    if !enable_peer_access(&here, &there).unwrap() {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED graphs over peers: the devices have no peer access"
        );
        return;
    }
    let module = Module::load(&here, &kernels()).unwrap();
    let stream = Stream::new(&here, Priority::Normal).unwrap();
    let far_stream = Stream::new(&there, Priority::Normal).unwrap();
    let mut far = filled(&there, &far_stream, LARGE, 1.0);
    let mut graph = Graph::capture::<GpuError>(&stream, || {
        let kernel = Scale {
            data: far.write(),
            count: LARGE as u32,
            factor: 2.0,
        };
        module.launch::<GpuError>(&stream, &kernel, Work::Elements(LARGE))
    })
    .unwrap();
    drop(far);
    let next = filled(&there, &far_stream, LARGE, 5.0);
    graph.launch(&stream).unwrap();
    stream.synchronize().unwrap();
    assert!(
        contents(&far_stream, &next)
            .iter()
            .all(|value| *value == 5.0)
    );
    drop(graph);
    assert_eq!(here.take_drop_errors(), (0, None));
    assert_eq!(there.take_drop_errors(), (0, None));
}

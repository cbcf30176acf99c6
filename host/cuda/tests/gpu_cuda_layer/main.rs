//! The CUDA layer on a real device. Without one, every test prints that it is skipped.
//!
//! Oracles: values that come back from the device unchanged; kernels whose result is exact in
//! single precision (scaling by a power of two, reversing); and, for leaks, the free memory that
//! the driver reports.

#![expect(unsafe_code, reason = "typed launches of hand-written PTX")]

mod devices;
mod graphs;
#[path = "../test_ptx/mod.rs"]
mod test_ptx;

use std::ffi::c_void;
use std::io::Write as _;
use std::sync::Arc;

use warpstride_cuda::cuda::{
    Context, CudaError, DeviceBuffer, Event, Kernels, Module, PinnedBuffer, PinnedKind, Priority,
    ReadBackPool, Staging, Stream, Timing, copy_between, enable_peer_access, list_devices,
};
use warpstride_cuda::gpu::GpuError;
use warpstride_device::launch::{Cuda, ExtentError, KernelInfo, Launch, Work, Write};

use test_ptx::{Scale, fits, info, kernels};

/// Reverses `data` through the shared memory of one block.
struct Reverse<'a> {
    data: Write<'a, Cuda, f32>,
    count: u32,
}

// SAFETY: `check` compares every extent; the parameters are those of the PTX entry, in its order.
unsafe impl Launch<Cuda> for Reverse<'_> {
    const INFO: KernelInfo = info("reverse", 1024);

    fn check(&self) -> Result<(), ExtentError> {
        fits("reverse", self.count, self.data.len())
    }

    fn with_params<R>(&self, launch: impl FnOnce(&mut [*mut c_void]) -> R) -> R {
        let (mut data, mut count) = (self.data.as_ptr(), self.count);
        launch(&mut [(&raw mut data).cast(), (&raw mut count).cast()])
    }

    fn dynamic_shared_bytes(&self, _: u32) -> usize {
        self.count as usize * size_of::<f32>()
    }

    unsafe fn run_thread(&self) {}
}

/// Device 0. Without one, prints that the test is skipped and returns `None`.
fn device(test: &str) -> Option<Arc<Context>> {
    match Context::new(0) {
        Ok(context) => Some(context),
        Err(why) if why.no_device() => {
            // Not `eprintln!`, whose output the test harness shows for failed tests only.
            let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {why}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Launches a kernel and panics on an error.
fn launch<L: Launch<Cuda>>(module: &Module, stream: &Stream, kernel: &L, work: Work) {
    module
        .launch::<GpuError>(stream, kernel, work)
        .unwrap_or_else(|error| panic!("{error}"));
}

fn ramp(len: usize) -> Vec<f32> {
    (0..len).map(|i| i as f32 - 3.5).collect()
}

#[test]
fn copies_preserve_values_for_every_kind_of_memory() {
    let Some(context) = device("copies") else {
        return;
    };
    let stream = Stream::new(&context, Priority::High).unwrap();
    for kind in [
        PinnedKind::Plain,
        PinnedKind::WriteCombined,
        PinnedKind::Portable,
    ] {
        for len in [0, 1, 1023, 100_003] {
            let values = ramp(len);
            let pinned = PinnedBuffer::from_slice(&context, kind, "values", &values).unwrap();
            let mut one = DeviceBuffer::zeroed(&context, "one", len).unwrap();
            let mut other = DeviceBuffer::zeroed(&context, "other", len).unwrap();
            let sent = stream.upload(pinned, &mut one, 0).unwrap();
            stream.copy(&one, &mut other).unwrap();
            stream.zero(&mut one).unwrap();
            let back = PinnedBuffer::zeroed(&context, PinnedKind::Plain, "back", len).unwrap();
            let back = stream
                .download(&other, 0..len, back)
                .unwrap()
                .wait()
                .unwrap();
            assert_eq!(*back, values, "{kind:?}");
            assert_eq!(*sent.wait().unwrap(), values);
            let back = stream.download(&one, 0..len, back).unwrap().wait().unwrap();
            assert!(back.iter().all(|value| *value == 0.0));
        }
    }
}

#[test]
fn ranges_are_checked() {
    let Some(context) = device("ranges") else {
        return;
    };
    let stream = Stream::new(&context, Priority::Normal).unwrap();
    let mut buffer = DeviceBuffer::<f32>::zeroed(&context, "values", 10).unwrap();
    let four = |values: [f32; 4]| {
        PinnedBuffer::from_slice(&context, PinnedKind::Plain, "four", &values).unwrap()
    };
    let sent = four([1.0, 2.0, 3.0, 4.0]);
    let back = stream.upload(sent, &mut buffer, 5).unwrap().wait().unwrap();
    let back = stream
        .download(&buffer, 6..9, back)
        .unwrap()
        .wait()
        .unwrap();
    assert_eq!(*back, [2.0, 3.0, 4.0, 4.0]);
    assert!(stream.upload(back, &mut buffer, 7).is_err());
    assert!(
        stream
            .upload(four([0.0; 4]), &mut buffer, usize::MAX)
            .is_err()
    );
    assert!(stream.download(&buffer, 8..11, four([0.0; 4])).is_err());
    assert!(stream.download(&buffer, 0..5, four([0.0; 4])).is_err());
    assert_eq!(buffer.read_range(3..7).unwrap().len(), 4);
    assert!(buffer.write_range(3..11).is_err());
}

#[test]
fn a_shared_buffer_is_uploaded_in_ranges_and_downloaded_in_parts() {
    let Some(context) = device("shared buffers") else {
        return;
    };
    let stream = Stream::new(&context, Priority::Normal).unwrap();
    let values = ramp(1 << 20);
    let len = values.len();
    let shared = PinnedBuffer::from_slice(&context, PinnedKind::Plain, "values", &values);
    let mut shared = Arc::new(shared.unwrap());
    let mut buffer = DeviceBuffer::zeroed(&context, "values", len).unwrap();
    // The two halves are swapped.
    let half = len / 2;
    let sent = [(0..half, half), (half..len, 0)].map(|(range, at)| {
        stream
            .upload_shared(&shared, range, &mut buffer, at)
            .unwrap()
    });
    assert_eq!(shared[1], values[1], "readable while copies hold it");
    assert!(Arc::get_mut(&mut shared).is_none());
    let back = PinnedBuffer::zeroed(&context, PinnedKind::Plain, "back", 7).unwrap();
    let parts = [half..half + 3, 0..0, len - 2..len, 0..2];
    let back = stream.download_parts(&buffer, &parts, back).unwrap();
    let expected = [
        values[0],
        values[1],
        values[2],
        values[half - 2],
        values[half - 1],
        values[half],
        values[half + 1],
    ];
    assert_eq!(*back.wait().unwrap(), expected);
    for copy in sent {
        copy.wait().unwrap();
    }
    assert!(Arc::get_mut(&mut shared).is_some());

    for (range, at) in [(half..len + 1, 0), (0..half, half + 1), (0..1, usize::MAX)] {
        let refused = stream.upload_shared(&shared, range, &mut buffer, at);
        assert!(refused.is_err());
    }
    let seven = || PinnedBuffer::zeroed(&context, PinnedKind::Plain, "back", 7).unwrap();
    for parts in [[0..4, 0..4], [0..1, len..len + 1]] {
        assert!(stream.download_parts(&buffer, &parts, seven()).is_err());
    }
    // A dropped copy waits; a leaked one keeps the memory.
    drop(
        stream
            .upload_shared(&shared, 0..len, &mut buffer, 0)
            .unwrap(),
    );
    std::mem::forget(
        stream
            .upload_shared(&shared, 0..len, &mut buffer, 0)
            .unwrap(),
    );
    drop(shared);
    drop(buffer);
    assert_eq!(context.take_drop_errors(), (0, None));
}

/// A dropped transfer waits, and a leaked one leaks its buffer: neither releases the memory too
/// early, which would make the following copy fail.
#[test]
fn transfers_may_be_dropped_and_leaked() {
    let Some(context) = device("dropped transfers") else {
        return;
    };
    let stream = Stream::new(&context, Priority::Normal).unwrap();
    let values = ramp(1 << 22);
    let new = || PinnedBuffer::from_slice(&context, PinnedKind::Plain, "values", &values).unwrap();
    let mut buffer = DeviceBuffer::zeroed(&context, "values", values.len()).unwrap();
    drop(stream.upload(new(), &mut buffer, 0).unwrap());
    std::mem::forget(stream.upload(new(), &mut buffer, 0).unwrap());
    let transfer = stream.upload(new(), &mut buffer, 0).unwrap();
    drop(buffer);
    assert_eq!(*transfer.wait().unwrap(), values);
    assert_eq!(context.take_drop_errors(), (0, None));
}

#[test]
fn events_order_streams_and_measure_time() {
    let Some(context) = device("events") else {
        return;
    };
    let module = Module::load(&context, &kernels()).unwrap();
    let first = Stream::new(&context, Priority::Normal).unwrap();
    let second = Stream::new(&context, Priority::High).unwrap();
    let len = 1 << 24;
    let mut data = DeviceBuffer::<f32>::zeroed(&context, "data", len).unwrap();
    let ones = PinnedBuffer::from_slice(&context, PinnedKind::Plain, "ones", &vec![1.0; len]);
    let (start, end) = (
        Event::new(&context, Timing::On).unwrap(),
        Event::new(&context, Timing::On).unwrap(),
    );
    assert!(
        start.is_passed().unwrap(),
        "an event that was never recorded is passed"
    );
    start.record(&first).unwrap();
    let sent = first.upload(ones.unwrap(), &mut data, 0).unwrap();
    for _ in 0..20 {
        let kernel = Scale {
            data: data.write(),
            count: len as u32,
            factor: 2.0,
        };
        launch(&module, &first, &kernel, Work::Elements(len));
    }
    end.record(&first).unwrap();
    second.wait_event(&end).unwrap();
    let back = PinnedBuffer::zeroed(&context, PinnedKind::Plain, "back", 8).unwrap();
    let back = second
        .download(&data, len - 8..len, back)
        .unwrap()
        .wait()
        .unwrap();
    assert_eq!(*back, [1_048_576.0; 8]);
    assert!(end.is_passed().unwrap());
    let milliseconds = end.elapsed_ms(&start).unwrap();
    assert!(
        milliseconds > 0.0 && milliseconds < 1e4,
        "{milliseconds} ms"
    );
    sent.wait().unwrap();
    assert!(first.is_idle().unwrap());
    let untimed = Event::new(&context, Timing::Off).unwrap();
    untimed.record(&first).unwrap();
    assert!(untimed.elapsed_ms(&start).is_err());
}

#[test]
fn launches_reach_every_element_and_check_arguments() {
    let Some(context) = device("launches") else {
        return;
    };
    let module = Module::load(&context, &kernels()).unwrap();
    let stream = Stream::new(&context, Priority::Normal).unwrap();
    let mut staging = Staging::new(&context);
    for len in [0, 1, 255, 257, 70_001, 10_000_019] {
        let values = ramp(len);
        let mut data = DeviceBuffer::<f32>::zeroed(&context, "data", len).unwrap();
        staging
            .upload(&stream, bytemuck::cast_slice(&values), &mut data)
            .unwrap();
        let kernel = Scale {
            data: data.write(),
            count: len as u32,
            factor: -4.0,
        };
        launch(&module, &stream, &kernel, Work::Elements(len));
        let mut back = vec![0.0_f32; len];
        staging
            .download(&stream, &data, bytemuck::cast_slice_mut(&mut back))
            .unwrap();
        assert!(
            back.iter()
                .zip(&values)
                .all(|(got, sent)| *got == -4.0 * sent),
            "{len}"
        );
        let too_long = Scale {
            data: data.write(),
            count: len as u32 + 1,
            factor: 1.0,
        };
        let error = module
            .launch::<GpuError>(&stream, &too_long, Work::Elements(len + 1))
            .unwrap_err();
        assert!(matches!(error, GpuError::Extent(_)), "{error}");
    }
}

#[test]
fn a_block_can_have_more_than_48_kib_of_shared_memory_up_to_the_limit() {
    let Some(context) = device("shared memory") else {
        return;
    };
    let module = Module::load(&context, &kernels()).unwrap();
    let stream = Stream::new(&context, Priority::Normal).unwrap();
    let mut staging = Staging::new(&context);
    for count in [1000_usize, 12_288, 12_289, 40_000] {
        let values = ramp(count);
        let mut data = DeviceBuffer::<f32>::zeroed(&context, "data", count).unwrap();
        staging
            .upload(&stream, bytemuck::cast_slice(&values), &mut data)
            .unwrap();
        let kernel = Reverse {
            data: data.write(),
            count: count as u32,
        };
        launch(&module, &stream, &kernel, Work::Grid([1, 1, 1]));
        let mut back = vec![0.0_f32; count];
        staging
            .download(&stream, &data, bytemuck::cast_slice_mut(&mut back))
            .unwrap();
        assert!(back.iter().eq(values.iter().rev()), "{count}");
    }
    let mut data = DeviceBuffer::<f32>::zeroed(&context, "data", 100_000).unwrap();
    let kernel = Reverse {
        data: data.write(),
        count: 100_000,
    };
    let error = module
        .launch::<GpuError>(&stream, &kernel, Work::Grid([1, 1, 1]))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("reverse") && error.contains("400000"),
        "{error}"
    );
}

#[test]
fn the_error_of_bad_ptx_contains_the_log_of_the_compiler() {
    let Some(context) = device("bad PTX") else {
        return;
    };
    let bad = Kernels::new(
        80,
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k() { nonsense; }\n",
    );
    let error = Module::load(&context, &bad).unwrap_err();
    assert_eq!(error.code(), Some(218), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("CUDA_ERROR_INVALID_PTX") && text.contains("nonsense"),
        "{text}"
    );
    let newer = Kernels::new(
        80,
        ".version 99.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n",
    );
    let error = Module::load(&context, &newer).unwrap_err();
    assert_eq!(error.code(), Some(222), "{error}");
    assert!(
        error.to_string().contains("newer than the driver"),
        "{error}"
    );
}

#[test]
fn running_out_of_memory_is_an_error_with_purpose_and_sizes() {
    let Some(context) = device("out of memory") else {
        return;
    };
    let total = context.memory().unwrap().total;
    let error = DeviceBuffer::<u8>::zeroed(&context, "all frames", 2 * total).unwrap_err();
    let text = error.to_string();
    assert!(
        matches!(error, CudaError::OutOfMemory { needed, .. } if needed == 2 * total),
        "{text}"
    );
    assert!(
        text.contains("all frames") && text.contains(&total.to_string()),
        "{text}"
    );
    assert!(DeviceBuffer::<u64>::zeroed(&context, "more", usize::MAX / 2).is_err());
    // The context is still usable.
    DeviceBuffer::<u8>::zeroed(&context, "some", 1000).unwrap();
}

#[test]
fn memory_does_not_leak() {
    let Some(context) = device("leaks") else {
        return;
    };
    let stream = Stream::new(&context, Priority::Normal).unwrap();
    let cycle = || {
        let mut device = DeviceBuffer::<u8>::zeroed(&context, "cycle", 8 << 20).unwrap();
        let pinned = PinnedBuffer::zeroed(&context, PinnedKind::Plain, "cycle", 4096).unwrap();
        drop(stream.upload(pinned, &mut device, 0).unwrap());
    };
    cycle();
    let before = context.memory().unwrap().free;
    for _ in 0..1000 {
        cycle();
    }
    // 1000 leaked buffers would be 8 GB; other programs may allocate a little meanwhile.
    let after = context.memory().unwrap().free;
    assert!(
        after + (512 << 20) >= before,
        "{before} bytes free before, {after} after"
    );
    assert_eq!(context.take_drop_errors(), (0, None));
}

#[test]
fn read_backs_have_the_values_of_the_time_of_the_call() {
    let Some(context) = device("read-backs") else {
        return;
    };
    let module = Module::load(&context, &kernels()).unwrap();
    let stream = Stream::new(&context, Priority::Normal).unwrap();
    let pool = ReadBackPool::new(&context);
    let mut data = DeviceBuffer::<f32>::zeroed(&context, "data", 300).unwrap();
    let ones = PinnedBuffer::from_slice(&context, PinnedKind::Plain, "ones", &[1.0; 300]).unwrap();
    let sent = stream.upload(ones, &mut data, 0).unwrap();
    let read_backs: Vec<_> = (0..10)
        .map(|_| {
            let now = pool.read_back(&stream, &data).unwrap();
            drop(pool.read_back(&stream, &data).unwrap());
            let kernel = Scale {
                data: data.write(),
                count: 300,
                factor: 2.0,
            };
            launch(&module, &stream, &kernel, Work::Elements(300));
            now
        })
        .collect();
    for (power, values) in read_backs.into_iter().enumerate() {
        assert_eq!(values.wait().unwrap(), [(1_u32 << power) as f32; 300]);
    }
    sent.wait().unwrap();
}

#[test]
fn peers_copy_between_two_devices() {
    let Some(near) = device("peers") else { return };
    if list_devices().unwrap().len() < 2 {
        let _ = writeln!(std::io::stderr(), "SKIPPED peers: there is only one device");
        return;
    }
    let far = Context::new(1).unwrap();
    let direct = enable_peer_access(&near, &far).unwrap();
    assert_eq!(direct, list_devices().unwrap()[0].peers[0].direct);
    let (from_stream, to_stream) = (
        Stream::new(&far, Priority::Normal).unwrap(),
        Stream::new(&near, Priority::Normal).unwrap(),
    );
    let values = ramp(100_001);
    let pinned = PinnedBuffer::from_slice(&far, PinnedKind::Portable, "values", &values).unwrap();
    let mut from = DeviceBuffer::zeroed(&far, "from", values.len()).unwrap();
    let mut to = DeviceBuffer::zeroed(&near, "to", values.len()).unwrap();
    let sent = from_stream.upload(pinned, &mut from, 0).unwrap();
    let ready = Event::new(&far, Timing::Off).unwrap();
    ready.record(&from_stream).unwrap();
    to_stream.wait_event(&ready).unwrap();
    copy_between(&to_stream, &from, &mut to).unwrap();
    drop(from);
    let back = sent.wait().unwrap();
    let back = to_stream
        .download(&to, 0..values.len(), back)
        .unwrap()
        .wait()
        .unwrap();
    assert_eq!(*back, values);

    let error = to_stream.copy(&to, &mut DeviceBuffer::zeroed(&far, "x", 100_001).unwrap());
    assert!(matches!(error, Err(CudaError::OtherDevice { .. })));
}

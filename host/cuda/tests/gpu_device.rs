//! [`CudaDevice`] and its transforms on a real device. Without one, every test prints that it is
//! skipped.
//!
//! Oracles: RustFFT in double precision for cuFFT; the emulator, which runs the same kernel source
//! with RustFFT, for the operations of the device; and values that come back unchanged.

use std::io::Write as _;
use std::sync::Arc;

use num_complex::Complex;
use warpstride_cuda::cuda::{
    Context, DeviceBuffer, FftDirection, FftWorkspace, Kernels, Priority, Staging, Stream,
};
use warpstride_cuda::gpu::{CudaDevice, Device, Direction, EmulatedDevice, ProfileSpan, ReadBack};
use warpstride_device::Complex32;
use warpstride_device::launch::{Launch, Work};
use warpstride_fft::FftPlanner;
use warpstride_kernels::ptycho::exit_wave_build::PtychoExitWaveBuild;

fn kernels() -> Kernels {
    Kernels::new(80, warpstride_ptx::PTYCHO[0].text()).only(|name| name == "ptycho_exit_wave_build")
}

fn ramp(len: usize) -> Vec<f32> {
    (0..len).map(|i| i as f32 - 3.5).collect()
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

fn expected_fft(
    values: &[Complex32],
    rows: usize,
    columns: usize,
    forward: bool,
) -> Vec<Complex<f64>> {
    let mut planner = FftPlanner::new();
    let mut plan = |len| {
        if forward {
            planner.plan_fft_forward(len)
        } else {
            planner.plan_fft_inverse(len)
        }
    };
    let (along_row, along_column) = (plan(columns), plan(rows));
    let mut frame: Vec<_> = values
        .iter()
        .map(|value| Complex::new(f64::from(value.re), f64::from(value.im)))
        .collect();
    along_row.process(&mut frame);
    for column in 0..columns {
        let mut line: Vec<_> = (0..rows).map(|row| frame[row * columns + column]).collect();
        along_column.process(&mut line);
        for (row, value) in line.into_iter().enumerate() {
            frame[row * columns + column] = value;
        }
    }
    frame
}

/// Own transforms in place and out of place, in both directions, whatever the table of choices
/// says.
#[test]
fn own_transforms_agree_with_rustfft() {
    if device("own transforms").is_none() {
        return;
    }
    let device = CudaDevice::new(0, &Kernels::default()).unwrap();
    for (rows, columns, batch) in [
        (64, 64, 1),
        (64, 64, 300),
        (128, 128, 3),
        (128, 128, 200),
        (256, 256, 5),
        (512, 512, 3),
        (512, 64, 2),
        (96, 160, 3),
        (192, 240, 1),
        (320, 96, 2),
        (480, 384, 2),
    ] {
        let (frame, plan) = (
            rows * columns,
            device.plan_own_fft(&[rows, columns], batch).unwrap(),
        );
        let sent: Vec<_> = (0..frame * batch)
            .map(|i| Complex32::new((i as f32 * 0.37).sin(), (i as f32 * 1.71).cos()))
            .collect();
        for (direction, forward) in [(Direction::Forward, true), (Direction::Inverse, false)] {
            let mut from = device.alloc::<Complex32>("source", sent.len()).unwrap();
            let mut to = device.alloc::<Complex32>("target", sent.len()).unwrap();
            device.upload(&mut from, &sent).unwrap();
            device.fft_to(&plan, &from, &mut to, direction).unwrap();
            device.fft(&plan, &mut from, direction).unwrap();
            let [mut found, mut in_place] = [0, 1].map(|_| sent.clone());
            device.download(&to, &mut found).unwrap();
            device.download(&from, &mut in_place).unwrap();
            assert_eq!(found, in_place);
            // The first and the last frame.
            for start in [0, frame * (batch - 1)] {
                let part = start..start + frame;
                let expected = expected_fft(&sent[part.clone()], rows, columns, forward);
                let norm: f64 = expected.iter().map(Complex::norm_sqr).sum();
                let error: f64 = found[part]
                    .iter()
                    .zip(&expected)
                    .map(|(g, e)| (Complex::new(f64::from(g.re), f64::from(g.im)) - e).norm_sqr())
                    .sum();
                let limit = 3e-7 * (frame as f64).log2();
                assert!(
                    error.sqrt() <= limit * norm.sqrt(),
                    "{batch} × {rows} × {columns}: {error} of {norm}"
                );
            }
        }
    }
}

#[test]
fn cufft_agrees_with_rustfft_at_any_shape() {
    let Some(context) = device("cuFFT") else {
        return;
    };
    let stream = Arc::new(Stream::new(&context, Priority::Normal).unwrap());
    let workspace = FftWorkspace::new(&stream).unwrap();
    let mut staging = Staging::new(&context);
    let shapes = [
        (1, 1, 1),
        (1, 16, 3),
        (16, 1, 3),
        (7, 13, 5),
        (31, 64, 2),
        (128, 128, 4),
        (101, 211, 2),
        (256, 96, 3),
    ];
    // All plans exist at once and share a work area, which grows after the first plans were
    // created.
    let plans: Vec<_> = shapes
        .iter()
        .map(|&(rows, columns, batch)| workspace.plan(&[rows, columns], batch).unwrap())
        .collect();
    for (&(rows, columns, batch), plan) in shapes.iter().zip(&plans) {
        let frame = rows * columns;
        let values: Vec<_> = (0..frame * batch)
            .map(|i| Complex32::new((i as f32 * 0.37).sin(), (i as f32 * 1.71).cos()))
            .collect();
        for (direction, forward) in [
            (FftDirection::Forward, true),
            (FftDirection::Inverse, false),
        ] {
            let mut data =
                DeviceBuffer::<Complex32>::zeroed(&context, "data", values.len()).unwrap();
            staging
                .upload(&stream, bytemuck::cast_slice(&values), &mut data)
                .unwrap();
            plan.execute(&mut data, direction).unwrap();
            let mut back = vec![Complex32::ZERO; values.len()];
            staging
                .download(&stream, &data, bytemuck::cast_slice_mut(&mut back))
                .unwrap();
            for (got, sent) in back.chunks(frame).zip(values.chunks(frame)) {
                let expected = expected_fft(sent, rows, columns, forward);
                let norm: f64 = expected.iter().map(Complex::norm_sqr).sum();
                let error: f64 = got
                    .iter()
                    .zip(&expected)
                    .map(|(g, e)| (Complex::new(f64::from(g.re), f64::from(g.im)) - e).norm_sqr())
                    .sum();
                // Rounding grows with the logarithm of the length: 1e-6 is 8 ulp.
                assert!(
                    error.sqrt() <= 1e-6 * norm.sqrt(),
                    "{rows} × {columns}: {error} of {norm}"
                );
            }
        }
    }
    let mut short = DeviceBuffer::<Complex32>::zeroed(&context, "short", 7 * 13).unwrap();
    assert!(plans[3].execute(&mut short, FftDirection::Forward).is_err());
    let error = workspace.plan(&[0, 5], 1).unwrap_err().to_string();
    assert!(error.contains("CUFFT_INVALID_SIZE"), "{error}");
}

/// Runs a kernel and a transform on a device; the CUDA device and the emulator must agree.
fn exit_waves<D: Device>(device: &D) -> (Vec<Complex32>, Vec<Complex32>)
where
    for<'a> PtychoExitWaveBuild<'a, D::Space>: Launch<D::Space> + Sync,
{
    use warpstride_cuda::gpu::Buffer as _;

    let (frames, modes, rows, columns) = (5_usize, 2_usize, 9_usize, 7_usize);
    let (object_rows, object_columns) = (23_usize, 31_usize);
    let wave = |len: usize, step: f32| -> Vec<Complex32> {
        (0..len)
            .map(|i| Complex32::new((i as f32 * step).sin(), (i as f32 * step).cos()))
            .collect()
    };
    let waves = frames * modes * rows * columns;
    let mut aux = device.alloc::<Complex32>("aux", waves).unwrap();
    let mut psi = device.alloc::<Complex32>("psi", waves).unwrap();
    let mut probe = device
        .alloc::<Complex32>("probe", modes * rows * columns)
        .unwrap();
    let mut object = device
        .alloc::<Complex32>("object", object_rows * object_columns)
        .unwrap();
    let mut corners = device.alloc::<[u32; 2]>("corners", frames).unwrap();
    device.upload(&mut psi, &wave(waves, 0.13)).unwrap();
    device
        .upload(&mut probe, &wave(modes * rows * columns, 0.71))
        .unwrap();
    device
        .upload(&mut object, &wave(object_rows * object_columns, 0.29))
        .unwrap();
    let corner_values: Vec<[u32; 2]> = (0..frames as u32).map(|f| [3 * f, 24 - 5 * f]).collect();
    device.upload(&mut corners, &corner_values).unwrap();
    let kernel = PtychoExitWaveBuild {
        aux: aux.write(),
        psi: psi.read(),
        probe: probe.read(),
        object: object.read(),
        corners: corners.read(),
        frames: frames as u32,
        modes: modes as u32,
        rows: rows as u32,
        columns: columns as u32,
        object_rows: object_rows as u32,
        object_columns: object_columns as u32,
        parts: 2,
        c_po: 1.5,
        c_psi: -0.5,
        psi_frames: frames as u32,
    };
    device.launch(&kernel, Work::Blocks(2 * frames)).unwrap();
    let before = device.read_back(&aux).unwrap();
    let plan = device.plan_fft(&[rows, columns], frames * modes).unwrap();
    device.fft(&plan, &mut aux, Direction::Forward).unwrap();
    let mut after = vec![Complex32::ZERO; waves];
    device.download(&aux, &mut after).unwrap();
    (before.wait().unwrap(), after)
}

#[test]
fn the_device_agrees_with_the_emulator() {
    if device("device against emulator").is_none() {
        return;
    }
    let device = CudaDevice::new(0, &kernels()).unwrap_or_else(|error| panic!("{error}"));
    let (got, expected) = (exit_waves(&device), exit_waves(&EmulatedDevice::new()));
    for (got, expected) in [(got.0, expected.0), (got.1, expected.1)] {
        let norm: f32 = expected.iter().map(|value| value.norm_sqr()).sum();
        let error: f32 = got
            .iter()
            .zip(&expected)
            .map(|(g, e)| (*g - *e).norm_sqr())
            .sum();
        assert!(error.sqrt() <= 1e-6 * norm.sqrt(), "{error} of {norm}");
    }
    let error = CudaDevice::new(4711, &kernels()).unwrap_err().to_string();
    assert!(error.contains("4711"), "{error}");
}

#[test]
fn copies_larger_than_the_staging_buffers_keep_their_values() {
    if device("staging").is_none() {
        return;
    }
    let device = CudaDevice::new(0, &kernels()).unwrap_or_else(|error| panic!("{error}"));
    let len = 15_000_001;
    let values = ramp(len);
    let mut buffer = device.alloc::<f32>("much", len).unwrap();
    device.upload(&mut buffer, &values).unwrap();
    let mut copy = device.alloc::<f32>("copy", len).unwrap();
    device.copy(&buffer, &mut copy).unwrap();
    device.zero(&mut buffer).unwrap();
    let mut back = vec![0.0_f32; len];
    device.download(&copy, &mut back).unwrap();
    assert!(back == values);
    device.download(&buffer, &mut back).unwrap();
    assert!(back.iter().all(|value| *value == 0.0));
    let milliseconds = device
        .time_ms(&mut || device.copy(&copy, &mut buffer))
        .unwrap();
    assert!(milliseconds > 0.0, "{milliseconds}");
    assert!(device.upload(&mut buffer, &values[1..]).is_err());
}

/// Each operation once, in the order of its stream; a graph as a whole, and nothing of what is
/// captured. Far more operations than may be pending: events are used again.
#[test]
fn a_profile_has_every_operation_in_the_order_of_its_stream() {
    if device("profile").is_none() {
        return;
    }
    let device = CudaDevice::new(0, &kernels()).unwrap_or_else(|error| panic!("{error}"));
    let len = 1 << 22;
    let mut buffer = device.alloc::<f32>("buffer", len).unwrap();
    let mut copy = device.alloc::<f32>("copy", len).unwrap();
    device.copy(&buffer, &mut copy).unwrap();
    assert_eq!(device.take_profile().unwrap(), []);

    // Its tables are uploaded here.
    let own = device.plan_own_fft(&[64, 64], 16).unwrap();
    device.start_profile().unwrap();
    device.upload(&mut buffer, &ramp(len)).unwrap();
    let captured = device.capture(&mut || device.copy(&buffer, &mut copy));
    let mut graph = captured.unwrap().unwrap();
    device.replay(&mut graph).unwrap();
    device.replay(&mut graph).unwrap();
    let pinned = Arc::new(device.pinned::<f32>("pinned", 4 * len).unwrap());
    let arriving = device.alloc::<f32>("arriving", 4 * len).unwrap();
    let parts = [0..len, 2 * len..4 * len];
    let arriving = device.send_beside(&pinned, &parts, arriving).unwrap();
    let fills = 5000;
    for _ in 0..fills {
        device.zero(&mut buffer).unwrap();
    }
    let arrived = device.arrived(arriving).unwrap();
    device.read_back(&arrived).unwrap().wait().unwrap();
    let plan = device.plan_cufft(&[64, 64], 16).unwrap();
    let mut waves = device.alloc::<Complex32>("waves", 16 << 12).unwrap();
    device.fft(&plan, &mut waves, Direction::Forward).unwrap();
    device.fft(&own, &mut waves, Direction::Inverse).unwrap();
    let spans = device.take_profile().unwrap();
    device.zero(&mut buffer).unwrap();
    assert_eq!(device.take_profile().unwrap(), []);

    let (beside, work): (Vec<_>, Vec<_>) = spans.iter().partition(|s| s.stream == "copies");
    let named = |spans: &[&ProfileSpan]| {
        let name_and_bytes = spans.iter().map(|span| (span.name, span.bytes));
        name_and_bytes.collect::<Vec<_>>()
    };
    assert_eq!(named(&beside), [("send", Some(12 * len))]);
    let bytes = Some(4 * len);
    let mut expected = vec![("upload", bytes), ("graph", None), ("graph", None)];
    expected.extend(vec![("fill", bytes); fills]);
    expected.push(("read back", Some(16 * len)));
    expected.push(("forward transform", None));
    assert_eq!(named(&work[..expected.len()]), expected);
    let kernels = &work[expected.len()..];
    let are_of_transforms = kernels.iter().all(|span| span.name.starts_with("fft_"));
    assert!(!kernels.is_empty() && are_of_transforms, "{kernels:?}");
    for spans in [&beside, &work] {
        assert!(spans.iter().all(|span| span.end_us >= span.start_us));
        let ordered = |pair: &[&ProfileSpan]| pair[1].start_us >= pair[0].end_us;
        assert!(spans.windows(2).all(ordered));
    }
    // 48 MiB over the link take longer than a fill of 16 MiB in device memory, so the first fills
    // run beside them.
    let at_once = |span: &&&ProfileSpan| {
        span.name == "fill" && span.start_us < beside[0].end_us && beside[0].start_us < span.end_us
    };
    assert!(work.iter().filter(at_once).count() > 1);
    assert!(beside[0].end_us - beside[0].start_us > 100.0);
}

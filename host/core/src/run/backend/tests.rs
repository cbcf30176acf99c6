//! When a request contradicts itself, and when a run falls back to the CPU.

use super::*;

#[test]
fn double_precision_and_devices_belong_to_their_back_ends() {
    let request = BackendRequest::new;
    assert!(request(BackendName::Cuda, None).check(true, false).is_err());
    assert!(request(BackendName::Cuda, None).check(true, true).is_ok());
    assert!(request(BackendName::Auto, None).check(true, false).is_ok());
    assert!(
        request(BackendName::Cuda, Some(1))
            .check(false, false)
            .is_ok()
    );
    let error = request(BackendName::Cpu, Some(0)).check(false, false);
    assert_eq!(
        error.unwrap_err().to_string(),
        "--device 0: expected --backend cuda, found cpu"
    );
}

#[test]
fn a_named_device_never_falls_back() {
    let request = BackendRequest::new(BackendName::Auto, Some(999));
    let Err(error) = request.open(None, Kernels::default) else {
        panic!("there is no such device");
    };
    let text = error.to_string();
    assert!(text.starts_with("--device 999: "), "{text}");
    let auto = BackendRequest::new(BackendName::Auto, None);
    assert!(auto.open(None, Kernels::default).is_ok());
}

#[test]
fn what_does_not_fit_with_a_chosen_back_end_is_tried_on_the_cpu() {
    let estimate = MemoryEstimate {
        cpu: 10,
        gpu_host: 10,
        gpu_device: 10,
        advice: "take less",
    };
    let fitting = |optional, bytes| {
        let backend = Backend {
            kind: BackendKind::Emulator(EmulatedDevice::new()),
            optional,
            note: None,
        };
        let host = Memory::limited(bytes);
        let fitting = backend.fitting::<GpuOrMemory>("the run", &estimate, host);
        fitting.map(|backend| (matches!(backend.kind, BackendKind::Cpu), backend.note))
    };
    let chosen = fitting(true, 20).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(chosen, (false, None));
    let (on_cpu, note) = fitting(true, 15).unwrap_or_else(|error| panic!("{error}"));
    assert!(on_cpu);
    let note = note.unwrap();
    assert!(
        note.starts_with("falling back to the CPU: the run needs"),
        "{note}"
    );
    assert!(fitting(true, 5).is_err());
    assert!(fitting(false, 15).is_err());
}

#[derive(Debug, thiserror::Error)]
enum GpuOrMemory {
    #[error(transparent)]
    Gpu(#[from] GpuError),
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
}

/// A back end whose device is a word, as `requested`.
fn opened(
    requested: BackendName,
    cuda: Result<&'static str, String>,
) -> Result<Backend<&'static str, &'static str>, String> {
    let emulator = || Ok("emulator");
    let name = |device: &&str| (*device).to_owned();
    Backend::open(requested, None, || cuda.map(Box::new), emulator, name)
}

/// Makes an engine that no GPU can make.
fn chosen(requested: BackendName, cpu_fits: bool) -> Result<EngineChoice<&'static str>, String> {
    let check_cpu = || {
        if cpu_fits {
            Ok(())
        } else {
            Err("the CPU lacks memory".to_owned())
        }
    };
    opened(requested, Ok("H200"))?.engine(check_cpu, |kind| match kind {
        BackendKind::Cpu => Ok("cpu"),
        _ => Err("cuFFT: no library found".to_owned()),
    })
}

#[test]
fn only_auto_falls_back_when_devices_cannot_be_opened() {
    let refused = || Err("no driver".to_owned());
    let on_cpu = opened(BackendName::Auto, refused()).unwrap();
    assert!(matches!(on_cpu.kind(), BackendKind::Cpu));
    assert_eq!(on_cpu.note.unwrap(), "falling back to the CPU: no driver");
    let asked = opened(BackendName::Cuda, refused());
    assert_eq!(asked.err().unwrap(), "no driver");
    let note = |name| opened(name, Ok("H200")).unwrap().note;
    assert_eq!(
        note(BackendName::Auto).unwrap(),
        "computing on the GPU: H200"
    );
    assert_eq!(note(BackendName::Cuda), None);
    assert_eq!(note(BackendName::Emulator), None);
}

#[test]
fn any_failure_of_a_chosen_gpu_falls_back_to_the_cpu() {
    let on_cpu = chosen(BackendName::Auto, true).unwrap();
    assert_eq!((on_cpu.engine, on_cpu.optional), ("cpu", false));
    assert_eq!(
        on_cpu.note.unwrap(),
        "falling back to the CPU: cuFFT: no library found"
    );
    let error = |name, fits| chosen(name, fits).err().unwrap();
    assert_eq!(error(BackendName::Auto, false), "the CPU lacks memory");
    for requested in [BackendName::Cuda, BackendName::Emulator] {
        assert_eq!(error(requested, true), "cuFFT: no library found");
    }
}

#[test]
fn an_engine_is_replaced_once_and_only_if_auto_chose_it() {
    let engine = |requested| {
        let opened = opened(requested, Ok("H200")).unwrap();
        opened
            .engine(|| Ok::<_, String>(()), |_| Ok("gpu"))
            .unwrap()
    };
    let mut asked = engine(BackendName::Cuda);
    assert_eq!(asked.fall_back("no memory", |_| "cpu"), Err("no memory"));
    assert_eq!((asked.engine, asked.note), ("gpu", None));
    let mut chosen = engine(BackendName::Auto);
    assert_eq!(chosen.fall_back("no memory", |_| "cpu"), Ok(()));
    assert_eq!(chosen.engine, "cpu");
    assert_eq!(
        chosen.note.as_deref(),
        Some("falling back to the CPU: no memory")
    );
    assert_eq!(chosen.fall_back("a defect", |_| "other"), Err("a defect"));
}

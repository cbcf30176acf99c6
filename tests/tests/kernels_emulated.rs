//! Every kernel and every engine in the emulator; and that the self-test sees a kernel that does
//! nothing.

use bytemuck::Pod;
use std::ops::Range;
use std::sync::Arc;
use warpstride::gpu::{Direction, EmulatedBuffer, EmulatedFetch, EmulatedFft, EmulatedMachine};
use warpstride::gpu::{EmulatedCopy, Machine, Result};
use warpstride::selftest::{self, CaseResult, Size, kernels_without_case, report};
use warpstride_device::Complex32;
use warpstride_device::launch::{AnyLaunch, Emulated, Work};
use warpstride_kernels::registry;

fn expect_passed(results: &[CaseResult]) {
    assert!(!results.is_empty());
    assert!(
        results.iter().all(|case| case.passed),
        "\n{}",
        report(results)
    );
}

#[test]
fn kernels_equal_their_definitions() {
    let results = selftest::kernels(&EmulatedMachine::new(), Size::Small, &mut |_| ()).unwrap();
    expect_passed(&results);
    assert_eq!(
        kernels_without_case(&results),
        [""; 0],
        "kernels without a case"
    );
}

#[test]
fn engines_agree_with_the_cpu() {
    expect_passed(&selftest::engines(&EmulatedMachine::new(), Size::Small, &mut |_| ()).unwrap());
}

/// The emulator, but launches do nothing.
struct Idle(EmulatedMachine);

impl Machine for Idle {
    type Space = Emulated;
    type Buffer<T: Pod + Send> = EmulatedBuffer<T>;
    type Fft = EmulatedFft;
    type Fetch<T: Pod + Send> = EmulatedFetch<T>;
    type Recording = <EmulatedMachine as Machine>::Recording;
    type Pinned<T: Pod + Send + Sync> = Vec<T>;
    type Sent = EmulatedCopy<()>;
    type Received<T: Pod + Send + Sync> = EmulatedCopy<Vec<T>>;

    fn backend(&self) -> &'static str {
        self.0.backend()
    }
    fn device_name(&self) -> String {
        self.0.device_name()
    }
    fn memory(&self) -> Result<(usize, usize)> {
        self.0.memory()
    }
    fn arch(&self) -> u32 {
        self.0.arch()
    }
    fn multiprocessors(&self) -> u32 {
        self.0.multiprocessors()
    }
    fn alloc<T: Pod + Send>(&self, what: &'static str, len: usize) -> Result<EmulatedBuffer<T>> {
        self.0.alloc(what, len)
    }
    fn upload<T: Pod + Send, H: Pod>(&self, to: &mut EmulatedBuffer<T>, host: &[H]) -> Result<()> {
        self.0.upload(to, host)
    }
    fn download<T: Pod + Send, H: Pod>(
        &self,
        from: &EmulatedBuffer<T>,
        host: &mut [H],
    ) -> Result<()> {
        self.0.download(from, host)
    }
    fn fetch<T: Pod + Send>(&self, buffer: &EmulatedBuffer<T>) -> Result<EmulatedFetch<T>> {
        self.0.fetch(buffer)
    }
    fn pinned<T: Pod + Send + Sync>(&self, what: &'static str, len: usize) -> Result<Vec<T>> {
        self.0.pinned(what, len)
    }
    fn send<T: Pod + Send + Sync>(
        &self,
        from: &Arc<Vec<T>>,
        range: Range<usize>,
        to: &mut EmulatedBuffer<T>,
        at: usize,
    ) -> Result<EmulatedCopy<()>> {
        self.0.send(from, range, to, at)
    }
    fn receive<T: Pod + Send + Sync>(
        &self,
        from: &EmulatedBuffer<T>,
        parts: &[Range<usize>],
        to: Vec<T>,
    ) -> Result<EmulatedCopy<Vec<T>>> {
        self.0.receive(from, parts, to)
    }
    fn copy<T: Pod + Send>(
        &self,
        from: &EmulatedBuffer<T>,
        to: &mut EmulatedBuffer<T>,
    ) -> Result<()> {
        self.0.copy(from, to)
    }
    fn zero<T: Pod + Send>(&self, buffer: &mut EmulatedBuffer<T>) -> Result<()> {
        self.0.zero(buffer)
    }
    fn launch_any(&self, _: &(dyn AnyLaunch<Emulated> + Sync), _: Work) -> Result<()> {
        Ok(())
    }
    fn plan_fft(&self, shape: &[usize], batch: usize) -> Result<EmulatedFft> {
        self.0.plan_fft(shape, batch)
    }
    fn fft(
        &self,
        plan: &EmulatedFft,
        data: &mut EmulatedBuffer<Complex32>,
        direction: Direction,
    ) -> Result<()> {
        self.0.fft(plan, data, direction)
    }
    fn fft_to(
        &self,
        plan: &EmulatedFft,
        from: &EmulatedBuffer<Complex32>,
        to: &mut EmulatedBuffer<Complex32>,
        direction: Direction,
    ) -> Result<()> {
        self.0.fft_to(plan, from, to, direction)
    }
    fn record(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Self::Recording>> {
        self.0.record(work)
    }

    fn replay(&self, recording: &mut Self::Recording) -> Result<()> {
        self.0.replay(recording)
    }

    fn synchronize(&self) -> Result<()> {
        self.0.synchronize()
    }
    fn time_ms(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<f32> {
        self.0.time_ms(work)
    }
}

#[test]
fn a_kernel_that_does_nothing_fails() {
    let results =
        selftest::kernels(&Idle(EmulatedMachine::new()), Size::Small, &mut |_| ()).unwrap();
    for kernel in registry() {
        let mut cases = results.iter().filter(|case| case.kernel == kernel.entry);
        assert!(cases.any(|case| !case.passed), "{} passes", kernel.entry);
    }
    assert!(report(&results).contains("FAILED"));
}

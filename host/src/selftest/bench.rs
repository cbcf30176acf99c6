//! One case: data to the machine, a launch, the result against its reference, times.

use super::Seen;
use crate::gpu::{Machine, Result};
use bytemuck::Pod;
use num_complex::Complex;
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, KernelInfo, Launch};

/// ‖gpu − cpu‖/‖cpu‖ that single precision may leave: some hundred roundings.
const SINGLE: f64 = 1e-5;

/// Runs of a timed case, after one that is not counted.
const RUNS: usize = 7;

/// What a result is filled with beforehand: as a float no number, as an integer none that occurs.
const POISON: u32 = 0x7FC0_DEAD;

/// How one case went.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct CaseResult {
    /// Entry name of the kernel; in other cases what it was, in words.
    pub kernel: &'static str,
    /// Sizes and options.
    pub shape: String,
    /// ‖gpu − cpu‖/‖cpu‖, of several results the worst; infinite where a result is no number.
    pub error: f64,
    /// The error that passes.
    pub tolerance: f64,
    /// Within the tolerance.
    pub passed: bool,
    /// The device's time for a launch, the median of some; realistic sizes only.
    pub milliseconds: Option<f64>,
    /// Bytes that must be read or written at least; where there is a time.
    pub bytes: Option<u64>,
    /// 10⁹ bytes a second; where there is a time.
    pub gb_per_s: Option<f64>,
}

impl CaseResult {
    pub(super) fn new(kernel: &'static str, shape: String, error: f64, tolerance: f64) -> Self {
        Self {
            kernel,
            shape,
            error,
            tolerance,
            passed: error <= tolerance,
            milliseconds: None,
            bytes: None,
            gb_per_s: None,
        }
    }
}

/// What a case is about.
pub(super) struct Case {
    kernel: &'static str,
    shape: String,
    tolerance: f64,
    bytes: Option<usize>,
}

impl Case {
    /// A kernel's case, single precision, without times.
    pub(super) fn of<L: Launch<Emulated>>(shape: impl Into<String>) -> Self {
        Self::named(L::INFO.entry, shape)
    }

    /// The same for a kernel of the registry.
    pub(super) fn with(kernel: KernelInfo, shape: impl Into<String>) -> Self {
        Self::named(kernel.entry, shape)
    }

    /// The case of something that is not a kernel.
    pub(super) fn named(what: &'static str, shape: impl Into<String>) -> Self {
        Self {
            kernel: what,
            shape: shape.into(),
            tolerance: SINGLE,
            bytes: None,
        }
    }

    /// The result must be the reference, bit by bit.
    pub(super) fn exact(self) -> Self {
        Self {
            tolerance: 0.0,
            ..self
        }
    }

    /// With another tolerance.
    pub(super) fn within(self, tolerance: f64) -> Self {
        Self { tolerance, ..self }
    }

    /// With times if `timed`; a launch moves so many bytes at least.
    pub(super) fn timed(self, timed: bool, bytes: usize) -> Self {
        Self {
            bytes: timed.then_some(bytes),
            ..self
        }
    }
}

/// A machine and what was found on it.
pub(super) struct Bench<'m, M> {
    machine: &'m M,
    seen: Seen<'m>,
    results: Vec<CaseResult>,
}

impl<'m, M: Machine> Bench<'m, M> {
    pub(super) fn new(machine: &'m M, seen: Seen<'m>) -> Self {
        Self {
            machine,
            seen,
            results: Vec::new(),
        }
    }

    /// For the data of a case.
    pub(super) fn on(&self) -> On<'m, M> {
        On {
            machine: self.machine,
        }
    }

    pub(super) fn machine(&self) -> &'m M {
        self.machine
    }

    fn note(&mut self, result: CaseResult) {
        (self.seen)(&result);
        self.results.push(result);
    }

    pub(super) fn into_results(self) -> Vec<CaseResult> {
        self.results
    }

    /// A case whose values came from more than one launch.
    pub(super) fn compare<T: Compared>(
        &mut self,
        case: Case,
        values: &[T],
        reference: &[T::Reference],
    ) {
        let error = if values.len() == reference.len() {
            relative_error(values, reference)
        } else {
            f64::INFINITY
        };
        let result = CaseResult::new(case.kernel, case.shape, error, case.tolerance);
        self.note(result);
    }

    /// Does `work` on `outputs`, asks `error` how far off they are, and times more of the same.
    pub(super) fn run<O>(
        &mut self,
        case: Case,
        mut outputs: O,
        work: impl Fn(&M, &mut O) -> Result<()>,
        error: impl FnOnce(On<'m, M>, &O) -> Result<f64>,
    ) -> Result<()> {
        let machine = self.machine;
        work(machine, &mut outputs)?;
        let error = error(self.on(), &outputs)?;
        let mut result = CaseResult::new(case.kernel, case.shape, error, case.tolerance);
        if let Some(bytes) = case.bytes {
            let mut times = (0..RUNS)
                .map(|_| machine.time_ms(&mut || work(machine, &mut outputs)))
                .collect::<Result<Vec<f32>>>()?;
            times.sort_by(f32::total_cmp);
            let milliseconds = f64::from(times[RUNS / 2]);
            result.milliseconds = Some(milliseconds);
            result.bytes = Some(bytes as u64);
            result.gb_per_s = Some(bytes as f64 / (milliseconds * 1e6));
        }
        self.note(result);
        Ok(())
    }
}

/// A machine with short words for what cases need of it.
pub(super) struct On<'m, M> {
    machine: &'m M,
}

impl<M> Clone for On<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for On<'_, M> {}

impl<M: Machine> On<'_, M> {
    /// A buffer with these values.
    pub(super) fn upload<T: Pod + Send>(self, values: &[T]) -> Result<M::Buffer<T>> {
        let mut buffer = self.machine.alloc("a self-test", values.len())?;
        self.machine.upload(&mut buffer, values)?;
        Ok(buffer)
    }

    /// A buffer with what no kernel writes.
    pub(super) fn poisoned<T: Pod + Send>(self, len: usize) -> Result<M::Buffer<T>> {
        let mut buffer = self.machine.alloc("a self-test", len)?;
        let words = vec![POISON; len * size_of::<T>() / size_of::<u32>()];
        self.machine.upload(&mut buffer, &words)?;
        Ok(buffer)
    }

    /// A gate.
    pub(super) fn gate(self, shut: bool) -> Result<M::Buffer<u32>> {
        self.upload(&[u32::from(shut)])
    }

    /// The values of a buffer.
    pub(super) fn download<T: Pod + Send>(
        self,
        buffer: &M::Buffer<T>,
        values: &mut [T],
    ) -> Result<()> {
        self.machine.download(buffer, values)
    }

    /// ‖buffer − reference‖/‖reference‖.
    pub(super) fn error<T: Compared + Send>(
        self,
        buffer: &M::Buffer<T>,
        reference: &[T::Reference],
    ) -> Result<f64> {
        let mut values = vec![T::zeroed(); reference.len()];
        self.machine.download(buffer, &mut values)?;
        Ok(relative_error(&values, reference))
    }
}

/// Values with a distance.
pub(super) trait Compared: Pod {
    /// What they are compared with.
    type Reference: Copy;
    /// |value − reference|² and |reference|².
    fn distance(self, reference: Self::Reference) -> [f64; 2];
}

impl Compared for f32 {
    type Reference = f64;
    fn distance(self, reference: f64) -> [f64; 2] {
        [(f64::from(self) - reference).powi(2), reference.powi(2)]
    }
}

impl Compared for f64 {
    type Reference = Self;
    fn distance(self, reference: Self) -> [f64; 2] {
        [(self - reference).powi(2), reference.powi(2)]
    }
}

impl Compared for Complex32 {
    type Reference = Complex<f64>;
    fn distance(self, reference: Complex<f64>) -> [f64; 2] {
        [(wide(self) - reference).norm_sqr(), reference.norm_sqr()]
    }
}

impl Compared for u32 {
    type Reference = Self;
    fn distance(self, reference: Self) -> [f64; 2] {
        [
            f64::from(self.abs_diff(reference)).powi(2),
            f64::from(reference).powi(2),
        ]
    }
}

impl Compared for i32 {
    type Reference = Self;
    fn distance(self, reference: Self) -> [f64; 2] {
        [
            f64::from(self.abs_diff(reference)).powi(2),
            f64::from(reference).powi(2),
        ]
    }
}

/// ‖values − reference‖/‖reference‖; ‖values‖ where the reference is zero, infinite where a value
/// is no number.
fn relative_error<T: Compared>(values: &[T], reference: &[T::Reference]) -> f64 {
    let [mut away, mut norm] = [0.0, 0.0];
    for (value, reference) in values.iter().zip(reference) {
        let [a, n] = value.distance(*reference);
        away += a;
        norm += n;
    }
    match (away / if norm > 0.0 { norm } else { 1.0 }).sqrt() {
        error if error.is_nan() => f64::INFINITY,
        error => error,
    }
}

/// In double precision.
pub(super) fn wide(value: Complex32) -> Complex<f64> {
    Complex::new(f64::from(value.re), f64::from(value.im))
}

/// In double precision.
pub(super) fn all_wide(values: &[Complex32]) -> Vec<Complex<f64>> {
    values.iter().map(|value| wide(*value)).collect()
}

/// In double precision.
pub(super) fn all_f64(values: &[f32]) -> Vec<f64> {
    values.iter().map(|value| f64::from(*value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_relative_and_no_number_is_no_success() {
        assert_eq!(relative_error(&[3.0_f32, 4.5], &[3.0, 4.0]), 0.1);
        assert_eq!(relative_error(&[0.25_f32], &[0.0]), 0.25);
        assert_eq!(relative_error::<f32>(&[], &[]), 0.0);
        let poison = [f32::from_bits(POISON)];
        let result = CaseResult::new("k", String::new(), relative_error(&poison, &[1.0]), 1.0);
        assert!(result.error.is_infinite() && !result.passed);
    }
}

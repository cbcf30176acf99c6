//! Running a case: uploads its data, launches the kernel, compares the result with its reference,
//! and measures times.

use bytemuck::Pod;
use num_complex::Complex;
use warpstride_cuda::gpu::{Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, KernelInfo, Launch};

/// Tolerance of ‖gpu − cpu‖/‖cpu‖ in single precision, for some hundred roundings.
const SINGLE: f64 = 1e-5;

/// Runs of a timed case, after a warm-up.
const RUNS: usize = 7;

/// Bits with which results are filled before a launch: NaN as a float, and as an integer a value
/// that does not occur.
const POISON: u32 = 0x7FC0_DEAD;

/// The sizes of the cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// Small sizes, which the emulator computes in less than a minute.
    Small,
    /// Small sizes, and realistic ones with times.
    Device,
}

/// A function that is called with each completed case.
pub type CaseCallback<'a> = &'a mut dyn FnMut(&CaseResult);

/// The result of a case.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct CaseResult {
    /// Entry name of the kernel, or a description of a case that is not a kernel.
    pub kernel: &'static str,
    /// Sizes and options.
    pub shape: String,
    /// ‖gpu − cpu‖/‖cpu‖, the largest of several results; infinite if a result is NaN.
    pub error: f64,
    /// Largest error that passes.
    pub tolerance: f64,
    /// Whether the error is within the tolerance.
    pub passed: bool,
    /// Median device time of a launch, at realistic sizes only.
    pub milliseconds: Option<f64>,
    /// Least number of bytes that a launch must read or write, if it is timed.
    pub bytes: Option<u64>,
    /// Throughput in 10⁹ bytes per second, if it is timed.
    pub gb_per_s: Option<f64>,
}

impl CaseResult {
    /// The result of a case that was not run by [`Bench::run`].
    pub fn new(kernel: &'static str, shape: String, error: f64, tolerance: f64) -> Self {
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

/// Description of a case.
pub struct Case {
    kernel: &'static str,
    shape: String,
    tolerance: f64,
    bytes: Option<usize>,
}

impl Case {
    /// A case of the kernel `L`, with the tolerance of single precision and without times.
    pub fn of<L: Launch<Emulated>>(shape: impl Into<String>) -> Self {
        Self::named(L::INFO.entry, shape)
    }

    /// As [`of`](Self::of), for a kernel of the registry.
    pub fn with(kernel: KernelInfo, shape: impl Into<String>) -> Self {
        Self::named(kernel.entry, shape)
    }

    /// A case of something that is not a kernel.
    pub fn named(what: &'static str, shape: impl Into<String>) -> Self {
        Self {
            kernel: what,
            shape: shape.into(),
            tolerance: SINGLE,
            bytes: None,
        }
    }

    /// The kernel, or what is tested instead.
    pub fn kernel(&self) -> &'static str {
        self.kernel
    }

    /// Requires that the result equals the reference bit for bit.
    pub fn exact(self) -> Self {
        Self {
            tolerance: 0.0,
            ..self
        }
    }

    /// Sets the tolerance.
    pub fn within(self, tolerance: f64) -> Self {
        Self { tolerance, ..self }
    }

    /// Measures times if `timed`; a launch moves at least `bytes`.
    pub fn timed(self, timed: bool, bytes: usize) -> Self {
        Self {
            bytes: timed.then_some(bytes),
            ..self
        }
    }
}

/// A device with the results of the cases run on it.
pub struct Bench<'m, M> {
    device: &'m M,
    on_case: CaseCallback<'m>,
    results: Vec<CaseResult>,
}

impl<'m, M: Device> Bench<'m, M> {
    /// Runs cases on `device` and calls `on_case` with each result.
    pub fn new(device: &'m M, on_case: CaseCallback<'m>) -> Self {
        Self {
            device,
            on_case,
            results: Vec::new(),
        }
    }

    /// The device, for the data of a case.
    pub fn on(&self) -> CaseDevice<'m, M> {
        CaseDevice {
            device: self.device,
        }
    }

    /// The device.
    pub fn device(&self) -> &'m M {
        self.device
    }

    fn note(&mut self, result: CaseResult) {
        (self.on_case)(&result);
        self.results.push(result);
    }

    /// The results of all cases.
    pub fn into_results(self) -> Vec<CaseResult> {
        self.results
    }

    /// Notes that `kernels` are not run at this size, because a block would need more shared memory
    /// than the device has.
    pub fn skip(&mut self, kernels: &'static str, side: u32) {
        let bytes = self.device.shared_memory();
        let why = format!("SKIPPED {side} × {side}: more shared memory than {bytes} bytes a block");
        self.note(CaseResult::new(kernels, why, 0.0, 0.0));
    }

    /// Adds the case of values that come from more than one launch.
    pub fn compare<T: Compared>(&mut self, case: Case, values: &[T], reference: &[T::Reference]) {
        let error = if values.len() == reference.len() {
            relative_error(values, reference)
        } else {
            f64::INFINITY
        };
        let result = CaseResult::new(case.kernel, case.shape, error, case.tolerance);
        self.note(result);
    }

    /// Runs `work` on `outputs`, computes their `error`, and times more runs if the case is timed.
    pub fn run<O>(
        &mut self,
        case: Case,
        mut outputs: O,
        work: impl Fn(&M, &mut O) -> Result<()>,
        error: impl FnOnce(CaseDevice<'m, M>, &O) -> Result<f64>,
    ) -> Result<()> {
        let device = self.device;
        work(device, &mut outputs)?;
        let error = error(self.on(), &outputs)?;
        self.note_timed(case, error, &mut || work(device, &mut outputs))
    }

    /// Notes a case with its `error`, and times runs of its `work` if it is timed. Apart from
    /// [`Self::run`], so that it is not compiled again for every case.
    fn note_timed(
        &mut self,
        case: Case,
        error: f64,
        work: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let mut result = CaseResult::new(case.kernel, case.shape, error, case.tolerance);
        if let Some(bytes) = case.bytes {
            let mut times = (0..RUNS)
                .map(|_| self.device.time_ms(work))
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

/// A device with short functions for the data of cases.
pub struct CaseDevice<'m, M> {
    device: &'m M,
}

impl<M> Clone for CaseDevice<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for CaseDevice<'_, M> {}

impl<M: Device> CaseDevice<'_, M> {
    /// Allocates a buffer with these values.
    pub fn upload<T: Pod + Send>(self, values: &[T]) -> Result<M::Buffer<T>> {
        let mut buffer = self.device.alloc("a self-test", values.len())?;
        self.device.upload(&mut buffer, values)?;
        Ok(buffer)
    }

    /// Allocates a buffer filled with a NaN pattern.
    pub fn poisoned<T: Pod + Send>(self, len: usize) -> Result<M::Buffer<T>> {
        let mut buffer = self.device.alloc("a self-test", len)?;
        let poison = POISON.to_ne_bytes();
        let bytes = poison.iter().copied().cycle().take(len * size_of::<T>());
        self.device
            .upload(&mut buffer, &bytes.collect::<Vec<_>>())?;
        Ok(buffer)
    }

    /// Allocates a gate, open or shut.
    pub fn gate(self, shut: bool) -> Result<M::Buffer<u32>> {
        self.upload(&[u32::from(shut)])
    }

    /// Copies a buffer to `values`.
    pub fn download<T: Pod + Send>(self, buffer: &M::Buffer<T>, values: &mut [T]) -> Result<()> {
        self.device.download(buffer, values)
    }

    /// Computes ‖buffer − reference‖/‖reference‖.
    pub fn error<T: Compared + Send>(
        self,
        buffer: &M::Buffer<T>,
        reference: &[T::Reference],
    ) -> Result<f64> {
        let mut values = vec![T::zeroed(); reference.len()];
        self.device.download(buffer, &mut values)?;
        Ok(relative_error(&values, reference))
    }

    /// As [`Self::error`] of a buffer of arrays: the largest error of one place of the arrays, in
    /// all of them.
    pub fn largest_error<T: Compared + Send, const N: usize>(
        self,
        buffer: &M::Buffer<[T; N]>,
        reference: &[[T::Reference; N]],
    ) -> Result<f64> {
        let mut values = vec![[T::zeroed(); N]; reference.len()];
        self.device.download(buffer, &mut values)?;
        let of_place = |place: usize| {
            let values: Vec<T> = values.iter().map(|value| value[place]).collect();
            let reference: Vec<_> = reference.iter().map(|value| value[place]).collect();
            relative_error(&values, &reference)
        };
        Ok((0..N).map(of_place).fold(0.0, f64::max))
    }
}

/// Values that can be compared with a reference.
pub trait Compared: Pod {
    /// Type of the reference.
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

impl<T: Compared, const N: usize> Compared for [T; N] {
    type Reference = [T::Reference; N];
    fn distance(self, reference: [T::Reference; N]) -> [f64; 2] {
        let each = self.into_iter().zip(reference);
        each.fold([0.0; 2], |sums, (value, reference)| {
            let [difference, norm] = value.distance(reference);
            [sums[0] + difference, sums[1] + norm]
        })
    }
}

/// ‖values − reference‖/‖reference‖; ‖values‖ if the reference is zero, infinite if a value is NaN.
pub fn relative_error<T: Compared>(values: &[T], reference: &[T::Reference]) -> f64 {
    let [mut difference, mut norm] = [0.0, 0.0];
    for (value, reference) in values.iter().zip(reference) {
        let [a, n] = value.distance(*reference);
        difference += a;
        norm += n;
    }
    match (difference / if norm > 0.0 { norm } else { 1.0 }).sqrt() {
        error if error.is_nan() => f64::INFINITY,
        error => error,
    }
}

/// Converts to double precision.
pub fn wide(value: Complex32) -> Complex<f64> {
    Complex::new(f64::from(value.re), f64::from(value.im))
}

/// Converts all values to double precision.
pub fn all_wide(values: &[Complex32]) -> Vec<Complex<f64>> {
    values.iter().map(|value| wide(*value)).collect()
}

/// Converts all values to double precision.
pub fn all_f64(values: &[f32]) -> Vec<f64> {
    values.iter().map(|value| f64::from(*value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_relative_and_nan_fails() {
        assert_eq!(relative_error(&[3.0_f32, 4.5], &[3.0, 4.0]), 0.1);
        assert_eq!(relative_error(&[0.25_f32], &[0.0]), 0.25);
        assert_eq!(relative_error::<f32>(&[], &[]), 0.0);
        let poison = [f32::from_bits(POISON)];
        let result = CaseResult::new("k", String::new(), relative_error(&poison, &[1.0]), 1.0);
        assert!(result.error.is_infinite() && !result.passed);
    }
}

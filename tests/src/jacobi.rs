//! Comparison of relaxations on a device group with the CPU: the field and the norms must agree.

use anyhow::{Context, Result, ensure};
use ndarray::Array2;
use std::fmt::Write as _;
use warpstride::gpu::DeviceGroup;
use warpstride::jacobi::cpu::CpuEngine;
use warpstride::jacobi::cuda::{GpuReal, GroupEngine, Plan, Scheme};
use warpstride::jacobi::{Boundary, Engine, Norm, Problem, Stopping};

/// The result of a relaxation.
#[derive(Debug, Clone, PartialEq)]
pub struct Relaxed<T> {
    /// The field, (row, column).
    pub field: Array2<T>,
    /// Norms of the checked sweeps.
    pub norms: Vec<Norm>,
    /// The number of completed sweeps.
    pub sweeps: usize,
    /// Whether the tolerance was met.
    pub converged: bool,
}

/// Runs an engine until it is finished.
///
/// # Errors
/// An error of the engine.
pub fn relax<T: GpuReal>(engine: &mut dyn Engine<T>) -> Result<Relaxed<T>> {
    let (mut norms, mut converged) = (Vec::new(), false);
    while !engine.finished() {
        let advance = engine.advance()?;
        norms.extend(advance.norms);
        converged |= advance.converged;
    }
    Ok(Relaxed {
        field: engine.field()?,
        norms,
        sweeps: engine.sweeps(),
        converged,
    })
}

/// A problem with values that are not smooth, so that any wrong neighbour changes the result.
///
/// # Errors
/// The grid has no inner cell.
pub fn rough<T: GpuReal>(
    [ny, nx]: [usize; 2],
    boundary: Boundary,
    start: bool,
    source: bool,
) -> Result<Problem<T>> {
    let noise = |seed: u64| {
        let mut state = seed;
        Array2::from_shape_simple_fn((ny, nx), move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            T::nearest((state >> 40) as f64 / (1_u64 << 23) as f64 - 1.0)
        })
    };
    let mut problem = Problem::new(nx, ny, boundary)?;
    if start {
        problem = problem.with_start(noise(1))?;
    }
    if source {
        problem = problem.with_source(noise(2))?;
    }
    Ok(problem)
}

/// A relaxation to compare.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Rows and columns.
    pub shape: [usize; 2],
    /// The boundary condition.
    pub boundary: Boundary,
    /// Whether the start field is rough.
    pub start: bool,
    /// Whether there is a source.
    pub source: bool,
    /// The stopping rule.
    pub rule: Stopping,
}

impl Case {
    /// The result of the CPU with one sweep per pass.
    ///
    /// # Errors
    /// An error of the engine.
    pub fn expected<T: GpuReal>(&self) -> Result<Relaxed<T>> {
        relax(&mut CpuEngine::new(&self.problem()?, self.rule, 1)?)
    }

    fn problem<T: GpuReal>(&self) -> Result<Problem<T>> {
        rough(self.shape, self.boundary, self.start, self.source)
    }

    /// The differences between the relaxation on a device group and the expected result, one per
    /// line; empty if the fields agree bit for bit and the norms differ only by rounding.
    ///
    /// # Errors
    /// An error of an engine.
    pub fn differences<T: GpuReal, G: DeviceGroup>(
        &self,
        group: &G,
        plan: Plan,
        expected: &Relaxed<T>,
    ) -> Result<String> {
        let what = || format!("{}, {plan:?}", self.name::<T>());
        let devices = group.devices();
        let mut engine = GroupEngine::<T, &G>::new(group, &self.problem()?, self.rule, plan)
            .with_context(what)?;
        let found = relax(&mut engine).with_context(what)?;
        let mut text = String::new();
        let mut differ = |difference: String| {
            let _ = writeln!(
                text,
                "{} ({} devices, {plan:?}): {difference}",
                self.name::<T>(),
                devices
            );
        };
        let bits = |field: &Array2<T>| {
            let values = field.iter().map(|value| value.widened().to_bits());
            values.collect::<Vec<u64>>()
        };
        let (left, right) = (bits(&found.field), bits(&expected.field));
        let wrong: Vec<usize> = (0..left.len()).filter(|i| left[*i] != right[*i]).collect();
        if let Some(first) = wrong.first() {
            let nx = self.shape[1];
            differ(format!(
                "{} cells of {}, the first in row {}, column {}: {} for {}",
                wrong.len(),
                left.len(),
                first / nx,
                first % nx,
                found.field.as_slice().map_or_else(T::zero, |f| f[*first]),
                expected
                    .field
                    .as_slice()
                    .map_or_else(T::zero, |f| f[*first]),
            ));
        }
        if (found.sweeps, found.converged) != (expected.sweeps, expected.converged) {
            differ(format!(
                "{} sweeps for {}, converged {} for {}",
                found.sweeps, expected.sweeps, found.converged, expected.converged
            ));
        }
        if found.norms.len() != expected.norms.len() {
            differ(format!(
                "{} norms for {}",
                found.norms.len(),
                expected.norms.len()
            ));
        }
        for (a, b) in found.norms.iter().zip(&expected.norms) {
            if a.sweep != b.sweep || (a.norm - b.norm).abs() > 1e-13 * b.norm {
                differ(format!("{a:?} for {b:?}"));
                break;
            }
        }
        Ok(text)
    }

    fn name<T: GpuReal>(&self) -> String {
        let [ny, nx] = self.shape;
        format!(
            "{ny} × {nx} {} {:?}, start {}, source {}, {:?}",
            T::NAME,
            self.boundary,
            self.start,
            self.source,
            self.rule
        )
    }
}

/// Plans for every scheme with every number of sweeps per pass that it supports.
#[must_use]
pub fn plans() -> Vec<Plan> {
    let mut plans = Vec::new();
    for scheme in Scheme::ALL {
        let depths = if scheme == Scheme::Temporal {
            1..=8
        } else {
            1..=1
        };
        for time_block in depths {
            plans.push(Plan {
                scheme,
                time_block,
                ..Plan::default()
            });
        }
    }
    plans
}

/// Runs `cases` with `plans`, in both precisions, on the groups that do not have more devices than
/// the grid has rows, and returns the number of runs.
///
/// # Errors
/// An error of an engine, or a difference.
pub fn compare<G: DeviceGroup>(cases: &[Case], plans: &[Plan], groups: &[G]) -> Result<usize> {
    let (mut text, mut compared) = (String::new(), 0);
    for case in cases {
        let (single, double) = (case.expected::<f32>()?, case.expected::<f64>()?);
        let fits = |group: &&G| group.devices() <= case.shape[0] - 2;
        for group in groups.iter().filter(fits) {
            for plan in plans {
                text += &case.differences(group, *plan, &single)?;
                text += &case.differences(group, *plan, &double)?;
                compared += 2;
            }
        }
    }
    ensure!(text.is_empty(), "\n{text}");
    Ok(compared)
}

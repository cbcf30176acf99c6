//! From k-space and options to a problem and a recipe: density weights, coil maps, fields.

use super::coil_maps::{CoilMapSource, CoilMaps};
use super::field::{FieldSource, phases};
use super::shared::Shared;
use crate::args::{DensityArg, MethodArg, OperatorArg, PrecisionArg, TrigArg};
use crate::failure::Failure;
use ndarray::Array5;
use num_complex::Complex;
use warpstride::mri::data::KSpace;
use warpstride::mri::nufft::SpreadingKernel;
use warpstride::mri::{
    Coverage, Density, Method, OperatorName, Options, Problem, Recipe, Trigonometry, grid_of,
};
use warpstride::system::Memory;
use warpstride::text::shortest;

/// The options of a reconstruction, checked as far as possible without the samples.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ReconstructionOptions {
    pub(super) method: MethodArg,
    pub(super) operator: OperatorArg,
    pub(super) iterations: Option<usize>,
    pub(super) min_residual: Option<f64>,
    pub(super) lambda: Option<f64>,
    pub(super) maps: CoilMapSource,
    /// Whether the maps of a slice are estimated once, from its first image.
    pub(super) maps_once: bool,
    pub(super) density: Option<DensityArg>,
    pub(super) intensity_correction: bool,
    pub(super) tolerance: Option<f64>,
    pub(super) trig: TrigArg,
    pub(super) field: Option<FieldSource>,
}

/// Cells of the NUFFT's fine grid per mode, with which the smallest tolerance is reached.
const OVERSAMPLING: f64 = 2.0;
/// The input of an engine, with what the result and the summary report.
pub(super) struct Prepared {
    pub(super) problem: Problem,
    pub(super) recipe: Recipe,
    /// (set, coil, slice, row, column).
    pub(super) maps: Option<Array5<Complex<f64>>>,
    /// `none`, `ramp` or `pipe`.
    pub(super) density: &'static str,
    /// What the user should know of coil maps and density weights.
    pub(super) notes: Vec<String>,
    /// Why density weights are wrong.
    pub(super) problems: Vec<String>,
}

/// Whether `--trig` affects the result.
pub(super) fn uses_trigonometry(recipe: &Recipe, backend: &str) -> bool {
    backend != "cpu" && recipe.operator != OperatorName::Nufft
}

impl ReconstructionOptions {
    /// Rejects values out of range and contradicting options.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let adjoint = self.method == MethodArg::Adjoint;
        match self.iterations {
            Some(n) if adjoint && n != 0 => {
                return Err(Failure::usage(format!(
                    "--iterations {n}: expected 0, as --method adjoint has no iterations"
                )));
            }
            Some(n) if !adjoint && !(1..=Options::MAX_ITERATIONS).contains(&n) => {
                return Err(Failure::usage(format!(
                    "--iterations {n}: expected 1 to {}",
                    Options::MAX_ITERATIONS
                )));
            }
            _ => {}
        }
        if let Some(residual) = self.min_residual {
            if !(0.0..1.0).contains(&residual) {
                return Err(Failure::usage(format!(
                    "--min-residual {}: expected a number from 0, below 1",
                    shortest(residual)
                )));
            }
            if self.method != MethodArg::Cg {
                return Err(Failure::usage(format!(
                    "--min-residual: expected --method cg, found --method {}",
                    self.recipe().method.name()
                )));
            }
        }
        if let Some(lambda) = self.lambda {
            if !(lambda.is_finite() && lambda >= 0.0) {
                return Err(Failure::usage(format!(
                    "--lambda {}: expected a number, 0 or more",
                    shortest(lambda)
                )));
            }
            if adjoint && lambda > 0.0 {
                return Err(Failure::usage(format!(
                    "--lambda {}: expected 0, as --method adjoint has no regulariser",
                    shortest(lambda)
                )));
            }
        }
        if let Some(tolerance) = self.tolerance
            && !(tolerance > 0.0 && tolerance < 1.0)
        {
            return Err(Failure::usage(format!(
                "--tolerance {}: expected a number above 0 and below 1",
                shortest(tolerance)
            )));
        }
        let direct = matches!(self.operator, OperatorArg::Auto | OperatorArg::Direct);
        if let (Some(field), false) = (&self.field, direct) {
            return Err(Failure::usage(format!(
                "{field}: expected --operator direct, found {}",
                self.recipe().operator.name()
            )));
        }
        if self.operator == OperatorArg::Toeplitz && adjoint {
            return Err(Failure::usage(
                "--operator toeplitz: expected nufft or direct, because --method adjoint has no iterations",
            ));
        }
        if self.maps_once && !self.maps.is_estimated() {
            return Err(Failure::usage(format!(
                "--coil-maps-once: expected maps that are estimated, found --coil-maps {}",
                self.maps.name()
            )));
        }
        if self.intensity_correction && self.maps == CoilMapSource::None {
            return Err(Failure::usage(
                "--intensity-correction: expected coil maps, found --coil-maps none",
            ));
        }
        Ok(())
    }

    /// Rejects a tolerance that no kernel of the NUFFT reaches along `axes` axes.
    pub(super) fn check_tolerance(
        &self,
        precision: PrecisionArg,
        axes: usize,
    ) -> Result<(), Failure> {
        let (smallest, name) = match precision {
            PrecisionArg::F32 => (SpreadingKernel::smallest::<f32>(OVERSAMPLING, axes), "f32"),
            PrecisionArg::F64 => (SpreadingKernel::smallest::<f64>(OVERSAMPLING, axes), "f64"),
        };
        match self.tolerance {
            Some(tolerance)
                if tolerance < smallest && self.recipe().operator != OperatorName::Direct =>
            {
                Err(Failure::usage(format!(
                    "--tolerance {}: expected at least {} with --precision {name}",
                    shortest(tolerance),
                    shortest(smallest)
                )))
            }
            _ => Ok(()),
        }
    }

    /// One sentence for each option that has no effect on this run.
    pub(super) fn without_effect(&self, recipe: &Recipe, backend: &str) -> Vec<String> {
        let mut sentences = Vec::new();
        if self.tolerance.is_some() && recipe.operator == OperatorName::Direct {
            sentences.push("--tolerance has no effect: the direct operator is exact".to_owned());
        }
        if self.trig == TrigArg::Hardware && !uses_trigonometry(recipe, backend) {
            sentences.push(
                "--trig hardware has no effect: it applies to --operator direct, and to Q of --operator toeplitz, on a GPU"
                    .to_owned(),
            );
        }
        sentences
    }

    /// The recipe, with every `auto` resolved.
    pub(super) fn recipe(&self) -> Recipe {
        let options = Options {
            method: match self.method {
                MethodArg::Adjoint => Method::Adjoint,
                MethodArg::Cg => Method::Cg,
                MethodArg::Tv => Method::Tv,
                MethodArg::Wavelet => Method::Wavelet,
            },
            operator: match self.operator {
                OperatorArg::Auto => None,
                OperatorArg::Direct => Some(OperatorName::Direct),
                OperatorArg::Nufft => Some(OperatorName::Nufft),
                OperatorArg::Toeplitz => Some(OperatorName::Toeplitz),
            },
            iterations: self.iterations,
            min_residual: self.min_residual,
            lambda: self.lambda,
            tolerance: self.tolerance,
            trigonometry: match self.trig {
                TrigArg::Accurate => Trigonometry::Accurate,
                TrigArg::Hardware => Trigonometry::Hardware,
            },
            intensity_correction: self.intensity_correction,
            field: self.field.is_some(),
        };
        options.recipe()
    }

    /// Computes or reads weights, maps and fields; arrays from files must fit into `memory`.
    /// `coverage` is that of `kspace`, `file` the name of the samples in messages, `slice` the
    /// number of the image's slice. What is `shared` with earlier images is used again.
    pub(super) fn prepare(
        &self,
        kspace: &KSpace,
        coverage: &Coverage,
        file: &str,
        slice: u16,
        memory: Memory,
        shared: &mut Shared,
    ) -> Result<Prepared, Failure> {
        let grid = grid_of(kspace);
        let recipe = self.recipe();
        let mut problem =
            Problem::new(grid, kspace.trajectory().clone(), kspace.samples().clone())?;
        if let Some(field) = &self.field {
            problem = problem.with_field(phases(field, kspace, memory)?)?;
        }
        let asked = self.density.map(|asked| match asked {
            DensityArg::None => Density::None,
            DensityArg::Ramp => Density::Ramp,
            DensityArg::Pipe => Density::Pipe,
        });
        let chosen = Density::choose(asked, recipe.method, coverage);
        if let Some(weights) = chosen.density.weights(kspace, &mut shared.plans)? {
            problem = problem.with_weights(weights)?;
        }
        let CoilMaps { maps, mut notes } = self.coil_maps(kspace, file, slice, memory, shared)?;
        if let Some(maps) = &maps {
            let voxels = grid.voxels();
            let flat = maps
                .to_shape((maps.dim().0, kspace.coils(), voxels))?
                .to_owned();
            problem = problem.with_map_sets(flat)?;
        }
        notes.extend(chosen.note);
        Ok(Prepared {
            problem,
            recipe,
            maps,
            density: chosen.density.name(),
            notes,
            problems: chosen.problem.into_iter().collect(),
        })
    }

    /// The maps of an image: with `--coil-maps-once` those of the first image of its slice.
    fn coil_maps(
        &self,
        kspace: &KSpace,
        file: &str,
        slice: u16,
        memory: Memory,
        shared: &mut Shared,
    ) -> Result<CoilMaps, Failure> {
        if let Some(first) = shared.maps.get(&slice) {
            let of_maps = first.maps.as_ref().map(|maps| maps.shape()[1..].to_vec());
            let [slices, rows, columns] = kspace.extent().matrix;
            let of_image = vec![kspace.coils(), slices, rows, columns];
            if of_maps.as_ref().is_some_and(|of_maps| *of_maps != of_image) {
                return Err(Failure::failed(format!(
                    "{file}: --coil-maps-once: expected images of a slice with the same coils and voxels, found {of_maps:?} and {of_image:?} (coil, slice, row, column)"
                )));
            }
            return Ok(first.clone());
        }
        let mut found = (self.maps).find(kspace, file, slice, memory, &mut shared.plans)?;
        if self.maps_once && shared.is_of_several() {
            found.notes.push(
                "the coil maps of each slice are those of its first image (--coil-maps-once)"
                    .to_owned(),
            );
            shared.maps.insert(slice, found.clone());
        }
        Ok(found)
    }

    /// Whether Pipe and Menon's weights may be computed, as far as the options alone decide it.
    pub(super) fn may_use_pipe_menon(&self) -> bool {
        match self.density {
            Some(kind) => kind == DensityArg::Pipe,
            None => self.method == MethodArg::Adjoint,
        }
    }
}

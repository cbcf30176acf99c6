//! The arguments of a reconstruction.

use crate::backend::Devices;
use crate::errors::Failure;
use ndarray::Array2;
use num_complex::Complex;
use pyo3::prelude::*;
use warpstride::mri::data::{Extent, Given, KSpace, KUnit, Readout};
use warpstride::mri::io::{ExcludedCoils, leave_out};
use warpstride::mri::{Density, MapEstimation, Method, OperatorName, Options};

/// Numbers of the samples that are kept, unless all are.
type Kept = Option<Vec<usize>>;

/// What is asked for.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Asked {
    /// Slices, rows, columns; of a plane rows and columns.
    pub(crate) matrix: Vec<usize>,
    /// Samples of each readout.
    pub(crate) readouts: Vec<usize>,
    pub(crate) method: String,
    pub(crate) operator: String,
    pub(crate) iterations: Option<usize>,
    pub(crate) min_residual: Option<f64>,
    pub(crate) lamda: Option<f64>,
    pub(crate) tolerance: Option<f64>,
    /// The unit of the trajectory, if it is stated.
    pub(crate) k_unit: Option<String>,
    pub(crate) density: Option<String>,
    /// The name of an estimation; ignored if maps are given.
    pub(crate) maps: String,
    pub(crate) intensity_correction: bool,
    /// Numbers of coils that are left out.
    pub(crate) exclude_coils: Vec<usize>,
    /// Whether double precision is computed with; by default as the samples are.
    pub(crate) double: Option<bool>,
    pub(crate) backend: String,
    pub(crate) devices: Option<Devices>,
}

/// The unit of a trajectory with this name.
pub(super) fn k_unit(name: Option<&str>) -> Result<Option<KUnit>, Failure> {
    let parse = |name: &str| {
        let why = || Failure::Data(format!("k_unit {name:?}: expected {}", KUnit::NAMES));
        KUnit::parse(name).ok_or_else(why)
    };
    name.map(parse).transpose()
}

/// An argument that is none of the names.
pub(crate) fn unknown<T>(argument: &str, found: &str, names: &str) -> Result<T, Failure> {
    Err(Failure::Data(format!(
        "{argument} {found:?}: expected {names}"
    )))
}

/// Converts `trajectory` from `unit` to cycles/pixel.
pub(super) fn in_cycles(
    unit: KUnit,
    extent: &Extent,
    trajectory: &mut Array2<f64>,
) -> Result<(), Failure> {
    let cycles = unit.of_cycles(extent).ok_or_else(|| {
        Failure::Data(format!(
            "k_unit {:?}: expected a unit per pixel or fov, as arrays have no field of view in metres",
            unit.name()
        ))
    })?;
    for (mut column, cycle) in trajectory.columns_mut().into_iter().zip(cycles) {
        if cycle != 1.0 {
            column.mapv_inplace(|k| k / cycle);
        }
    }
    Ok(())
}

impl Asked {
    /// The options, checked as far as possible without the samples.
    pub(crate) fn options(&self) -> Result<Options, Failure> {
        let method = match &*self.method {
            "adjoint" => Method::Adjoint,
            "cg" => Method::Cg,
            "tv" => Method::Tv,
            "wavelet" => Method::Wavelet,
            other => return unknown("method", other, "adjoint, cg, tv or wavelet"),
        };
        let operator = match &*self.operator {
            "auto" => None,
            "direct" => Some(OperatorName::Direct),
            "nufft" => Some(OperatorName::Nufft),
            "toeplitz" => Some(OperatorName::Toeplitz),
            other => return unknown("operator", other, "auto, direct, nufft or toeplitz"),
        };
        let adjoint = method == Method::Adjoint;
        let refused = |why: String| Err(Failure::Data(why));
        match self.iterations {
            Some(n) if adjoint && n != 0 => {
                return refused(format!(
                    "iterations {n}: expected 0, as method adjoint has no iterations"
                ));
            }
            Some(n) if !adjoint && !(1..=Options::MAX_ITERATIONS).contains(&n) => {
                return refused(format!(
                    "iterations {n}: expected 1 to {}",
                    Options::MAX_ITERATIONS
                ));
            }
            _ => {}
        }
        if let Some(residual) = self.min_residual {
            if !(0.0..1.0).contains(&residual) {
                return refused(format!(
                    "min_residual {residual}: expected a number from 0, below 1"
                ));
            }
            if method != Method::Cg {
                return refused(format!(
                    "min_residual: expected method cg, found {}",
                    method.name()
                ));
            }
        }
        if let Some(lamda) = self.lamda {
            if !(lamda.is_finite() && lamda >= 0.0) {
                return refused(format!("lamda {lamda}: expected a number, 0 or more"));
            }
            if adjoint && lamda > 0.0 {
                return refused(format!(
                    "lamda {lamda}: expected 0, as method adjoint has no regulariser"
                ));
            }
        }
        if let Some(tolerance) = self.tolerance
            && !(tolerance > 0.0 && tolerance < 1.0)
        {
            return refused(format!(
                "tolerance {tolerance}: expected a number above 0 and below 1"
            ));
        }
        if operator == Some(OperatorName::Toeplitz) && adjoint {
            return refused(
                "operator toeplitz: expected nufft or direct, because method adjoint has no iterations"
                    .to_owned(),
            );
        }
        if self.intensity_correction && self.maps == "none" {
            return refused("intensity_correction: expected coil maps, found none".to_owned());
        }
        Ok(Options {
            operator,
            iterations: self.iterations,
            min_residual: self.min_residual,
            lambda: self.lamda,
            tolerance: self.tolerance,
            intensity_correction: self.intensity_correction,
            ..Options::new(method)
        })
    }

    pub(crate) fn density(&self) -> Result<Option<Density>, Failure> {
        Ok(match self.density.as_deref() {
            None => None,
            Some("none") => Some(Density::None),
            Some("ramp") => Some(Density::Ramp),
            Some("pipe") => Some(Density::Pipe),
            Some(other) => return unknown("density", other, "none, ramp, pipe or weights"),
        })
    }

    /// How the maps are estimated; `None`: each coil has an image of its own.
    pub(crate) fn estimation(&self) -> Result<Option<MapEstimation>, Failure> {
        Ok(match &*self.maps {
            "none" => None,
            "auto" | "espirit" => Some(MapEstimation::Espirit),
            "low-pass" => Some(MapEstimation::LowPass),
            "walsh" => Some(MapEstimation::Walsh),
            other => {
                return unknown(
                    "maps",
                    other,
                    "auto, espirit, low-pass, walsh, none or coil maps",
                );
            }
        })
    }

    /// The samples at the positions of `trajectory`.
    pub(crate) fn kspace(
        &self,
        trajectory: Array2<f64>,
        samples: Array2<Complex<f64>>,
    ) -> Result<KSpace, Failure> {
        self.joined(trajectory, samples, |_, _, _| ())
    }

    /// Like [`Self::kspace`], without what readers of files leave out; with the numbers of the
    /// samples that are kept, unless all are, and notes.
    pub(crate) fn sound_kspace(
        &self,
        trajectory: Array2<f64>,
        mut samples: Array2<Complex<f64>>,
    ) -> Result<(KSpace, Kept, Vec<String>), Failure> {
        let excluded = ExcludedCoils::new(&self.exclude_coils, samples.nrows(), "samples")?;
        excluded.clear(&mut samples);
        let (mut kept, mut notes) = (None, Vec::new());
        let kspace = self.joined(trajectory, samples, |trajectory, samples, readouts| {
            (kept, notes) = leave_out(trajectory, samples, readouts);
        })?;
        let (kspace, note) = excluded.remove(kspace);
        notes.extend(note);
        Ok((kspace, kept, notes))
    }

    fn joined(
        &self,
        mut trajectory: Array2<f64>,
        mut samples: Array2<Complex<f64>>,
        leave_out: impl FnOnce(&mut Array2<f64>, &mut Array2<Complex<f64>>, &mut Vec<Readout>),
    ) -> Result<KSpace, Failure> {
        let matrix = match self.matrix[..] {
            [rows, columns] => [1, rows, columns],
            [slices, rows, columns] => [slices, rows, columns],
            _ => {
                return Err(Failure::Data(format!(
                    "matrix: expected 2 or 3 axes, found {}",
                    self.matrix.len()
                )));
            }
        };
        let axes = self.matrix.len();
        let mut end = 0_usize;
        let readouts = self.readouts.iter().enumerate();
        let readouts = readouts.map(|(acquisition, count)| {
            let start = end;
            end = end.saturating_add(*count);
            Readout {
                samples: start..end,
                acquisition,
                interval: 0.0,
                discarded: 0,
            }
        });
        let mut readouts: Vec<Readout> = readouts.collect();
        let extent = Extent {
            matrix,
            axes,
            field_of_view: None,
        };
        let stated = k_unit(self.k_unit.as_deref())?;
        let unit = stated.unwrap_or(KUnit::CYCLES_PER_PIXEL);
        in_cycles(unit, &extent, &mut trajectory)?;
        if samples.ncols() == trajectory.nrows() && end == trajectory.nrows() {
            leave_out(&mut trajectory, &mut samples, &mut readouts);
        }
        let is_stated = stated.is_some();
        KSpace::given_as(
            Given::new(unit, is_stated),
            extent,
            trajectory,
            samples,
            readouts,
        )
        .map_err(Failure::data)
    }
}

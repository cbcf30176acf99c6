//! Start values: a probe from the file, the mean pattern or the optics, with extra modes, or one
//! found by a [`search`]. [`object`] is a given start object, [`slices`] are those of a thick
//! specimen, and [`earlier_result`] takes all of it from another reconstruction.

mod aberrations;
pub(crate) mod earlier_result;
mod error;
mod models;
mod modes;
pub(crate) mod object;
pub(crate) mod search;
pub(crate) mod slices;
mod unused;

pub use error::StartError;
pub(super) use modes::with_modes;

use super::ProblemError;
use crate::data::Scan;
use crate::model::near_field::NearField;
use crate::model::roll::roll;
use crate::session::recipe::{ProbeSource, Recipe};
use aberrations::aberrated;
use models::{Grid, aperture, gaussian, zone_plate};
use ndarray::{Array2, Array3, Axis};
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::f64::consts::PI;
use unused::unused;
use warpstride_fft::Fft2;

/// The error of the illumination in the file, if it cannot be the start probe and the recipe has no
/// other.
#[must_use]
pub fn unusable(scan: &Scan, recipe: &Recipe) -> Option<StartError> {
    let wanted = matches!(recipe.probe.source, ProbeSource::Auto | ProbeSource::File);
    let reason = scan.unusable_probe().filter(|_| wanted)?;
    Some(StartError::Illumination(reason.to_owned()))
}

/// A start probe.
#[derive(Debug, Clone)]
pub struct StartProbe {
    /// Its modes (mode, row, column), √photons, scaled so that Σ|P|² equals the total count of the
    /// brightest frame.
    pub(super) modes: Array3<Complex<f64>>,
    /// What is to be said of it.
    pub(super) notes: Vec<String>,
}

impl StartProbe {
    /// With the first of its modes, or all, up to a factor.
    pub(super) fn scaled(
        given: Array3<Complex<f64>>,
        scan: &Scan,
        recipe: &Recipe,
        notes: Vec<String>,
    ) -> Self {
        let mut modes = with_modes(given, recipe.probe_modes, recipe.probe.mode_power);
        let power: f64 = modes.iter().map(Complex::norm_sqr).sum();
        let scale = (scan.brightest_frame() / power).sqrt();
        modes.mapv_inplace(|v| v * scale);
        Self { modes, notes }
    }

    /// The start probe that file and recipe give; `None` if it has to be searched for.
    ///
    /// # Errors
    /// The recipe's probe cannot be made, or the counts cannot be read.
    pub(super) fn given(scan: &Scan, recipe: &Recipe) -> Result<Option<Self>, ProblemError> {
        let mut notes = Vec::new();
        let given = given(scan, recipe, &mut notes)?;
        Ok(given.map(|given| Self::scaled(given, scan, recipe, notes)))
    }
}

/// The start probe that file and recipe give (mode, row, column), up to a factor; `None` if it has
/// to be searched for.
fn given(
    scan: &Scan,
    recipe: &Recipe,
    notes: &mut Vec<String>,
) -> Result<Option<Array3<Complex<f64>>>, ProblemError> {
    let source = match (recipe.probe.source, scan.probe()) {
        (ProbeSource::Auto, Some(_)) => ProbeSource::File,
        (source, _) => source,
    };
    if let Some(error) = unusable(scan, recipe) {
        return Err(error.into());
    }
    unused(source, &recipe.probe, notes);
    let given = match source {
        ProbeSource::Auto if scan.geometry().is_near_field() => {
            notes.push(
                "start probe: none in the scan; the mean pattern, propagated back to the specimen"
                    .into(),
            );
            mean_pattern(scan).insert_axis(Axis(0))
        }
        ProbeSource::Auto => return Ok(None),
        ProbeSource::File => {
            notes.push("start probe: the illumination in the file, scaled to the counts".into());
            scan.probe().ok_or(StartError::NoIllumination)?.clone()
        }
        ProbeSource::MeanPattern => {
            notes.push("start probe: the mean pattern, back-transformed".into());
            let mut main = mean_pattern(scan);
            propagate(&mut main, scan, recipe.probe.defocus);
            main.insert_axis(Axis(0))
        }
        ProbeSource::ZonePlate | ProbeSource::Gaussian | ProbeSource::Aberrations
            if scan.geometry().is_near_field() =>
        {
            return Err(StartError::Grid {
                option: "probe.source",
                expected: "auto, file, mean-pattern or aperture for a near field".to_owned(),
                found: source.name().to_owned(),
            }
            .into());
        }
        ProbeSource::Aperture
        | ProbeSource::ZonePlate
        | ProbeSource::Gaussian
        | ProbeSource::Aberrations => {
            let (grid, options) = (Grid::new(scan, &recipe.data), &recipe.probe);
            let model = match source {
                ProbeSource::ZonePlate => zone_plate(&grid, options),
                ProbeSource::Gaussian => gaussian(&grid, options),
                ProbeSource::Aberrations => aberrated(&grid, options, notes),
                _ => aperture(&grid, options, notes),
            }?;
            notes.push(format!("start probe: {}", model.note));
            let mut main = at_specimen(scan, grid.cropped(&model.far_field, notes)?);
            propagate(&mut main, scan, model.distance);
            main.insert_axis(Axis(0))
        }
    };
    Ok(Some(given))
}

/// Largest absolute phase of the start object, rad.
const START_PHASE: f64 = 0.01;

/// Makes the start object (row, column): 1 with small random phases. Behind an object of exactly 1
/// an ideal beam has no light outside its aperture, so the first Fourier projection would give the
/// counts there the phases of rounding errors, which differ between f32, f64 and back ends.
pub(super) fn object(shape: [usize; 2], seed: u64) -> Array2<Complex<f64>> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    Array2::from_shape_simple_fn(shape, || {
        Complex::cis(START_PHASE * (2.0 * random.random::<f64>() - 1.0))
    })
}

/// √(mean of the frames) transformed back to the specimen; from the far field centred at (rows/2,
/// columns/2).
pub(super) fn mean_pattern(scan: &Scan) -> Array2<Complex<f64>> {
    let root = |v| Complex::new(f64::sqrt(v), 0.0);
    at_specimen(scan, scan.mean_frame().mapv(root))
}

/// The wave at the specimen whose detector wave is `pattern`.
fn at_specimen(scan: &Scan, pattern: Array2<Complex<f64>>) -> Array2<Complex<f64>> {
    match NearField::of(scan.geometry()) {
        Some(near) => near.at_specimen(&pattern),
        None => from_centred_spectrum(pattern),
    }
}

pub(super) fn from_centred_spectrum(spectrum: Array2<Complex<f64>>) -> Array2<Complex<f64>> {
    let (rows, columns) = spectrum.dim();
    let mut wave = roll(&spectrum, rows - rows / 2, columns - columns / 2);
    let mut fft = Fft2::new(rows, columns);
    if let Some(data) = wave.as_slice_mut() {
        fft.inverse(data);
    }
    roll(&wave, rows / 2, columns / 2)
}

/// Propagates through free space by `distance`, m, with the paraxial transfer function
/// exp(−iπ λ z f²) on the object's pixel grid.
pub(super) fn propagate(wave: &mut Array2<Complex<f64>>, scan: &Scan, distance: f64) {
    if distance == 0.0 {
        return;
    }
    let (rows, columns) = wave.dim();
    let wavelength = scan.geometry().wavelength;
    let factors = Transfer::new([rows, columns], scan.object_pixel(), wavelength, distance);
    let mut fft = Fft2::new(rows, columns);
    if let Some(data) = wave.as_slice_mut() {
        fft.forward(data);
        factors.apply(data);
        fft.inverse(data);
    }
}

/// The paraxial transfer function exp(−iπ λ z f²), the product of factors of its rows and of its
/// columns.
pub(super) struct Transfer {
    rows: Vec<Complex<f64>>,
    columns: Vec<Complex<f64>>,
}

impl Transfer {
    /// For z = `distance`, m, and every frequency of a transform (row, column), the zero frequency
    /// first.
    pub(super) fn new(sizes: [usize; 2], pixel: [f64; 2], wavelength: f64, distance: f64) -> Self {
        let turned = -PI * wavelength * distance;
        let [rows, columns] = [0, 1].map(|axis| {
            let n = sizes[axis];
            let factor = |i: usize| {
                let signed = if i < n.div_ceil(2) {
                    i as f64
                } else {
                    i as f64 - n as f64
                };
                let frequency = signed / (n as f64 * pixel[axis]);
                Complex::cis(turned * frequency * frequency)
            };
            (0..n).map(factor).collect()
        });
        Self { rows, columns }
    }

    /// Multiplies a transform (row, column) by it.
    pub(super) fn apply(&self, values: &mut [Complex<f64>]) {
        let lines = values.chunks_mut(self.columns.len().max(1));
        for (line, row) in lines.zip(&self.rows) {
            for (value, column) in line.iter_mut().zip(&self.columns) {
                *value *= row * column;
            }
        }
    }
}

/// The start probe that file and recipe give, for tests.
#[cfg(test)]
fn probe(
    scan: &Scan,
    recipe: &Recipe,
    notes: &mut Vec<String>,
) -> Result<Array3<Complex<f64>>, ProblemError> {
    let made = StartProbe::given(scan, recipe)?.expect("a start probe without a search");
    notes.extend(made.notes);
    Ok(made.modes)
}

//! Start values: a probe from the file, the mean pattern or an aperture, with extra modes.

use super::ProblemError;
use super::near_field::NearField;
use super::probe_search;
use super::recipe::{ProbeSource, ProbeStart, Recipe};
use crate::data::Scan;
use crate::fft::Fft2;
use crate::text::shortest;
use ndarray::{Array2, Array3, ArrayViewMut2, Axis, s};
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::f64::consts::{PI, TAU};

/// Why no start probe can be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// The recipe requires the file's illumination, but there is none.
    #[error("{}: {}", self.option(), self.reason())]
    NoIllumination,
    /// The aperture illuminates no pixel.
    #[error("{}: {}", self.option(), self.reason())]
    DarkAperture(String),
}

impl StartError {
    /// Path of the option in the recipe.
    #[must_use]
    pub fn option(&self) -> &'static str {
        match self {
            Self::NoIllumination => "probe.source",
            Self::DarkAperture(_) => "probe.aperture",
        }
    }

    /// What was expected and found.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::NoIllumination => {
                "expected an illumination in the scan, found none; choose another probe.source"
                    .to_owned()
            }
            Self::DarkAperture(found) => format!(
                "expected a fraction of the frame's width that illuminates a detector pixel, found {found}"
            ),
        }
    }
}

/// Makes the start probe (mode, row, column), √photons, scaled so that Σ|P|² equals the total count
/// of the brightest frame.
///
/// # Errors
/// The recipe's probe cannot be made, or the counts cannot be read.
pub(super) fn probe(
    scan: &Scan,
    recipe: &Recipe,
    notes: &mut Vec<String>,
) -> Result<Array3<Complex<f64>>, ProblemError> {
    let [_, rows, columns] = scan.shape();
    let source = match (recipe.probe.source, scan.probe()) {
        (ProbeSource::Auto, Some(_)) => ProbeSource::File,
        (source, _) => source,
    };
    unused(source, &recipe.probe, notes);
    let given = match source {
        ProbeSource::Auto if scan.geometry().is_near_field() => {
            notes.push(
                "start probe: none in the scan; the mean pattern, propagated back to the specimen"
                    .into(),
            );
            mean_pattern(scan).insert_axis(Axis(0))
        }
        ProbeSource::Auto => {
            let (main, defocus) = probe_search::search(scan)?;
            notes.push(format!(
                "start probe: none in the scan; the mean pattern with a defocus of {defocus:.2e} m fits best (set probe.source and probe.defocus to override it)"
            ));
            main.insert_axis(Axis(0))
        }
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
        ProbeSource::Aperture => {
            notes.push(format!(
                "start probe: an aperture of {} of the frame's width with a defocus of {:e} m",
                recipe.probe.aperture, recipe.probe.defocus
            ));
            let mut main = at_specimen(scan, lit_disc(rows, columns, recipe.probe.aperture));
            if main.iter().all(|v| v.norm_sqr() == 0.0) {
                return Err(StartError::DarkAperture(shortest(recipe.probe.aperture)).into());
            }
            propagate(&mut main, scan, recipe.probe.defocus);
            main.insert_axis(Axis(0))
        }
    };
    let mut probe = with_modes(given, recipe.probe_modes, recipe.probe.mode_power);
    let power: f64 = probe.iter().map(Complex::norm_sqr).sum();
    let scale = (scan.brightest_frame() / power).sqrt();
    probe.mapv_inplace(|v| v * scale);
    Ok(probe)
}

/// Notes options of the start probe that are set, but have no effect on one from `source`.
fn unused(source: ProbeSource, options: &ProbeStart, notes: &mut Vec<String>) {
    let default = ProbeStart::default();
    let aperture = source != ProbeSource::Aperture && options.aperture != default.aperture;
    let propagated = matches!(source, ProbeSource::Aperture | ProbeSource::MeanPattern);
    let defocus = !propagated && options.defocus != default.defocus;
    for (option, set) in [("aperture", aperture), ("defocus", defocus)] {
        if set {
            notes.push(format!(
                "probe.{option} has no effect on this start probe (probe.source chooses another)"
            ));
        }
    }
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

/// √(mean of the frames) transformed back to the specimen; from the far field centred at (rows/2, columns/2).
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

/// A uniformly lit disc on the detector whose diameter is `fraction` times the width.
fn lit_disc(rows: usize, columns: usize, fraction: f64) -> Array2<Complex<f64>> {
    Array2::from_shape_fn((rows, columns), |(r, c)| {
        let y = (r as f64 - (rows / 2) as f64) / (0.5 * fraction * rows as f64);
        let x = (c as f64 - (columns / 2) as f64) / (0.5 * fraction * columns as f64);
        Complex::new(if x * x + y * y <= 1.0 { 1.0 } else { 0.0 }, 0.0)
    })
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

/// Shifts `a` cyclically down by `rows` and right by `columns`.
pub(super) fn roll<T: Clone>(a: &Array2<T>, rows: usize, columns: usize) -> Array2<T> {
    let (height, width) = a.dim();
    Array2::from_shape_fn((height, width), |(r, c)| {
        a[[
            (r + height - rows % height) % height,
            (c + width - columns % width) % width,
        ]]
        .clone()
    })
}

/// Propagates through free space by `distance`, m, with the paraxial transfer function
/// exp(−iπ λ z f²) on the object's pixel grid.
pub(super) fn propagate(wave: &mut Array2<Complex<f64>>, scan: &Scan, distance: f64) {
    if distance == 0.0 {
        return;
    }
    let (rows, columns) = wave.dim();
    let pixel = scan.object_pixel();
    let wavelength = scan.geometry().wavelength;
    let frequency = |i: usize, n: usize, pixel: f64| {
        let signed = if i < n.div_ceil(2) {
            i as f64
        } else {
            i as f64 - n as f64
        };
        signed / (n as f64 * pixel)
    };
    let mut fft = Fft2::new(rows, columns);
    if let Some(data) = wave.as_slice_mut() {
        fft.forward(data);
        for (i, value) in data.iter_mut().enumerate() {
            let fy = frequency(i / columns, rows, pixel[0]);
            let fx = frequency(i % columns, columns, pixel[1]);
            *value *= Complex::cis(-PI * wavelength * distance * (fx * fx + fy * fy));
        }
        fft.inverse(data);
    }
}

/// Largest fraction of the probe's power that all extra modes together start with.
const MAX_EXTRA_POWER: f64 = 0.5;

/// Extends the given modes to `modes` modes. Each extra mode is the strongest given one times a
/// Hermite–Gauss-like polynomial of its width, orthogonal to all modes before it, with the fraction
/// `fraction` of the total power. Identical modes would never separate.
pub(super) fn with_modes(
    given: Array3<Complex<f64>>,
    modes: usize,
    fraction: f64,
) -> Array3<Complex<f64>> {
    let (have, rows, columns) = given.dim();
    let mut out = Array3::zeros((modes, rows, columns));
    let copied = have.min(modes);
    out.slice_mut(s![..copied, .., ..])
        .assign(&given.slice(s![..copied, .., ..]));
    if modes <= have {
        return out;
    }
    let given_power: f64 = out.iter().map(Complex::norm_sqr).sum();
    let extra = (modes - have) as f64;
    let fraction = fraction.min(MAX_EXTRA_POWER / extra);
    let each = given_power * fraction / (1.0 - fraction * extra);
    // The first mode of a file may be dark, so take the strongest.
    let power_of = |mode: &usize| -> f64 {
        given
            .index_axis(Axis(0), *mode)
            .iter()
            .map(Complex::norm_sqr)
            .sum()
    };
    let strongest = (0..copied).max_by(|a, b| power_of(a).total_cmp(&power_of(b)));
    let main = given.index_axis(Axis(0), strongest.unwrap_or(0));
    let (centre, width) = centre_and_width(&main.to_owned());
    let orders = (1..).flat_map(|n: i32| (0..=n).map(move |k| (n - k, k)));
    for (mode, (down, right)) in (have..modes).zip(orders) {
        let mut wave = Array2::from_shape_fn((rows, columns), |(r, c)| {
            let y = (r as f64 - centre[0]) / width[0];
            let x = (c as f64 - centre[1]) / width[1];
            // Bounded, so that distant tails do not dominate.
            let bounded = |v: f64| v / (1.0 + 0.1 * v * v);
            main[[r, c]] * bounded(y).powi(down) * bounded(x).powi(right)
        });
        for before in 0..mode {
            remove_component(
                &mut wave.view_mut(),
                &out.index_axis(Axis(0), before).to_owned(),
            );
        }
        let mut power: f64 = wave.iter().map(Complex::norm_sqr).sum();
        if power <= 1e-12 * given_power {
            // A probe of one pixel is too small for polynomials; use distinct phases instead.
            wave = Array2::from_shape_fn((rows, columns), |(r, c)| {
                let turns = 0.618_034 * ((r * columns + c) * mode) as f64;
                main[[r, c]] * Complex::cis(TAU * turns)
            });
            power = wave.iter().map(Complex::norm_sqr).sum();
        }
        let scale = (each / power).sqrt();
        out.index_axis_mut(Axis(0), mode)
            .assign(&wave.mapv(|v| v * scale));
    }
    out
}

fn remove_component(wave: &mut ArrayViewMut2<'_, Complex<f64>>, other: &Array2<Complex<f64>>) {
    let norm: f64 = other.iter().map(Complex::norm_sqr).sum();
    if norm > 0.0 {
        let dot: Complex<f64> = wave.iter().zip(other).map(|(w, o)| o.conj() * w).sum();
        wave.zip_mut_with(other, |w, o| *w -= o * (dot / norm));
    }
}

/// Centre of mass and root-mean-square width (at least 1) of |wave|², (row, column), pixels.
fn centre_and_width(wave: &Array2<Complex<f64>>) -> ([f64; 2], [f64; 2]) {
    let power: f64 = wave.iter().map(Complex::norm_sqr).sum();
    let moment = |f: &dyn Fn(usize, usize) -> f64| -> f64 {
        wave.indexed_iter()
            .map(|((r, c), v)| f(r, c) * v.norm_sqr())
            .sum::<f64>()
            / power
    };
    let centre = [moment(&|r, _| r as f64), moment(&|_, c| c as f64)];
    let width = [
        moment(&|r, _| (r as f64 - centre[0]).powi(2))
            .sqrt()
            .max(1.0),
        moment(&|_, c| (c as f64 - centre[1]).powi(2))
            .sqrt()
            .max(1.0),
    ];
    (centre, width)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(rows: usize, columns: usize) -> Array3<Complex<f64>> {
        Array3::from_shape_fn((1, rows, columns), |(_, r, c)| {
            let y = r as f64 - 0.4 * rows as f64;
            let x = c as f64 - 0.5 * columns as f64;
            Complex::cis(0.1 * x) * (-(x * x + 2.0 * y * y) / 30.0).exp()
        })
    }

    #[test]
    fn extra_modes_are_orthogonal_and_have_the_requested_power() {
        for modes in [2, 3, 7] {
            let probe = with_modes(wave(19, 23), modes, 0.05);
            let total: f64 = probe.iter().map(Complex::norm_sqr).sum();
            for i in 0..modes {
                let a = probe.index_axis(Axis(0), i);
                let power: f64 = a.iter().map(Complex::norm_sqr).sum();
                if i > 0 {
                    assert!((power / total - 0.05).abs() < 1e-9);
                }
                for j in 0..i {
                    let b = probe.index_axis(Axis(0), j);
                    let dot: Complex<f64> = a.iter().zip(b).map(|(x, y)| x.conj() * y).sum();
                    assert!(dot.norm() < 1e-9 * total);
                }
            }
        }
    }

    #[test]
    fn a_dark_first_mode_is_not_copied() {
        let mut given = Array3::zeros((2, 9, 11));
        given
            .index_axis_mut(Axis(0), 1)
            .assign(&wave(9, 11).index_axis(Axis(0), 0));
        let probe = with_modes(given, 4, 0.05);
        assert!(probe.iter().all(|v| v.norm_sqr().is_finite()));
        let last: f64 = probe
            .index_axis(Axis(0), 3)
            .iter()
            .map(Complex::norm_sqr)
            .sum();
        assert!(last > 0.0);
    }

    #[test]
    fn a_single_pixel_gets_extra_modes() {
        let probe = with_modes(Array3::from_elem((1, 1, 1), Complex::new(2.0, 0.0)), 3, 0.1);
        assert!(
            probe
                .iter()
                .all(|v| v.norm_sqr() > 0.0 && v.norm_sqr().is_finite())
        );
    }

    #[test]
    fn an_aperture_is_focused_at_the_centre() {
        for (rows, columns) in [(16, 16), (15, 22)] {
            let focus = from_centred_spectrum(lit_disc(rows, columns, 0.5));
            let brightest = focus
                .indexed_iter()
                .max_by(|a, b| a.1.norm_sqr().total_cmp(&b.1.norm_sqr()))
                .map(|(pixel, _)| pixel);
            assert_eq!(brightest, Some((rows / 2, columns / 2)));
        }
    }
}

//! State and step of a projection engine on the CPU.

use super::fourier_projection::{
    FrameErrors, FrameModel, Scratch, model_errors, model_spectra, step_frame,
};
use super::{centring, constraints, object_update, probe_update};
use crate::fft::{Real, TransposedFft2};
use crate::ptycho::{Engine, EngineError, EngineState, ModelErrors, Problem, Step, StepErrors};
use crate::run::Setup;
use ndarray::{Array2, Array3};
use num_complex::Complex;
use rayon::prelude::*;

/// Array sizes and windows of the frames.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) modes: usize,
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) object_shape: [usize; 2],
    pub(super) corners: Vec<[u32; 2]>,
}

impl Layout {
    pub(super) fn pixels(&self) -> usize {
        self.rows * self.columns
    }
}

/// Probe and object within the window of one frame.
pub(super) struct Window<'a, T> {
    pub(super) layout: &'a Layout,
    pub(super) corner: [u32; 2],
    pub(super) probe: &'a [Complex<T>],
    pub(super) object: &'a [Complex<T>],
}

impl<T: Real> Window<'_, T> {
    /// Calls `take(pixel, P_mode·O)` for each pixel of the frame, row by row.
    pub(super) fn for_each_product(&self, mode: usize, mut take: impl FnMut(usize, Complex<T>)) {
        let layout = self.layout;
        let [top, left] = self.corner.map(|v| v as usize);
        let probe = &self.probe[mode * layout.pixels()..];
        for row in 0..layout.rows {
            let o = &self.object[(top + row) * layout.object_shape[1] + left..][..layout.columns];
            let p = &probe[row * layout.columns..][..layout.columns];
            for (column, (p, o)) in p.iter().zip(o).enumerate() {
                take(row * layout.columns + column, p * o);
            }
        }
    }
}

/// Σ|P|² over the modes, (row, column).
pub(super) fn mode_power<T: Real>(probe: &[Complex<T>], modes: usize, pixels: usize) -> Vec<T> {
    let mut power = vec![T::default(); pixels];
    for mode in 0..modes {
        for (sum, p) in power.iter_mut().zip(&probe[mode * pixels..]) {
            *sum += p.norm_sqr();
        }
    }
    power
}

/// A projection engine on the CPU in precision `T`.
pub struct CpuEngine<T: Real> {
    layout: Layout,
    fft: TransposedFft2<T>,
    /// √counts (frame, column, row), negative where masked or free.
    magnitudes: Vec<f32>,
    total_counts: f64,
    free_counts: f64,
    object: Vec<Complex<T>>,
    probe: Vec<Complex<T>>,
    /// Ψ, unnormalised transforms of the exit waves (frame, mode, column, row).
    spectra: Vec<Complex<T>>,
    /// Exit waves ψ (frame, mode, row, column) of the current iteration.
    exit: Vec<Complex<T>>,
    finished: Vec<StepErrors>,
}

impl<T: Real> CpuEngine<T> {
    /// Initialises the engine with the start values; the exit waves start as P·O.
    #[must_use]
    pub fn new(problem: &Problem) -> Self {
        let [frames, modes, rows, columns] = problem.shape();
        let layout = Layout {
            modes,
            rows,
            columns,
            object_shape: problem.positions.object_shape,
            corners: problem.positions.corners.clone(),
        };
        let pixels = layout.pixels();
        let mut magnitudes = vec![0.0; frames * pixels];
        let source = problem.magnitudes.as_standard_layout();
        if let Some(source) = source.as_slice() {
            magnitudes
                .par_chunks_mut(pixels)
                .zip(source.par_chunks(pixels))
                .for_each(|(to, from)| transpose::transpose(from, to, columns, rows));
        }
        let convert = |v: &Complex<f64>| Complex::new(T::of(v.re), T::of(v.im));
        let mut engine = Self {
            fft: TransposedFft2::new(rows, columns),
            magnitudes,
            total_counts: problem.total_counts,
            free_counts: problem.free_counts,
            object: problem.object.iter().map(convert).collect(),
            probe: problem.probe.iter().map(convert).collect(),
            spectra: vec![Complex::default(); frames * modes * pixels],
            exit: vec![Complex::default(); frames * modes * pixels],
            finished: Vec::new(),
            layout,
        };
        let Self {
            layout,
            fft,
            object,
            probe,
            spectra,
            ..
        } = &mut engine;
        spectra
            .par_chunks_mut(modes * pixels)
            .zip(&layout.corners)
            .for_each_init(
                || Scratch::new(layout, fft),
                |scratch, (state, corner)| {
                    let window = Window {
                        layout,
                        corner: *corner,
                        probe,
                        object,
                    };
                    model_spectra(&window, fft, scratch);
                    state.copy_from_slice(&scratch.model);
                },
            );
        engine
    }

    fn project(&mut self, step: &Step) -> Vec<FrameErrors> {
        let Self {
            layout,
            fft,
            magnitudes,
            object,
            probe,
            spectra,
            exit,
            ..
        } = self;
        let pixels = layout.pixels();
        let waves = layout.modes * pixels;
        spectra
            .par_chunks_mut(waves)
            .zip(exit.par_chunks_mut(waves))
            .zip(magnitudes.par_chunks(pixels))
            .zip(&layout.corners)
            .map_init(
                || Scratch::new(layout, fft),
                |scratch, ((state, magnitudes), corner)| {
                    let window = Window {
                        layout,
                        corner: *corner,
                        probe,
                        object,
                    };
                    let coefficients = step.coefficients;
                    step_frame(
                        &window,
                        state,
                        magnitudes,
                        coefficients,
                        step.bound,
                        fft,
                        scratch,
                    )
                },
            )
            .collect()
    }

    fn overlap(&mut self, step: &Step) {
        for _ in 0..step.overlap_loops {
            if step.update_object {
                object_update::object_update(
                    &self.layout,
                    &mut self.object,
                    &self.probe,
                    &self.exit,
                    step.object_weight,
                    step.clip_object,
                );
            }
            if !step.update_probe {
                break;
            }
            let before = self.probe.clone();
            probe_update::probe_update(
                &self.layout,
                &self.object,
                &mut self.probe,
                &self.exit,
                step.probe_weight,
            );
            self.constrain_probe(step);
            let [moved, norm] = probe_update::change(&before, &self.probe);
            if moved < step.overlap_tolerance * step.overlap_tolerance * norm {
                break;
            }
        }
    }

    fn constrain_probe(&mut self, step: &Step) {
        let (rows, columns) = (self.layout.rows, self.layout.columns);
        if let Some(fraction) = step.probe_support {
            constraints::real_support(&mut self.probe, &constraints::disc(rows, columns, fraction));
        }
        if let Some(fraction) = step.probe_fourier_support {
            let support = constraints::disc_at_origin(rows, columns, fraction);
            constraints::fourier_support(&mut self.probe, &support, rows, columns);
        }
    }

    fn centre(&mut self, tolerance: f64) {
        let layout = &self.layout;
        let sums = centring::moments(layout, &self.probe);
        let frame = [layout.rows, layout.columns];
        let shift = centring::centring_shift(sums, frame.map(|n| n / 2), tolerance);
        if shift != [0, 0] {
            centring::roll(&mut self.probe, frame, shift);
            centring::roll_spectra(&mut self.spectra, frame, shift);
            centring::roll(&mut self.object, layout.object_shape, shift);
        }
    }

    /// Transposes every layer of `lines` × `width`.
    fn transposed(&self, from: &[Complex<T>], [lines, width]: [usize; 2]) -> Vec<Complex<T>> {
        let pixels = self.layout.pixels();
        let mut to = vec![Complex::default(); from.len()];
        to.par_chunks_mut(pixels)
            .zip(from.par_chunks(pixels))
            .for_each(|(to, from)| transpose::transpose(from, to, width, lines));
        to
    }

    fn combine(&self, frames: impl Iterator<Item = FrameModel> + Clone) -> ModelErrors {
        let count = self.layout.corners.len().max(1) as f64;
        let residual: f64 = frames.clone().map(|f| f.residual).sum();
        let free: f64 = frames.clone().map(|f| f.free).sum();
        ModelErrors {
            photon: frames.map(|f| f.photon).sum::<f64>() / count,
            r_factor: residual / self.total_counts,
            r_free: (self.free_counts > 0.0).then(|| free / self.free_counts),
        }
    }
}

impl<T: Real> Engine for CpuEngine<T> {
    fn setup(&self) -> Setup {
        Setup::cpu(if size_of::<T>() == 4 { "f32" } else { "f64" })
    }

    fn step(&mut self, step: &Step) -> Result<(), EngineError> {
        let frames = self.project(step);
        self.overlap(step);
        if let Some(tolerance) = step.centre_tolerance {
            self.centre(tolerance);
        }
        let count = frames.len().max(1) as f64;
        let pixels = self.layout.pixels() as f64;
        self.finished.push(StepErrors {
            fourier: frames.iter().map(|f| f.fourier).sum::<f64>() / count,
            exit: frames.iter().map(|f| f.exit).sum::<f64>() / (count * pixels),
            start: self.combine(frames.iter().map(|f| f.model)),
        });
        Ok(())
    }

    fn errors(&mut self, _all: bool) -> Result<Vec<StepErrors>, EngineError> {
        Ok(std::mem::take(&mut self.finished))
    }

    fn metrics(&mut self) -> Result<ModelErrors, EngineError> {
        let Self {
            layout,
            fft,
            object,
            probe,
            ..
        } = &*self;
        let scale2 = fft.scale() * fft.scale();
        let frames: Vec<FrameModel> = self
            .magnitudes
            .par_chunks(layout.pixels())
            .zip(&layout.corners)
            .map_init(
                || Scratch::new(layout, fft),
                |scratch, (magnitudes, corner)| {
                    let window = Window {
                        layout,
                        corner: *corner,
                        probe,
                        object,
                    };
                    model_spectra(&window, fft, scratch);
                    model_errors(scratch, magnitudes, scale2)
                },
            )
            .collect();
        Ok(self.combine(frames.iter().copied()))
    }

    fn object(&mut self) -> Result<Array2<Complex<f64>>, EngineError> {
        let [rows, columns] = self.layout.object_shape;
        Ok(Array2::from_shape_fn((rows, columns), |(r, c)| {
            wide(self.object[r * columns + c])
        }))
    }

    fn probe(&mut self) -> Result<Array3<Complex<f64>>, EngineError> {
        let Layout {
            modes,
            rows,
            columns,
            ..
        } = self.layout;
        Ok(Array3::from_shape_fn(
            (modes, rows, columns),
            |(m, r, c)| wide(self.probe[(m * rows + r) * columns + c]),
        ))
    }

    fn save(&mut self) -> Result<EngineState, EngineError> {
        // The saved state is in (row, column) order within a layer, the engine in (column, row)
        // order.
        let spectra = self.transposed(&self.spectra, [self.layout.columns, self.layout.rows]);
        Ok(EngineState::from_parts(
            self.object.clone(),
            self.probe.clone(),
            spectra,
        ))
    }

    fn restore(&mut self, state: &EngineState) -> Result<(), EngineError> {
        self.finished.clear();
        let lengths = [self.object.len(), self.probe.len(), self.spectra.len()];
        let [object, probe, exit] = state.parts(lengths)?;
        self.object.copy_from_slice(object);
        self.probe.copy_from_slice(probe);
        self.spectra = self.transposed(exit, [self.layout.rows, self.layout.columns]);
        Ok(())
    }
}

fn wide<T: Real>(v: Complex<T>) -> Complex<f64> {
    Complex::new(v.re.wide(), v.im.wide())
}

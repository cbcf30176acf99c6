//! A ptychographic scan as plain, checked data.

use super::Geometry;
use ndarray::{Array2, Array3, Axis};
use num_complex::Complex;

/// Which detector pixels are valid (`true`).
#[derive(Debug, Clone, PartialEq)]
pub enum Mask {
    /// The same pixels in every frame: (row, column).
    Shared(Array2<bool>),
    /// Other pixels in each frame: (frame, row, column).
    PerFrame(Array3<bool>),
}

impl Mask {
    /// Number of valid pixels of `frame`.
    #[must_use]
    pub fn valid_in(&self, frame: usize) -> usize {
        match self {
            Self::Shared(m) => m.iter().filter(|v| **v).count(),
            Self::PerFrame(m) => m.index_axis(Axis(0), frame).iter().filter(|v| **v).count(),
        }
    }
}

/// What a simulated scan was made from.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulation {
    /// (row, column), transmission.
    pub object: Array2<Complex<f64>>,
    /// (mode, row, column), √photons.
    pub probe: Array3<Complex<f64>>,
    /// (frame, (row, column)), m: where the frames were really taken.
    pub positions: Array2<f64>,
    /// Position of a window that begins at object pixel (0, 0), (row, column), m.
    pub origin: [f64; 2],
    /// Seed of the random generators.
    pub seed: u64,
}

/// A scan: at least one frame, every count finite and not negative, at least one valid pixel in
/// the whole scan, one finite position a frame, the probe's shape that of the frames.
#[derive(Debug, Clone, PartialEq)]
pub struct Scan {
    frames: Array3<f32>,
    mask: Mask,
    positions: Array2<f64>,
    geometry: Geometry,
    probe: Option<Array3<Complex<f64>>>,
    simulation: Option<Simulation>,
}

/// Why data do not make a scan. Whoever read them from a file adds the file and the dataset.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ScanError {
    /// No frames, or frames without pixels.
    #[error(
        "the frames have shape {0} x {1} x {2}: at least one frame of at least one pixel is expected"
    )]
    Empty(usize, usize, usize),
    /// Frame and position counts differ.
    #[error("{frames} frames but {positions} positions: one position a frame is expected")]
    PositionCount {
        /// Frames found.
        frames: usize,
        /// Positions found.
        positions: usize,
    },
    /// A position is NaN or infinite.
    #[error("position {frame} is ({row}, {column}): finite metres are expected")]
    Position {
        /// Which.
        frame: usize,
        /// Found.
        row: f64,
        /// Found.
        column: f64,
    },
    /// A valid pixel is NaN, infinite or negative.
    #[error(
        "frame {frame}, row {row}, column {column} holds {found}: finite counts >= 0 (at most 3.4e38, as f32) are expected on every pixel that is not masked"
    )]
    Count {
        /// Where.
        frame: usize,
        /// Where.
        row: usize,
        /// Where.
        column: usize,
        /// What.
        found: f32,
    },
    /// All valid pixels of the scan hold zero.
    #[error("every valid pixel of all {frames} frames is zero: at least one photon is expected")]
    Dark {
        /// How many frames.
        frames: usize,
    },
    /// The mask's shape.
    #[error(
        "the mask has shape {found:?}, the frames {frames:?}: one mask (row, column), or one a frame, is expected"
    )]
    MaskShape {
        /// Found.
        found: Vec<usize>,
        /// Shape of the frames.
        frames: [usize; 3],
    },
    /// Every pixel is masked.
    #[error("all pixels are masked as bad: at least one valid pixel is expected")]
    AllMasked,
    /// The probe's shape.
    #[error("the start probe has shape {found:?}: (mode, {rows}, {columns}) is expected")]
    ProbeShape {
        /// Found.
        found: Vec<usize>,
        /// Rows of a frame.
        rows: usize,
        /// Columns of a frame.
        columns: usize,
    },
    /// The probe has NaN or infinite values, or no power.
    #[error("the start probe has values that are not finite, or is zero everywhere")]
    Probe,
    /// A length is NaN, infinite, zero or negative.
    #[error("{name} is {found}: a finite length > 0 m is expected")]
    Length {
        /// Which.
        name: &'static str,
        /// Found.
        found: f64,
    },
}

impl Scan {
    /// Checks and takes the parts. `frames`: (frame, row, column), counts, zero frequency at
    /// (rows/2, columns/2); masked counts may hold anything and are set to 0. `positions`:
    /// (frame, (row, column)), m. `probe`: (mode, row, column).
    ///
    /// # Errors
    /// The first [`ScanError`] found.
    pub fn new(
        mut frames: Array3<f32>,
        mask: Option<Mask>,
        positions: Array2<f64>,
        geometry: Geometry,
        probe: Option<Array3<Complex<f64>>>,
    ) -> Result<Self, ScanError> {
        let (count, rows, columns) = frames.dim();
        if frames.is_empty() {
            return Err(ScanError::Empty(count, rows, columns));
        }
        for (name, found) in [
            ("the wavelength", geometry.wavelength),
            ("the distance", geometry.distance),
            ("the detector pixel (rows)", geometry.pixel_size[0]),
            ("the detector pixel (columns)", geometry.pixel_size[1]),
        ] {
            if !(found.is_finite() && found > 0.0) {
                return Err(ScanError::Length { name, found });
            }
        }
        if positions.dim() != (count, 2) {
            return Err(ScanError::PositionCount {
                frames: count,
                positions: positions.nrows(),
            });
        }
        for (frame, p) in positions.rows().into_iter().enumerate() {
            if !(p[0].is_finite() && p[1].is_finite()) {
                return Err(ScanError::Position {
                    frame,
                    row: p[0],
                    column: p[1],
                });
            }
        }
        let mask = mask.unwrap_or_else(|| Mask::Shared(Array2::from_elem((rows, columns), true)));
        let found = match &mask {
            Mask::Shared(m) if m.dim() == (rows, columns) => None,
            Mask::PerFrame(m) if m.dim() == (count, rows, columns) => None,
            Mask::Shared(m) => Some(m.shape().to_vec()),
            Mask::PerFrame(m) => Some(m.shape().to_vec()),
        };
        if let Some(found) = found {
            return Err(ScanError::MaskShape {
                found,
                frames: [count, rows, columns],
            });
        }
        if (0..count).all(|frame| mask.valid_in(frame) == 0) {
            return Err(ScanError::AllMasked);
        }
        let mut photons = false;
        for ((frame, row, column), value) in frames.indexed_iter_mut() {
            let valid = match &mask {
                Mask::Shared(m) => m[[row, column]],
                Mask::PerFrame(m) => m[[frame, row, column]],
            };
            if !valid {
                *value = 0.0;
            } else if !(value.is_finite() && *value >= 0.0) {
                return Err(ScanError::Count {
                    frame,
                    row,
                    column,
                    found: *value,
                });
            } else if *value > 0.0 {
                photons = true;
            }
        }
        if !photons {
            return Err(ScanError::Dark { frames: count });
        }
        if let Some(p) = &probe {
            let (modes, r, c) = p.dim();
            if modes == 0 || (r, c) != (rows, columns) {
                return Err(ScanError::ProbeShape {
                    found: p.shape().to_vec(),
                    rows,
                    columns,
                });
            }
            let power: f64 = p.iter().map(Complex::norm_sqr).sum();
            if !(power.is_finite() && power > 0.0) {
                return Err(ScanError::Probe);
            }
        }
        Ok(Self {
            frames,
            mask,
            positions,
            geometry,
            probe,
            simulation: None,
        })
    }

    /// Adds what a simulated scan was made from.
    #[must_use]
    pub fn with_simulation(mut self, simulation: Simulation) -> Self {
        self.simulation = Some(simulation);
        self
    }

    /// (frame, row, column), counts; zero frequency at (rows/2, columns/2); masked pixels 0.
    #[must_use]
    pub fn frames(&self) -> &Array3<f32> {
        &self.frames
    }

    /// Valid pixels.
    #[must_use]
    pub fn mask(&self) -> &Mask {
        &self.mask
    }

    /// (frame, (row, column)), m.
    #[must_use]
    pub fn positions(&self) -> &Array2<f64> {
        &self.positions
    }

    /// Wavelength, distance, pixels.
    #[must_use]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Start probe (mode, row, column), if the source has one.
    #[must_use]
    pub fn probe(&self) -> Option<&Array3<Complex<f64>>> {
        self.probe.as_ref()
    }

    /// Truth, if the scan was simulated.
    #[must_use]
    pub fn simulation(&self) -> Option<&Simulation> {
        self.simulation.as_ref()
    }

    /// Frames, rows, columns.
    #[must_use]
    pub fn shape(&self) -> [usize; 3] {
        let (n, r, c) = self.frames.dim();
        [n, r, c]
    }

    /// Object pixel (row, column), m.
    #[must_use]
    pub fn object_pixel(&self) -> [f64; 2] {
        self.geometry.object_pixel(self.shape()[1], self.shape()[2])
    }

    /// Mean of the frames (row, column), added up in double precision.
    #[must_use]
    pub fn mean_frame(&self) -> Array2<f64> {
        let [frames, rows, columns] = self.shape();
        let mut mean = Array2::<f64>::zeros((rows, columns));
        for frame in self.frames.outer_iter() {
            mean.zip_mut_with(&frame, |sum, count| *sum += f64::from(*count));
        }
        mean.mapv_inplace(|sum| sum / frames as f64);
        mean
    }

    /// Photons of the brightest frame: max over frames of the sum over valid pixels.
    #[must_use]
    pub fn brightest_frame(&self) -> f64 {
        self.frames
            .outer_iter()
            .map(|f| f.iter().map(|v| f64::from(*v)).sum::<f64>())
            .fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_frame_is_exact_where_f32_is_not() {
        let mut frames = Array3::<f32>::from_elem((3, 2, 3), 1.0);
        frames[[0, 1, 2]] = 16_777_216.0;
        let geometry = Geometry {
            wavelength: 1e-10,
            distance: 1.0,
            pixel_size: [1e-4; 2],
        };
        let scan = Scan::new(frames, None, Array2::zeros((3, 2)), geometry, None).unwrap();
        let mean = scan.mean_frame();
        assert_eq!((mean[[0, 0]], mean[[1, 2]]), (1.0, 16_777_218.0 / 3.0));
    }
}

//! A result of another program, and what its files have in common.

use crate::Frames;
use crate::data::{ModelParts, Propagation, Reconstruction};
use crate::io::results::values::finite;
use crate::model::fluence::fluence;
use crate::quality::orthogonalise;
use ndarray::{Array2, Array3, Axis, Ix3};
use num_complex::Complex;
use warpstride_files::IoError;
use warpstride_files::source::Numbers;

/// An electronvolt, J.
pub(super) const ELECTRONVOLT: f64 = 1.602_176_634e-19;

/// A result of another program in the conventions of this one: a unitary transform with exp(−2πi…),
/// and windows that begin at whole pixels and in which the probe is shifted by a fraction of a
/// pixel.
#[derive(Debug, Clone)]
pub struct OtherResult {
    /// Name of the program.
    pub program: &'static str,
    /// File, or where the arrays came from.
    pub source: String,
    /// Complex transmission (row, column).
    pub object: Array2<Complex<f64>>,
    /// Probe modes (mode, row, column), √photons.
    pub probe: Array3<Complex<f64>>,
    /// Object pixel (row, column), m.
    pub pixel: [f64; 2],
    /// Positions (frame, (row, column)), m.
    pub positions: Array2<f64>,
    /// Where each frame's window begins (frame, (row, column)), object pixels from object pixel (0,
    /// 0), with its fraction.
    pub windows: Array2<f64>,
    /// Position (row, column), m, of a window that begins at object pixel (0, 0).
    pub origin: [f64; 2],
    /// Wavelength, m.
    pub wavelength: f64,
    /// Distance from the specimen to the detector, m; NaN if it is not known.
    pub distance: f64,
    /// How waves travelled to the detector.
    pub propagation: Propagation,
    /// Whether the arrays are of double precision.
    pub double_precision: bool,
}

/// Why arrays are not a result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum OtherResultError {
    /// There are as many positions as windows.
    #[error("expected as many positions as windows, {windows}, found {positions}")]
    Count {
        /// Number of windows.
        windows: usize,
        /// Number of positions.
        positions: usize,
    },
    /// A frame sees what the object does not have.
    #[error(
        "expected a window of {} x {} pixels inside the object of {} x {}, found one at ({:.2}, {:.2}) for frame {frame}",
        .window[0], .window[1], .object[0], .object[1], .at[0], .at[1]
    )]
    Outside {
        /// Index of the frame.
        frame: usize,
        /// Where its window begins (row, column), object pixels.
        at: [f64; 2],
        /// Shape of the window.
        window: [usize; 2],
        /// Shape of the object.
        object: [usize; 2],
    },
}

impl OtherResult {
    /// The result with orthogonal modes, strongest first. It has no history, and an empty recipe;
    /// without windows every pixel has the same fluence, 1, so that all of the object is compared.
    ///
    /// # Errors
    /// A window is not inside the object.
    pub fn into_reconstruction(self) -> Result<Reconstruction, OtherResultError> {
        let object = <[usize; 2]>::from(self.object.dim());
        let (_, rows, columns) = self.probe.dim();
        let (window, count) = ([rows, columns], self.windows.nrows());
        if self.positions.nrows() != count {
            return Err(OtherResultError::Count {
                windows: count,
                positions: self.positions.nrows(),
            });
        }
        let (mut corners, mut fractions) = (Vec::new(), Vec::new());
        for (frame, begin) in self.windows.rows().into_iter().enumerate() {
            let at = [begin[0], begin[1]];
            let whole = at.map(|v| (v + 0.5).floor());
            let inside = |axis: usize| {
                whole[axis] >= 0.0 && whole[axis] + window[axis] as f64 <= object[axis] as f64
            };
            if !(inside(0) && inside(1)) {
                return Err(OtherResultError::Outside {
                    frame,
                    at,
                    window,
                    object,
                });
            }
            corners.push(whole.map(|v| v as u32));
            fractions.push([at[0] - whole[0], at[1] - whole[1]]);
        }
        let modes = orthogonalise(&self.probe);
        let frames = Frames {
            positions: self
                .windows
                .rows()
                .into_iter()
                .map(|at| [at[0], at[1]])
                .collect(),
            scales: vec![1.0; count],
            corners,
            fractions,
        };
        Ok(Reconstruction {
            fluence: match count {
                0 => Array2::ones(self.object.dim()),
                _ => fluence(self.object.dim(), &modes.probe, &frames),
            },
            object: self.object,
            probe: modes.probe,
            mode_power: modes.power,
            pixel: self.pixel,
            recorded_positions: self.positions.clone(),
            positions: self.positions,
            corners: frames.corners,
            fractions: frames.fractions,
            frame_scales: frames.scales,
            origin: self.origin,
            history: Vec::new(),
            recipe: String::new(),
            backend: self.program.to_owned(),
            device: String::new(),
            plan: String::new(),
            version: String::new(),
            trials: String::new(),
            source: self.source,
            wavelength: self.wavelength,
            voltage: None,
            distance: self.distance,
            propagation: self.propagation,
            double_precision: self.double_precision,
            parts: ModelParts::default(),
        })
    }
}

/// The only layer of an object (layer, row, column).
pub(super) fn only_layer(numbers: &Numbers<'_>) -> Result<Array2<Complex<f64>>, IoError> {
    let expected = "shape (1, row, column): one layer, because slices and modes of objects of other programs are not read";
    let &[1, rows, columns] = numbers.shape() else {
        return Err(numbers.bad_shape(expected));
    };
    if rows == 0 || columns == 0 {
        return Err(numbers.bad_shape(expected));
    }
    let layers = finite(numbers)?.into_dimensionality::<Ix3>();
    let layers = layers.map_err(|_| numbers.bad_shape(expected))?;
    Ok(layers.index_axis_move(Axis(0), 0))
}

/// The value if it is finite and above 0, otherwise it as an error.
pub(super) fn above_zero(value: f64) -> Result<f64, f64> {
    match value.is_finite() && value > 0.0 {
        true => Ok(value),
        false => Err(value),
    }
}

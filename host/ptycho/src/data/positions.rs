//! Conversion of scan positions in metres to positions on the object's pixel grid.
//!
//! Positions are rounded nowhere else; simulation and reconstruction both use this module.

use ndarray::Array2;

/// Positions of the frames on the object's grid.
#[derive(Debug, Clone, PartialEq)]
pub struct PixelPositions {
    /// First row and column of each frame's window on the object.
    pub corners: Vec<[u32; 2]>,
    /// Rounding residuals: position minus corner, pixels, each in [−0.5, 0.5].
    pub fractions: Vec<[f64; 2]>,
    /// Rows and columns of the smallest object that contains every window.
    pub object_shape: [usize; 2],
    /// Position (row, column), m, of a frame whose window starts at object pixel (0, 0).
    pub origin: [f64; 2],
}

/// Positions that do not define a plausible object.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PositionError {
    /// The object would be implausibly large, which indicates a wrong unit.
    #[error(
        "expected positions in metres (and at most {limit:.0} object pixels per side), found a span of {span_rows:.3e} x {span_columns:.3e} m, an object of {} x {} pixels of {pixel_rows:.3e} x {pixel_columns:.3e} m for frames of {frame_rows} x {frame_columns}",
        count(*.rows),
        count(*.columns)
    )]
    TooLarge {
        /// Extent of the positions, m.
        span_rows: f64,
        /// Extent of the positions, m.
        span_columns: f64,
        /// Object rows required.
        rows: f64,
        /// Object columns required.
        columns: f64,
        /// Object pixel, m.
        pixel_rows: f64,
        /// Object pixel, m.
        pixel_columns: f64,
        /// Frame shape.
        frame_rows: usize,
        /// Frame shape.
        frame_columns: usize,
        /// Largest allowed number of pixels per side.
        limit: f64,
    },
    /// The positions are so far from 0 that their rounding is comparable with the object pixel.
    #[error(
        "expected positions near 0, in numbers at most half an object pixel of {pixel:.3e} m apart, found positions at {offset:.3e} m, where neighbouring {precision} numbers are {spacing:.3e} m apart; subtract an offset"
    )]
    Unresolved {
        /// Object pixel, m.
        pixel: f64,
        /// Largest distance from 0 on an axis, m.
        offset: f64,
        /// `single-precision` or `double-precision`.
        precision: &'static str,
        /// Distance of neighbouring numbers there, m.
        spacing: f64,
    },
    /// All frames are at the same pixel, which also indicates a wrong unit.
    #[error(
        "expected positions in metres, found all {frames} within {span:.3e} m, less than one object pixel of {pixel:.3e} m"
    )]
    NoMovement {
        /// Number of frames.
        frames: usize,
        /// Largest extent, m.
        span: f64,
        /// Object pixel, m.
        pixel: f64,
    },
}

/// Formats a number of pixels; large ones in scientific notation.
fn count(pixels: f64) -> String {
    if pixels < 1e9 {
        format!("{pixels:.0}")
    } else {
        format!("{pixels:.3e}")
    }
}

/// Largest plausible advance per frame, in frame widths: a scan without any overlap advances by one
/// width per frame, so a single line of `n` frames is `n` widths long.
const WIDTHS_PER_FRAME: f64 = 2.0;

/// Object size, in pixels per side, that is always allowed, whatever the frames.
const ALWAYS_ALLOWED: f64 = 8192.0;

impl PixelPositions {
    /// Rounds `positions` (frame, (row, column)), m, to windows of shape `frame` (rows, columns) on
    /// a grid of pixels of size `pixel` (row, column), m. On each axis the first window starts at
    /// pixel `margin`.
    ///
    /// # Errors
    /// Returns [`PositionError`] if the unit of the positions must be wrong.
    pub fn new(
        positions: &Array2<f64>,
        pixel: [f64; 2],
        frame: [usize; 2],
        margin: usize,
    ) -> Result<Self, PositionError> {
        let frames = positions.nrows();
        let mut origin = [0.0; 2];
        let mut span = [0.0; 2];
        for axis in 0..2 {
            let column = positions.column(axis);
            let low = column.iter().copied().fold(f64::INFINITY, f64::min);
            let high = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if frames > 0 {
                origin[axis] = low - margin as f64 * pixel[axis];
                span[axis] = high - low;
            }
        }
        let needed =
            |axis: usize| span[axis] / pixel[axis] + (frame[axis] + 2 * margin) as f64 + 1.0;
        let widest = frame[0].max(frame[1]) as f64;
        let reach = widest * (1.0 + WIDTHS_PER_FRAME * (frames as f64).sqrt());
        let line = widest * (1.0 + frames as f64);
        let (rows, columns) = (needed(0), needed(1));
        let (long, short) = (rows.max(columns), rows.min(columns));
        let plausible = long <= ALWAYS_ALLOWED.max(reach) || (long <= line && short <= reach / 2.0);
        if !plausible || !long.is_finite() {
            return Err(PositionError::TooLarge {
                span_rows: span[0],
                span_columns: span[1],
                rows,
                columns,
                pixel_rows: pixel[0],
                pixel_columns: pixel[1],
                frame_rows: frame[0],
                frame_columns: frame[1],
                limit: ALWAYS_ALLOWED.max(reach),
            });
        }
        resolved(positions, pixel)?;
        if frames > 1 && span[0] < pixel[0] && span[1] < pixel[1] {
            return Err(PositionError::NoMovement {
                frames,
                span: span[0].max(span[1]),
                pixel: pixel[0].max(pixel[1]),
            });
        }
        let mut corners = Vec::with_capacity(frames);
        let mut fractions = Vec::with_capacity(frames);
        let mut object_shape = [frame[0] + 2 * margin, frame[1] + 2 * margin];
        for position in positions.rows() {
            let mut corner = [0; 2];
            let mut fraction = [0.0; 2];
            for axis in 0..2 {
                let exact = (position[axis] - origin[axis]) / pixel[axis];
                let rounded = exact.round();
                corner[axis] = rounded as u32;
                fraction[axis] = exact - rounded;
                object_shape[axis] =
                    object_shape[axis].max(rounded as usize + frame[axis] + margin);
            }
            corners.push(corner);
            fractions.push(fraction);
        }
        Ok(Self {
            corners,
            fractions,
            object_shape,
            origin,
        })
    }
}

/// Refuses positions whose numbers are more than half an object pixel apart. If all of them are
/// single-precision numbers, they were stored as such.
fn resolved(positions: &Array2<f64>, pixel: [f64; 2]) -> Result<(), PositionError> {
    // The rounding of a single position shifts nothing against anything.
    if positions.nrows() < 2 {
        return Ok(());
    }
    let single = positions.iter().all(|v| f64::from(*v as f32) == *v);
    let (precision, relative) = if single {
        ("single-precision", f64::from(f32::EPSILON))
    } else {
        ("double-precision", f64::EPSILON)
    };
    for (axis, pixel) in pixel.into_iter().enumerate() {
        let column = positions.column(axis);
        let offset = column.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
        // The numbers from 2ⁿ to 2ⁿ⁺¹ have the distance 2ⁿ ε.
        let spacing = offset.log2().floor().exp2() * relative;
        if spacing > pixel / 2.0 {
            return Err(PositionError::Unresolved {
                pixel,
                offset,
                precision,
                spacing,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn every_window_lies_inside_a_non_square_object() {
        let positions = array![[0.0, 0.0], [3.4e-8, -1.6e-8], [-2e-8, 5.1e-8]];
        let p = PixelPositions::new(&positions, [1e-8, 1e-8], [7, 5], 2).unwrap();
        assert_eq!(p.corners, vec![[4, 4], [7, 2], [2, 9]]);
        assert_eq!(p.object_shape, [7 + 7 + 2, 9 + 5 + 2]);
        for (c, f) in p.corners.iter().zip(&p.fractions) {
            assert!(c[0] as usize + 7 <= p.object_shape[0]);
            assert!(c[1] as usize + 5 <= p.object_shape[1]);
            assert!(f.iter().all(|v| v.abs() <= 0.5));
        }
    }

    #[test]
    fn micrometres_in_place_of_metres_are_refused() {
        let positions = array![[0.0, 0.0], [1.0, 2.0], [3.0, 4.0]];
        let e = PixelPositions::new(&positions, [1e-8, 1e-8], [128, 128], 0).unwrap_err();
        assert!(e.to_string().contains("metres"), "{e}");
        let e = PixelPositions::new(&(positions * 1e300), [1e-8, 1e-8], [128, 128], 0).unwrap_err();
        assert!(e.to_string().len() < 300, "{e}");
    }

    #[test]
    fn positions_that_their_numbers_do_not_resolve_are_refused() {
        let steps = array![[0.0, 0.0], [1.1e-6, 2.3e-6], [3.1e-6, 0.7e-6]];
        let refused = |positions: &Array2<f64>| {
            let grid = PixelPositions::new(positions, [2e-8, 2e-8], [64, 64], 0);
            matches!(grid, Err(PositionError::Unresolved { .. }))
        };
        // Double-precision numbers are 1.9e-9 m apart at 10⁷ m, 1.5e-8 m at 10⁸ m.
        assert!(!refused(&(&steps + 1e7)));
        assert!(refused(&(&steps + 1e8)));
        assert!(refused(&(&steps - 1e9)));
        // Single-precision numbers are 7.5e-9 m apart at 0.1 m, 6e-8 m at 1 m.
        let single = |offset: f64| (&steps + offset).mapv(|v| f64::from(v as f32));
        assert!(!refused(&single(0.1)));
        assert!(refused(&single(1.0)));
        assert!(!refused(&(&steps + 1.0)));
    }

    #[test]
    fn identical_positions_are_refused() {
        let positions = array![[0.0, 0.0], [1e-12, 2e-12]];
        let e = PixelPositions::new(&positions, [1e-8, 1e-8], [128, 128], 0).unwrap_err();
        assert!(matches!(e, PositionError::NoMovement { .. }));
    }

    #[test]
    fn without_frames_the_object_is_one_window() {
        let p = PixelPositions::new(&Array2::zeros((0, 2)), [1.0, 1.0], [3, 4], 0).unwrap();
        assert_eq!(p.object_shape, [3, 4]);
    }
}

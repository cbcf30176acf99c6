//! Why two objects cannot be compared.

/// Why two objects cannot be compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum QualityError {
    /// The pixel sizes differ.
    #[error(
        "expected equal object pixels, as objects are compared pixel by pixel, found {a_rows:.6e} x {a_columns:.6e} m and {b_rows:.6e} x {b_columns:.6e} m"
    )]
    PixelSize {
        /// A's pixel, m.
        a_rows: f64,
        /// A's pixel, m.
        a_columns: f64,
        /// B's pixel, m.
        b_rows: f64,
        /// B's pixel, m.
        b_columns: f64,
    },
    /// The fluence map does not match the object.
    #[error("the fluence map: expected the shape {expected:?} of the object, found {found:?}")]
    FluenceShape {
        /// Shape of the fluence.
        found: [usize; 2],
        /// Shape of the object.
        expected: [usize; 2],
    },
    /// A value is NaN or infinite.
    #[error(
        "the object, row {row}, column {column}: expected a finite value, found another: the reconstruction diverged"
    )]
    NotFinite {
        /// Row of the pixel.
        row: usize,
        /// Column of the pixel.
        column: usize,
    },
    /// No pixel was lit.
    #[error("expected at least one lit pixel of the object to compare, found none")]
    Unlit,
    /// The objects do not overlap or have no contrast.
    #[error(
        "expected objects that overlap and have contrast, found no displacement near ({:.1}, {:.1}) pixels that aligns them", start[0], start[1]
    )]
    NoCommonRegion {
        /// Displacement implied by the origins, (row, column), pixels.
        start: [f64; 2],
    },
}

//! The size of an image.

/// Size of the image that the samples encode.
#[derive(Debug, Clone, PartialEq)]
pub struct Extent {
    /// Voxels along slices, rows and columns.
    pub matrix: [usize; 3],
    /// Number of axes of k-space, 2 or 3; two axes encode a single slice.
    pub axes: usize,
    /// Extent along slices, rows and columns, m, if known.
    pub field_of_view: Option<[f64; 3]>,
}

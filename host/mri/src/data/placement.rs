//! Where an image lies in the patient.

/// Largest deviation of directions from unit length, and of their products from 0.
const TOLERANCE: f64 = 1e-3;

/// Position and orientation of an image in the patient coordinates of DICOM and ISMRMRD: x to the
/// left, y to the back (posterior), z to the head (superior).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Placement {
    /// Position of voxel ⌊N/2⌋ along each axis, m.
    centre: [f64; 3],
    /// Directions in which the columns, rows and slices are counted, of length 1 and at right
    /// angles.
    directions: [[f64; 3]; 3],
}

impl Placement {
    /// The placement with this centre, in m, and these directions of columns, rows and slices;
    /// `None` if a value is not finite, or the directions are not of length 1 and at right angles,
    /// as where a file does not state them.
    #[must_use]
    pub fn new(centre: [f64; 3], directions: [[f64; 3]; 3]) -> Option<Self> {
        let finite = centre.iter().all(|v| v.is_finite());
        let orthonormal = (0..3).all(|a| {
            (0..3).all(|b| {
                let expected = if a == b { 1.0 } else { 0.0 };
                // A comparison with NaN is false.
                (dot(directions[a], directions[b]) - expected).abs() <= TOLERANCE
            })
        });
        (finite && orthonormal).then_some(Self { centre, directions })
    }

    /// Position of voxel ⌊N/2⌋ along each axis, m.
    #[must_use]
    pub fn centre(&self) -> [f64; 3] {
        self.centre
    }

    /// Directions in which the columns, rows and slices are counted.
    #[must_use]
    pub fn directions(&self) -> [[f64; 3]; 3] {
        self.directions
    }

    /// Whether `other` has the same directions.
    #[must_use]
    pub fn is_parallel(&self, other: &Self) -> bool {
        let pairs = self.directions.iter().zip(&other.directions);
        let mut products = pairs.map(|(a, b)| dot(*a, *b));
        products.all(|product| product >= 1.0 - TOLERANCE)
    }

    /// Whether `other` has the same directions and a centre at most `distance` away, m.
    #[must_use]
    pub fn is_near(&self, other: &Self, distance: f64) -> bool {
        let step = [0, 1, 2].map(|axis| other.centre[axis] - self.centre[axis]);
        self.is_parallel(other) && dot(step, step) <= distance * distance
    }
}

/// The scalar product.
fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_orthonormal_directions_place_an_image() {
        let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let placed = Placement::new([0.1, 0.0, -0.2], axes).unwrap();
        assert_eq!(
            (placed.centre(), placed.directions()),
            ([0.1, 0.0, -0.2], axes)
        );
        // A left-handed set is valid.
        let [x, y, z] = axes;
        let other = Placement::new([0.1, 0.0, -0.2], [y, x, z]).unwrap();
        assert!(!placed.is_parallel(&other) && placed.is_near(&placed, 0.0));
        for directions in [
            [[0.0; 3]; 3],
            [x, x, z],
            [x, y, [0.0, 0.0, 2.0]],
            [x, y, [f64::NAN, 0.0, 1.0]],
        ] {
            assert_eq!(Placement::new([0.0; 3], directions), None);
        }
        assert_eq!(Placement::new([f64::INFINITY, 0.0, 0.0], axes), None);
    }
}

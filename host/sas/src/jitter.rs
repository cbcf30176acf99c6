//! Orientation of particles: a view of the detector, and small rotations about it.
//!
//! The beam is along z. A particle whose axes a, b, c lie along x, y, z is rotated by the jitter Δψ
//! about z, Δθ about y and Δφ about x, then by the view ψ about z, θ about y and φ about z. The
//! inverse rotations transform a wave vector (qx, qy, 0) into the particle's frame. Offsets Δθ, Δφ
//! are latitude and longitude on the equirectangular map, whose area element is |cos Δθ|.

use super::SasError;
use super::dispersion::WeightedValues;

/// Maximum number of rotations of one vector.
pub const MAX_ROTATIONS: usize = 1 << 20;

/// Mean orientation of the particles, degrees.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct View {
    /// Angle between the beam and the axis c.
    pub theta: f64,
    /// Rotation of the axis c about the beam, from x.
    pub phi: f64,
    /// Rotation about the axis c.
    pub psi: f64,
}

/// A rotation and its weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rotation {
    /// Rows a, b, c: multiplied by (qx, qy) they give a wave vector's components in the particle's
    /// frame.
    pub rows: [[f64; 2]; 3],
    /// Weight, including the area element of the map.
    pub weight: f64,
}

type Matrix = [[f64; 3]; 3];

fn product(left: &Matrix, right: &Matrix) -> Matrix {
    let mut out = [[0.0; 3]; 3];
    for (row, left) in out.iter_mut().zip(left) {
        for (j, element) in row.iter_mut().enumerate() {
            *element = left.iter().zip(right).map(|(l, r)| l * r[j]).sum();
        }
    }
    out
}

/// Transformation into a frame rotated by `degrees` about axis 0 (x), 1 (y) or 2 (z).
fn axis_rotation(axis: usize, degrees: f64) -> Matrix {
    let (sin, cos) = degrees.to_radians().sin_cos();
    let (i, j) = ((axis + 1) % 3, (axis + 2) % 3);
    let mut rotation = [[0.0; 3]; 3];
    rotation[axis][axis] = 1.0;
    (rotation[i][i], rotation[i][j]) = (cos, sin);
    (rotation[j][i], rotation[j][j]) = (-sin, cos);
    rotation
}

/// All rotations: the view combined with each set of offsets (degrees).
///
/// # Errors
/// Too many rotations.
pub fn rotations(
    view: View,
    theta: &WeightedValues,
    phi: &WeightedValues,
    psi: &WeightedValues,
) -> Result<Vec<Rotation>, SasError> {
    let sizes = [theta, phi, psi].map(|offsets| offsets.values.len());
    let count = sizes
        .iter()
        .try_fold(1_usize, |n, size| n.checked_mul(*size))
        .filter(|n| *n <= MAX_ROTATIONS)
        .ok_or_else(|| {
            SasError::Refused(format!(
                "the mesh of orientations: expected at most {MAX_ROTATIONS} points, found {} x {} x {}",
                sizes[0], sizes[1], sizes[2]
            ))
        })?;
    let view = product(
        &axis_rotation(2, view.psi),
        &product(&axis_rotation(1, view.theta), &axis_rotation(2, view.phi)),
    );
    let each = |offsets: &WeightedValues| -> Vec<(f64, f64)> {
        offsets
            .values
            .iter()
            .copied()
            .zip(offsets.weights.iter().copied())
            .collect()
    };
    let (thetas, phis, psis) = (each(theta), each(phi), each(psi));
    let mut rotations = Vec::with_capacity(count);
    for (theta, theta_weight) in thetas {
        let area = theta.to_radians().cos().abs();
        for (phi, phi_weight) in &phis {
            let tilted = product(
                &axis_rotation(1, theta),
                &product(&axis_rotation(0, *phi), &view),
            );
            for (psi, psi_weight) in &psis {
                let matrix = product(&axis_rotation(2, *psi), &tilted);
                rotations.push(Rotation {
                    rows: matrix.map(|row| [row[0], row[1]]),
                    weight: theta_weight * phi_weight * psi_weight * area,
                });
            }
        }
    }
    Ok(rotations)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rotation preserves lengths: the components of a wave vector in the particle's frame have
    /// the squared length |q|² at any angles.
    #[test]
    fn rotations_preserve_lengths() {
        let offsets = |values: &[f64]| WeightedValues {
            values: values.to_vec(),
            weights: vec![1.0; values.len()],
        };
        let view = View {
            theta: 63.0,
            phi: -20.0,
            psi: 141.0,
        };
        let all = rotations(
            view,
            &offsets(&[-10.0, 0.0, 80.0]),
            &offsets(&[5.0, 40.0]),
            &offsets(&[0.0, 7.0]),
        )
        .unwrap();
        assert_eq!(all.len(), 12);
        for rotation in &all {
            let (x, y) = (0.3, -0.7);
            let squares: f64 = rotation
                .rows
                .iter()
                .map(|row| (row[0] * x + row[1] * y).powi(2))
                .sum();
            assert!((squares - (x * x + y * y)).abs() < 1e-15);
        }
    }

    /// θ tilts the axis c from the beam towards x, φ rotates it from x towards y, and an offset Δθ
    /// adds to θ.
    #[test]
    fn angles_follow_the_conventions_of_the_view() {
        let none = WeightedValues::single(0.0);
        let view = |theta, phi, psi| View { theta, phi, psi };
        let one = |view, theta: f64| {
            rotations(view, &WeightedValues::single(theta), &none, &none).unwrap()[0]
        };
        let near = |a: [[f64; 2]; 3], b: [[f64; 2]; 3]| {
            a.iter()
                .flatten()
                .zip(b.iter().flatten())
                .all(|(a, b)| (a - b).abs() < 1e-15)
        };
        assert!(near(
            one(view(0.0, 0.0, 0.0), 0.0).rows,
            [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
        ));
        assert!(near(
            one(view(90.0, 90.0, 0.0), 0.0).rows,
            [[0.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]
        ));
        assert!(near(
            one(view(90.0, 0.0, 90.0), 0.0).rows,
            [[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]]
        ));
        assert!(near(
            one(view(50.0, 30.0, 0.0), 15.0).rows,
            one(view(65.0, 30.0, 0.0), 0.0).rows
        ));
    }
}

//! How particles stand to the detector: a view, and small rotations about it.
//!
//! The beam is along z. A particle whose axes a, b, c lie along x, y, z is turned by the jitter Δψ about z, Δθ about
//! y and Δφ about x, then by the view ψ about z, θ about y and φ about z. A wave vector (qx, qy, 0) is taken into the
//! particle's frame by the same turns backwards. Offsets Δθ, Δφ are read as latitude and longitude on the
//! equirectangular map, whose area element is |cos Δθ|.

use super::SasError;
use super::dispersion::Weighted;

/// Rotations of one vector, at most.
pub const MOST_TURNS: usize = 1 << 20;

/// Angles of the view, degrees.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct View {
    /// From the beam to the axis c.
    pub theta: f64,
    /// Of the axis c about the beam, from x.
    pub phi: f64,
    /// About the axis c.
    pub psi: f64,
}

/// A rotation and how often it occurs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Turn {
    /// Rows a, b, c: components of a wave vector in the particle's frame by its (qx, qy).
    pub rows: [[f64; 2]; 3],
    /// Weight, with the map's area element.
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

/// Into a frame turned by `degrees` about axis 0 x, 1 y, 2 z.
fn back(axis: usize, degrees: f64) -> Matrix {
    let (sin, cos) = degrees.to_radians().sin_cos();
    let (i, j) = ((axis + 1) % 3, (axis + 2) % 3);
    let mut turn = [[0.0; 3]; 3];
    turn[axis][axis] = 1.0;
    (turn[i][i], turn[i][j]) = (cos, sin);
    (turn[j][i], turn[j][j]) = (-sin, cos);
    turn
}

/// All rotations: the view, and each combination of offsets (degrees) about it.
///
/// # Errors
/// Too many.
pub fn turns(
    view: View,
    theta: &Weighted,
    phi: &Weighted,
    psi: &Weighted,
) -> Result<Vec<Turn>, SasError> {
    let sizes = [theta, phi, psi].map(|offsets| offsets.values.len());
    let count = sizes
        .iter()
        .try_fold(1_usize, |n, size| n.checked_mul(*size))
        .filter(|n| *n <= MOST_TURNS)
        .ok_or_else(|| {
            SasError::Refused(format!(
                "the mesh of orientations has {} x {} x {} points: at most {MOST_TURNS} are computed",
                sizes[0], sizes[1], sizes[2]
            ))
        })?;
    let view = product(
        &back(2, view.psi),
        &product(&back(1, view.theta), &back(2, view.phi)),
    );
    let each = |offsets: &Weighted| -> Vec<(f64, f64)> {
        offsets
            .values
            .iter()
            .copied()
            .zip(offsets.weights.iter().copied())
            .collect()
    };
    let (thetas, phis, psis) = (each(theta), each(phi), each(psi));
    let mut turns = Vec::with_capacity(count);
    for (theta, theta_weight) in thetas {
        let area = theta.to_radians().cos().abs();
        for (phi, phi_weight) in &phis {
            let leaning = product(&back(1, theta), &product(&back(0, *phi), &view));
            for (psi, psi_weight) in &psis {
                let all = product(&back(2, *psi), &leaning);
                turns.push(Turn {
                    rows: all.map(|row| [row[0], row[1]]),
                    weight: theta_weight * phi_weight * psi_weight * area,
                });
            }
        }
    }
    Ok(turns)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rotation keeps lengths: |a|² + |b|² + |c|² of a wave vector is its |q|², whatever the angles.
    #[test]
    fn lengths_are_kept() {
        let offsets = |values: &[f64]| Weighted {
            values: values.to_vec(),
            weights: vec![1.0; values.len()],
        };
        let view = View {
            theta: 63.0,
            phi: -20.0,
            psi: 141.0,
        };
        let all = turns(
            view,
            &offsets(&[-10.0, 0.0, 80.0]),
            &offsets(&[5.0, 40.0]),
            &offsets(&[0.0, 7.0]),
        )
        .unwrap();
        assert_eq!(all.len(), 12);
        for turn in &all {
            let (x, y) = (0.3, -0.7);
            let squares: f64 = turn
                .rows
                .iter()
                .map(|row| (row[0] * x + row[1] * y).powi(2))
                .sum();
            assert!((squares - (x * x + y * y)).abs() < 1e-15);
        }
    }

    /// θ tilts the axis c from the beam towards x, φ turns it from x towards y; an offset Δθ adds to θ.
    #[test]
    fn conventions() {
        let none = Weighted::single(0.0);
        let view = |theta, phi, psi| View { theta, phi, psi };
        let one =
            |view, theta: f64| turns(view, &Weighted::single(theta), &none, &none).unwrap()[0];
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

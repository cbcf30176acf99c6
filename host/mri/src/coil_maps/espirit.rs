//! ESPIRiT: coil maps as eigenvectors of the calibration data (M. Uecker, P. Lai, M. J. Murphy,
//! P. Virtue, M. Elad, J. M. Pauly, S. S. Vasanawala, M. Lustig, Magn. Reson. Med. 71 (2014) 990).
//!
//! Patches of fully sampled k-space, of all coils together, lie in a subspace of few dimensions. At
//! a voxel x, the patch of a point source there lies in that subspace only if its coils have the
//! weights S_c(x): S(x) is the eigenvector with eigenvalue 1 of the projection on the subspace,
//! transformed to x.
//!
//! If the object is larger than the field of view, several of its points fall on one voxel, with
//! different weights, and there are several such eigenvectors: a set of maps for each.

use super::super::{Grid, MriError, Plans};
use super::calibration::{CalibrationRegion, fit};
use super::check_shapes;
use super::kernel_matrix::{Eigenpairs, KernelMatrix, indices};
use super::refine::refine;
use super::sets::needed;
use super::subspace::right_singular;
use ndarray::{Array2, Array3, ArrayView2};
use num_complex::Complex;
use rayon::prelude::*;

/// Most combinations of coils that are calibrated, in a plane and in a volume; with more coils, the
/// strongest combinations.
const COMBINATIONS: [usize; 2] = [32, 16];
/// Largest kernel along an axis, in a plane and in a volume.
const KERNEL: [usize; 2] = [6, 4];
/// Points along each axis, for the shortest period of G, at which eigenvectors are computed.
const NODES_PER_PERIOD: usize = 8;
/// Smallest share of the largest singular value that is signal, in data without noise.
const SIGNAL: f64 = 1e-3;

/// The eigenvalues between which the length of the maps rises from 0 to 1. Where there is signal
/// the largest eigenvalue is close to 1; if there is none, it falls with the distance to the
/// signal.
const EIGENVALUES: [f64; 2] = [0.5, 0.9];
/// Maps below this length are 0: the noise of the image grows with its inverse.
const MIN_LENGTH: f64 = 0.3;

/// Coil maps, and where they were calibrated.
#[derive(Debug, Clone, PartialEq)]
pub struct Espirit {
    /// (set, coil, voxel). √Σ|S|² of the first set is 1 where there is signal, and falls to 0 if
    /// there is none; that of another set is 1 where the object outside the field of view falls on
    /// other parts of it, and elsewhere 0. All 0 if there is no signal in the centre of k-space.
    /// All 1 for a single coil.
    pub maps: Array3<Complex<f64>>,
    /// The centre of k-space from which the maps are estimated.
    pub region: CalibrationRegion,
    /// Whether there are enough coils. The patches of one coil with smooth weights have fewer
    /// dimensions than those of all coils together only if coils · Π k > Π (k + 2), with k the
    /// widths of the kernel; else all maps are possible, and these are arbitrary. True for a single
    /// coil.
    pub enough_coils: bool,
}

impl Espirit {
    /// Most sets of maps.
    pub const MOST_SETS: usize = 4;
}

/// Cells by which the k-space of smooth weights widens a patch.
const WIDENED: usize = 2;

/// Estimates maps on `grid`, in as many sets as are needed, up to four, from `samples` (coil,
/// sample) at `trajectory` (sample, axis) in cycles/pixel.
///
/// The phase of the maps makes the combination of coils that is strongest in the centre of k-space
/// real and positive, with the strongest coil of that combination real.
///
/// # Errors
/// [`MriError::Problem`] if trajectory or samples have another shape;
/// [`MriError::HostMemory`] if the transforms of the calibration do not fit into memory.
pub fn espirit(
    grid: Grid,
    trajectory: ArrayView2<'_, f64>,
    samples: ArrayView2<'_, Complex<f64>>,
) -> Result<Espirit, MriError> {
    let most_sets = Espirit::MOST_SETS;
    espirit_with_plans(grid, trajectory, samples, most_sets, &mut Plans::default())
}

/// [`espirit`] with at most `most_sets` sets of maps, and with the `plans` that there are for the
/// trajectory, to which new ones are added.
///
/// # Errors
/// Like [`espirit`].
pub fn espirit_with_plans(
    grid: Grid,
    trajectory: ArrayView2<'_, f64>,
    samples: ArrayView2<'_, Complex<f64>>,
    most_sets: usize,
    plans: &mut Plans,
) -> Result<Espirit, MriError> {
    check_shapes(grid, samples.ncols(), trajectory, samples)?;
    let region = CalibrationRegion::new(grid, trajectory);
    let all = |value: f64| {
        let maps = Array3::from_elem((1, samples.nrows(), grid.voxels()), Complex::from(value));
        let enough_coils = true;
        Espirit {
            maps,
            region,
            enough_coils,
        }
    };
    let Some(cells) = fit(grid, region, trajectory, samples, plans)? else {
        return Ok(all(0.0));
    };
    let coils = Coils::new(&cells, COMBINATIONS[grid.axes - 2]);
    if coils.patterns.is_empty() {
        return Ok(all(0.0));
    }
    // Eigenvalues would tell where there is signal, but there are no weights to be found.
    if samples.nrows() == 1 {
        return Ok(all(1.0));
    }
    let kernel = kernel_shape(grid, region);
    let patches = patches(&coils.cells, region.shape, kernel);
    let (_, vectors) = right_singular(&patches, |values, aspect| {
        let threshold = threshold(values, aspect);
        values
            .iter()
            .take_while(|value| **value > threshold)
            .count()
    });
    let matrix = KernelMatrix::new(&vectors, coils.patterns.len(), kernel);
    let nodes = std::array::from_fn(|axis| {
        let periods = kernel[axis].max(2) - 1;
        grid.shape[axis].min(NODES_PER_PERIOD * periods)
    });
    let [_, full] = EIGENVALUES;
    let most = most_sets.clamp(1, coils.patterns.len());
    // Whether more sets are needed is seen from fewer nodes.
    let stride = nodes.map(|count| if count % 2 == 0 { 2 } else { 1 });
    let mut found = matrix.dominant(grid, nodes, (most, full), stride);
    let sampled = [0, 1, 2].map(|axis| nodes[axis] / stride[axis]);
    let sets = needed(
        &coils.cells,
        region.shape,
        (grid, sampled),
        &found[1..],
        full,
    );
    if sets > 1 {
        // Vectors of equal eigenvalues are any of their plane, and cannot be interpolated.
        found = matrix.dominant(grid, grid.shape, (sets, EIGENVALUES[0]), [1; 3]);
    }
    let nodes = if sets > 1 { grid.shape } else { nodes };
    let by_voxel: Vec<Vec<Complex<f64>>> = (found.iter().take(sets))
        .map(|Eigenpairs { values, vectors }| {
            let vectors = coils.separate(vectors);
            refine(grid, nodes, values, &vectors, &coils.patterns[0], weight)
        })
        .collect();
    let coils = samples.nrows();
    let at = |(set, coil, voxel): (usize, usize, usize)| by_voxel[set][voxel * coils + coil];
    let maps = Array3::from_shape_fn((sets, coils, grid.voxels()), at);
    let axes = || {
        kernel
            .iter()
            .zip(grid.shape)
            .filter(|(_, voxels)| *voxels > 1)
    };
    let cells: usize = axes().map(|(width, _)| width).product();
    let widened: usize = axes().map(|(width, _)| width + WIDENED).product();
    Ok(Espirit {
        maps,
        region,
        enough_coils: coils * cells > widened,
    })
}

/// The strongest combinations of coils in the calibration region.
struct Coils {
    /// (combination, coil), orthonormal, from the strongest.
    patterns: Vec<Vec<Complex<f64>>>,
    /// k-space of each combination, (combination, cell).
    cells: Vec<Vec<Complex<f64>>>,
}

impl Coils {
    fn new(cells: &Array2<Complex<f64>>, most: usize) -> Self {
        let rows: Vec<Vec<Complex<f64>>> = cells
            .columns()
            .into_iter()
            .map(|cell| cell.to_vec())
            .collect();
        let (_, mut patterns) = right_singular(&rows, |_, _| most);
        // The phase of a singular vector is arbitrary; the strongest sets that of the maps.
        if let Some(first) = patterns.first_mut() {
            let largest = (first.iter().copied())
                .reduce(|a, b| if b.norm_sqr() > a.norm_sqr() { b } else { a })
                .unwrap_or_default();
            let phase = largest.conj() / largest.norm();
            first.iter_mut().for_each(|p| *p *= phase);
        }
        let combined = (patterns.iter())
            .map(|pattern| {
                (rows.iter())
                    .map(|row| row.iter().zip(pattern).map(|(d, p)| d * p.conj()).sum())
                    .collect()
            })
            .collect();
        Self {
            patterns,
            cells: combined,
        }
    }

    /// From vectors of combinations to vectors of coils.
    fn separate(&self, vectors: &[Complex<f64>]) -> Vec<Complex<f64>> {
        let coils = self.patterns[0].len();
        let combinations = self.patterns.len();
        let mut separate = vec![Complex::default(); vectors.len() / combinations * coils];
        (separate.par_chunks_exact_mut(coils))
            .zip(vectors.par_chunks_exact(combinations))
            .for_each(|(to, from)| {
                for (factor, pattern) in from.iter().zip(&self.patterns) {
                    (to.iter_mut().zip(pattern)).for_each(|(to, p)| *to += p * factor);
                }
            });
        separate
    }
}

/// Three eighths of the region along each axis, up to [`KERNEL`].
fn kernel_shape(grid: Grid, region: CalibrationRegion) -> [usize; 3] {
    let most = KERNEL[grid.axes - 2];
    region.shape.map(|cells| (3 * cells / 8).clamp(1, most))
}

/// The block Hankel matrix: for every position of the kernel within the region a row, its values
/// (combination, cell of the kernel).
fn patches(
    cells: &[Vec<Complex<f64>>],
    region: [usize; 3],
    kernel: [usize; 3],
) -> Vec<Vec<Complex<f64>>> {
    let [_, rows, columns] = region;
    let offsets = indices(kernel);
    let places = indices([0, 1, 2].map(|axis| region[axis] - kernel[axis] + 1));
    (places.iter())
        .map(|place| {
            let at = |offset: &[usize; 3]| {
                let [z, y, x] = [0, 1, 2].map(|axis| place[axis] + offset[axis]);
                (z * rows + y) * columns + x
            };
            cells
                .iter()
                .flat_map(|coil| offsets.iter().map(move |offset| coil[at(offset)]))
                .collect()
        })
        .collect()
}

/// √Σ|S|² at a voxel with this largest eigenvalue.
fn weight(eigenvalue: f64) -> f64 {
    let [none, all] = EIGENVALUES;
    let share = ((eigenvalue - none) / (all - none)).clamp(0.0, 1.0);
    let length = share * share * (3.0 - 2.0 * share);
    if length < MIN_LENGTH { 0.0 } else { length }
}

/// Singular values above this are signal. For white noise of unknown strength the best threshold is
/// ω(β) times the median (M. Gavish, D. L. Donoho, IEEE Trans. Inf. Theory 60 (2014) 5040, their
/// approximation of ω), β the aspect ratio of the matrix.
fn threshold(values: &[f64], aspect: f64) -> f64 {
    let Some(largest) = values.first() else {
        return 0.0;
    };
    let omega = 0.56 * aspect.powi(3) - 0.95 * aspect.powi(2) + 1.82 * aspect + 1.43;
    (omega * values[values.len() / 2]).clamp(SIGNAL * largest, 0.5 * largest)
}

#[cfg(test)]
mod tests;

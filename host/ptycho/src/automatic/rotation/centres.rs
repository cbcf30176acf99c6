//! The rotation of the scan from the centres of mass of the frames.
//!
//! Behind a specimen that only shifts phases the centre of mass of a frame is the gradient of the
//! phase, averaged over the probe (N. H. Dekkers & H. de Lang, Optik 41 (1974) 452; I. Lazić, E. G.
//! T. Bosch & S. Lazar, Ultramicroscopy 160 (2016) 265), whatever the probe is. A gradient has no
//! curl. If positions p in the axes of the frames are R q, with q those of the scan, then the
//! derivatives J = ∂c/∂q of the centres c become ∂c/∂p = J Rᵀ, and the curl with the angle θ of R
//! is
//!
//! (J₀₀ + J₁₁) sin θ + (J₀₁ − J₁₀) cos θ,
//!
//! whose sum of squares over the scan has its least value at an angle that follows from three sums.
//! It is that of the rotation, up to 180° (B. H. Savitzky et al., Microscopy and Microanalysis 27
//! (2021) 712, section on differential phase contrast, which tries angles). With rows inverted, J₀₀
//! and J₁₀ change their signs. The derivatives are those of the plane that fits the centres of a
//! position and of its neighbours best, so that positions need not be on a raster. The plane of the
//! whole scan is subtracted first: a beam that moves on the detector while it is deflected on the
//! specimen has one.

use super::Rotation;
use crate::data::Scan;
use serde::Serialize;
use std::collections::HashMap;
use std::fmt;
use warpstride_core::system::ScratchError;
use warpstride_core::text::significant;

type Point = [f64; 2];

/// Radii of neighbourhoods, in typical distances of neighbours.
const RADII: [f64; 6] = [1.5, 2.1, 2.9, 4.1, 5.8, 8.2];
/// Fewest separate neighbourhoods of a scan.
const FEWEST_NEIGHBOURHOODS: f64 = 10.0;
/// Fewest positions of which a plane is fitted.
const FEWEST: usize = 5;
/// Fewest frames.
const FEWEST_FRAMES: usize = 40;
/// Parts of the scan of which one is left out at a time.
const PARTS: usize = 8;
/// Smallest determinant of the positions of a neighbourhood, relative to the square of its trace.
const FLATTEST: f64 = 0.01;
/// Share of the curl at the angle in that at 90° from it, up to which the angle is one.
const CLEAR: f64 = 0.6;
/// The same share as a part of that of the other class.
const CLEAR_CLASS: f64 = 0.75;
/// Largest standard error of the angle, degrees.
const CLEAR_DEGREES: f64 = 8.0;

/// Centres of mass of the frames, and their positions.
#[derive(Debug, Clone, PartialEq)]
pub struct CentreField {
    /// (row, column), m.
    positions: Vec<Point>,
    /// (row, column), detector pixels from the mean.
    centres: Vec<Point>,
}

/// The rotation that follows from the centres of mass.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CentreRotation {
    /// The rotation, whose twin has no curl either.
    pub rotation: Rotation,
    /// Standard error of its angle, degrees, from parts of the scan.
    pub error: f64,
    /// Share of the curl at this angle in that at 90° from it: 0 for the gradient of a phase, 1 for
    /// noise.
    pub curl: f64,
    /// The same for the best angle with the other sense of the axes.
    pub curl_mirrored: f64,
    /// Radius of the neighbourhoods, m.
    pub radius: f64,
    /// Frames.
    pub frames: usize,
}

impl CentreRotation {
    /// Whether it tells the rotation and the sense of the axes.
    #[must_use]
    pub fn is_clear(&self) -> bool {
        self.curl <= CLEAR
            && self.curl <= CLEAR_CLASS * self.curl_mirrored
            && self.error <= CLEAR_DEGREES
    }
}

/// `the curl of the centres of mass is least at rotate=-123deg ± 2.1° or 180° from it (…)`.
impl fmt::Display for CentreRotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the curl of the centres of mass of {} frames is least at {} ± {}° or 180° from it, {} of that at 90° from there ({} with the other sense of the axes)",
            self.frames,
            self.rotation,
            significant(self.error, 2),
            significant(self.curl, 2),
            significant(self.curl_mirrored, 2),
        )
    }
}

/// Sums of squares and products of D = J₀₀ + J₁₁ and C = J₀₁ − J₁₀ for both senses of the axes.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    /// ΣC², ΣCD, ΣD² as the axes are, and with rows inverted.
    classes: [[f64; 3]; 2],
}

impl Sums {
    fn add(&mut self, [[a, b], [c, d]]: [Point; 2], sign: f64) {
        for (sums, rows) in self.classes.iter_mut().zip([1.0, -1.0]) {
            let divergence = rows * a + d;
            let curl = b - rows * c;
            sums[0] += sign * curl * curl;
            sums[1] += sign * curl * divergence;
            sums[2] += sign * divergence * divergence;
        }
    }

    /// The angle, degrees, and the share of the curl there.
    fn best(&self, class: usize) -> (f64, f64) {
        let [curls, products, divergences] = self.classes[class];
        let half = 0.5 * (curls - divergences);
        let middle = 0.5 * (curls + divergences);
        let amplitude = half.hypot(products);
        let angle = 0.5 * (products.atan2(half).to_degrees() + 180.0);
        let share = (middle - amplitude) / (middle + amplitude);
        (angle, if share.is_nan() { 1.0 } else { share.max(0.0) })
    }
}

impl CentreField {
    /// The centres of mass of a scan's frames with counts.
    ///
    /// # Errors
    /// The counts are in a temporary file that cannot be read.
    pub fn of(scan: &Scan) -> Result<Self, ScratchError> {
        let (mut positions, mut centres) = (Vec::new(), Vec::new());
        scan.blocks(|first, counts| {
            for (n, frame) in counts.outer_iter().enumerate() {
                let mut sums = [0.0; 3];
                for (row, line) in frame.outer_iter().enumerate() {
                    let (mut total, mut moment) = (0.0, 0.0);
                    for (column, count) in line.iter().enumerate() {
                        total += f64::from(*count);
                        moment += f64::from(*count) * column as f64;
                    }
                    sums[0] += total;
                    sums[1] += total * row as f64;
                    sums[2] += moment;
                }
                if sums[0] > 0.0 {
                    let at = scan.positions().row(first + n);
                    positions.push([at[0], at[1]]);
                    centres.push([sums[1] / sums[0], sums[2] / sums[0]]);
                }
            }
            Ok::<(), ScratchError>(())
        })?;
        Ok(Self::new(positions, centres))
    }

    /// Centres of mass (row, column) at positions (row, column), which are as many.
    #[must_use]
    pub fn new(positions: Vec<Point>, mut centres: Vec<Point>) -> Self {
        let count = centres.len().max(1) as f64;
        let mean = [0, 1].map(|axis| centres.iter().map(|c| c[axis]).sum::<f64>() / count);
        for centre in &mut centres {
            *centre = [centre[0] - mean[0], centre[1] - mean[1]];
        }
        Self { positions, centres }
    }

    /// The rotation at which the curl is least, with the radius of neighbourhoods at which it is
    /// least; `None` for few frames, or positions on a line.
    #[must_use]
    pub fn rotation(&self) -> Option<CentreRotation> {
        if self.positions.len() < FEWEST_FRAMES {
            return None;
        }
        let step = self.step()?;
        let found = RADII.into_iter().filter_map(|r| self.at_radius(r * step));
        found.min_by(|a, b| a.curl.total_cmp(&b.curl))
    }

    /// The median distance of a position from its nearest neighbour, m.
    fn step(&self) -> Option<f64> {
        let extent = [0, 1].map(|axis| {
            let values = self.positions.iter().map(|p| p[axis]);
            let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
                (low.min(v), high.max(v))
            });
            high - low
        });
        // Of a raster of as many positions.
        let cell = (extent[0] * extent[1] / self.positions.len() as f64).sqrt();
        if !(cell.is_finite() && cell > 0.0) {
            return None;
        }
        let cells = Cells::new(&self.positions, 1.5 * cell);
        let mut nearest: Vec<f64> = Vec::new();
        for (n, place) in self.positions.iter().enumerate() {
            let mut least = f64::INFINITY;
            cells.around(*place, |other| {
                let distance = distance(self.positions[other], *place);
                if other != n && distance > 0.0 {
                    least = least.min(distance);
                }
            });
            if least.is_finite() {
                nearest.push(least);
            }
        }
        let middle = nearest.len() / 2;
        if nearest.is_empty() {
            return None;
        }
        let median = *nearest.select_nth_unstable_by(middle, f64::total_cmp).1;
        // Positions along dense lines have their neighbours in other lines too.
        Some(median.max(0.7 * cell))
    }

    fn at_radius(&self, radius: f64) -> Option<CentreRotation> {
        let cells = Cells::new(&self.positions, radius);
        let mut derivatives = Vec::new();
        let mut members = 0_usize;
        for place in &self.positions {
            if let Some((derivative, count)) = self.derivative(*place, radius, &cells) {
                derivatives.push((*place, derivative));
                members += count;
            }
        }
        let count = derivatives.len();
        if count < FEWEST_FRAMES / 2 {
            return None;
        }
        // Neighbourhoods overlap.
        let separate = (count * count) as f64 / members as f64;
        if separate < FEWEST_NEIGHBOURHOODS {
            return None;
        }
        let mut mean = [[0.0; 2]; 2];
        for (_, derivative) in &derivatives {
            for n in 0..4 {
                mean[n / 2][n % 2] += derivative[n / 2][n % 2] / count as f64;
            }
        }
        for (_, derivative) in &mut derivatives {
            for n in 0..4 {
                derivative[n / 2][n % 2] -= mean[n / 2][n % 2];
            }
        }
        // Stripes across the rows, as many positions in each.
        derivatives.sort_by(|a, b| a.0[0].total_cmp(&b.0[0]).then(a.0[1].total_cmp(&b.0[1])));
        let mut all = Sums::default();
        for (_, derivative) in &derivatives {
            all.add(*derivative, 1.0);
        }
        let shares = [all.best(0).1, all.best(1).1];
        let class = usize::from(shares[1] < shares[0]);
        let (angle, curl) = all.best(class);
        let mut squares = 0.0;
        for part in derivatives.chunks(count.div_ceil(PARTS)) {
            let mut rest = all;
            for (_, derivative) in part {
                rest.add(*derivative, -1.0);
            }
            // The angle is one up to 180°.
            let change = (rest.best(class).0 - angle + 90.0).rem_euclid(180.0) - 90.0;
            squares += change * change;
        }
        let parts = PARTS as f64;
        Some(CentreRotation {
            rotation: Rotation::new(angle, class == 1),
            error: (squares * (parts - 1.0) / parts).sqrt(),
            curl,
            curl_mirrored: shares[1 - class],
            radius,
            frames: self.positions.len(),
        })
    }

    /// ∂c/∂q at a place by the plane that fits the neighbours' centres best, and how many they are.
    fn derivative(&self, place: Point, radius: f64, cells: &Cells) -> Option<([Point; 2], usize)> {
        let mut near = Vec::new();
        cells.around(place, |other| {
            // A raster has many neighbours at the same distance.
            if distance(self.positions[other], place) <= radius * (1.0 + 1e-6) {
                near.push(other);
            }
        });
        if near.len() < FEWEST {
            return None;
        }
        let count = near.len() as f64;
        let mean =
            |of: &[Point], axis: usize| near.iter().map(|n| of[*n][axis]).sum::<f64>() / count;
        let middle = [0, 1].map(|axis| mean(&self.positions, axis));
        let centre = [0, 1].map(|axis| mean(&self.centres, axis));
        let (mut square, mut cross) = ([0.0; 3], [[0.0; 2]; 2]);
        for n in &near {
            let o = [0, 1].map(|axis| (self.positions[*n][axis] - middle[axis]) / radius);
            let c = [0, 1].map(|axis| self.centres[*n][axis] - centre[axis]);
            square[0] += o[0] * o[0];
            square[1] += o[0] * o[1];
            square[2] += o[1] * o[1];
            for k in 0..4 {
                cross[k / 2][k % 2] += c[k / 2] * o[k % 2];
            }
        }
        let determinant = square[0] * square[2] - square[1] * square[1];
        let trace = square[0] + square[2];
        if determinant.is_nan() || determinant <= FLATTEST * trace * trace {
            return None;
        }
        let slopes = cross.map(|[r, c]| {
            [
                (r * square[2] - c * square[1]) / determinant,
                (c * square[0] - r * square[1]) / determinant,
            ]
        });
        Some((slopes, near.len()))
    }
}

fn distance(a: Point, b: Point) -> f64 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}

/// Positions by square cells.
struct Cells {
    side: f64,
    members: HashMap<[i64; 2], Vec<usize>>,
}

impl Cells {
    fn new(positions: &[Point], side: f64) -> Self {
        let mut members: HashMap<[i64; 2], Vec<usize>> = HashMap::new();
        for (n, place) in positions.iter().enumerate() {
            members.entry(Self::cell(*place, side)).or_default().push(n);
        }
        Self { side, members }
    }

    #[allow(
        clippy::cast_possible_truncation,
        reason = "cells beyond the range would only be neighbours of each other"
    )]
    fn cell(place: Point, side: f64) -> [i64; 2] {
        place.map(|v| (v / side).floor() as i64)
    }

    /// Visits the positions in the cell of a place and in those around it, in a fixed order.
    fn around(&self, place: Point, mut visit: impl FnMut(usize)) {
        let [row, column] = Self::cell(place, self.side);
        for r in -1..=1 {
            for c in -1..=1 {
                let cell = [row.saturating_add(r), column.saturating_add(c)];
                for member in self.members.get(&cell).into_iter().flatten() {
                    visit(*member);
                }
            }
        }
    }
}

//! The region of a specimen that was lit well enough to be compared.

use ndarray::Array2;
use std::ops::Range;

/// How the lit region is derived from the fluence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LitRegion {
    /// Fraction of the typical fluence (the median over all pixels above a hundredth of the
    /// maximum) that a lit pixel's fluence exceeds.
    pub fraction: f64,
    /// Width of the border, pixels, that is removed because the edge of a scan is poorly
    /// determined.
    pub erosion: usize,
}

/// Pixels below this fraction of the maximum fluence are unlit and do not count towards the typical
/// fluence.
const DARK: f64 = 0.01;

impl Default for LitRegion {
    fn default() -> Self {
        Self {
            fraction: 0.2,
            erosion: 4,
        }
    }
}

impl LitRegion {
    /// Returns 1 on lit pixels and 0 elsewhere, in the shape of `fluence` (row, column), which may
    /// have any unit. All values are 0 if nothing was lit. The erosion is skipped if it would leave
    /// nothing.
    #[must_use]
    pub fn weight(&self, fluence: &Array2<f64>) -> Array2<f64> {
        let brightest = fluence.iter().copied().fold(0.0, f64::max);
        let mut bright: Vec<f64> = fluence
            .iter()
            .copied()
            .filter(|v| *v > DARK * brightest)
            .collect();
        if bright.is_empty() || !brightest.is_finite() {
            return Array2::zeros(fluence.dim());
        }
        let middle = bright.len() / 2;
        let typical = *bright.select_nth_unstable_by(middle, f64::total_cmp).1;
        let lit = fluence.mapv(|v| v > self.fraction * typical);
        let eroded = eroded(&lit, self.erosion);
        let weight = if eroded.iter().any(|v| *v) {
            &eroded
        } else {
            &lit
        };
        weight.mapv(|v| if v { 1.0 } else { 0.0 })
    }
}

/// Erodes a region by `radius` pixels (a square neighbourhood); nothing outside the array is lit.
fn eroded(region: &Array2<bool>, radius: usize) -> Array2<bool> {
    let (rows, columns) = region.dim();
    // With a summed-area table four reads tell whether a whole square is lit.
    let mut sums = Array2::<usize>::zeros((rows + 1, columns + 1));
    for ((r, c), lit) in region.indexed_iter() {
        sums[[r + 1, c + 1]] =
            usize::from(*lit) + sums[[r, c + 1]] + sums[[r + 1, c]] - sums[[r, c]];
    }
    Array2::from_shape_fn((rows, columns), |(r, c)| {
        let whole = r >= radius && c >= radius && r + radius < rows && c + radius < columns;
        whole && {
            let (r0, r1, c0, c1) = (r - radius, r + radius + 1, c - radius, c + radius + 1);
            let side = 2 * radius + 1;
            sums[[r1, c1]] + sums[[r0, c0]] - sums[[r0, c1]] - sums[[r1, c0]] == side * side
        }
    })
}

/// Rows and columns of the smallest box that contains every pixel with weight; `None` if there is
/// none.
#[must_use]
pub fn bounding_box(weight: &Array2<f64>) -> Option<[Range<usize>; 2]> {
    let mut bounds = [usize::MAX, 0, usize::MAX, 0];
    for ((r, c), w) in weight.indexed_iter() {
        if *w > 0.0 {
            bounds = [
                bounds[0].min(r),
                bounds[1].max(r + 1),
                bounds[2].min(c),
                bounds[3].max(c + 1),
            ];
        }
    }
    (bounds[1] > 0).then(|| [bounds[0]..bounds[1], bounds[2]..bounds[3]])
}

/// Rows and columns of the largest box in which every pixel has weight; empty if there is none.
#[must_use]
pub fn largest_rectangle(weight: &Array2<f64>) -> [Range<usize>; 2] {
    let columns = weight.ncols();
    let mut heights = vec![0_usize; columns];
    let mut best = (0, [0..0, 0..0]);
    for (r, row) in weight.rows().into_iter().enumerate() {
        for (height, w) in heights.iter_mut().zip(row) {
            *height = if *w > 0.0 { *height + 1 } else { 0 };
        }
        // (first column, height) of the boxes that are still open, by ascending height.
        let mut open: Vec<(usize, usize)> = Vec::new();
        for c in 0..=columns {
            let height = heights.get(c).copied().unwrap_or(0);
            let mut first = c;
            while let Some((start, top)) = open.pop_if(|(_, top)| *top >= height) {
                let area = top * (c - start);
                if area > best.0 {
                    best = (area, [r + 1 - top..r + 1, start..c]);
                }
                first = start;
            }
            open.push((first, height));
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plateau_is_lit_without_its_border() {
        let fluence = Array2::from_shape_fn((20, 30), |(r, c)| {
            if (3..17).contains(&r) && (5..25).contains(&c) {
                100.0
            } else {
                0.5
            }
        });
        let weight = LitRegion {
            fraction: 0.2,
            erosion: 2,
        }
        .weight(&fluence);
        assert_eq!(bounding_box(&weight), Some([5..15, 7..23]));
        assert_eq!(weight.sum(), 10.0 * 16.0);
        assert_eq!(
            LitRegion::default().weight(&Array2::zeros((4, 4))).sum(),
            0.0
        );
    }

    #[test]
    fn the_largest_box_agrees_with_an_exhaustive_search() {
        use rand::{RngExt, SeedableRng};
        let mut random = rand_pcg::Pcg64::seed_from_u64(7);
        for _ in 0..50 {
            let weight = Array2::from_shape_fn((7, 9), |_| f64::from(random.random_bool(0.8)));
            let mut largest = 0;
            for r0 in 0..7 {
                for r1 in r0 + 1..=7 {
                    for c0 in 0..9 {
                        for c1 in c0 + 1..=9 {
                            let inside = weight.slice(ndarray::s![r0..r1, c0..c1]);
                            if inside.iter().all(|w| *w > 0.0) {
                                largest = largest.max((r1 - r0) * (c1 - c0));
                            }
                        }
                    }
                }
            }
            let [rows, columns] = largest_rectangle(&weight);
            let found = weight.slice(ndarray::s![rows.clone(), columns.clone()]);
            assert!(found.iter().all(|w| *w > 0.0));
            assert_eq!(rows.len() * columns.len(), largest);
        }
    }
}

//! Sums over the frames of a part, on the object and on the probe: added to those of other parts,
//! and sent to other ranks.

use super::window::Layout;
use crate::engines::ranks::Summand;
use bytemuck::Pod;
use num_complex::Complex;
use rayon::prelude::*;
use std::ops::Range;
use warpstride_fft::Real;

/// Object rows per task: small enough to occupy any number of cores, large enough that looping over
/// the frames has negligible cost.
pub(in crate::engines::cpu) const BAND: usize = 8;

/// Numerators and weights on the rectangle of the object under the windows of some frames.
pub(in crate::engines::cpu) struct ObjectPart<T> {
    /// Rows of the object.
    pub(in crate::engines::cpu) rows: Range<usize>,
    /// Columns of the object.
    pub(in crate::engines::cpu) columns: Range<usize>,
    /// Layers of the object.
    layers: usize,
    /// (layer, row, column) of the rectangle.
    pub(in crate::engines::cpu) numerators: Vec<Complex<T>>,
    /// (row, column) of the rectangle.
    pub(in crate::engines::cpu) weights: Vec<T>,
}

impl<T: Real> ObjectPart<T> {
    /// Zeros in a rectangle.
    fn zeros(layers: usize, rows: Range<usize>, columns: Range<usize>) -> Self {
        let count = rows.len() * columns.len();
        Self {
            rows,
            columns,
            layers,
            numerators: vec![Complex::default(); layers * count],
            weights: vec![T::default(); count],
        }
    }

    /// Zeros under the windows with these corners.
    pub(in crate::engines::cpu) fn under(
        layout: &Layout,
        corners: impl Iterator<Item = [u32; 2]>,
    ) -> Self {
        let size = [layout.rows, layout.columns];
        let bounds = corners.fold(None, |bounds: Option<[Range<usize>; 2]>, corner| {
            let own = [0, 1].map(|axis| {
                let first = corner[axis] as usize;
                first..first + size[axis]
            });
            Some(match bounds {
                None => own,
                Some(bounds) => [0, 1].map(|axis| union(&bounds[axis], &own[axis])),
            })
        });
        let [rows, columns] = bounds.unwrap_or([0..0, 0..0]);
        Self::zeros(layout.object_layers, rows, columns)
    }

    /// Calls `work(layer, band, numerators, weights)` with the numerators of each band of rows, and
    /// with its weights for the first layer, which are the same for all of them; for others with
    /// scratch memory.
    pub(in crate::engines::cpu) fn for_each_band(
        &mut self,
        work: impl Fn(usize, usize, &mut [Complex<T>], &mut [T]) + Sync,
    ) {
        let count = self.weights.len();
        let band = BAND * self.columns.len();
        if count == 0 {
            return;
        }
        let mut scratch = Vec::new();
        for (layer, numerators) in self.numerators.chunks_exact_mut(count).enumerate() {
            if layer == 1 {
                scratch = vec![T::default(); count];
            }
            let weights = if layer == 0 {
                &mut self.weights
            } else {
                &mut scratch
            };
            (numerators.par_chunks_mut(band))
                .zip(weights.par_chunks_mut(band))
                .enumerate()
                .for_each(|(number, (numerators, weights))| {
                    work(layer, number, numerators, weights);
                });
        }
    }

    /// Numerators (layer, row, column) and weights (row, column) on the whole object, of this shape
    /// (row, column).
    pub(in crate::engines::cpu) fn whole(
        self,
        [height, width]: [usize; 2],
    ) -> (Vec<Complex<T>>, Vec<T>) {
        let all = self.within(0..height, 0..width);
        (all.numerators, all.weights)
    }

    /// The same sums in a larger rectangle.
    fn within(self, rows: Range<usize>, columns: Range<usize>) -> Self {
        if self.rows == rows && self.columns == columns {
            return self;
        }
        let mut all = Self::zeros(self.layers, rows, columns);
        all.add(&self);
        all
    }

    /// Adds sums whose rectangle is within this one.
    fn add(&mut self, other: &Self) {
        let (width, own) = (self.columns.len(), other.columns.len());
        if own == 0 || other.rows.is_empty() {
            return;
        }
        let first = (other.rows.start - self.rows.start) * width;
        let left = other.columns.start - self.columns.start;
        let rows = (self.weights[first..].par_chunks_mut(width)).zip(other.weights.par_chunks(own));
        rows.for_each(|(weights, w)| {
            let pairs = weights[left..].iter_mut().zip(w);
            pairs.for_each(|(to, v)| *to += *v);
        });
        let layers = (self.numerators.chunks_exact_mut(self.weights.len()))
            .zip(other.numerators.chunks_exact(other.weights.len()));
        for (to, from) in layers {
            let rows = (to[first..].par_chunks_mut(width)).zip(from.par_chunks(own));
            rows.for_each(|(numerators, n)| {
                let pairs = numerators[left..].iter_mut().zip(n);
                pairs.for_each(|(to, v)| *to += v);
            });
        }
    }

    fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }
}

/// The smallest range with both.
fn union(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    a.start.min(b.start)..a.end.max(b.end)
}

impl<T: Real> Summand for ObjectPart<T> {
    fn plus(self, other: Self) -> Self {
        if self.is_empty() {
            return other;
        }
        if other.is_empty() {
            return self;
        }
        let rows = union(&self.rows, &other.rows);
        let columns = union(&self.columns, &other.columns);
        let mut sum = self.within(rows, columns);
        sum.add(&other);
        sum
    }

    fn encode(&self) -> Vec<u8> {
        let bounds = [&self.rows, &self.columns].map(|range| [range.start, range.end]);
        let mut bounds: Vec<u64> = bounds.as_flattened().iter().map(|n| *n as u64).collect();
        bounds.push(self.layers as u64);
        let mut bytes = bytemuck::cast_slice(&bounds).to_vec();
        put(&self.numerators, &mut bytes);
        put(&self.weights, &mut bytes);
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (bounds, rest) = bytes.split_at_checked(5 * size_of::<u64>())?;
        let bounds: Vec<usize> = (bytemuck::pod_collect_to_vec::<u8, u64>(bounds).iter())
            .map(|n| usize::try_from(*n).ok())
            .collect::<Option<_>>()?;
        let count =
            (bounds[1].checked_sub(bounds[0])?).checked_mul(bounds[3].checked_sub(bounds[2])?)?;
        let (numerators, weights) = take::<T>(rest, count.checked_mul(bounds[4])?)?;
        (weights.len() == count).then_some(Self {
            layers: bounds[4],
            rows: bounds[0]..bounds[1],
            columns: bounds[2]..bounds[3],
            numerators,
            weights,
        })
    }
}

/// Numerators (mode, row, column) and weights (row, column) on the probe, or numerators in another
/// order.
pub(in crate::engines::cpu) struct ProbePart<T> {
    pub(in crate::engines::cpu) numerators: Vec<Complex<T>>,
    pub(in crate::engines::cpu) weights: Vec<T>,
}

impl<T: Real> ProbePart<T> {
    /// Zeros.
    pub(in crate::engines::cpu) fn zeros(layout: &Layout) -> Self {
        Self {
            numerators: vec![Complex::default(); layout.modes * layout.pixels()],
            weights: vec![T::default(); layout.pixels()],
        }
    }
}

impl<T: Real> Summand for ProbePart<T> {
    fn plus(mut self, other: Self) -> Self {
        let pairs = self.numerators.iter_mut().zip(other.numerators);
        pairs.for_each(|(to, v)| *to += v);
        let pairs = self.weights.iter_mut().zip(other.weights);
        pairs.for_each(|(to, v)| *to += v);
        self
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = (self.numerators.len() as u64).to_ne_bytes().to_vec();
        put(&self.numerators, &mut bytes);
        put(&self.weights, &mut bytes);
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (count, rest) = bytes.split_first_chunk()?;
        let count = usize::try_from(u64::from_ne_bytes(*count)).ok()?;
        let (numerators, weights) = take(rest, count)?;
        Some(Self {
            numerators,
            weights,
        })
    }
}

fn put<V: Pod>(values: &[V], bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(bytemuck::cast_slice(values));
}

/// `count` complex values, then real ones.
fn take<T: Real>(bytes: &[u8], count: usize) -> Option<(Vec<Complex<T>>, Vec<T>)> {
    let length = count.checked_mul(size_of::<Complex<T>>())?;
    let (numerators, weights) = bytes.split_at_checked(length)?;
    (weights.len() % size_of::<T>() == 0).then(|| {
        let parts: Vec<T> = bytemuck::pod_collect_to_vec(numerators);
        let values = parts.chunks_exact(2).map(|v| Complex::new(v[0], v[1]));
        (values.collect(), bytemuck::pod_collect_to_vec(weights))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fly::FlyPaths;

    fn layout() -> Layout {
        Layout {
            modes: 2,
            rows: 2,
            columns: 3,
            object_shape: [9, 8],
            object_layers: 2,
            fly: FlyPaths::default(),
            corners: Vec::new(),
            fractions: Vec::new(),
            scales: Vec::new(),
        }
    }

    fn filled(corners: &[[u32; 2]], value: f32) -> ObjectPart<f32> {
        let mut part = ObjectPart::under(&layout(), corners.iter().copied());
        let layer = part.weights.len();
        part.numerators[..layer].fill(Complex::new(value, -value));
        part.numerators[layer..].fill(Complex::new(3.0 * value, 0.0));
        part.weights.fill(value);
        part
    }

    #[test]
    fn rectangles_are_added_where_they_lie() {
        let [a, b] = [filled(&[[1, 2], [3, 0]], 1.0), filled(&[[4, 4]], 10.0)];
        assert_eq!((a.rows.clone(), a.columns.clone()), (1..5, 0..5));
        let none = ObjectPart::under(&layout(), std::iter::empty());
        let sum = none.plus(a).plus(b);
        assert_eq!((sum.rows.clone(), sum.columns.clone()), (1..6, 0..7));
        let again = ObjectPart::<f32>::decode(&sum.encode()).unwrap();
        let (numerators, weights) = again.whole([9, 8]);
        for row in 0..9 {
            for column in 0..8 {
                let first = (1..5).contains(&row) && column < 5;
                let second = (4..6).contains(&row) && (4..7).contains(&column);
                let expected = f32::from(u8::from(first)) + 10.0 * f32::from(u8::from(second));
                assert_eq!(weights[row * 8 + column], expected, "{row} {column}");
                let numerator = numerators[row * 8 + column];
                assert_eq!(numerator, Complex::new(expected, -expected));
                let second = numerators[72 + row * 8 + column];
                assert_eq!(second, Complex::new(3.0 * expected, 0.0));
            }
        }
    }

    #[test]
    fn other_bytes_are_refused() {
        let bytes = filled(&[[0, 0]], 1.0).encode();
        assert!(ObjectPart::<f32>::decode(&bytes[..bytes.len() - 1]).is_none());
        assert!(ObjectPart::<f64>::decode(&bytes).is_none());
        let bytes = ProbePart::<f64>::zeros(&layout()).encode();
        assert!(ProbePart::<f64>::decode(&bytes).is_some());
        assert!(ProbePart::<f64>::decode(&bytes[..bytes.len() - 1]).is_none());
        assert!(ProbePart::<f64>::decode(&bytes[..7]).is_none());
    }
}

//! Wave vectors and directions, which all parameter vectors share.

use super::mirrored_buffer::MirroredBuffer;
use crate::Points;
use crate::magnetism::MIN_Q_SQUARED;
use crate::orientation::{directions, level};
use warpstride_cuda::gpu::{Device, Result};
use warpstride_kernels::sas::launches::Arithmetic;
use warpstride_kernels::sas::member::SEGMENTS;
use warpstride_kernels::sas::model::Symmetry;

/// Wave vectors on the host and on the device.
pub(super) struct Grid<M: Device, R: Arithmetic> {
    /// |q|, ascending, 1/Å.
    pub(super) ascending: Vec<f64>,
    /// The same on the device.
    pub(super) q: MirroredBuffer<M, R>,
    /// Rank of each point in that order.
    pub(super) ranks: MirroredBuffer<M, u32>,
    /// Pixels as given; empty for curves.
    pub(super) qx: MirroredBuffer<M, R>,
    pub(super) qy: MirroredBuffer<M, R>,
    /// Directions (c², cs, s², 1) of q for magnetic particles: ordered by |q| for isotropic
    /// particles, otherwise as given.
    pub(super) headings: MirroredBuffer<M, R>,
}

fn rounded<R: Arithmetic>(values: impl IntoIterator<Item = f64>) -> Vec<R> {
    values.into_iter().map(R::of).collect()
}

impl<M: Device, R: Arithmetic + PartialEq> Grid<M, R> {
    pub(super) fn new(device: &M, points: &Points, oriented: bool) -> Result<Self> {
        let q: Vec<f64> = match points {
            Points::Curve(q) => q.clone(),
            Points::Pixels { qx, qy } => qx.iter().zip(qy).map(|(x, y)| x.hypot(*y)).collect(),
        };
        let mut order: Vec<usize> = (0..q.len()).collect();
        order.sort_by(|a, b| q[*a].total_cmp(&q[*b]));
        let mut ranks = vec![0; q.len()];
        for (rank, point) in order.iter().enumerate() {
            ranks[*point] = rank as u32;
        }
        let ascending: Vec<f64> = order.iter().map(|point| q[*point]).collect();
        let mut grid = Self {
            q: MirroredBuffer::new(device, "wave vectors")?,
            ranks: MirroredBuffer::new(device, "order of the wave vectors")?,
            qx: MirroredBuffer::new(device, "wave vectors")?,
            qy: MirroredBuffer::new(device, "wave vectors")?,
            headings: MirroredBuffer::new(device, "directions of the wave vectors")?,
            ascending,
        };
        let sorted: Vec<R> = rounded(grid.ascending.iter().copied());
        grid.q.set(device, &sorted)?;
        grid.ranks.set(device, &ranks)?;
        if let Points::Pixels { qx, qy } = points {
            let values: [Vec<R>; 2] = [qx, qy].map(|q| rounded(q.iter().copied()));
            grid.qx.set(device, &values[0])?;
            grid.qy.set(device, &values[1])?;
            let heading = |point: usize| {
                let (x, y) = (qx[point], qy[point]);
                let square = x * x + y * y;
                if square > MIN_Q_SQUARED {
                    [x * x / square, x * y / square, y * y / square, 1.0]
                } else {
                    [0.0; 4]
                }
            };
            let headings: Vec<R> = if oriented {
                rounded((0..q.len()).flat_map(heading))
            } else {
                rounded(order.iter().flat_map(|point| heading(*point)))
            };
            grid.headings.set(device, &headings)?;
        }
        Ok(grid)
    }

    /// Number of points.
    pub(super) fn len(&self) -> usize {
        self.ascending.len()
    }

    /// Number of wave vectors for each order of the orientation average, for particles of that
    /// largest half size.
    pub(super) fn rows(&self, symmetry: Symmetry, half_size: f64) -> [usize; SEGMENTS] {
        let mut rows = [0; SEGMENTS];
        if symmetry == Symmetry::Isotropic {
            rows[0] = self.len();
            return rows;
        }
        let mut row_start = 0;
        for (number, count) in rows.iter_mut().enumerate() {
            let row_end = self
                .ascending
                .partition_point(|q| level(q * half_size) <= number);
            *count = row_end - row_start;
            row_start = row_end;
        }
        rows
    }
}

/// Quadrature rules of the orientation average on the device: those used so far.
pub(super) struct Rules<M: Device, R: Arithmetic> {
    symmetry: Symmetry,
    table: MirroredBuffer<M, R>,
    values: Vec<R>,
    first: [Option<u32>; SEGMENTS],
}

impl<M: Device, R: Arithmetic + PartialEq> Rules<M, R> {
    pub(super) fn new(device: &M, symmetry: Symmetry) -> Result<Self> {
        Ok(Self {
            symmetry,
            table: MirroredBuffer::new(device, "directions")?,
            values: Vec::new(),
            first: [None; SEGMENTS],
        })
    }

    /// Number of directions of a rule.
    pub(super) fn len(&self, level: usize) -> usize {
        if self.symmetry == Symmetry::Isotropic {
            return 1;
        }
        directions(self.symmetry, level).len()
    }

    /// Index of the rule's first direction in the table; adds the rule if it is new.
    pub(super) fn first(&mut self, level: usize) -> u32 {
        if self.symmetry == Symmetry::Isotropic {
            return 0;
        }
        if let Some(first) = self.first[level] {
            return first;
        }
        let first = (self.values.len() / 4) as u32;
        let rule = directions(self.symmetry, level);
        for (i, weight) in rule.weights.iter().enumerate() {
            let (a, b) = match self.symmetry {
                Symmetry::Triaxial => (rule.a[i], rule.b[i]),
                _ => (rule.b[i], 0.0),
            };
            self.values.extend([a, b, rule.c[i], *weight].map(R::of));
        }
        self.first[level] = Some(first);
        first
    }

    /// Uploads the table with all rules that were added.
    pub(super) fn upload(&mut self, device: &M) -> Result<()> {
        self.table.set(device, &self.values)
    }

    pub(super) fn table(&self) -> &M::Buffer<R> {
        self.table.buffer()
    }
}

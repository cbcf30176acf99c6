//! What all vectors share: wave vectors, and directions.

use super::resident::Resident;
use crate::gpu::{Machine, Result};
use crate::sas::Points;
use crate::sas::magnetism::LEAST_Q_SQUARED;
use crate::sas::orientation::{directions, level};
use warpstride_kernels::sas::launches::Arithmetic;
use warpstride_kernels::sas::member::SEGMENTS;
use warpstride_kernels::sas::model::Symmetry;

/// Wave vectors on a machine.
pub(super) struct Grid<M: Machine, R: Arithmetic> {
    /// |q|, ascending, 1/Å.
    pub(super) ascending: Vec<f64>,
    /// The same on the machine.
    pub(super) q: Resident<M, R>,
    /// Place of each point in that order.
    pub(super) ranks: Resident<M, u32>,
    /// Pixels as given; empty for curves.
    pub(super) qx: Resident<M, R>,
    pub(super) qy: Resident<M, R>,
    /// Headings (c², cs, s², 1) of magnetic particles: in the order of |q| of isotropic ones, else as given.
    pub(super) headings: Resident<M, R>,
}

fn rounded<R: Arithmetic>(values: impl IntoIterator<Item = f64>) -> Vec<R> {
    values.into_iter().map(R::of).collect()
}

impl<M: Machine, R: Arithmetic + PartialEq> Grid<M, R> {
    pub(super) fn new(machine: &M, points: &Points, oriented: bool) -> Result<Self> {
        let q: Vec<f64> = match points {
            Points::Curve(q) => q.clone(),
            Points::Pixels { qx, qy } => qx.iter().zip(qy).map(|(x, y)| x.hypot(*y)).collect(),
        };
        let mut order: Vec<usize> = (0..q.len()).collect();
        order.sort_by(|a, b| q[*a].total_cmp(&q[*b]));
        let mut place = vec![0; q.len()];
        for (rank, point) in order.iter().enumerate() {
            place[*point] = rank as u32;
        }
        let ascending: Vec<f64> = order.iter().map(|point| q[*point]).collect();
        let mut grid = Self {
            q: Resident::new(machine, "wave vectors")?,
            ranks: Resident::new(machine, "order of the wave vectors")?,
            qx: Resident::new(machine, "wave vectors")?,
            qy: Resident::new(machine, "wave vectors")?,
            headings: Resident::new(machine, "directions of the wave vectors")?,
            ascending,
        };
        let sorted: Vec<R> = rounded(grid.ascending.iter().copied());
        grid.q.set(machine, &sorted)?;
        grid.ranks.set(machine, &place)?;
        if let Points::Pixels { qx, qy } = points {
            let values: [Vec<R>; 2] = [qx, qy].map(|q| rounded(q.iter().copied()));
            grid.qx.set(machine, &values[0])?;
            grid.qy.set(machine, &values[1])?;
            let heading = |point: usize| {
                let (x, y) = (qx[point], qy[point]);
                let square = x * x + y * y;
                if square > LEAST_Q_SQUARED {
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
            grid.headings.set(machine, &headings)?;
        }
        Ok(grid)
    }

    /// Points.
    pub(super) fn len(&self) -> usize {
        self.ascending.len()
    }

    /// Wave vectors of each order of the orientation average, for particles of that largest half size.
    pub(super) fn rows(&self, symmetry: Symmetry, half_size: f64) -> [usize; SEGMENTS] {
        let mut rows = [0; SEGMENTS];
        if symmetry == Symmetry::Isotropic {
            rows[0] = self.len();
            return rows;
        }
        let mut before = 0;
        for (number, count) in rows.iter_mut().enumerate() {
            let up_to = self
                .ascending
                .partition_point(|q| level(q * half_size) <= number);
            *count = up_to - before;
            before = up_to;
        }
        rows
    }
}

/// Rules of the orientation average on a machine: those that were needed so far.
pub(super) struct Rules<M: Machine, R: Arithmetic> {
    symmetry: Symmetry,
    table: Resident<M, R>,
    values: Vec<R>,
    first: [Option<u32>; SEGMENTS],
}

impl<M: Machine, R: Arithmetic + PartialEq> Rules<M, R> {
    pub(super) fn new(machine: &M, symmetry: Symmetry) -> Result<Self> {
        Ok(Self {
            symmetry,
            table: Resident::new(machine, "directions")?,
            values: Vec::new(),
            first: [None; SEGMENTS],
        })
    }

    /// Directions of a rule.
    pub(super) fn len(&self, level: usize) -> usize {
        if self.symmetry == Symmetry::Isotropic {
            return 1;
        }
        directions(self.symmetry, level).len()
    }

    /// The rule's first direction in the table.
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

    /// The table, with all rules that were asked for.
    pub(super) fn upload(&mut self, machine: &M) -> Result<()> {
        self.table.set(machine, &self.values)
    }

    pub(super) fn table(&self) -> &M::Buffer<R> {
        self.table.buffer()
    }
}

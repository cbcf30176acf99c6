//! Some particles at some points: the work of one thread at a time.
//!
//! How points and particles are cut depends on the calculation only, so that sums are in one order whatever the
//! number of threads: over the particles of a block in single steps, over blocks, over chunks of particles.

use super::number::Number;
use crate::sas::Points;
use crate::sas::orientation::{directions, level};
use crate::sas::plan::Plan;
use std::ops::Range;
use std::sync::OnceLock;
use warpstride_kernels::sas::catalogue::AnyModel;
use warpstride_kernels::sas::lanes::Units;
use warpstride_kernels::sas::model::Symmetry;
use warpstride_kernels::sas::sums::{Directions, Job, Magnetic, PADDING, Turned, Waves};

/// Particles of a block, whose sums are in the calculation's own precision; beyond they are doubles.
const BLOCK: usize = 64;
/// Chunks of particles, at most: each has its own sums.
const MOST_CHUNKS: usize = 256;

/// Points of a chunk: enough to be worth a particle's state, few enough to occupy all threads.
fn points_together(points: &Points, symmetry: Symmetry) -> usize {
    match (points, symmetry) {
        (Points::Curve(_), Symmetry::Axial) => 16,
        (Points::Curve(_), Symmetry::Triaxial) => 4,
        _ => 512,
    }
}

/// Particles of a chunk.
pub(super) fn particles_together(particles: usize) -> usize {
    particles.div_ceil(MOST_CHUNKS).next_multiple_of(BLOCK)
}

fn padded<T: Number>(values: &[f64], pad: Option<f64>) -> Vec<T> {
    let mut out: Vec<T> = values.iter().map(|value| T::of(*value)).collect();
    if let Some(last) = pad.or(values.last().copied()) {
        out.resize(values.len().next_multiple_of(PADDING), T::of(last));
    }
    out
}

/// Points that are computed together, padded.
pub(super) enum Chunk<T> {
    /// |q|, also as doubles.
    Curve { doubles: Vec<f64>, q: Vec<T> },
    /// Pixels.
    Pixels {
        count: usize,
        qx: Vec<T>,
        qy: Vec<T>,
    },
}

impl<T: Number> Chunk<T> {
    /// All points, cut.
    pub(super) fn all(points: &Points, symmetry: Symmetry) -> Vec<Self> {
        let together = points_together(points, symmetry);
        match points {
            Points::Curve(q) => q
                .chunks(together)
                .map(|q| Self::Curve {
                    doubles: q.to_vec(),
                    q: padded(q, None),
                })
                .collect(),
            Points::Pixels { qx, qy } => qx
                .chunks(together)
                .zip(qy.chunks(together))
                .map(|(qx, qy)| Self::Pixels {
                    count: qx.len(),
                    qx: padded(qx, None),
                    qy: padded(qy, None),
                })
                .collect(),
        }
    }

    /// Points in it.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Curve { doubles, .. } => doubles.len(),
            Self::Pixels { count, .. } => *count,
        }
    }

    fn padded_len(&self) -> usize {
        match self {
            Self::Curve { q, .. } => q.len(),
            Self::Pixels { qx, .. } => qx.len(),
        }
    }
}

/// Directions in a precision, padded.
struct PaddedDirections<T> {
    a: Vec<T>,
    b: Vec<T>,
    c: Vec<T>,
    weights: Vec<T>,
}

/// What all tiles share.
pub(super) struct Shared<T> {
    form: &'static dyn AnyModel,
    units: Units,
    levels: [OnceLock<PaddedDirections<T>>; 4],
}

impl<T: Number> Shared<T> {
    pub(super) fn new(form: &'static dyn AnyModel, units: Units) -> Self {
        Self {
            form,
            units,
            levels: [const { OnceLock::new() }; 4],
        }
    }

    fn directions(&self, level: usize) -> Directions<'_, T> {
        let of = self.levels[level].get_or_init(|| {
            let of = directions(self.form.symmetry(), level);
            PaddedDirections {
                a: padded(&of.a, None),
                b: padded(&of.b, None),
                c: padded(&of.c, None),
                weights: padded(&of.weights, Some(0.0)),
            }
        });
        Directions {
            a: &of.a,
            b: &of.b,
            c: &of.c,
            weights: &of.weights,
        }
    }
}

/// Σ w F and Σ w F² at each point of a chunk.
#[derive(Default, Clone)]
pub(super) struct Sums {
    pub(super) amplitudes: Vec<f64>,
    pub(super) intensities: Vec<f64>,
}

impl Sums {
    pub(super) fn zero(points: usize) -> Self {
        Self {
            amplitudes: vec![0.0; points],
            intensities: vec![0.0; points],
        }
    }

    fn take_block<T: Number>(&mut self, block: &mut (Vec<T>, Vec<T>)) {
        let halves = [
            (&mut self.amplitudes, &mut block.0),
            (&mut self.intensities, &mut block.1),
        ];
        for (sums, more) in halves {
            for (sum, more) in sums.iter_mut().zip(more) {
                *sum += std::mem::take(more).into();
            }
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        let halves = [
            (&mut self.amplitudes, &other.amplitudes),
            (&mut self.intensities, &other.intensities),
        ];
        for (sums, more) in halves {
            for (sum, more) in sums.iter_mut().zip(more) {
                *sum += more;
            }
        }
    }
}

/// Rotations and channels of a plan in a precision.
pub(super) struct Turns<'a, T> {
    turns: Vec<Turned<T>>,
    channels: Vec<Magnetic<'a>>,
}

impl<'a, T: Number> Turns<'a, T> {
    pub(super) fn of(plan: &'a Plan) -> Self {
        let turned = |turn: &crate::sas::jitter::Turn| Turned {
            rows: turn.rows.map(|row| row.map(T::of)),
            weight: T::of(turn.weight),
        };
        let magnetic = |channel: &'a crate::sas::magnetism::Channel| Magnetic {
            weight: channel.weight,
            nuclear: channel.nuclear,
            moments: &channel.moments,
        };
        Self {
            turns: plan.turns.iter().map(turned).collect(),
            channels: plan.channels.iter().map(magnetic).collect(),
        }
    }
}

/// Sums over some of a plan's particles at a chunk of points.
pub(super) fn compute<T: Number>(
    shared: &Shared<T>,
    plan: &Plan,
    turns: &Turns<'_, T>,
    particles: Range<usize>,
    chunk: &Chunk<T>,
) -> Sums {
    let padded = chunk.padded_len();
    let mut sums = Sums::zero(chunk.len());
    let mut block = (vec![T::default(); padded], vec![T::default(); padded]);
    let mut values = plan.particles.base().to_vec();
    let mut kept = Vec::new();
    let mut in_block = 0;
    for index in particles {
        let weight = plan.particles.read(index, &mut values);
        let turns_kept = if plan.cutoff == 0.0 || matches!(chunk, Chunk::Curve { .. }) {
            turns.turns.as_slice()
        } else {
            kept.clear();
            let pairs = plan.turns.iter().zip(&turns.turns);
            let left = pairs.filter(|(turn, _)| plan.keeps(weight * turn.weight));
            kept.extend(left.map(|(_, turned)| *turned));
            kept.as_slice()
        };
        let counts = match chunk {
            Chunk::Curve { .. } => plan.keeps(weight),
            Chunk::Pixels { .. } => weight > 0.0 && !turns_kept.is_empty(),
        };
        if !(counts && shared.form.volume(&values).material.is_finite()) {
            continue;
        }
        match chunk {
            Chunk::Curve { doubles, q } => {
                let of_all = (weight, plan.averages.half_size);
                add_curve(shared, &values, of_all, doubles, q, &mut block)
            }
            Chunk::Pixels { qx, qy, .. } => T::add(
                shared.form,
                shared.units,
                Job {
                    values: &values,
                    weight,
                    waves: Waves::Pixels {
                        qx,
                        qy,
                        turns: turns_kept,
                        channels: &turns.channels,
                    },
                    amplitudes: &mut block.0,
                    intensities: &mut block.1,
                },
            ),
        }
        in_block += 1;
        if in_block == BLOCK {
            sums.take_block(&mut block);
            in_block = 0;
        }
    }
    sums.take_block(&mut block);
    sums
}

/// `half_size`: of the largest particle, which decides the rule for all.
fn add_curve<T: Number>(
    shared: &Shared<T>,
    values: &[f64],
    (weight, half_size): (f64, f64),
    doubles: &[f64],
    q: &[T],
    block: &mut (Vec<T>, Vec<T>),
) {
    let mut add = |waves, range: Range<usize>| {
        let job = Job {
            values,
            weight,
            waves,
            amplitudes: &mut block.0[range.clone()],
            intensities: &mut block.1[range],
        };
        T::add(shared.form, shared.units, job);
    };
    if shared.form.symmetry() == Symmetry::Isotropic {
        add(Waves::Sizes(q), 0..q.len());
        return;
    }
    let mut first = 0;
    while first < doubles.len() {
        let of_first = level(doubles[first] * half_size);
        let alike = doubles[first..]
            .iter()
            .take_while(|q| level(**q * half_size) == of_first);
        let end = first + alike.count();
        add(
            Waves::Averaged(&q[first..end], shared.directions(of_first)),
            first..end,
        );
        first = end;
    }
}

//! Sums over some particles at some points: the unit of work of one thread.
//!
//! The division into points and particles depends only on the calculation, so the order of each sum
//! is the same for any number of threads: over the particles of a block in the calculation's
//! precision, then over blocks, then over chunks of particles.

use super::number::Number;
use crate::Points;
use crate::orientation::{directions, level};
use crate::plan::Plan;
use std::ops::Range;
use std::sync::OnceLock;
use warpstride_kernels::sas::catalogue::AnyModel;
use warpstride_kernels::sas::model::Symmetry;
use warpstride_kernels::sas::simd::Units;
use warpstride_kernels::sas::sums::{Directions, Job, Magnetic, PADDING, Turned, Waves};

/// Particles per block: sums within a block are in the calculation's precision, sums over blocks in
/// double precision.
const BLOCK: usize = 64;
/// Maximum number of chunks of particles; each has its own sums.
const MAX_CHUNKS: usize = 256;

/// Points per chunk: enough to amortise the state of a particle, few enough to occupy all threads.
fn points_per_chunk(points: &Points, symmetry: Symmetry) -> usize {
    match (points, symmetry) {
        (Points::Curve(_), Symmetry::Axial) => 16,
        (Points::Curve(_), Symmetry::Triaxial) => 4,
        _ => 512,
    }
}

/// Particles per chunk.
pub(super) fn particles_per_chunk(particles: usize) -> usize {
    particles.div_ceil(MAX_CHUNKS).next_multiple_of(BLOCK)
}

fn padded<T: Number>(values: &[f64], pad: Option<f64>) -> Vec<T> {
    let mut out: Vec<T> = values.iter().map(|value| T::of(*value)).collect();
    if let Some(last) = pad.or(values.last().copied()) {
        out.resize(values.len().next_multiple_of(PADDING), T::of(last));
    }
    out
}

/// Points that are computed together, padded to the vector width.
pub(super) enum Chunk<T> {
    /// |q|, and the same in double precision.
    Curve { doubles: Vec<f64>, q: Vec<T> },
    /// Pixels.
    Pixels {
        count: usize,
        qx: Vec<T>,
        qy: Vec<T>,
    },
}

impl<T: Number> Chunk<T> {
    /// Divides all points into chunks.
    pub(super) fn all(points: &Points, symmetry: Symmetry) -> Vec<Self> {
        let per_chunk = points_per_chunk(points, symmetry);
        match points {
            Points::Curve(q) => q
                .chunks(per_chunk)
                .map(|q| Self::Curve {
                    doubles: q.to_vec(),
                    q: padded(q, None),
                })
                .collect(),
            Points::Pixels { qx, qy } => qx
                .chunks(per_chunk)
                .zip(qy.chunks(per_chunk))
                .map(|(qx, qy)| Self::Pixels {
                    count: qx.len(),
                    qx: padded(qx, None),
                    qy: padded(qy, None),
                })
                .collect(),
        }
    }

    /// Number of points without padding.
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

/// Data that all tiles share.
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

/// Rotations and spin channels of a plan in one precision.
pub(super) struct RotationsAndChannels<'a, T> {
    rotations: Vec<Turned<T>>,
    channels: Vec<Magnetic<'a>>,
}

impl<'a, T: Number> RotationsAndChannels<'a, T> {
    pub(super) fn of(plan: &'a Plan) -> Self {
        let turned = |rotation: &crate::jitter::Rotation| Turned {
            rows: rotation.rows.map(|row| row.map(T::of)),
            weight: T::of(rotation.weight),
        };
        let magnetic = |channel: &'a crate::magnetism::Channel| Magnetic {
            weight: channel.weight,
            nuclear: channel.nuclear,
            moments: &channel.moments,
        };
        Self {
            rotations: plan.rotations.iter().map(turned).collect(),
            channels: plan.channels.iter().map(magnetic).collect(),
        }
    }
}

/// Sums over some particles of a plan at a chunk of points.
pub(super) fn compute<T: Number>(
    shared: &Shared<T>,
    plan: &Plan,
    oriented: &RotationsAndChannels<'_, T>,
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
        let weight = plan.particles.fill_values(index, &mut values);
        let rotations_kept = if plan.cutoff == 0.0 || matches!(chunk, Chunk::Curve { .. }) {
            oriented.rotations.as_slice()
        } else {
            kept.clear();
            let pairs = plan.rotations.iter().zip(&oriented.rotations);
            let left = pairs.filter(|(rotation, _)| plan.above_cutoff(weight * rotation.weight));
            kept.extend(left.map(|(_, turned)| *turned));
            kept.as_slice()
        };
        let counts = match chunk {
            Chunk::Curve { .. } => plan.above_cutoff(weight),
            Chunk::Pixels { .. } => weight > 0.0 && !rotations_kept.is_empty(),
        };
        if !(counts && shared.form.volume(&values).material.is_finite()) {
            continue;
        }
        match chunk {
            Chunk::Curve { doubles, q } => {
                let weight_and_half_size = (weight, plan.averages.half_size);
                add_curve(
                    shared,
                    &values,
                    weight_and_half_size,
                    doubles,
                    q,
                    &mut block,
                )
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
                        turns: rotations_kept,
                        channels: &oriented.channels,
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

/// Adds the scattering of a particle to a curve. `half_size` is that of the largest particle, which
/// determines the quadrature for all particles.
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

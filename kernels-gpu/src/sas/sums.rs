//! A particle's scattering at many wave vectors, added to sums: where a CPU spends most of its time.

use super::model::{Form, Model, Symmetry, Values, Wave};
use super::simd::{SimdReal, Work};
use core::marker::PhantomData;

/// Lengths of arrays that packs process are multiples of this. The padding does not count, but is computed: it should
/// repeat a wave vector, with weight 0 where there are weights.
pub const PADDING: usize = 8;

/// Unit vectors in the particle's frame and their weights, in arrays of one padded length.
#[derive(Debug, Clone, Copy)]
pub struct Directions<'a, T> {
    /// Components along a; empty for axial particles.
    pub a: &'a [T],
    /// Components along b; for axial particles across c.
    pub b: &'a [T],
    /// Components along c.
    pub c: &'a [T],
    /// The weights.
    pub weights: &'a [T],
}

/// A rotation: rows a, b, c of components in the particle's frame by (qx, qy), and its weight.
#[derive(Debug, Clone, Copy)]
pub struct Turned<T> {
    /// The rows.
    pub rows: [[T; 2]; 3],
    /// The weight.
    pub weight: T,
}

/// An intensity with scattering length densities of its own, which depend on the direction of q:
/// ρ' = nuclear · ρ + k₀ + k₁ c² + k₂ c s + k₃ s² with (c, s) = (qx, qy)/|q|.
#[derive(Debug, Clone, Copy)]
pub struct Magnetic<'a> {
    /// Factor on the intensity.
    pub weight: f64,
    /// 1 or 0.
    pub nuclear: f64,
    /// The k of each density.
    pub moments: &'a [[f64; 4]],
}

/// Wave vectors, 1/Å.
#[derive(Debug, Clone, Copy)]
pub enum Waves<'a, T> {
    /// |q|, for an isotropic particle; padded.
    Sizes(&'a [T]),
    /// q|, averaged over directions: for other particles.
    Averaged(&'a [T], Directions<'a, T>),
    /// Pixels, each summed over rotations; padded.
    Pixels {
        /// qx of each pixel.
        qx: &'a [T],
        /// qy of each pixel.
        qy: &'a [T],
        /// Rotations; for an isotropic particle only the weights matter.
        turns: &'a [Turned<T>],
        /// The channels that are added instead of one intensity; empty without magnetism.
        channels: &'a [Magnetic<'a>],
    },
}

/// The terms to add, and the sums.
#[derive(Debug)]
pub struct Job<'a, T> {
    /// The particle, in the order of its table.
    pub values: &'a [f64],
    /// Factor on F and F².
    pub weight: f64,
    /// The wave vectors.
    pub waves: Waves<'a, T>,
    /// The sums of F at each wave vector; 0 with channels.
    pub amplitudes: &'a mut [T],
    /// The sums of F² at each wave vector.
    pub intensities: &'a mut [T],
}

/// A job for a model.
pub(super) struct Adding<'a, M, T>(Job<'a, T>, PhantomData<M>);

impl<'a, M, T> Adding<'a, M, T> {
    pub(super) fn new(job: Job<'a, T>) -> Self {
        Self(job, PhantomData)
    }
}

impl<M: Model, T> Work<T> for Adding<'_, M, T> {
    #[inline(always)]
    fn with<R: SimdReal<Element = T>>(self) {
        add::<M, R>(self.0);
    }
}

#[inline(always)]
fn wave<R: SimdReal>(q: R) -> Wave<R> {
    Wave {
        q,
        across: R::zero(),
        along: R::zero(),
        a: R::zero(),
        b: R::zero(),
        c: R::zero(),
    }
}

#[inline(always)]
fn add_at<R: SimdReal>(sums: &mut [R::Element], more: R) {
    (R::load(sums) + more).store(sums);
}

#[inline(always)]
fn add_form<M: Model, R: SimdReal>(
    sum: &mut Form<R>,
    wave: &Wave<R>,
    state: &M::State<R>,
    weight: R,
) {
    let form = M::form(wave, state);
    sum.amplitude = weight.mul_add(form.amplitude, sum.amplitude);
    sum.intensity = weight.mul_add(form.intensity, sum.intensity);
}

#[inline(always)]
fn component<R: SimdReal>(qx: R, qy: R, row: &[R::Element; 2]) -> R {
    R::splat(row[0]).mul_add(qx, R::splat(row[1]) * qy)
}

/// Compiles only the arms that the symmetry needs.
#[inline(always)]
fn add<M: Model, R: SimdReal>(job: Job<'_, R::Element>) {
    let values = M::Values::<R>::read(
        #[inline(always)]
        |i| R::of(job.values[i]),
    );
    let state = M::prepare(&values);
    let weight = R::of(job.weight);
    match job.waves {
        Waves::Sizes(q) => {
            if let Symmetry::Isotropic = M::SYMMETRY {
                let sums = job
                    .amplitudes
                    .chunks_exact_mut(R::COUNT)
                    .zip(job.intensities.chunks_exact_mut(R::COUNT));
                for (q, (amplitude, intensity)) in q.chunks_exact(R::COUNT).zip(sums) {
                    let form = M::form(&wave(R::load(q)), &state);
                    add_at(amplitude, weight * form.amplitude);
                    add_at(intensity, weight * form.intensity);
                }
            }
        }
        Waves::Averaged(q, directions) => {
            let sums = job.amplitudes.iter_mut().zip(job.intensities);
            for (q, (amplitude, intensity)) in q.iter().zip(sums) {
                let form = average::<M, R>(R::splat(*q), &directions, &state);
                *amplitude += (weight * form.amplitude).sum();
                *intensity += (weight * form.intensity).sum();
            }
        }
        Waves::Pixels {
            qx,
            qy,
            turns,
            channels,
        } => {
            let sums = job
                .amplitudes
                .chunks_exact_mut(R::COUNT)
                .zip(job.intensities.chunks_exact_mut(R::COUNT));
            let pixels = qx.chunks_exact(R::COUNT).zip(qy.chunks_exact(R::COUNT));
            for ((qx, qy), (amplitude, intensity)) in pixels.zip(sums) {
                let pixel = (R::load(qx), R::load(qy));
                let form = pixels_turned::<M, R>(pixel, turns, channels, job.values, state);
                add_at(amplitude, weight * form.amplitude);
                add_at(intensity, weight * form.intensity);
            }
        }
    }
}

/// The share of each lane in the average over directions at |q|.
#[inline(always)]
fn average<M: Model, R: SimdReal>(
    q: R,
    directions: &Directions<'_, R::Element>,
    state: &M::State<R>,
) -> Form<R> {
    let mut sum = Form {
        amplitude: R::zero(),
        intensity: R::zero(),
    };
    let c = directions.c.chunks_exact(R::COUNT);
    let b = directions.b.chunks_exact(R::COUNT);
    let weights = directions.weights.chunks_exact(R::COUNT);
    match M::SYMMETRY {
        Symmetry::Isotropic => {}
        Symmetry::Axial => {
            for ((b, c), weight) in b.zip(c).zip(weights) {
                let wave = Wave {
                    across: q * R::load(b),
                    along: q * R::load(c),
                    ..wave(q)
                };
                add_form::<M, R>(&mut sum, &wave, state, R::load(weight));
            }
        }
        Symmetry::Triaxial => {
            let a = directions.a.chunks_exact(R::COUNT);
            for (((a, b), c), weight) in a.zip(b).zip(c).zip(weights) {
                let wave = Wave {
                    a: q * R::load(a),
                    b: q * R::load(b),
                    c: q * R::load(c),
                    ..wave(q)
                };
                add_form::<M, R>(&mut sum, &wave, state, R::load(weight));
            }
        }
    }
    sum
}

/// q|², 1/Å², below which a pixel has no direction, and a magnetic particle no intensity.
const LEAST_Q_SQUARED: f64 = 1e-16;

/// Sums over rotations and channels.
#[inline(always)]
fn pixels_turned<M: Model, R: SimdReal>(
    (qx, qy): (R, R),
    turns: &[Turned<R::Element>],
    channels: &[Magnetic<'_>],
    numbers: &[f64],
    state: M::State<R>,
) -> Form<R> {
    let mut state = state;
    let squared = qx.mul_add(qx, qy * qy);
    let q = squared.sqrt();
    let mut sum = Form {
        amplitude: R::zero(),
        intensity: R::zero(),
    };
    let magnetic = !channels.is_empty();
    for at in 0..channels.len().max(1) {
        let mut factor = R::one();
        if let Some(channel) = channels.get(at) {
            factor = R::of(channel.weight);
            let inverse = R::one() / q.max(R::of(1e-100));
            let (c, s) = (qx * inverse, qy * inverse);
            let slds = <M::Values<R> as Values<R>>::SLDS;
            let values = M::Values::<R>::read(
                #[inline(always)]
                |i| match slds.iter().position(|sld| *sld == i) {
                    None => R::of(numbers[i]),
                    Some(sld) => {
                        let k = channel.moments[sld].map(R::of);
                        let across = c * (k[1] * c + k[2] * s) + s * s * k[3] + k[0];
                        R::of(channel.nuclear * numbers[i]) + across
                    }
                },
            );
            state = M::prepare(&values);
        }
        for turn in turns {
            let wave = match M::SYMMETRY {
                Symmetry::Isotropic => wave(q),
                Symmetry::Axial => {
                    let along = component::<R>(qx, qy, &turn.rows[2]);
                    let across = squared - along * along;
                    Wave {
                        across: across.max(R::zero()).sqrt(),
                        along,
                        ..wave(q)
                    }
                }
                Symmetry::Triaxial => Wave {
                    a: component::<R>(qx, qy, &turn.rows[0]),
                    b: component::<R>(qx, qy, &turn.rows[1]),
                    c: component::<R>(qx, qy, &turn.rows[2]),
                    ..wave(q)
                },
            };
            add_form::<M, R>(&mut sum, &wave, &state, R::splat(turn.weight) * factor);
        }
    }
    if magnetic {
        sum.amplitude = R::zero();
        sum.intensity = R::choose(
            squared.less(R::of(LEAST_Q_SQUARED)),
            #[inline(always)]
            || R::zero(),
            #[inline(always)]
            || sum.intensity,
        );
    }
    sum
}

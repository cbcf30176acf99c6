//! Whether spokes cover k-space so evenly that |k| is their density.

use crate::data::KSpace;
use serde::Serialize;
use std::f64::consts::TAU;
use std::fmt;

/// Largest deviation of a step along a spoke from the mean of its steps, relative.
const STEP: f64 = 0.05;
/// Steps by which a spoke may end before the others: a spoke from −½ to ½ − 1/S does so by one.
const STEPS: f64 = 2.0;
/// Share of the longest spoke by which another may be shorter.
const LENGTH: f64 = 0.02;
/// Largest ratio of two angles between neighbours in a plane: those of golden angles, 1.618 and
/// 2.618, are uneven.
const RATIO: f64 = 1.2;
/// Directions closer than this share of their mean distance are the same.
const SAME: f64 = 1e-3;
/// Mean number of directions in a part of the sphere, and their smallest and largest share of the
/// mean: spirals on the sphere and golden means have 0.85 to 1.17.
const IN_PART: f64 = 24.0;
const SHARES: std::ops::RangeInclusive<f64> = 0.7..=1.4;
/// Most bands of the sphere.
const BANDS: f64 = 8.0;

/// Why |k| is not the density of spokes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Uneven {
    /// The samples along a spoke.
    Steps,
    /// The ends of the spokes.
    Lengths,
    /// Some directions are measured more often than others.
    Repeated,
    /// The directions are denser in some parts than in others.
    Directions,
}

/// As the end of a sentence: `the samples along the spokes are not evenly spaced`.
impl fmt::Display for Uneven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Steps => "the samples along the spokes are not evenly spaced",
            Self::Lengths => "some spokes end nearer to the origin than others",
            Self::Repeated => "some directions are measured more often than others",
            Self::Directions => "the directions of the spokes are not evenly spread",
        })
    }
}

/// A spoke from the origin outwards; one through the origin is two of them.
struct Ray {
    /// A vector of length 1.
    direction: [f64; 3],
    reach: f64,
    step: f64,
}

/// Why |k| is not the density of `kspace`, all of whose readouts are spokes that pass the origin
/// within `near` cycles/pixel; `None` if it is.
pub(super) fn uneven(kspace: &KSpace, near: f64) -> Option<Uneven> {
    let mut rays = Vec::new();
    for readout in kspace.readouts() {
        let point = |sample: usize| {
            let mut point = [0.0; 3];
            let row = kspace.trajectory().row(sample);
            point.iter_mut().zip(row).for_each(|(to, k)| *to = *k);
            point
        };
        let samples = &readout.samples;
        let (from, to) = (point(samples.start), point(samples.end - 1));
        let along = difference(to, from);
        let length = norm(along);
        let direction = along.map(|d| d / length);
        let step = length / (samples.len() - 1) as f64;
        let even = |sample: usize| {
            let found = product(difference(point(sample + 1), point(sample)), direction);
            (found - step).abs() <= STEP * step
        };
        if !(samples.start..samples.end - 1).all(even) {
            return Some(Uneven::Steps);
        }
        for (end, sign) in [(from, -1.0), (to, 1.0)] {
            let reach = norm(end);
            if reach > near {
                let direction = direction.map(|d| sign * d);
                rays.push(Ray {
                    direction,
                    reach,
                    step,
                });
            }
        }
    }
    let longest = rays.iter().map(|ray| ray.reach).fold(0.0, f64::max);
    let is_short = |ray: &Ray| ray.reach + STEPS * ray.step < (1.0 - LENGTH) * longest;
    if rays.iter().any(is_short) {
        return Some(Uneven::Lengths);
    }
    let directions: Vec<[f64; 3]> = rays.iter().map(|ray| ray.direction).collect();
    match kspace.extent().axes {
        3 => uneven_on_sphere(directions),
        _ => uneven_on_circle(&directions),
    }
}

/// Fewest spokes of which a missing part is reported.
const FEWEST: usize = 8;
/// Smallest angle that is missing, degrees, and its ratio to that between neighbours that are the
/// farthest apart: golden angles and random ones are below 3.
const GAP: f64 = 20.0;
const MISSING: f64 = 5.0;

/// The angle without directions between the spokes of a plane, degrees, if it is much wider than
/// the others; both ends of a spoke count.
pub(crate) fn widest_gap(kspace: &KSpace) -> Option<f64> {
    let k = kspace.trajectory();
    if kspace.extent().axes != 2 || kspace.readouts().len() < FEWEST {
        return None;
    }
    let radius = |at: &usize| k[[*at, 0]].hypot(k[[*at, 1]]);
    let ends = kspace.readouts().iter().flat_map(|readout| {
        let (first, last) = (readout.samples.start, readout.samples.end - 1);
        let longest = radius(&first).max(radius(&last));
        [first, last]
            .into_iter()
            .filter(move |at| radius(at) > 0.1 * longest)
    });
    let mut angles: Vec<f64> = ends.map(|at| k[[at, 1]].atan2(k[[at, 0]])).collect();
    angles.sort_by(f64::total_cmp);
    let mut before = angles.last()? - TAU;
    let gaps = angles
        .iter()
        .map(|angle| angle - std::mem::replace(&mut before, *angle));
    let mut gaps: Vec<f64> = gaps.collect();
    gaps.sort_by(|a, b| b.total_cmp(a));
    // A gap between whole spokes is found at both of their ends.
    let widest = gaps[0].to_degrees();
    let next = gaps.get(2)?.to_degrees();
    (widest > GAP && widest > MISSING * next && next > 0.0).then_some(widest)
}

fn difference(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|axis| a[axis] - b[axis])
}

fn product(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: [f64; 3]) -> f64 {
    product(a, a).sqrt()
}

fn uneven_on_circle(directions: &[[f64; 3]]) -> Option<Uneven> {
    let angle = |d: &[f64; 3]| d[1].atan2(d[0]).rem_euclid(TAU);
    let mut angles: Vec<f64> = directions.iter().map(angle).collect();
    angles.sort_by(f64::total_cmp);
    let last = angles.last().copied()?;
    let mut before = last - TAU;
    let same = SAME * TAU / angles.len() as f64;
    let gaps: Vec<f64> = (angles.iter())
        .map(|angle| angle - std::mem::replace(&mut before, *angle))
        .collect();
    // The number of spokes in each direction: gaps that are none follow one that is.
    let Some(first) = gaps.iter().position(|gap| *gap > same) else {
        return (angles.len() > 2).then_some(Uneven::Directions);
    };
    let mut times = Vec::new();
    for gap in gaps[first..].iter().chain(&gaps[..first]) {
        match times.last_mut() {
            Some(last) if *gap <= same => *last += 1,
            _ => times.push(1),
        }
    }
    if times.iter().any(|count| *count != times[0]) {
        return Some(Uneven::Repeated);
    }
    let distinct = || gaps.iter().copied().filter(|gap| *gap > same);
    let largest = distinct().fold(0.0, f64::max);
    let smallest = distinct().fold(f64::INFINITY, f64::min);
    (largest > RATIO * smallest).then_some(Uneven::Directions)
}

fn uneven_on_sphere(mut directions: Vec<[f64; 3]>) -> Option<Uneven> {
    let count = directions.len() as f64;
    let bands = (count / (2.0 * IN_PART)).sqrt().floor().clamp(1.0, BANDS);
    let sectors = 2.0 * bands;
    let mut parts = vec![0_usize; (bands * sectors) as usize];
    for [x, y, z] in &directions {
        // Bands of equal heights have equal areas.
        let band = ((z + 1.0) / 2.0 * bands).clamp(0.0, bands - 1.0).floor();
        let turn = y.atan2(*x) / TAU + 0.5;
        let sector = (turn * sectors).clamp(0.0, sectors - 1.0).floor();
        parts[(band * sectors + sector) as usize] += 1;
    }
    let mean = count / parts.len() as f64;
    let is_even = |part: &usize| SHARES.contains(&(*part as f64 / mean));
    if mean >= IN_PART && !parts.iter().all(is_even) {
        return Some(Uneven::Directions);
    }
    let same = SAME * (2.0 * TAU / count).sqrt();
    directions.sort_by(|a, b| a[2].total_cmp(&b[2]));
    let times = |at: usize| {
        let here = directions[at];
        let is_same = |d: &&[f64; 3]| norm(difference(**d, here)) <= same;
        let close = |d: &&[f64; 3]| (d[2] - here[2]).abs() <= same;
        let below = directions[..at].iter().rev().take_while(close);
        let above = directions[at..].iter().take_while(close);
        below.chain(above).filter(is_same).count()
    };
    let first = times(0);
    let repeated = (1..directions.len()).any(|at| times(at) != first);
    repeated.then_some(Uneven::Repeated)
}

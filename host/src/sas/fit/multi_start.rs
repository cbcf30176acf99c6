//! Several descents side by side: all that they want next is one batch.

use super::levenberg_marquardt::Descent;
use super::linear::Trial;
use super::search::{Search, Space, Stop};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

/// Minima closer than this share of their parameters' sizes are one.
const SAME: f64 = 1e-3;
/// Minima that are told.
const TOLD: usize = 20;

/// Where some of the starts ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Minimum {
    /// Its χ².
    pub chi2: f64,
    /// The parameters, in their order.
    pub values: Vec<f64>,
    /// Starts that ended there.
    pub starts: usize,
}

/// `count` points of the bounds, as shares: in each direction one in each of `count` equal parts (McKay, Beckman and
/// Conover, Technometrics 21, 239, 1979).
pub(super) fn latin_hypercube(count: usize, dimensions: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut points = vec![vec![0.0; dimensions]; count];
    let mut parts: Vec<usize> = (0..count).collect();
    for direction in 0..dimensions {
        parts.shuffle(&mut random);
        for (point, part) in points.iter_mut().zip(&parts) {
            point[direction] = (*part as f64 + random.random::<f64>()) / count as f64;
        }
    }
    points
}

/// The descents.
pub(super) struct MultiStart {
    descents: Vec<Descent>,
    /// Values that each wanted.
    wanted: Vec<usize>,
}

impl MultiStart {
    /// The first begins at `first` (numbers searched), the others in the bounds.
    pub(super) fn new(
        space: &Space<'_>,
        first: Vec<f64>,
        starts: usize,
        seed: u64,
        most: usize,
    ) -> Self {
        let others = latin_hypercube(starts.saturating_sub(1), space.len(), seed);
        let others = others.into_iter().map(|shares| {
            let pairs = shares.into_iter().enumerate();
            pairs
                .map(|(j, share)| space.parameter(j).at(share))
                .collect()
        });
        let starts = std::iter::once(first).chain(others);
        let descents: Vec<Descent> = starts
            .map(|start| Descent::new(space, start, most))
            .collect();
        Self {
            wanted: vec![0; descents.len()],
            descents,
        }
    }

    /// The best of all so far, and which it is.
    pub(super) fn best(&self) -> Option<(usize, &Trial)> {
        let all = self.descents.iter().enumerate();
        all.filter_map(|(i, descent)| Some((i, descent.best()?)))
            .min_by(|a, b| a.1.chi2.total_cmp(&b.1.chi2))
    }

    /// Why the best one ended.
    pub(super) fn stop_of_best(&self) -> Option<Stop> {
        self.best().and_then(|(i, _)| self.descents[i].stopped())
    }

    /// Iterations of the one that did most.
    pub(super) fn iterations(&self) -> usize {
        let all = self.descents.iter().map(Descent::iterations);
        all.max().unwrap_or(0)
    }

    /// Descents that go on.
    pub(super) fn running(&self) -> usize {
        let all = self.descents.iter();
        all.filter(|descent| descent.stopped().is_none()).count()
    }

    /// Numbers searched without any effect where the first descent stands.
    pub(super) fn idle(&self) -> Vec<usize> {
        let first = self.descents.first();
        first.map_or_else(Vec::new, |descent| descent.idle().to_vec())
    }

    /// Distinct places where descents ended, best first.
    pub(super) fn minima(&self, space: &Space<'_>) -> Vec<Minimum> {
        let mut ends: Vec<&Trial> = self
            .descents
            .iter()
            .filter(|descent| descent.stopped().is_some_and(Stop::converged))
            .filter_map(Descent::best)
            .collect();
        ends.sort_by(|a, b| a.chi2.total_cmp(&b.chi2));
        let mut minima: Vec<Minimum> = Vec::new();
        for end in ends {
            let same = |known: &Minimum| {
                space.projection.searched.iter().all(|i| {
                    let size = space.problem.parameters()[*i].size(known.values[*i]);
                    (known.values[*i] - end.values[*i]).abs() <= SAME * size
                })
            };
            match minima.iter_mut().find(|known| same(known)) {
                Some(known) => known.starts += 1,
                None => minima.push(Minimum {
                    chi2: end.chi2,
                    values: end.values.clone(),
                    starts: 1,
                }),
            }
        }
        minima.truncate(TOLD);
        minima
    }
}

impl Search for MultiStart {
    fn wanted(&mut self, space: &Space<'_>) -> Vec<Vec<f64>> {
        let mut all = Vec::new();
        for (descent, count) in self.descents.iter_mut().zip(&mut self.wanted) {
            let wanted = descent.wanted(space);
            *count = wanted.len();
            all.extend(wanted);
        }
        all
    }

    fn told(&mut self, space: &Space<'_>, mut trials: Vec<Trial>) {
        for (descent, count) in self.descents.iter_mut().zip(&self.wanted) {
            if descent.stopped().is_none() {
                let rest = trials.split_off((*count).min(trials.len()));
                descent.told(space, trials);
                trials = rest;
            }
        }
    }

    fn stopped(&self) -> Option<Stop> {
        if self.running() > 0 {
            return None;
        }
        self.stop_of_best()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_every_direction_has_one_point() {
        let points = latin_hypercube(17, 3, 5);
        for direction in 0..3 {
            let mut parts: Vec<usize> = points
                .iter()
                .map(|point| (point[direction] * 17.0) as usize)
                .collect();
            parts.sort_unstable();
            assert_eq!(parts, (0..17).collect::<Vec<_>>());
        }
        assert_eq!(points, latin_hypercube(17, 3, 5));
        assert_ne!(points, latin_hypercube(17, 3, 6));
    }
}

//! Several descents at once: all vectors that they ask for form one batch.

use super::levenberg_marquardt::Descent;
use super::linear::Trial;
use super::search::{Search, Space, Stop};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

/// Minima that differ by less than this share of their parameters' sizes are the same.
const SAME_MINIMUM: f64 = 1e-3;
/// Maximum number of reported minima.
const MAX_MINIMA: usize = 20;

/// A minimum in which some of the starts ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Minimum {
    /// χ² at the minimum.
    pub chi2: f64,
    /// Parameter values, in their order.
    pub values: Vec<f64>,
    /// Number of starts that ended there.
    pub starts: usize,
}

/// `count` positions within the bounds, 0 to 1 per direction: in each direction one in each of
/// `count` equal parts (McKay, Beckman and Conover, Technometrics 21, 239, 1979).
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

/// The descents of all starts.
pub(super) struct MultiStart {
    descents: Vec<Descent>,
    /// Number of vectors that each descent asked for.
    requested: Vec<usize>,
}

impl MultiStart {
    /// Descents from `first` (search parameters) and from other starts within the bounds.
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
            requested: vec![0; descents.len()],
            descents,
        }
    }

    /// The best trial so far, and the index of its descent.
    pub(super) fn best(&self) -> Option<(usize, &Trial)> {
        let all = self.descents.iter().enumerate();
        all.filter_map(|(i, descent)| Some((i, descent.best()?)))
            .min_by(|a, b| a.1.chi2.total_cmp(&b.1.chi2))
    }

    /// Why the best descent ended.
    pub(super) fn stop_of_best(&self) -> Option<Stop> {
        self.best().and_then(|(i, _)| self.descents[i].stopped())
    }

    /// Largest number of iterations of a descent.
    pub(super) fn iterations(&self) -> usize {
        let all = self.descents.iter().map(Descent::iterations);
        all.max().unwrap_or(0)
    }

    /// Number of descents that have not ended.
    pub(super) fn running(&self) -> usize {
        let all = self.descents.iter();
        all.filter(|descent| descent.stopped().is_none()).count()
    }

    /// Search parameters without any effect at the start of the first descent.
    pub(super) fn idle(&self) -> Vec<usize> {
        let first = self.descents.first();
        first.map_or_else(Vec::new, |descent| descent.idle().to_vec())
    }

    /// Distinct minima in which descents ended, best first.
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
                    (known.values[*i] - end.values[*i]).abs() <= SAME_MINIMUM * size
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
        minima.truncate(MAX_MINIMA);
        minima
    }
}

impl Search for MultiStart {
    fn ask(&mut self, space: &Space<'_>) -> Vec<Vec<f64>> {
        let mut all = Vec::new();
        for (descent, count) in self.descents.iter_mut().zip(&mut self.requested) {
            let requested = descent.ask(space);
            *count = requested.len();
            all.extend(requested);
        }
        all
    }

    fn tell(&mut self, space: &Space<'_>, mut trials: Vec<Trial>) {
        for (descent, count) in self.descents.iter_mut().zip(&self.requested) {
            if descent.stopped().is_none() {
                let rest = trials.split_off((*count).min(trials.len()));
                descent.tell(space, trials);
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

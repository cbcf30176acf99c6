//! Differential evolution, rand/1/bin (Storn and Price, J. Global Optim. 11, 341, 1997); each
//! generation is one batch.

use super::linear::Trial;
use super::multi_start::latin_hypercube;
use super::search::{Search, Space, Stop};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Members per search parameter, and the least and greatest number of members.
const MEMBERS: (usize, usize, usize) = (12, 24, 512);
/// Range of the factor of difference vectors, drawn for each generation: a fixed factor can stall.
const FACTOR: (f64, f64) = (0.5, 1.0);
/// Probability that a value comes from the mutant; high because parameters of a form factor are
/// correlated.
const CROSSOVER: f64 = 0.9;
/// The population has converged if the worst and the best χ² differ by this relative amount, …
const CONVERGED_CHI2: f64 = 1e-3;
/// … or if its extent is at most this share of the bounds in every direction: a descent then finds
/// the minimum.
const CONVERGED_SHARE: f64 = 1e-3;

/// A member of the population.
struct Member {
    /// Position within the bounds, 0 to 1 per parameter.
    shares: Vec<f64>,
    trial: Option<Trial>,
}

impl Member {
    fn chi2(&self) -> f64 {
        self.trial.as_ref().map_or(f64::INFINITY, |t| t.chi2)
    }
}

/// A population and its state.
pub(super) struct Evolution {
    members: Vec<Member>,
    /// Positions of the mutants that are being evaluated.
    mutants: Vec<Vec<f64>>,
    random: Pcg64Mcg,
    generations: usize,
    most: usize,
    stop: Option<Stop>,
}

/// Default number of members.
pub(super) fn default_members(dimensions: usize) -> usize {
    (MEMBERS.0 * dimensions).clamp(MEMBERS.1, MEMBERS.2)
}

impl Evolution {
    /// A population whose first member is `start`, a position within the bounds.
    pub(super) fn new(start: Vec<f64>, members: usize, seed: u64, most: usize) -> Self {
        let members = members.max(4);
        let dimensions = start.len();
        let mut shares = latin_hypercube(members, dimensions, seed);
        shares[0] = start;
        Self {
            members: shares
                .into_iter()
                .map(|shares| Member {
                    shares,
                    trial: None,
                })
                .collect(),
            mutants: Vec::new(),
            random: Pcg64Mcg::seed_from_u64(seed ^ 0x005a_5eed),
            generations: 0,
            most,
            stop: None,
        }
    }

    /// The best trial so far.
    pub(super) fn best(&self) -> Option<&Trial> {
        let all = self.members.iter().filter_map(|m| m.trial.as_ref());
        all.min_by(|a, b| a.chi2.total_cmp(&b.chi2))
    }

    /// Number of completed generations.
    pub(super) fn generations(&self) -> usize {
        self.generations
    }

    /// Number of members.
    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// Ends the search with the current result.
    pub(super) fn end(&mut self, why: Stop) {
        self.stop.get_or_insert(why);
    }

    fn mutant(&mut self, of: usize, factor: f64) -> Vec<f64> {
        let count = self.members.len();
        let mut others = [of; 3];
        let mut drawn = 0;
        while drawn < others.len() {
            let member = self.random.random_range(0..count);
            if member != of && !others[..drawn].contains(&member) {
                others[drawn] = member;
                drawn += 1;
            }
        }
        let [base, plus, minus] = others.map(|i| self.members[i].shares.clone());
        let mut shares = self.members[of].shares.clone();
        let certain = self.random.random_range(0..shares.len().max(1));
        for (j, share) in shares.iter_mut().enumerate() {
            if j != certain && self.random.random::<f64>() >= CROSSOVER {
                continue;
            }
            let mutated = base[j] + factor * (plus[j] - minus[j]);
            // A value beyond a bound becomes a random value between the base and the bound, so that
            // minima at bounds remain reachable.
            let chance = self.random.random::<f64>();
            *share = if mutated < 0.0 {
                base[j] * chance
            } else if mutated > 1.0 {
                base[j] + (1.0 - base[j]) * chance
            } else {
                mutated
            };
        }
        shares
    }

    fn has_converged(&self) -> bool {
        let best = self.members.iter().map(Member::chi2);
        let (best, worst) = (
            best.clone().fold(f64::INFINITY, f64::min),
            best.fold(0.0, f64::max),
        );
        let level = worst - best <= CONVERGED_CHI2 * best;
        let dimensions = self.members.first().map_or(0, |m| m.shares.len());
        let narrow = (0..dimensions).all(|j| {
            let shares = self.members.iter().map(|m| m.shares[j]);
            let low = shares.clone().fold(f64::INFINITY, f64::min);
            shares.fold(0.0, f64::max) - low <= CONVERGED_SHARE
        });
        level || narrow
    }
}

impl Search for Evolution {
    fn ask(&mut self, space: &Space<'_>) -> Vec<Vec<f64>> {
        if self.stop.is_some() {
            return Vec::new();
        }
        self.mutants = if self.members.iter().all(|m| m.trial.is_none()) {
            self.members.iter().map(|m| m.shares.clone()).collect()
        } else {
            let factor = self.random.random_range(FACTOR.0..FACTOR.1);
            (0..self.members.len())
                .map(|of| self.mutant(of, factor))
                .collect()
        };
        let values = |shares: &Vec<f64>| {
            let pairs = shares.iter().enumerate();
            pairs
                .map(|(j, share)| space.parameter(j).at(*share))
                .collect()
        };
        self.mutants.iter().map(values).collect()
    }

    fn tell(&mut self, _space: &Space<'_>, trials: Vec<Trial>) {
        let mutants = std::mem::take(&mut self.mutants);
        for ((member, mut trial), shares) in self.members.iter_mut().zip(trials).zip(mutants) {
            if member.trial.is_none() || trial.chi2 <= member.chi2() {
                // The residuals of members are not used again.
                trial.residuals = Vec::new();
                *member = Member {
                    shares,
                    trial: Some(trial),
                };
            }
        }
        self.generations += 1;
        if self.has_converged() {
            self.end(Stop::Population);
        } else if self.generations >= self.most {
            self.end(Stop::Iterations);
        }
    }

    fn stopped(&self) -> Option<Stop> {
        self.stop
    }
}

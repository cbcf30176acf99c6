//! A round of a fit: what the searches want to know, computed by the engine in calls that are soon over.

use super::{Fit, Phase};
use crate::sas::fit::linear::Trial;
use crate::sas::fit::multi_start::MultiStart;
use crate::sas::fit::search::{Search as _, Space};
use crate::sas::{SasError, Vector};
use std::time::{Duration, Instant};

/// Intensities of one call of the engine at most: 256 MB.
const MOST_AT_ONCE: usize = 1 << 25;
/// A call of the engine is to be over by then: in between a wish to stop is seen.
const SOON: Duration = Duration::from_millis(500);

impl Fit<'_> {
    /// Intensities of all, in calls that memory allows and that are over soon; `None` when `stops` and somebody asks
    /// to stop.
    pub(super) fn evaluate(
        &mut self,
        vectors: &[Vector],
        stops: bool,
    ) -> Result<Option<Vec<Vec<f64>>>, SasError> {
        let points = self.problem.measured().intensity.len();
        let most = (MOST_AT_ONCE / points.max(1)).max(1);
        let mut intensities = Vec::with_capacity(vectors.len());
        self.batches += 1;
        let mut rest = vectors;
        while !rest.is_empty() {
            if stops && self.interrupt.requested() {
                return Ok(None);
            }
            let (part, after) = rest.split_at(self.part.min(most).min(rest.len()));
            rest = after;
            let begun = Instant::now();
            self.evaluate_part(part, points, &mut intensities)?;
            let took = begun.elapsed();
            if took < SOON / 4 {
                self.part = self.part.saturating_mul(4);
            } else if took > SOON {
                self.part = (self.part / 2).max(1);
            }
        }
        Ok(Some(intensities))
    }

    /// A vector that the model refuses (a distribution that has no sizes left, …) is a place without intensities, not
    /// the end of the search: the batch is halved until it is found.
    fn evaluate_part(
        &mut self,
        part: &[Vector],
        points: usize,
        intensities: &mut Vec<Vec<f64>>,
    ) -> Result<(), SasError> {
        match self.engine.evaluate(part) {
            Ok(found) => {
                if found.len() != part.len() || found.iter().any(|of| of.len() != points) {
                    return Err(SasError::Refused(format!(
                        "the engine computes other points than the {points} of the data"
                    )));
                }
                self.evaluations += part.len();
                intensities.extend(found);
                Ok(())
            }
            Err(SasError::Gpu(failed)) => Err(SasError::Gpu(failed)),
            Err(refused) if part.len() == 1 => {
                self.refused = Some(refused.to_string());
                intensities.push(vec![f64::NAN; points]);
                Ok(())
            }
            Err(_) => {
                let (first, second) = part.split_at(part.len() / 2);
                self.evaluate_part(first, points, intensities)?;
                self.evaluate_part(second, points, intensities)
            }
        }
    }

    /// Whether it came to its end.
    pub(super) fn round(&mut self) -> Result<bool, SasError> {
        let space = Space {
            problem: &self.problem,
            projection: &self.projection,
            step: self.differences.one_sided,
        };
        let wanted = match &mut self.phase {
            Phase::Population(evolution) => evolution.wanted(&space),
            Phase::Descents(descents) => descents.wanted(&space),
        };
        let wanted: Vec<Vec<f64>> = wanted
            .iter()
            .map(|searched| self.projection.all(&self.problem, searched))
            .collect();
        let mut vectors: Vec<Vector> = wanted
            .iter()
            .map(|values| self.projection.bare(&self.problem, values))
            .collect();
        let flat_wanted = !self.flat_known;
        if flat_wanted {
            vectors.push(self.projection.background_alone(&self.problem));
        }
        let Some(mut intensities) = self.evaluate(&vectors, true)? else {
            return Ok(false);
        };
        if flat_wanted {
            if let Some(flat) = intensities.pop()
                && flat.iter().all(|v| v.is_finite())
            {
                self.projection.flat = flat;
            }
            self.flat_known = true;
        }
        let trials: Vec<Trial> = wanted
            .into_iter()
            .zip(&intensities)
            .map(|(values, bare)| self.projection.trial(&self.problem, values, bare))
            .collect();
        let space = Space {
            problem: &self.problem,
            projection: &self.projection,
            step: self.differences.one_sided,
        };
        let polish = match &mut self.phase {
            Phase::Population(evolution) => {
                evolution.told(&space, trials);
                let best = evolution.best().filter(|_| evolution.stopped().is_some());
                let figures = (evolution.len(), evolution.generations());
                best.cloned().map(|best| (best, figures))
            }
            Phase::Descents(descents) => {
                descents.told(&space, trials);
                if self.idle.is_none() {
                    self.idle = Some(descents.idle());
                }
                None
            }
        };
        if let Some((best, figures)) = polish {
            self.population = Some(figures);
            let descents = MultiStart::new(
                &self.space(),
                self.projection.of(&best.values),
                1,
                self.options.seed,
                self.options.iterations,
            );
            self.phase = Phase::Descents(descents);
            self.carried = Some(best);
        }
        Ok(true)
    }
}

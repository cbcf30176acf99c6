//! A round of a fit: the engine evaluates the vectors that the searches ask for, in short calls.

use super::{Fit, Phase};
use crate::fit::linear::Trial;
use crate::fit::multi_start::MultiStart;
use crate::fit::search::{Search as _, Space};
use crate::{SasError, Vector};
use std::time::{Duration, Instant};

/// Maximum number of intensities per call of the engine: 256 MB.
const MAX_INTENSITIES: usize = 1 << 25;
/// Target time of an engine call. The interrupt is checked between calls.
const TARGET_CALL_TIME: Duration = Duration::from_millis(500);

impl Fit<'_> {
    /// Intensities of all vectors, in calls limited by memory and time; `None` if `stops` is set
    /// and the fit is interrupted.
    pub(super) fn evaluate(
        &mut self,
        vectors: &[Vector],
        stops: bool,
    ) -> Result<Option<Vec<Vec<f64>>>, SasError> {
        let points = self.problem.measured().intensity.len();
        let most = (MAX_INTENSITIES / points.max(1)).max(1);
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
            if took < TARGET_CALL_TIME / 4 {
                self.part = self.part.saturating_mul(4);
            } else if took > TARGET_CALL_TIME {
                self.part = (self.part / 2).max(1);
            }
        }
        Ok(Some(intensities))
    }

    /// Evaluates one call. A vector that the model refuses (for example because a distribution has
    /// no sizes left) has intensities of NaN and does not end the search; halving the batch finds
    /// it.
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

    /// Runs one round; returns `false` if it was interrupted.
    pub(super) fn round(&mut self) -> Result<bool, SasError> {
        let space = Space {
            problem: &self.problem,
            projection: &self.projection,
            differences: self.differences,
        };
        let requested = match &mut self.phase {
            Phase::Population(evolution) => evolution.ask(&space),
            Phase::Descents(descents) => descents.ask(&space),
        };
        let requested: Vec<Vec<f64>> = requested
            .iter()
            .map(|searched| self.projection.all(&self.problem, searched))
            .collect();
        let mut vectors: Vec<Vector> = requested
            .iter()
            .flat_map(|values| self.projection.bare(&self.problem, values))
            .collect();
        let flat_requested = !self.flat_known;
        if flat_requested {
            vectors.push(self.projection.background_alone(&self.problem));
        }
        let Some(mut intensities) = self.evaluate(&vectors, true)? else {
            return Ok(false);
        };
        if flat_requested {
            if let Some(flat) = intensities.pop()
                && flat.iter().all(|v| v.is_finite())
            {
                self.projection.flat = flat;
            }
            self.flat_known = true;
        }
        let trials: Vec<Trial> = requested
            .into_iter()
            .zip(intensities.chunks(self.projection.vectors()))
            .map(|(values, bare)| self.projection.trial(&self.problem, values, bare))
            .collect();
        let space = Space {
            problem: &self.problem,
            projection: &self.projection,
            differences: self.differences,
        };
        let polish = match &mut self.phase {
            Phase::Population(evolution) => {
                evolution.tell(&space, trials);
                let best = evolution.best().filter(|_| evolution.stopped().is_some());
                let size = (evolution.len(), evolution.generations());
                best.cloned().map(|best| (best, size))
            }
            Phase::Descents(descents) => {
                descents.tell(&space, trials);
                if self.idle.is_none() {
                    self.idle = Some(descents.idle());
                }
                None
            }
        };
        if let Some((best, size)) = polish {
            self.population = Some(size);
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

//! Plans that images with the same trajectory have in common.
//!
//! Slices and repetitions of a scan are usually measured along one trajectory. What depends on it
//! alone (sorted samples, density weights, the spectrum of Q) is computed for the first of them and
//! used for the others, whose images are the same bits as if each had been planned anew.

use super::cpu::Nufft;
use super::{Grid, MriError, Trigonometry, density};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use std::any::Any;
use std::sync::Arc;

/// What was planned for trajectories, to be used again for images that have the same one, bit for
/// bit.
///
/// At most a given number of bytes is kept. Where more would be needed, the plans of the trajectory
/// that came last make place for the next one's, so that of trajectories that come again in the
/// same order at least the first are kept.
#[derive(Debug, Default)]
pub struct Plans {
    limit: u64,
    kept: Vec<OfTrajectory>,
    reused: usize,
}

/// The plans of a trajectory.
#[derive(Debug)]
struct OfTrajectory {
    grid: Grid,
    /// (sample, axis), cycles/pixel.
    trajectory: Array2<f64>,
    bytes: u64,
    plans: Vec<(PlanKey, Box<dyn Any + Send>)>,
}

/// What a plan depends on besides grid and trajectory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlanKey {
    what: &'static str,
    /// Bits of the relative error.
    tolerance: u64,
    steps: usize,
    trigonometry: Option<Trigonometry>,
    device: String,
    /// Bits of the density weights, one per sample.
    weights: Option<Vec<u64>>,
}

impl PlanKey {
    /// A plan of this kind, which depends on the trajectory alone.
    pub(crate) fn new(what: &'static str) -> Self {
        Self {
            what,
            tolerance: 0,
            steps: 0,
            trigonometry: None,
            device: String::new(),
            weights: None,
        }
    }

    /// With a relative error.
    pub(crate) fn tolerance(self, tolerance: f64) -> Self {
        let tolerance = tolerance.to_bits();
        Self { tolerance, ..self }
    }

    /// Computed on the device of this name, with these sines and cosines.
    pub(crate) fn on_device(self, device: String, trigonometry: Trigonometry) -> Self {
        let trigonometry = Some(trigonometry);
        Self {
            device,
            trigonometry,
            ..self
        }
    }

    /// With density weights, one per sample.
    pub(crate) fn weights(self, weights: Option<ArrayView1<'_, f64>>) -> Self {
        let weights = weights.map(|weights| weights.iter().map(|w| w.to_bits()).collect());
        Self { weights, ..self }
    }

    fn bytes(&self) -> u64 {
        8 * self
            .weights
            .as_ref()
            .map_or(0, |weights| weights.len() as u64)
    }
}

impl OfTrajectory {
    fn is_of(&self, grid: Grid, trajectory: ArrayView2<'_, f64>) -> bool {
        self.grid == grid
            && self.trajectory.shape() == trajectory.shape()
            && (self.trajectory.iter().zip(trajectory)).all(|(a, b)| a.to_bits() == b.to_bits())
    }
}

impl Plans {
    /// Keeps plans of up to so many bytes; none with 0, and [`Plans::default`].
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    /// How many plans were used again.
    #[must_use]
    pub fn reused(&self) -> usize {
        self.reused
    }

    /// [`Nufft::new`] in double precision, or the one that is kept.
    ///
    /// # Errors
    /// Those of [`Nufft::new`].
    pub fn nufft(
        &mut self,
        grid: Grid,
        trajectory: ArrayView2<'_, f64>,
        tolerance: f64,
    ) -> Result<Arc<Nufft<f64>>, MriError> {
        let key = PlanKey::new("nufft in f64").tolerance(tolerance);
        let bytes = 16 * ((grid.voxels() << grid.axes) + 8 * trajectory.nrows());
        self.find((grid, trajectory), key, bytes, || {
            Nufft::new(grid, trajectory, tolerance).map(Arc::new)
        })
    }

    /// [`density::pipe_menon`] with a NUFFT of this tolerance, or the weights that are kept.
    ///
    /// # Errors
    /// Those of [`Nufft::new`].
    pub fn pipe_menon(
        &mut self,
        grid: Grid,
        trajectory: ArrayView2<'_, f64>,
        tolerance: f64,
        steps: usize,
    ) -> Result<Array1<f64>, MriError> {
        let mut key = PlanKey::new("density weights").tolerance(tolerance);
        key.steps = steps;
        self.find((grid, trajectory), key, 8 * trajectory.nrows(), || {
            let doubled = Nufft::<f64>::new(grid.doubled(), trajectory, tolerance)?;
            Ok(density::pipe_menon(&doubled, steps))
        })
    }

    /// The plan `key` of `trajectory` (sample, axis) on `grid`: the one that is kept, or what
    /// `make` returns, which needs about `bytes`.
    pub(crate) fn find<P: Clone + Send + 'static, E>(
        &mut self,
        (grid, trajectory): (Grid, ArrayView2<'_, f64>),
        key: PlanKey,
        bytes: usize,
        make: impl FnOnce() -> Result<P, E>,
    ) -> Result<P, E> {
        if self.limit == 0 {
            return make();
        }
        if let Some(of) = self.kept.iter().find(|of| of.is_of(grid, trajectory)) {
            let mut plans = of.plans.iter().filter(|(known, _)| *known == key);
            if let Some(plan) = plans.find_map(|(_, plan)| plan.downcast_ref::<P>()) {
                self.reused += 1;
                return Ok(plan.clone());
            }
        }
        let plan = make()?;
        self.keep((grid, trajectory), key, bytes, Box::new(plan.clone()));
        Ok(plan)
    }

    /// Keeps a plan if there is, or can be made, place for it.
    fn keep(
        &mut self,
        (grid, trajectory): (Grid, ArrayView2<'_, f64>),
        key: PlanKey,
        bytes: usize,
        plan: Box<dyn Any + Send>,
    ) {
        let place = self.kept.iter().position(|of| of.is_of(grid, trajectory));
        let mut own = place.map_or_else(
            || OfTrajectory {
                grid,
                trajectory: trajectory.to_owned(),
                bytes: 8 * trajectory.len() as u64,
                plans: Vec::new(),
            },
            |place| self.kept.remove(place),
        );
        let more = bytes as u64 + key.bytes();
        let others = |kept: &[OfTrajectory]| kept.iter().map(|of| of.bytes).sum::<u64>();
        if own.bytes.saturating_add(more) <= self.limit {
            own.bytes += more;
            own.plans.push((key, plan));
            while others(&self.kept).saturating_add(own.bytes) > self.limit {
                self.kept.pop();
            }
        }
        if !own.plans.is_empty() {
            // Its place, as the last to come is the first to go.
            let place = place.unwrap_or(self.kept.len()).min(self.kept.len());
            self.kept.insert(place, own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    #[test]
    fn plans_of_equal_trajectories_are_made_once_and_the_last_makes_place() {
        let grid = Grid::two(4, 4);
        let trajectory = |k: f64| Array2::from_elem((10, 2), k);
        let mut plans = Plans::new(1000);
        let mut made = 0;
        let mut find = |plans: &mut Plans, k: f64, key: PlanKey, bytes: usize| {
            let trajectory = trajectory(k);
            let of = (grid, trajectory.view());
            let Ok(found) = plans.find(of, key, bytes, || {
                made += 1;
                Ok::<_, Infallible>(made)
            });
            found
        };
        let key = || PlanKey::new("number");
        assert_eq!(find(&mut plans, 0.1, key(), 100), 1);
        assert_eq!(find(&mut plans, 0.1, key(), 100), 1);
        // −0 is not 0, and another key or type is another plan.
        assert_eq!(find(&mut plans, 0.0, key(), 100), 2);
        assert_eq!(find(&mut plans, -0.0, key(), 100), 3);
        assert_eq!(find(&mut plans, 0.1, key().tolerance(1e-3), 100), 4);
        let weights = ndarray::Array1::from_elem(2, 1.0);
        let weighted = || key().weights(Some(weights.view()));
        assert_eq!(find(&mut plans, 0.1, weighted(), 10), 5);
        assert_eq!(find(&mut plans, 0.1, weighted(), 10), 5);
        assert_eq!(plans.reused(), 2);
        // The first has 160 + 100 + 100 + 26 bytes, the others 260: a fourth takes the place of the
        // third.
        assert_eq!(find(&mut plans, 0.2, key(), 100), 6);
        assert_eq!(find(&mut plans, 0.0, key(), 100), 2);
        assert_eq!(find(&mut plans, -0.0, key(), 100), 7);
        assert_eq!(find(&mut plans, 0.1, weighted(), 10), 5);
        // What is too large is not kept, nor is anything without a limit.
        assert_eq!(find(&mut plans, 0.3, key(), 900), 8);
        assert_eq!(find(&mut plans, 0.3, key(), 900), 9);
        assert_eq!(find(&mut plans, 0.1, key(), 100), 1);
        let mut none = Plans::default();
        assert_eq!(find(&mut none, 0.1, key(), 1), 10);
        assert_eq!(find(&mut none, 0.1, key(), 1), 11);
    }
}

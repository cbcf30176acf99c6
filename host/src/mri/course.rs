//! A reconstruction on its way: what [`crate::run::execute`] runs.

use super::{Engine, MriError, Residual};
use crate::run::Iterate;
use ndarray::Array3;
use num_complex::Complex;
use std::time::{Duration, Instant};

/// An engine with its residuals and its clock. The image is its owner's to save, also after an
/// interruption.
pub struct Course {
    engine: Box<dyn Engine>,
    residuals: Vec<Residual>,
    computing: Duration,
    advanced: bool,
}

impl Course {
    /// From where `engine` is.
    #[must_use]
    pub fn new(engine: Box<dyn Engine>) -> Self {
        Self {
            engine,
            residuals: Vec::new(),
            computing: Duration::ZERO,
            advanced: false,
        }
    }

    /// How it computes.
    #[must_use]
    pub fn engine(&self) -> &dyn Engine {
        self.engine.as_ref()
    }

    /// Of every iteration so far.
    #[must_use]
    pub fn residuals(&self) -> Vec<f64> {
        self.residuals.iter().map(|r| r.residual).collect()
    }

    /// Mean time of an iteration, ms; `None` before the first.
    #[must_use]
    pub fn ms_per_iteration(&self) -> Option<f64> {
        let count = self.residuals.len();
        (count > 0).then(|| 1e3 * self.computing.as_secs_f64() / count as f64)
    }

    /// The image so far, (slice, row, column).
    ///
    /// # Errors
    /// The engine's, and values that are no numbers.
    pub fn image(&mut self) -> Result<Array3<Complex<f64>>, MriError> {
        let image = self.engine.image()?;
        let finite = |v: &Complex<f64>| v.re.is_finite() && v.im.is_finite();
        if image.iter().all(finite) {
            return Ok(image);
        }
        Err(MriError::NotFinite {
            iteration: self.engine.done(),
            residual: f64::NAN,
        })
    }
}

impl Iterate for Course {
    type Entry = Residual;
    type Error = MriError;

    fn planned(&self) -> usize {
        self.engine.planned()
    }

    fn done(&self) -> usize {
        self.engine.done()
    }

    fn finished(&self) -> bool {
        // The adjoint has no iterations, but is computed by an advance.
        self.engine.done() >= self.engine.planned() && (self.engine.planned() > 0 || self.advanced)
    }

    fn advance(&mut self) -> Result<(), MriError> {
        let begun = Instant::now();
        let residuals = self.engine.advance()?;
        self.computing += begun.elapsed();
        self.advanced = true;
        for residual in &residuals {
            if !residual.residual.is_finite() {
                return Err(MriError::NotFinite {
                    iteration: residual.iteration,
                    residual: residual.residual,
                });
            }
        }
        self.residuals.extend(residuals);
        Ok(())
    }

    /// An engine waits for its iterations: nothing is under way.
    fn settle(&mut self) -> Result<(), MriError> {
        Ok(())
    }

    fn entries(&self) -> &[Residual] {
        &self.residuals
    }

    /// The image is saved after the run.
    fn checkpoint(&mut self) -> Result<(), MriError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Setup;
    use super::*;
    use crate::run::{End, Interrupt, Schedule, Silent, execute};

    struct Counting {
        setup: Setup,
        planned: usize,
        done: usize,
        advances: std::rc::Rc<std::cell::Cell<usize>>,
        last: f64,
    }

    impl Engine for Counting {
        fn setup(&self) -> &Setup {
            &self.setup
        }
        fn planned(&self) -> usize {
            self.planned
        }
        fn done(&self) -> usize {
            self.done
        }
        fn advance(&mut self) -> Result<Vec<Residual>, MriError> {
            self.advances.set(self.advances.get() + 1);
            if self.done == self.planned {
                return Ok(Vec::new());
            }
            self.done += 1;
            Ok(vec![Residual {
                iteration: self.done,
                residual: self.last,
            }])
        }
        fn image(&mut self) -> Result<Array3<Complex<f64>>, MriError> {
            Ok(Array3::from_elem((1, 1, 1), Complex::new(self.last, 0.0)))
        }
    }

    fn course(planned: usize, last: f64) -> (Course, std::rc::Rc<std::cell::Cell<usize>>) {
        let advances = std::rc::Rc::default();
        let engine = Counting {
            setup: Setup {
                backend: "cpu",
                device: String::new(),
                precision: "f64",
            },
            planned,
            done: 0,
            advances: std::rc::Rc::clone(&advances),
            last,
        };
        (Course::new(Box::new(engine)), advances)
    }

    #[test]
    fn the_adjoint_is_one_advance_and_iterations_are_as_many_as_planned() {
        for (planned, expected) in [(0, 1), (4, 4)] {
            let (mut course, advances) = course(planned, 0.5);
            let schedule = Schedule { every: None };
            let end = execute(&mut course, &mut Silent, &Interrupt::new(), schedule).unwrap();
            assert_eq!(
                (end, advances.get(), course.residuals().len()),
                (End::Finished, expected, planned)
            );
            assert_eq!(course.ms_per_iteration().is_some(), planned > 0);
        }
    }

    #[test]
    fn values_that_are_no_numbers_end_the_run() {
        let (mut course, _) = course(3, f64::NAN);
        assert!(matches!(
            course.advance(),
            Err(MriError::NotFinite { iteration: 1, .. })
        ));
        assert!(course.image().is_err());
    }
}

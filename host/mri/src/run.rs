//! A reconstruction as steps of a [`Run`](warpstride_core::run::Run).

use super::{Engine, MriError, Residual};
use ndarray::Array3;
use num_complex::Complex;
use warpstride_core::run::Steps;

/// The iterations of an engine. The caller saves the image, also after an interruption.
pub struct ReconstructionSteps<E: Engine + ?Sized = dyn Engine> {
    engine: Box<E>,
    advanced: bool,
}

/// A reconstruction with its residuals.
pub type Run = warpstride_core::run::Run<ReconstructionSteps>;

impl<E: Engine + ?Sized> ReconstructionSteps<E> {
    /// From where `engine` is.
    #[must_use]
    pub fn new(engine: Box<E>) -> Self {
        Self {
            engine,
            advanced: false,
        }
    }

    /// The engine.
    #[must_use]
    pub fn engine(&self) -> &E {
        self.engine.as_ref()
    }

    /// The engine, for what only its kind can do.
    pub fn engine_mut(&mut self) -> &mut E {
        self.engine.as_mut()
    }

    /// The share of the signal that this image does not explain; see [`Engine::data_residual`].
    ///
    /// # Errors
    /// Those of the engine.
    pub fn data_residual(&mut self) -> Result<Option<f64>, MriError> {
        self.engine.data_residual()
    }

    /// The image so far, (slice, row, column).
    ///
    /// # Errors
    /// Those of the engine; an image with NaN or infinite values.
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

impl<E: Engine + ?Sized> Steps for ReconstructionSteps<E> {
    type Entry = Residual;
    type Error = MriError;

    fn planned(&self) -> usize {
        self.engine.planned()
    }

    fn done(&self) -> usize {
        self.engine.done()
    }

    fn finished(&self) -> bool {
        // The adjoint has no iterations, but is computed by a step.
        let all = self.engine.done() >= self.engine.planned();
        self.engine.converged() || all && (self.engine.planned() > 0 || self.advanced)
    }

    fn advance(&mut self) -> Result<Vec<Residual>, MriError> {
        let residuals = self.engine.advance()?;
        self.advanced = true;
        for residual in &residuals {
            if !residual.residual.is_finite() {
                return Err(MriError::NotFinite {
                    iteration: residual.iteration,
                    residual: residual.residual,
                });
            }
        }
        Ok(residuals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpstride_core::run::{End, Interrupt, Schedule, Setup, Silent};

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
        // It does one anyway.
        fn one_by_one(&mut self) {}
        fn image(&mut self) -> Result<Array3<Complex<f64>>, MriError> {
            Ok(Array3::from_elem((1, 1, 1), Complex::new(self.last, 0.0)))
        }
    }

    fn run(planned: usize, last: f64) -> (Run, std::rc::Rc<std::cell::Cell<usize>>) {
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
        (
            Run::new(ReconstructionSteps::new(Box::new(engine))),
            advances,
        )
    }

    #[test]
    fn the_adjoint_is_one_advance_and_iterations_are_as_many_as_planned() {
        for (planned, expected) in [(0, 1), (4, 4)] {
            let (mut run, advances) = run(planned, 0.5);
            let schedule = Schedule { every: None };
            let end = run
                .execute(&mut Silent, &Interrupt::new(), schedule)
                .unwrap();
            assert_eq!(
                (end, advances.get(), run.entries().len()),
                (End::Finished, expected, planned)
            );
            assert_eq!(run.ms_per_iteration().is_some(), planned > 0);
        }
    }

    #[test]
    fn nan_ends_the_run() {
        let (mut run, _) = run(3, f64::NAN);
        assert!(matches!(
            run.advance(),
            Err(MriError::NotFinite { iteration: 1, .. })
        ));
        assert!(run.steps_mut().image().is_err());
    }
}

//! What an iteration of an engine does to exit waves, object and probe.

use super::batch_shares::{FRAMES_OF_DEVICE, SHARES};
use super::likelihood::LikelihoodMethod;
use super::updates::{Denominator, Smoothness};
use crate::BatchOrder;

/// Pixels of all modes in a batch from which on devices divide it; twice as many of small frames,
/// which take half the time.
const PIXELS_TO_DIVIDE: usize = 6_000_000;
/// Pixels of a small frame.
const SMALL_FRAME: usize = 128 * 128;

/// Coefficients of ψ ← (1−a−b) ψ + a P·O + b F⁻¹ Π F[(1−c) ψ + c P·O].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coefficients {
    /// Weight of P·O.
    pub a: f64,
    /// Weight of the projected wave.
    pub b: f64,
    /// Weight of P·O in the reflected wave.
    pub c: f64,
}

impl Coefficients {
    /// Difference map (Thibault et al., Ultramicroscopy 109, 338 (2009)): a = −α, b = 1, c = 1+α.
    #[must_use]
    pub fn dm(alpha: f64) -> Self {
        Self {
            a: -alpha,
            b: 1.0,
            c: 1.0 + alpha,
        }
    }

    /// RAAR (Luke, Inverse Problems 21, 37 (2005)): a = 1−2β, b = β, c = 2.
    #[must_use]
    pub fn raar(beta: f64) -> Self {
        Self {
            a: 1.0 - 2.0 * beta,
            b: beta,
            c: 2.0,
        }
    }

    /// Alternating projections: a = 0, b = c = 1, so ψ ← F⁻¹ Π F[P·O].
    #[must_use]
    pub fn ap() -> Self {
        Self {
            a: 0.0,
            b: 1.0,
            c: 1.0,
        }
    }

    /// Whether a + b c = 1, as in all engines: ψ ← P·O + b F⁻¹[(Π − 1) F[(1−c) ψ + c P·O]] then,
    /// because the weight of the old ψ besides, 1 − a − b c, is 0. The kernels of fused steps
    /// compute this.
    #[must_use]
    pub fn ends_at_model(self) -> bool {
        (self.a + self.b * self.c - 1.0).abs() < 1e-12
    }

    /// Weight of ψ: 1−a−b.
    #[must_use]
    pub fn keep(self) -> f64 {
        1.0 - self.a - self.b
    }
}

/// The kinds of iterations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Method {
    /// Projection of the exit waves, then updates of object and probe from all of them.
    Projection,
    /// Updates of object and probe after each mini-batch of frames.
    Batches(BatchMethod),
    /// Maximum likelihood by conjugate gradient on all frames.
    Likelihood(LikelihoodMethod),
}

/// An iteration over mini-batches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BatchMethod {
    /// Most frames of a batch.
    pub size: usize,
    /// Where the frames of a batch lie.
    pub order: BatchOrder,
    /// How the steps are chosen.
    pub update: BatchUpdate,
    /// Whether the batches are those of the regions of the scan, each of which has its own copy of
    /// object and probe.
    pub regions: bool,
}

/// How a batch updates object and probe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BatchUpdate {
    /// LSQ-ML: steps that are optimal in the mean of the batch.
    LeastSquares {
        /// Share of the last change that is repeated.
        momentum: f64,
        /// Regulariser of the object.
        smoothness: Smoothness,
    },
    /// ePIE and rPIE: given steps.
    Pie {
        /// α of the object's denominator, 1 for ePIE.
        object_alpha: f64,
        /// α of the probe's denominator, 1 for ePIE.
        probe_alpha: f64,
        /// Factor on the object's update.
        object_step: f64,
        /// Factor on the probe's update.
        probe_step: f64,
    },
}

impl BatchMethod {
    /// Whether so many devices can divide the batches of a scan of `frames` frames: two or four,
    /// with four frames of a batch for each.
    pub fn divides_among(&self, devices: usize, frames: usize) -> bool {
        devices > 1
            && SHARES.is_multiple_of(devices)
            && self.size.min(frames) >= FRAMES_OF_DEVICE * devices
            && self.smoothness().is_none()
    }

    /// Whether devices that divide batches of frames with so many modes, rows and columns take less
    /// time than if each computes all of them: what they exchange in a batch takes about 0.1 ms,
    /// and much longer if its windows are spread over the object (docs/optimisation-log.md, section
    /// 31).
    pub fn gains_by_division(&self, frames: usize, of_frame: [usize; 3]) -> bool {
        let pixels = of_frame
            .into_iter()
            .fold(self.size.min(frames), usize::saturating_mul);
        let [_, rows, columns] = of_frame;
        let least = if rows.saturating_mul(columns) <= SMALL_FRAME {
            2 * PIXELS_TO_DIVIDE
        } else {
            PIXELS_TO_DIVIDE
        };
        self.order == BatchOrder::Compact && pixels >= least
    }

    /// The regulariser, if there is one.
    pub(crate) fn smoothness(&self) -> Option<Smoothness> {
        match self.update {
            BatchUpdate::LeastSquares { smoothness, .. } => {
                (smoothness.weight > 0.0).then_some(smoothness)
            }
            BatchUpdate::Pie { .. } => None,
        }
    }

    /// Share of the last change that is repeated.
    pub(crate) fn momentum(&self) -> f64 {
        match self.update {
            BatchUpdate::LeastSquares { momentum, .. } => momentum,
            BatchUpdate::Pie { .. } => 0.0,
        }
    }

    /// How the object's weights become denominators.
    pub(crate) fn object_denominator(&self) -> Denominator {
        match self.update {
            BatchUpdate::LeastSquares { .. } => Denominator::Floor,
            BatchUpdate::Pie { object_alpha, .. } => Denominator::Mixed(object_alpha),
        }
    }

    /// How the probe's weights become denominators.
    pub(crate) fn probe_denominator(&self) -> Denominator {
        match self.update {
            BatchUpdate::LeastSquares { .. } => Denominator::Floor,
            BatchUpdate::Pie { probe_alpha, .. } => Denominator::Mixed(probe_alpha),
        }
    }
}

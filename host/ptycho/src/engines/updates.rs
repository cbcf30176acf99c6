//! What the back ends share of the updates of object and probe: how weights become denominators,
//! the steps of LSQ-ML, and the regulariser.

/// How a weight W becomes a denominator: √(W² + δ²) or (1−α) W + α max W.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Denominator {
    /// √(W² + (0.1 max W)²).
    Floor,
    /// (1−α) W + α max W.
    Mixed(f64),
}

/// δ of the LSQ-ML denominator, in units of the largest weight.
pub(crate) const FLOOR: f64 = 0.1;
/// Neighbours of a pixel, of the regulariser.
pub(crate) const NEIGHBOURS: f64 = 4.0;

/// Part of the optimal step that LSQ-ML takes.
pub(crate) const STEP: f64 = 0.9;
/// Added to the diagonal of the 2 × 2 systems, in units of its mean over the batch.
pub(crate) const DAMPING: f64 = 0.1;
/// Share of the smallest and of the largest steps that the mean over the batch leaves out.
pub(crate) const TRIM: f64 = 0.1;

/// Weight of a lit pixel, in units of the largest one.
pub(crate) const LIT: f64 = 1e-3;

/// A regulariser: the weight times Σ h·|O_n − O_i|² over neighbouring pixels of the lit object. The
/// likelihood Σ(√I_model − √I)² has the same unit, so a weight of 1/(2σ²) belongs to differences of
/// standard deviation σ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Smoothness {
    /// The weight; 0: none.
    pub weight: f64,
    /// δ of h = 1/√(1 + |O_n − O_i|²/δ²), which spares edges; 0: h = 1.
    pub edge: f64,
}

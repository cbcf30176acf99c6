//! What the third column of a trajectory in a plane is.

use crate::io::faulty_readouts::far;

/// The third column of the trajectories of a plane: weights of the samples, or kz.
#[derive(Debug, Default)]
pub(super) struct ThirdColumn {
    readouts: Vec<Column>,
}

/// The third column of a readout.
#[derive(Debug, Clone, Copy)]
struct Column {
    low: f64,
    high: f64,
    /// Largest distance from the origin in the plane, and with the third column as kz.
    reach: [f64; 2],
}

impl ThirdColumn {
    /// Adds a sample, of a further readout or of the last.
    pub(super) fn see(&mut self, first: bool, [x, y, third]: [f64; 3]) {
        if first {
            self.readouts.push(Column {
                low: f64::INFINITY,
                high: f64::NEG_INFINITY,
                reach: [0.0; 2],
            });
        }
        if let Some(of) = self.readouts.last_mut() {
            (of.low, of.high) = (of.low.min(third), of.high.max(third));
            let flat = x.hypot(y);
            of.reach = [of.reach[0].max(flat), of.reach[1].max(flat.hypot(third))];
        }
    }

    /// The smallest and the largest kz if the column is kz: it has negative values; or is the same
    /// in each readout, as in a stack; or makes readouts equally long that are not in the plane, as
    /// spokes of a volume are.
    pub(super) fn as_kz(&self) -> Option<[f64; 2]> {
        // Readouts far beyond the others are left out.
        let limit = far(self.readouts.iter().map(|of| of.reach[1]).collect(), 0.0);
        let near = self.readouts.iter().filter(|of| of.reach[1] <= limit);
        let all = |of: fn(&Column) -> f64| near.clone().map(of);
        let ends = |of: fn(&Column) -> f64| {
            let low = all(of).fold(f64::INFINITY, f64::min);
            [low, all(of).fold(f64::NEG_INFINITY, f64::max)]
        };
        let ([low, _], [lowest_end, high]) = (ends(|of| of.low), ends(|of| of.high));
        if !(low.is_finite() && high.is_finite()) {
            return None;
        }
        let small = 1e-6 * high.abs().max(low.abs());
        let is_stack =
            all(|of| of.high - of.low).all(|width| width <= small) && high - lowest_end > small;
        let is_ball = {
            let ([flat, most_flat], [long, longest]) =
                (ends(|of| of.reach[0]), ends(|of| of.reach[1]));
            flat < 0.9 * most_flat && long > 0.98 * longest
        };
        (low < -small || is_stack || is_ball).then_some([low, high])
    }
}

//! Laws that diverge at q = 0.

use warpstride::sas::cpu::CpuEngine;
use warpstride::sas::{Calculation, Engine, Points, Precision, Vector};

/// Models take q for 10⁻³⁷ 1/Å at least where they raise it to a power, so that a law that diverges is only a large
/// number at 0. It diverges where it still grows between these, and from the last to 0.
const BESIDE: [f64; 3] = [1e-12, 1e-18, 0.0];
/// From one of them to the next, at least. Powers from 0.2 on do so, and what is finite does not grow at all.
const GROWS: f64 = 10.0;

/// Where a calculation has q = 0, and the same at and beside it.
pub(super) struct Origin {
    places: Vec<usize>,
    beside: Option<Calculation>,
}

impl Origin {
    /// Of the points that are wanted.
    pub(super) fn of(calculation: &Calculation) -> Self {
        let zeros = |at: &dyn Fn(usize) -> bool| {
            let all = 0..calculation.points.len();
            all.filter(|point| at(*point)).collect::<Vec<usize>>()
        };
        let (places, points) = match &calculation.points {
            Points::Curve(q) => (zeros(&|i| q[i] == 0.0), Points::Curve(BESIDE.to_vec())),
            Points::Pixels { qx, qy } => {
                let points = Points::Pixels {
                    qx: BESIDE.to_vec(),
                    qy: vec![0.0; BESIDE.len()],
                };
                (zeros(&|i| qx[i] == 0.0 && qy[i] == 0.0), points)
            }
        };
        let beside = (!places.is_empty()).then(|| Calculation {
            definition: calculation.definition.clone(),
            points,
            resolution: None,
            spreads: Vec::new(),
            cutoff: 0.0,
            precision: Precision::F64,
        });
        Self { places, beside }
    }

    /// Makes `intensity` infinite at q = 0 if the model is.
    pub(super) fn make_infinite(&self, vector: &Vector, intensity: &mut [f64]) {
        let Some(beside) = &self.beside else {
            return;
        };
        let vector = Vector {
            values: vector.values.clone(),
            widths: Vec::new(),
        };
        let computed = CpuEngine::new(beside.clone()).evaluate(&[vector]);
        // What cannot be computed there says nothing.
        let Ok([found]) = computed.as_deref() else {
            return;
        };
        if found.windows(2).all(|pair| pair[1] > GROWS * pair[0]) {
            for place in &self.places {
                intensity[*place] = f64::INFINITY;
            }
        }
    }
}

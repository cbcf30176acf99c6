//! Models that diverge at q = 0.

use super::{Calculation, Points, Precision, Vector, on_cpu};

/// Values of q, 1/Å, for the test. Models replace q by at least 10⁻³⁷ 1/Å where they raise it to a
/// power, so a model that diverges has a large finite value at 0. It diverges if the intensity
/// still grows from each of these values to the next.
const NEARBY_Q: [f64; 3] = [1e-12, 1e-18, 0.0];
/// Least growth from one of these values to the next: powers from 0.2 on reach it, and models that
/// are finite at 0 do not grow at all.
const MIN_GROWTH: f64 = 10.0;

/// Points of a calculation at q = 0, and the same model near and at q = 0. Engines return a large
/// finite value at 0 for a model that diverges there.
#[derive(Debug, Clone)]
pub struct Origin {
    zeros: Vec<usize>,
    nearby: Option<Calculation>,
}

impl Origin {
    /// Finds the points at q = 0.
    #[must_use]
    pub fn of(calculation: &Calculation) -> Self {
        let zeros = |at: &dyn Fn(usize) -> bool| {
            let all = 0..calculation.points.len();
            all.filter(|point| at(*point)).collect::<Vec<usize>>()
        };
        let (zeros, points) = match &calculation.points {
            Points::Curve(q) => (zeros(&|i| q[i] == 0.0), Points::Curve(NEARBY_Q.to_vec())),
            Points::Pixels { qx, qy } => {
                let points = Points::Pixels {
                    qx: NEARBY_Q.to_vec(),
                    qy: vec![0.0; NEARBY_Q.len()],
                };
                (zeros(&|i| qx[i] == 0.0 && qy[i] == 0.0), points)
            }
        };
        let nearby = (!zeros.is_empty()).then(|| Calculation {
            definition: calculation.definition.clone(),
            points,
            resolution: None,
            polydispersity: Vec::new(),
            cutoff: 0.0,
            precision: Precision::F64,
        });
        Self { zeros, nearby }
    }

    /// Sets `intensity` to infinity at q = 0 if the model diverges there.
    pub fn make_infinite(&self, vector: &Vector, intensity: &mut [f64]) {
        let Some(nearby) = &self.nearby else {
            return;
        };
        let vector = Vector {
            values: vector.values.clone(),
            widths: Vec::new(),
        };
        let computed = on_cpu(nearby.clone()).and_then(|mut engine| engine.evaluate(&[vector]));
        // A model that cannot be evaluated there is not known to diverge.
        let Ok([found]) = computed.as_deref() else {
            return;
        };
        if found.windows(2).all(|pair| pair[1] > MIN_GROWTH * pair[0]) {
            for point in &self.zeros {
                intensity[*point] = f64::INFINITY;
            }
        }
    }
}

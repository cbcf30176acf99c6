//! The engine on the CPU.

use super::number::Number;
use super::tile::{Chunk, RotationsAndChannels, Shared, Sums, compute, particles_per_chunk};
use crate::plan::Plan;
use crate::{Calculation, Precision, SasError, Vector};
use rayon::prelude::*;
use warpstride_core::run::Setup;
use warpstride_kernels::sas::simd::Units;

/// Evaluates a calculation on the CPU with all threads of the current rayon pool.
pub struct CpuEngine {
    calculation: Calculation,
    tiles: PrecisionTiles,
}

enum PrecisionTiles {
    Double(Tiles<f64>),
    Single(Tiles<f32>),
}

struct Tiles<T> {
    shared: Shared<T>,
    chunks: Vec<Chunk<T>>,
}

impl CpuEngine {
    /// An engine for a calculation.
    #[must_use]
    pub fn new(calculation: Calculation) -> Self {
        Self::with_units(calculation, Units::of_this_machine())
    }

    /// Limits the vector units that are used; for comparisons.
    #[must_use]
    pub fn with_units(calculation: Calculation, units: Units) -> Self {
        let tiles = match calculation.precision {
            Precision::F64 => PrecisionTiles::Double(Tiles::new(&calculation, units)),
            Precision::F32 => PrecisionTiles::Single(Tiles::new(&calculation, units)),
        };
        Self { calculation, tiles }
    }
}

impl<T: Number> Tiles<T> {
    fn new(calculation: &Calculation, units: Units) -> Self {
        let form = calculation.definition.form();
        Self {
            shared: Shared::new(form, units),
            chunks: Chunk::all(calculation.fine_points(), form.symmetry()),
        }
    }

    /// Σ w F and Σ w F² at each fine point.
    fn sums(&self, plan: &Plan) -> Sums {
        let particles = plan.particles.len();
        let per_chunk = particles_per_chunk(particles);
        let oriented = RotationsAndChannels::<T>::of(plan);
        let of_chunk = |chunk: &Chunk<T>| {
            let part = |i: usize| {
                let range = i * per_chunk..particles.min((i + 1) * per_chunk);
                compute(&self.shared, plan, &oriented, range, chunk)
            };
            let parts = particles.div_ceil(per_chunk);
            if parts == 1 {
                return part(0);
            }
            let parts: Vec<Sums> = (0..parts).into_par_iter().map(part).collect();
            let mut all = Sums::zero(chunk.len());
            for part in &parts {
                all.add(part);
            }
            all
        };
        let chunks: Vec<Sums> = self.chunks.par_iter().map(of_chunk).collect();
        let mut all = Sums::default();
        for chunk in chunks {
            all.amplitudes.extend(chunk.amplitudes);
            all.intensities.extend(chunk.intensities);
        }
        all
    }
}

impl crate::Engine for CpuEngine {
    fn evaluate(&mut self, vectors: &[Vector]) -> Result<Vec<Vec<f64>>, SasError> {
        vectors
            .par_iter()
            .map(|vector| {
                let plan = Plan::new(&self.calculation, vector)?;
                let sums = match &self.tiles {
                    PrecisionTiles::Double(tiles) => tiles.sums(&plan),
                    PrecisionTiles::Single(tiles) => tiles.sums(&plan),
                };
                Ok(plan.intensities(&self.calculation, &sums.amplitudes, &sums.intensities))
            })
            .collect()
    }

    fn setup(&self) -> Setup {
        Setup::cpu(match self.tiles {
            PrecisionTiles::Double(_) => f64::NAME,
            PrecisionTiles::Single(_) => f32::NAME,
        })
    }

    fn batch(&self) -> usize {
        rayon::current_num_threads()
    }
}

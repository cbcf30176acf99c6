//! Random data of the cases.

use bytemuck::Zeroable;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::fmt;
use warpstride_device::Complex32;

/// Random data, the same in every run; other data for every name and shape.
pub struct Source {
    /// The generator.
    pub random: Pcg64Mcg,
}

impl Source {
    /// Random data of the case `name` at a shape.
    pub fn new(name: &str, shape: &impl fmt::Display) -> Self {
        // FNV-1a.
        let text = format!("{name} {shape}");
        let seed = text.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
        });
        Self {
            random: Pcg64Mcg::seed_from_u64(seed),
        }
    }

    /// Evenly between `low` and `high`.
    pub fn reals(&mut self, len: usize, low: f32, high: f32) -> Vec<f32> {
        (0..len)
            .map(|_| low + (high - low) * self.random.random::<f32>())
            .collect()
    }

    /// Real and imaginary part between −1 and 1.
    pub fn complex(&mut self, len: usize) -> Vec<Complex32> {
        let mut waves = vec![Complex32::zeroed(); len];
        for wave in &mut waves {
            let [re, im] = [0, 1].map(|_| 2.0 * self.random.random::<f32>() - 1.0);
            *wave = Complex32::new(re, im);
        }
        waves
    }
}

//! The windows of the frames on the object, and the products P·O in them.

use super::complex_products::multiply;
use super::simd::vectorised;
use crate::Frames;
use crate::model::fly::FlyPaths;
use num_complex::Complex;
use warpstride_fft::Real;

/// Array sizes and windows of the frames.
#[derive(Debug, Clone)]
pub(in crate::engines::cpu) struct Layout {
    /// Layers of the probe.
    pub(in crate::engines::cpu) modes: usize,
    pub(in crate::engines::cpu) rows: usize,
    pub(in crate::engines::cpu) columns: usize,
    pub(in crate::engines::cpu) object_shape: [usize; 2],
    /// Mutually incoherent layers of the object (layer, row, column); 1 for slices.
    pub(in crate::engines::cpu) object_layers: usize,
    /// Motion during the exposures.
    pub(in crate::engines::cpu) fly: FlyPaths,
    pub(in crate::engines::cpu) corners: Vec<[u32; 2]>,
    /// Positions minus corners, pixels.
    pub(in crate::engines::cpu) fractions: Vec<[f64; 2]>,
    /// Factors on the frames' model intensities.
    pub(in crate::engines::cpu) scales: Vec<f64>,
}

impl Layout {
    /// The fraction of a frame's position; zero unless `subpixel`.
    pub(in crate::engines::cpu) fn fraction(&self, frame: usize, subpixel: bool) -> [f64; 2] {
        if subpixel {
            self.fractions[frame]
        } else {
            [0.0; 2]
        }
    }

    /// Factor on the model intensities of a frame.
    pub(in crate::engines::cpu) fn scale(&self, frame: usize) -> f64 {
        self.scales[frame]
    }

    /// Takes over windows, fractions and scales.
    pub(in crate::engines::cpu) fn set(&mut self, frames: Frames) {
        self.corners = frames.corners;
        self.fractions = frames.fractions;
        self.scales = frames.scales;
    }

    /// Positions of the frames, object pixels.
    pub(in crate::engines::cpu) fn positions(&self, subpixel: bool) -> Vec<[f64; 2]> {
        let position = |(frame, corner): (usize, &[u32; 2])| {
            let fraction = self.fraction(frame, subpixel);
            [0, 1].map(|axis| f64::from(corner[axis]) + fraction[axis])
        };
        self.corners.iter().enumerate().map(position).collect()
    }

    pub(in crate::engines::cpu) fn pixels(&self) -> usize {
        self.rows * self.columns
    }

    /// Shifted probes of a frame (point, mode).
    pub(in crate::engines::cpu) fn probes(&self) -> usize {
        self.fly.points() * self.modes
    }

    /// Exit waves of a frame (point, object layer, mode).
    pub(in crate::engines::cpu) fn waves(&self) -> usize {
        self.probes() * self.object_layers
    }

    /// The shifted probe and the layer of the object of an exit wave.
    pub(in crate::engines::cpu) fn parts_of(&self, wave: usize) -> [usize; 2] {
        let (point, mode) = (wave / (self.object_layers * self.modes), wave % self.modes);
        [
            point * self.modes + mode,
            wave / self.modes % self.object_layers,
        ]
    }

    /// The exit wave of a shifted probe behind a layer of the object.
    pub(in crate::engines::cpu) fn wave(&self, probe: usize, layer: usize) -> usize {
        let (point, mode) = (probe / self.modes, probe % self.modes);
        (point * self.object_layers + layer) * self.modes + mode
    }

    /// By how much the probe of an exit wave of a frame whose position has this fraction is
    /// shifted, pixels.
    pub(in crate::engines::cpu) fn shift(
        &self,
        frame: usize,
        wave: usize,
        fraction: [f64; 2],
    ) -> [f64; 2] {
        let point = wave / (self.object_layers * self.modes);
        self.fly.at(frame, point, fraction)
    }

    /// A layer of an array on the object (layer, row, column).
    pub(in crate::engines::cpu) fn layer<'a, V>(&self, object: &'a [V], layer: usize) -> &'a [V] {
        &object[layer * self.object_pixels()..][..self.object_pixels()]
    }

    /// Memory for the shifted probes of a frame (point, mode, row, column): the probe itself for
    /// those of step scans.
    pub(in crate::engines::cpu) fn moved<T: Real>(&self, probe: &[Complex<T>]) -> Vec<Complex<T>> {
        if self.fly.points() == 1 {
            probe.to_vec()
        } else {
            vec![Complex::default(); self.probes() * self.pixels()]
        }
    }

    /// Pixels of a layer of the object.
    pub(in crate::engines::cpu) fn object_pixels(&self) -> usize {
        self.object_shape[0] * self.object_shape[1]
    }
}

/// Probe and object within the window of one frame.
pub(in crate::engines::cpu) struct Window<'a, T> {
    pub(in crate::engines::cpu) layout: &'a Layout,
    pub(in crate::engines::cpu) frame: usize,
    pub(in crate::engines::cpu) corner: [u32; 2],
    /// The fraction of a pixel by which the probe is shifted at the frame's position.
    pub(in crate::engines::cpu) fraction: [f64; 2],
    /// Shifted probes (point, mode, row, column).
    pub(in crate::engines::cpu) probe: &'a [Complex<T>],
    /// (layer, row, column).
    pub(in crate::engines::cpu) object: &'a [Complex<T>],
}

impl<T: Real> Window<'_, T> {
    /// By how much the probe of an exit wave is shifted, pixels.
    pub(in crate::engines::cpu) fn shift(&self, wave: usize) -> [f64; 2] {
        self.layout.shift(self.frame, wave, self.fraction)
    }

    /// Writes P·O of an exit wave to `to` (row, column).
    pub(in crate::engines::cpu) fn product(&self, wave: usize, to: &mut [Complex<T>]) {
        let layout = self.layout;
        let [top, left] = self.corner.map(|v| v as usize);
        let [probe, layer] = layout.parts_of(wave);
        vectorised(WindowProduct {
            probe: &self.probe[probe * layout.pixels()..][..layout.pixels()],
            object: &layout.layer(self.object, layer)[top * layout.object_shape[1] + left..],
            columns: layout.columns,
            width: layout.object_shape[1],
            to,
        });
    }

    /// Calls `take(pixel, P·O)` of an exit wave for each pixel of the frame, row by row.
    pub(in crate::engines::cpu) fn for_each_product(
        &self,
        wave: usize,
        mut take: impl FnMut(usize, Complex<T>),
    ) {
        let layout = self.layout;
        let [top, left] = self.corner.map(|v| v as usize);
        let [probe, layer] = layout.parts_of(wave);
        let probe = &self.probe[probe * layout.pixels()..];
        let object = layout.layer(self.object, layer);
        for row in 0..layout.rows {
            let o = &object[(top + row) * layout.object_shape[1] + left..][..layout.columns];
            let p = &probe[row * layout.columns..][..layout.columns];
            for (column, (p, o)) in p.iter().zip(o).enumerate() {
                take(row * layout.columns + column, p * o);
            }
        }
    }
}

/// Writes probe·object to `to`, row by row.
struct WindowProduct<'a, T> {
    /// (row, column).
    probe: &'a [Complex<T>],
    /// Object from the corner of the window on, in rows of `width`.
    object: &'a [Complex<T>],
    columns: usize,
    width: usize,
    /// (row, column).
    to: &'a mut [Complex<T>],
}

impl<T: Real> pulp::WithSimd for WindowProduct<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) {
        let rows = (self.to.chunks_exact_mut(self.columns))
            .zip(self.probe.chunks_exact(self.columns))
            .zip(self.object.chunks(self.width));
        for ((to, probe), object) in rows {
            multiply(simd, to, probe, &object[..self.columns]);
        }
    }
}

/// Σ|P|² over the modes, (row, column).
pub(in crate::engines::cpu) fn mode_power<T: Real>(
    probe: &[Complex<T>],
    modes: usize,
    pixels: usize,
) -> Vec<T> {
    let mut power = vec![T::default(); pixels];
    for mode in 0..modes {
        for (sum, p) in power.iter_mut().zip(&probe[mode * pixels..]) {
            *sum += p.norm_sqr();
        }
    }
    power
}

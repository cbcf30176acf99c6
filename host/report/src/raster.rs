//! Images scaled for drawing.

use super::canvas::{Canvas, INK};
use ndarray::{Array2, ArrayView2, s};
use num_complex::Complex;
use warpstride_core::text::length;

/// An image with square display pixels, scaled to a drawable size.
pub struct Raster {
    /// Values (row, column); large images are averaged over blocks.
    pub values: Array2<Complex<f64>>,
    /// Rows and columns on the canvas.
    pub size: [usize; 2],
    /// Extent (row, column), m.
    pub metres: [f64; 2],
}

impl Raster {
    /// Scales `image` with pixels of size `pixel` (row, column), m, so that its longer side has
    /// about `side` (least, greatest) pixels.
    pub fn new(image: ArrayView2<'_, Complex<f64>>, pixel: [f64; 2], side: [usize; 2]) -> Self {
        let shape: [usize; 2] = image.dim().into();
        let usable = pixel.iter().all(|p| p.is_finite() && *p > 0.0);
        let pixel = if usable { pixel } else { [1.0; 2] };
        let metres = [0, 1].map(|axis| shape[axis] as f64 * pixel[axis]);
        let finest = pixel[0].min(pixel[1]);
        let natural = metres[0].max(metres[1]) / finest;
        let zoom = if natural < side[0] as f64 {
            (side[0] as f64 / natural).floor().max(1.0)
        } else {
            1.0 / (natural / side[1] as f64).ceil().max(1.0)
        };
        let size = metres.map(|m| ((m / finest * zoom).round() as usize).max(1));
        let block = [0, 1].map(|axis| (shape[axis] / size[axis]).max(1));
        let values = if block == [1, 1] {
            image.to_owned()
        } else {
            Array2::from_shape_fn(
                (shape[0].div_ceil(block[0]), shape[1].div_ceil(block[1])),
                |(r, c)| {
                    let [r, c] = [r * block[0], c * block[1]];
                    let part = image.slice(s![
                        r..(r + block[0]).min(shape[0]),
                        c..(c + block[1]).min(shape[1])
                    ]);
                    part.sum() / part.len() as f64
                },
            )
        };
        Self {
            values,
            size,
            metres,
        }
    }

    fn draw(
        &self,
        canvas: &mut Canvas,
        corner: [usize; 2],
        colour: impl Fn(&Complex<f64>) -> [u8; 3],
    ) {
        let colours = self.values.map(colour);
        let (rows, columns) = colours.dim();
        for row in 0..self.size[0] {
            for column in 0..self.size[1] {
                let from = (row * rows / self.size[0], column * columns / self.size[1]);
                canvas.set(corner[0] + column, corner[1] + row, colours[from]);
            }
        }
    }

    /// Draws the image with a thin frame, which a white image on a white background needs.
    pub fn draw_framed(
        &self,
        canvas: &mut Canvas,
        corner: [usize; 2],
        colour: impl Fn(&Complex<f64>) -> [u8; 3],
    ) {
        let [height, width] = self.size;
        let outer = corner.map(|v| v.saturating_sub(1));
        canvas.fill(outer, [width + 2, height + 2], INK);
        self.draw(canvas, corner, colour);
    }

    /// A sentence on the width and height of what is drawn.
    pub fn extent(&self) -> String {
        format!(
            "The picture is {} wide and {} high.",
            length(self.metres[1], 3),
            length(self.metres[0], 3)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_pixels_are_square_for_pixels_that_are_not() {
        let image = Array2::<Complex<f64>>::zeros((50, 80));
        let raster = Raster::new(image.view(), [2e-8, 1e-8], [200, 400]);
        assert_eq!(raster.size, [200, 160]);
        assert_eq!(raster.values.dim(), (50, 80));
        assert!((raster.metres[0] - 1e-6).abs() < 1e-18);
    }

    #[test]
    fn large_images_are_averaged_and_keep_their_mean() {
        let image = Array2::from_shape_fn((600, 900), |(r, c)| Complex::new(r as f64, c as f64));
        let raster = Raster::new(image.view(), [1e-8, 1e-8], [100, 300]);
        assert_eq!(raster.size, [200, 300]);
        assert_eq!(raster.values.dim(), (200, 300));
        assert_eq!(raster.values[[1, 2]], Complex::new(4.0, 7.0));
    }

    #[test]
    fn a_single_pixel_of_unknown_size_can_be_drawn() {
        let image = Array2::<Complex<f64>>::zeros((1, 1));
        let raster = Raster::new(image.view(), [f64::NAN, 0.0], [10, 20]);
        assert_eq!(raster.size, [10, 10]);
    }
}

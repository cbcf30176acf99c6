//! Images of 8-bit pixels and their encoding as PNG.

use png::{BitDepth, ColorType, Compression, Encoder, EncodingError, Filter};

/// An image with 8 bits per sample, row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pixels<const SAMPLES: usize> {
    width: u32,
    height: u32,
    values: Vec<[u8; SAMPLES]>,
}

/// An image of red, green and blue.
pub type Rgb = Pixels<3>;
/// An image of grey levels.
pub type Grey = Pixels<1>;

impl<const SAMPLES: usize> Pixels<SAMPLES> {
    /// An image of `width` × `height` pixels with the same value.
    pub fn filled(width: u32, height: u32, value: [u8; SAMPLES]) -> Self {
        Self {
            width,
            height,
            values: vec![value; width as usize * height as usize],
        }
    }

    /// Number of columns.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Number of rows.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The pixel, or `None` outside of the image.
    pub fn at_mut(&mut self, column: usize, row: usize) -> Option<&mut [u8; SAMPLES]> {
        if column >= self.width as usize || row >= self.height as usize {
            return None;
        }
        self.values.get_mut(row * self.width as usize + column)
    }

    /// The image with every pixel repeated `zoom` × `zoom` times.
    pub fn enlarged(&self, zoom: u32) -> Self {
        let (width, zoom) = (self.width as usize, zoom as usize);
        let mut values = Vec::with_capacity(self.values.len() * zoom * zoom);
        for row in self.values.chunks(width.max(1)) {
            let start = values.len();
            values.extend(
                row.iter()
                    .flat_map(|value| std::iter::repeat_n(*value, zoom)),
            );
            for _ in 1..zoom {
                values.extend_from_within(start..start + width * zoom);
            }
        }
        Self {
            width: self.width * zoom as u32,
            height: self.height * zoom as u32,
            values,
        }
    }

    /// Encodes the image as a PNG file.
    ///
    /// # Errors
    /// The encoder refuses images without pixels.
    pub fn png(&self) -> Result<Vec<u8>, EncodingError> {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, self.width, self.height);
        encoder.set_color(if SAMPLES == 1 {
            ColorType::Grayscale
        } else {
            ColorType::Rgb
        });
        encoder.set_depth(BitDepth::Eight);
        encoder.set_compression(Compression::Fast);
        encoder.set_filter(Filter::Adaptive);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(self.values.as_flattened())?;
        writer.finish()?;
        Ok(bytes)
    }
}

#[cfg(any(test, feature = "read"))]
impl<const SAMPLES: usize> Pixels<SAMPLES> {
    /// Decodes a file made by [`Pixels::png`], for tests.
    ///
    /// # Panics
    /// If it is none.
    #[must_use]
    pub fn read(png: &[u8]) -> Self {
        let mut reader = png::Decoder::new(std::io::Cursor::new(png))
            .read_info()
            .unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut bytes).unwrap();
        assert_eq!(frame.color_type.samples(), SAMPLES);
        Self {
            width: frame.width,
            height: frame.height,
            values: bytes[..frame.buffer_size()].as_chunks().0.to_vec(),
        }
    }

    /// A pixel.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn at(&self, column: u32, row: u32) -> [u8; SAMPLES] {
        self.values[(row * self.width + column) as usize]
    }

    /// All pixels, row by row.
    #[must_use]
    pub fn all(&self) -> &[[u8; SAMPLES]] {
        &self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_pixels_are_read_back() {
        let mut pixels = Rgb::filled(3, 2, [7; 3]);
        *pixels.at_mut(2, 1).unwrap() = [1, 2, 3];
        assert!(pixels.at_mut(3, 0).is_none() && pixels.at_mut(0, 2).is_none());
        assert_eq!(Rgb::read(&pixels.png().unwrap()), pixels);
        let large = pixels.enlarged(2);
        assert_eq!((large.width(), large.height()), (6, 4));
        assert_eq!([large.at(4, 2), large.at(5, 3)], [[1, 2, 3]; 2]);
        assert_eq!(large.at(3, 3), [7; 3]);
        let grey = Grey::filled(1, 1, [9]);
        assert_eq!(Grey::read(&grey.png().unwrap()), grey);
    }

    #[test]
    fn an_image_without_pixels_is_refused() {
        assert!(Grey::filled(0, 5, [0]).png().is_err());
    }
}

//! A canvas of pixels for filled boxes and text.

use super::font;
use super::png::Rgb;
use png::EncodingError;

pub use super::font::TEXT;

/// Red, green, blue.
pub type Colour = [u8; 3];

/// White.
pub const WHITE: Colour = [255; 3];
/// The colour of texts and lines.
pub const INK: Colour = [25; 3];

/// A picture under construction, white at first.
pub struct Canvas {
    image: Rgb,
}

impl Canvas {
    /// A white canvas of `width` × `height` pixels, both at most `u32::MAX`.
    pub fn new(width: usize, height: usize) -> Self {
        let side = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self {
            image: Rgb::filled(side(width), side(height), WHITE),
        }
    }

    /// Sets one pixel; pixels outside of the canvas are ignored.
    pub fn set(&mut self, column: usize, row: usize, colour: Colour) {
        if let Some(pixel) = self.image.at_mut(column, row) {
            *pixel = colour;
        }
    }

    /// Draws a filled box.
    pub fn fill(&mut self, at: [usize; 2], size: [usize; 2], colour: Colour) {
        for row in at[1]..at[1] + size[1] {
            for column in at[0]..at[0] + size[0] {
                self.set(column, row, colour);
            }
        }
    }

    /// Writes `text` in a line of the usual height with its upper left corner at `at` (column,
    /// row).
    pub fn text(&mut self, at: [usize; 2], text: &str) {
        self.text_of_height(at, TEXT, text);
    }

    /// Writes `text` in a line of `height` pixels with its upper left corner at `at` (column, row).
    /// What lies outside of the canvas is not drawn.
    pub fn text_of_height(&mut self, at: [usize; 2], height: usize, text: &str) {
        let [left, top] = at.map(|v| i32::try_from(v).unwrap_or(i32::MAX));
        font::draw(text, height, |column, row, coverage| {
            let column = usize::try_from(left.saturating_add(column));
            let row = usize::try_from(top.saturating_add(row));
            if let (Ok(column), Ok(row)) = (column, row)
                && let Some(pixel) = self.image.at_mut(column, row)
            {
                *pixel = mixed(*pixel, INK, coverage);
            }
        });
    }

    /// The picture as a PNG file.
    pub fn png(&self) -> Result<Vec<u8>, EncodingError> {
        self.image.png()
    }
}

/// Width of `text` in a line of the usual height, pixels.
pub fn width_of(text: &str) -> usize {
    font::width_of(text, TEXT)
}

/// `share` (0 to 1) of `front` over `back`.
fn mixed(back: Colour, front: Colour, share: f32) -> Colour {
    let share = share.clamp(0.0, 1.0);
    let mut mixed = back;
    for (value, front) in mixed.iter_mut().zip(front) {
        let [back, front] = [*value, front].map(f32::from);
        *value = (back + (front - back) * share).round() as u8;
    }
    mixed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_inside_and_is_dark_on_white() {
        let mut canvas = Canvas::new(60, 30);
        canvas.text([2, 2], "Ae9");
        let dark = canvas.image.all().iter().filter(|p| **p == INK).count();
        assert!(dark > 30 && canvas.image.at(0, 0) == WHITE);
        // The lower part of a g, and a letter beyond the right edge.
        canvas.text([50, 20], "gW");
        let png = canvas.png().unwrap();
        assert_eq!(Rgb::read(&png), canvas.image);
    }
}

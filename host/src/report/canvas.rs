//! A canvas of pixels for filled boxes and text.

use super::png::Rgb;
use font8x8::{BASIC_FONTS, GREEK_FONTS, LATIN_FONTS, UnicodeFonts};
use png::EncodingError;

/// Red, green, blue.
pub(crate) type Colour = [u8; 3];

pub(crate) const WHITE: Colour = [255; 3];
pub(crate) const INK: Colour = [25; 3];

/// Side of a glyph before enlargement, pixels.
const LETTER: usize = 8;
/// Factor by which glyphs are enlarged.
const ENLARGED: usize = 2;
/// Height and width of an enlarged glyph, pixels.
pub(crate) const TEXT: usize = LETTER * ENLARGED;

/// A picture under construction, white at first.
pub(crate) struct Canvas {
    image: Rgb,
}

impl Canvas {
    /// A white canvas of `width` × `height` pixels, both at most `u32::MAX`.
    pub(crate) fn new(width: usize, height: usize) -> Self {
        let side = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self {
            image: Rgb::filled(side(width), side(height), WHITE),
        }
    }

    /// Sets one pixel; pixels outside of the canvas are ignored.
    pub(crate) fn set(&mut self, column: usize, row: usize, colour: Colour) {
        if let Some(pixel) = self.image.at_mut(column, row) {
            *pixel = colour;
        }
    }

    /// Draws a filled box.
    pub(crate) fn fill(&mut self, at: [usize; 2], size: [usize; 2], colour: Colour) {
        for row in at[1]..at[1] + size[1] {
            for column in at[0]..at[0] + size[0] {
                self.set(column, row, colour);
            }
        }
    }

    /// Writes `text` with its upper left corner at `at` (column, row). Characters outside of Basic
    /// Latin, Latin-1, Greek and `…` become `?`.
    pub(crate) fn text(&mut self, at: [usize; 2], text: &str) {
        for (index, letter) in text.chars().enumerate() {
            for (y, bits) in glyph(letter).into_iter().enumerate() {
                for x in (0..LETTER).filter(|x| bits >> x & 1 == 1) {
                    let corner = [
                        at[0] + (index * LETTER + x) * ENLARGED,
                        at[1] + y * ENLARGED,
                    ];
                    self.fill(corner, [ENLARGED; 2], INK);
                }
            }
        }
    }

    /// The picture as a PNG file.
    pub(crate) fn png(&self) -> Result<Vec<u8>, EncodingError> {
        self.image.png()
    }
}

/// Width of `text`, pixels.
pub(crate) fn width_of(text: &str) -> usize {
    text.chars().count() * TEXT
}

/// `…`, three dots on the baseline, which the fonts lack.
const ELLIPSIS: [u8; LETTER] = [0, 0, 0, 0, 0, 0b0100_1001, 0b0100_1001, 0];

fn glyph(letter: char) -> [u8; LETTER] {
    if letter == '…' {
        return ELLIPSIS;
    }
    BASIC_FONTS
        .get(letter)
        .or_else(|| LATIN_FONTS.get(letter))
        .or_else(|| GREEK_FONTS.get(letter))
        .or_else(|| BASIC_FONTS.get('?'))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_characters_of_captions_have_a_glyph() {
        let needed = "0123456789.-eE %nµpm,()πrad…";
        let unknown = glyph('?');
        for letter in needed.chars() {
            assert!(glyph(letter) != unknown, "{letter}");
        }
        assert_eq!(glyph('漢'), unknown);
    }

    #[test]
    fn text_stays_inside_and_is_dark_on_white() {
        let mut canvas = Canvas::new(40, 20);
        canvas.text([2, 2], "Ae9");
        let dark = canvas.image.all().iter().filter(|p| **p == INK).count();
        assert!(dark > 50 && canvas.image.at(0, 0) == WHITE);
        let png = canvas.png().unwrap();
        assert_eq!(Rgb::read(&png), canvas.image);
    }
}

//! Pixels, boxes and letters.

use font8x8::{BASIC_FONTS, GREEK_FONTS, LATIN_FONTS, UnicodeFonts};
use image::{ImageError, ImageFormat, Rgb, RgbImage};
use std::io::Cursor;

/// Red, green, blue.
pub(super) type Colour = [u8; 3];

pub(super) const WHITE: Colour = [255; 3];
pub(super) const INK: Colour = [25; 3];

/// Side of a letter's cell before enlargement, pixels.
const LETTER: usize = 8;
/// Letters are drawn this many times larger.
const ENLARGED: usize = 2;
/// Height and width of a letter's cell, pixels.
pub(super) const TEXT: usize = LETTER * ENLARGED;

/// A picture under construction, white at first.
pub(super) struct Canvas {
    image: RgbImage,
}

impl Canvas {
    /// `width` × `height`, both at most `u32::MAX`.
    pub(super) fn new(width: usize, height: usize) -> Self {
        let side = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self {
            image: RgbImage::from_pixel(side(width), side(height), Rgb(WHITE)),
        }
    }

    /// Sets one pixel; those outside are left out.
    pub(super) fn set(&mut self, column: usize, row: usize, colour: Colour) {
        let place = u32::try_from(column).ok().zip(u32::try_from(row).ok());
        if let Some(pixel) = place.and_then(|(x, y)| self.image.get_pixel_mut_checked(x, y)) {
            *pixel = Rgb(colour);
        }
    }

    /// A filled box.
    pub(super) fn fill(&mut self, at: [usize; 2], size: [usize; 2], colour: Colour) {
        for row in at[1]..at[1] + size[1] {
            for column in at[0]..at[0] + size[0] {
                self.set(column, row, colour);
            }
        }
    }

    /// Writes `text` with its upper left corner at `at` (column, row). Letters outside of Basic
    /// Latin, Latin-1, Greek and `…` become `?`.
    pub(super) fn text(&mut self, at: [usize; 2], text: &str) {
        for (place, letter) in text.chars().enumerate() {
            for (y, bits) in glyph(letter).into_iter().enumerate() {
                for x in (0..LETTER).filter(|x| bits >> x & 1 == 1) {
                    let corner = [
                        at[0] + (place * LETTER + x) * ENLARGED,
                        at[1] + y * ENLARGED,
                    ];
                    self.fill(corner, [ENLARGED; 2], INK);
                }
            }
        }
    }

    /// The picture as a PNG file.
    pub(super) fn png(&self) -> Result<Vec<u8>, ImageError> {
        let mut bytes = Cursor::new(Vec::new());
        self.image.write_to(&mut bytes, ImageFormat::Png)?;
        Ok(bytes.into_inner())
    }
}

/// Width of `text`, pixels.
pub(super) fn width_of(text: &str) -> usize {
    text.chars().count() * TEXT
}

/// `…`: three dots on the line; the fonts have none.
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
    fn the_letters_that_pictures_need_exist_and_differ() {
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
        let dark = canvas.image.pixels().filter(|p| p.0 == INK).count();
        assert!(dark > 50 && canvas.image.get_pixel(0, 0).0 == WHITE);
        let png = canvas.png().unwrap();
        let read = image::load_from_memory(&png).unwrap().to_rgb8();
        assert_eq!(read, canvas.image);
    }
}

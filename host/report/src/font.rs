//! The font of all pictures: DejaVu Sans, with Latin, Greek, Cyrillic and mathematical characters.
//!
//! `font/LICENSE` has its licence. It was made from DejaVu Sans 2.37 with `pyftsubset` of
//! fonttools, without hinting and with its table of kerning.

use ab_glyph::{Font, FontRef, Glyph, Point, PxScale, ScaleFont, point};
use std::sync::LazyLock;

/// Distance between the lowest and the highest part of a line of a picture's usual text, pixels.
pub const TEXT: usize = 24;

/// Written in place of characters that the font lacks.
const UNKNOWN: char = '\u{fffd}';

static FONT: LazyLock<FontRef<'static>> = LazyLock::new(|| {
    FontRef::try_from_slice(include_bytes!("font/DejaVuSans-subset.ttf"))
        .expect("the font in the program is valid")
});

/// The glyphs of a line of text from (0, 0), its upper left corner, with kerning, and its width.
fn layout(text: &str, height: f32) -> (Vec<Glyph>, f32) {
    let scale = PxScale::from(height);
    let font = FONT.as_scaled(scale);
    let (mut at, mut last) = (0.0, None);
    let mut glyphs = Vec::new();
    for letter in text.chars() {
        let id = match FONT.glyph_id(letter) {
            id if id.0 == 0 => FONT.glyph_id(UNKNOWN),
            id => id,
        };
        at += last.map_or(0.0, |last| font.kern(last, id));
        glyphs.push(id.with_scale_and_position(scale, point(at, font.ascent())));
        at += font.h_advance(id);
        last = Some(id);
    }
    (glyphs, at)
}

/// Width of `text` in lines of `height`, pixels, rounded up.
pub fn width_of(text: &str, height: usize) -> usize {
    layout(text, height as f32).1.ceil() as usize
}

/// Calls `draw` with column, row and coverage (0 to 1) of every pixel that `text` touches, if its
/// upper left corner is at (0, 0).
pub fn draw(text: &str, height: usize, mut draw: impl FnMut(i32, i32, f32)) {
    for glyph in layout(text, height as f32).0 {
        let Some(outline) = FONT.outline_glyph(glyph) else {
            continue;
        };
        let Point { x, y } = outline.px_bounds().min;
        outline.draw(|column, row, coverage| {
            draw(x as i32 + column as i32, y as i32 + row as i32, coverage);
        });
    }
}

/// `text`, or its beginning and `…` if it is wider than `width` pixels in lines of `height`.
pub fn shortened(text: &str, height: usize, width: usize) -> String {
    if width_of(text, height) <= width {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    let short = |count: usize| letters[..count].iter().chain(&['…']).collect::<String>();
    // Widths grow with the number of letters.
    let (mut fits, mut too_many) = (0, letters.len());
    while fits + 1 < too_many {
        let middle = usize::midpoint(fits, too_many);
        if width_of(&short(middle), height) <= width {
            fits = middle;
        } else {
            too_many = middle;
        }
    }
    short(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(letter: char) -> bool {
        FONT.glyph_id(letter).0 != 0
    }

    #[test]
    fn the_font_has_every_character_of_the_sciences() {
        let needed = "-−·×°±…%ÅµπφθχσλΣΩ⁻¹²³⁰⁴⁵⁶⁷⁸⁹√∞≤≥≈→–žőЖ�";
        for letter in ('!'..='~').chain(needed.chars()) {
            assert!(has(letter), "{letter}");
        }
        assert!(!has('漢'));
    }

    /// Widths of DejaVu Sans, from the font's `hmtx` and `kern` tables: units of 1/2048 em, of
    /// which a line has 2384 (`hhea`: ascent 1901, descent 483).
    #[test]
    fn widths_are_those_of_the_font() {
        let width = |units: f64, height: usize| (units * height as f64 / 2384.0).ceil() as usize;
        assert_eq!(width_of("m", 100), width(1995.0, 100));
        assert_eq!(width_of("i", 100), width(569.0, 100));
        assert_eq!(width_of("mi", 100), width(2564.0, 100));
        // The pair is kerned.
        assert!(width_of("AV", 100) < width_of("A", 100) + width_of("V", 100) - 3);
        assert_eq!(width_of("", 24), 0);
        // Unknown characters have a width too.
        assert_eq!(width_of("漢", 24), width_of("\u{fffd}", 24));
    }

    #[test]
    fn text_is_drawn_within_its_line_with_smooth_edges() {
        let text = "Ågφ 9e-7";
        let (mut full, mut partial) = (0, 0);
        draw(text, TEXT, |column, row, coverage| {
            if coverage > 0.01 {
                assert!((-1..=width_of(text, TEXT) as i32).contains(&column));
                assert!((0..TEXT as i32).contains(&row), "{row}");
            }
            full += usize::from(coverage > 0.95);
            partial += usize::from((0.05..0.95).contains(&coverage));
        });
        assert!(full > 40 && partial > full, "{full} {partial}");
    }

    #[test]
    fn long_texts_are_cut_to_the_width() {
        let text = "intensity of core_shell_cylinder@hardsphere";
        assert_eq!(shortened(text, TEXT, 5000), text);
        let short = shortened(text, TEXT, 200);
        assert!(short.starts_with("intensity") && short.ends_with('…'));
        assert!((180..=200).contains(&width_of(&short, TEXT)));
        assert_eq!(shortened(text, TEXT, 1), "…");
    }
}

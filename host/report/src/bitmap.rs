//! A back end of plotters that draws on a [`Canvas`], so that one drawing serves as SVG and as PNG.

use super::canvas::{Canvas, Colour, WHITE};
use super::font::width_of;
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
};
use std::convert::Infallible;

/// A canvas as a drawing back end of plotters.
pub struct Bitmap<'a> {
    canvas: &'a mut Canvas,
    size: (u32, u32),
}

impl<'a> Bitmap<'a> {
    /// A back end for `canvas`, of the given width and height.
    pub fn new(canvas: &'a mut Canvas, size: (u32, u32)) -> Self {
        Self { canvas, size }
    }
}

/// `colour` blended with white. Below a drawing, the canvas has nothing else but other lines, for
/// which this is close enough.
fn over_white(colour: BackendColor) -> Colour {
    let (r, g, b) = colour.rgb;
    let mixed = [r, g, b]
        .into_iter()
        .zip(WHITE)
        .map(|(foreground, background)| {
            let alpha = colour.alpha.clamp(0.0, 1.0);
            (f64::from(foreground) * alpha + f64::from(background) * (1.0 - alpha)).round() as u8
        });
    let mut pixel = WHITE;
    for (to, from) in pixel.iter_mut().zip(mixed) {
        *to = from;
    }
    pixel
}

/// Height of a line of text, pixels.
fn line_height<S: BackendTextStyle>(style: &S) -> usize {
    style.size().round().max(1.0) as usize
}

impl Bitmap<'_> {
    /// Draws all pixels whose centre is within half the line's width of the line from `begin` to
    /// `end`.
    fn thick_line<S: BackendStyle>(
        &mut self,
        begin: BackendCoord,
        end: BackendCoord,
        style: &S,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        let reach = f64::from(style.stroke_width()) / 2.0;
        let [(x, y), (to_x, to_y)] = [begin, end].map(|(x, y)| (f64::from(x), f64::from(y)));
        let (dx, dy) = (to_x - x, to_y - y);
        let squared = dx * dx + dy * dy;
        let along = |t: f64| t.clamp(0.0, 1.0);
        let (width, height) = (f64::from(self.size.0), f64::from(self.size.1));
        let rows = (y.min(to_y) - reach).max(0.0)..=(y.max(to_y) + reach).min(height);
        for row in rows.start().ceil() as i32..=rows.end().floor() as i32 {
            // The part of the line that can reach this row.
            let row_y = f64::from(row);
            let [a, b] = [-reach, reach].map(|off| match dy {
                0.0 if off < 0.0 => 0.0,
                0.0 => 1.0,
                _ => along((row_y + off - y) / dy),
            });
            let [a, b] = [x + a * dx, x + b * dx];
            let columns = (a.min(b) - reach).max(0.0)..=(a.max(b) + reach).min(width);
            for column in columns.start().ceil() as i32..=columns.end().floor() as i32 {
                let (px, py) = (f64::from(column) - x, row_y - y);
                let t = if squared > 0.0 {
                    along((px * dx + py * dy) / squared)
                } else {
                    0.0
                };
                let (off_x, off_y) = (px - t * dx, py - t * dy);
                if off_x * off_x + off_y * off_y <= reach * reach {
                    self.draw_pixel((column, row), style.color())?;
                }
            }
        }
        Ok(())
    }
}

impl DrawingBackend for Bitmap<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.size
    }

    fn ensure_prepared(&mut self) -> Result<(), DrawingErrorKind<Infallible>> {
        Ok(())
    }

    fn present(&mut self) -> Result<(), DrawingErrorKind<Infallible>> {
        Ok(())
    }

    fn draw_pixel(
        &mut self,
        point: BackendCoord,
        colour: BackendColor,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        let pixel = usize::try_from(point.0)
            .ok()
            .zip(usize::try_from(point.1).ok());
        if let Some((column, row)) = pixel
            && colour.alpha > 0.0
        {
            self.canvas.set(column, row, over_white(colour));
        }
        Ok(())
    }

    /// Draws lines wider than a pixel segment by segment: plotters' own outline of them has holes
    /// where they are steep.
    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        let mut begin = None;
        for end in path {
            if let Some(begin) = begin {
                if style.stroke_width() > 1 {
                    self.thick_line(begin, end, style)?;
                } else {
                    self.draw_line(begin, end, style)?;
                }
            }
            begin = Some(end);
        }
        Ok(())
    }

    /// Draws horizontal text in the pictures' font, with lines as high as the style's size.
    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        at: BackendCoord,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        let line = line_height(style);
        let (width, height) = (width_of(text, line) as i32, line as i32);
        let anchor = style.anchor();
        let left = match anchor.h_pos {
            HPos::Left => at.0,
            HPos::Center => at.0 - width / 2,
            HPos::Right => at.0 - width,
        };
        let top = match anchor.v_pos {
            VPos::Top => at.1,
            VPos::Center => at.1 - height / 2,
            VPos::Bottom => at.1 - height,
        };
        let corner = [left, top].map(|v| usize::try_from(v).unwrap_or(0));
        self.canvas.text_of_height(corner, line, text);
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        style: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        let line = line_height(style);
        Ok((width_of(text, line) as u32, line as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::png::Rgb;
    use plotters::style::{BLACK, ShapeStyle};

    #[test]
    fn transparent_colours_are_blended_with_white() {
        let half = |alpha| BackendColor {
            alpha,
            rgb: (0, 100, 255),
        };
        assert_eq!(over_white(half(1.0)), [0, 100, 255]);
        assert_eq!(over_white(half(0.0)), WHITE);
        assert_eq!(over_white(half(0.5)), [128, 178, 255]);
    }

    /// A line without holes has a dark pixel at each step along it, and about as many pixels as its
    /// length times its width.
    #[test]
    fn thick_lines_have_no_holes_however_steep() {
        const SIDE: i32 = 60;
        let ink = ShapeStyle::from(&BLACK).stroke_width(2);
        for (dx, dy) in [
            (0, 50),
            (1, 50),
            (-3, 50),
            (9, 50),
            (50, 50),
            (50, 3),
            (50, 0),
            (0, 0),
        ] {
            let mut canvas = Canvas::new(SIDE as usize, SIDE as usize);
            let begin = if dx < 0 { (40, 5) } else { (5, 5) };
            let end = (begin.0 + dx, begin.1 + dy);
            let path = [begin, end];
            Bitmap::new(&mut canvas, (SIDE as u32, SIDE as u32))
                .draw_path(path, &ink)
                .unwrap();
            let png = canvas.png().unwrap();
            let image = Rgb::read(&png);
            let dark = |x: i32, y: i32| image.at(x as u32, y as u32) != WHITE;
            let steps = dx.abs().max(dy.abs()).max(1);
            for step in 0..=steps {
                let at = |from: i32, by: i32| from + (by * step + by.signum() * steps / 2) / steps;
                let (x, y) = (at(begin.0, dx), at(begin.1, dy));
                assert!(dark(x, y), "{dx} {dy}: {x} {y}");
            }
            let count = (0..SIDE * SIDE)
                .filter(|i| dark(i % SIDE, i / SIDE))
                .count() as f64;
            let length = f64::from(dx).hypot(f64::from(dy));
            // Two pixels wide up to the grid: three where the line runs along a row or column.
            assert!(
                (1.9 * length..=3.0 * length + 6.0).contains(&count),
                "{dx} {dy}: {count}"
            );
        }
    }

    #[test]
    fn pixels_outside_of_the_canvas_are_ignored() {
        let mut canvas = Canvas::new(10, 10);
        let before = canvas.png().unwrap();
        let mut bitmap = Bitmap::new(&mut canvas, (10, 10));
        let ink = BackendColor {
            alpha: 1.0,
            rgb: (0, 0, 0),
        };
        for point in [(-1, 3), (3, -1), (10, 3), (3, 10), (i32::MAX, i32::MIN)] {
            bitmap.draw_pixel(point, ink).unwrap();
        }
        assert_eq!(canvas.png().unwrap(), before);
    }
}

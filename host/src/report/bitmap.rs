//! What plotters draws, as pixels: so that one drawing is both an SVG and a PNG.

use super::canvas::{Canvas, Colour, TEXT, WHITE, width_of};
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendTextStyle, DrawingBackend, DrawingErrorKind,
};
use std::convert::Infallible;

/// A canvas under plotters' hand.
pub(super) struct Bitmap<'a> {
    canvas: &'a mut Canvas,
    size: (u32, u32),
}

impl<'a> Bitmap<'a> {
    /// On a canvas of that width and height.
    pub(super) fn new(canvas: &'a mut Canvas, size: (u32, u32)) -> Self {
        Self { canvas, size }
    }
}

/// `colour` over white: the canvas has nothing else below a drawing but other lines, for which this is near enough.
fn over_white(colour: BackendColor) -> Colour {
    let (r, g, b) = colour.rgb;
    let mixed = [r, g, b].into_iter().zip(WHITE).map(|(ink, paper)| {
        let alpha = colour.alpha.clamp(0.0, 1.0);
        (f64::from(ink) * alpha + f64::from(paper) * (1.0 - alpha)).round() as u8
    });
    let mut pixel = WHITE;
    for (to, from) in pixel.iter_mut().zip(mixed) {
        *to = from;
    }
    pixel
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
        let place = usize::try_from(point.0)
            .ok()
            .zip(usize::try_from(point.1).ok());
        if let Some((column, row)) = place
            && colour.alpha > 0.0
        {
            self.canvas.set(column, row, over_white(colour));
        }
        Ok(())
    }

    /// Upright, in the canvas's own letters.
    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        at: BackendCoord,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        let (width, height) = (width_of(text) as i32, TEXT as i32);
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
        self.canvas.text(corner, text);
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        _style: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        Ok((width_of(text) as u32, TEXT as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transparent_ink_is_mixed_with_white() {
        let half = |alpha| BackendColor {
            alpha,
            rgb: (0, 100, 255),
        };
        assert_eq!(over_white(half(1.0)), [0, 100, 255]);
        assert_eq!(over_white(half(0.0)), WHITE);
        assert_eq!(over_white(half(0.5)), [128, 178, 255]);
    }

    #[test]
    fn what_lies_outside_is_left_out() {
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

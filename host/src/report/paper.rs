//! A [`Canvas`] as something that plotters draws on.

use super::canvas::{Canvas, TEXT, width_of};
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendTextStyle, DrawingBackend, DrawingErrorKind,
};
use std::convert::Infallible;

/// Text is drawn with the canvas' own letters, whatever font is asked for: no font has to be found.
pub(super) struct Paper<'c> {
    canvas: &'c mut Canvas,
}

impl<'c> Paper<'c> {
    pub(super) fn new(canvas: &'c mut Canvas) -> Self {
        Self { canvas }
    }

    fn blend(&mut self, (x, y): BackendCoord, colour: BackendColor) {
        if let (Ok(column), Ok(row)) = (usize::try_from(x), usize::try_from(y)) {
            let (r, g, b) = colour.rgb;
            self.canvas.blend(column, row, [r, g, b], colour.alpha);
        }
    }
}

impl DrawingBackend for Paper<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.canvas.size()
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
        self.blend(point, colour);
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        at: BackendCoord,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        let (width, height) = (width_of(text) as i32, TEXT as i32);
        let dx = match style.anchor().h_pos {
            HPos::Left => 0,
            HPos::Right => -width,
            HPos::Center => -width / 2,
        };
        let dy = match style.anchor().v_pos {
            VPos::Top => 0,
            VPos::Center => -height / 2,
            VPos::Bottom => -height,
        };
        let (turn, colour) = (style.transform(), style.color());
        for (x, y) in super::canvas::dots(text) {
            let (x, y) = turn.transform(x as i32 + dx, y as i32 + dy);
            self.blend((at.0 + x, at.1 + y), colour);
        }
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
    use super::super::canvas::WHITE;
    use super::*;
    use plotters::prelude::*;

    #[test]
    fn text_that_is_turned_takes_the_room_of_its_length_upwards() {
        let mut canvas = Canvas::new(100, 100);
        {
            let area = Paper::new(&mut canvas).into_drawing_area();
            let style = ("sans-serif", 16).into_font().into_text_style(&area);
            let turned = style.transform(FontTransform::Rotate270);
            area.draw_text("HHHH", &turned, (40, 90)).unwrap();
        }
        let image = image::load_from_memory(&canvas.png().unwrap())
            .unwrap()
            .to_rgb8();
        let inked: Vec<(u32, u32)> = image
            .enumerate_pixels()
            .filter(|(_, _, pixel)| pixel.0 != WHITE)
            .map(|(x, y, _)| (x, y))
            .collect();
        let rows = inked.iter().map(|p| p.1);
        assert!(rows.clone().max().unwrap() <= 90 && rows.min().unwrap() < 40);
        assert!(inked.iter().all(|p| (40..=56).contains(&p.0)));
    }
}

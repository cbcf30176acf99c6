//! The picture of a real field with a colour scale symmetric about zero.

use ndarray::{Array2, ArrayView2, s};
use num_complex::Complex;
use rayon::prelude::*;
use warpstride_core::text::significant;
use warpstride_report::canvas::{Canvas, TEXT, width_of};
use warpstride_report::colours::Map;
use warpstride_report::picture::{
    FOOTER, GAP, LEAST_WIDTH, Picture, PictureError, colour_bar, map_ends,
};
use warpstride_report::raster::Raster;

/// Approximate length of the longer side of the picture in pixels: small fields are enlarged to the
/// first value, and large ones are averaged down to the second.
const SIDE: [usize; 2] = [640, 1024];

/// Draws a field (row, column): blue below zero, white at zero, red above, with the same limit on
/// both sides.
///
/// # Errors
/// [`PictureError`]: the field is empty.
pub fn field_picture<T: Copy + Into<f64> + Sync>(
    title: &str,
    field: ArrayView2<'_, T>,
) -> Result<Picture, PictureError> {
    if field.is_empty() {
        return Err(PictureError::Empty {
            what: "field",
            shape: field.shape().to_vec(),
        });
    }
    let small = averaged(field, SIDE[1]);
    let finite = small.iter().map(|v| v.re.abs()).filter(|v| v.is_finite());
    let largest = finite.fold(0.0, f64::max);
    let limit = if largest > 0.0 { largest } else { 1.0 };
    let map = Map::Diverging { limit };
    let raster = Raster::new(small.view(), [1.0; 2], SIDE);
    let [height, width] = raster.size;
    let top = 2 * GAP + TEXT;
    let mut canvas = Canvas::new((width + 2 * GAP).max(LEAST_WIDTH), top + height + FOOTER);
    canvas.text([GAP, GAP], title);
    raster.draw_framed(&mut canvas, [GAP, top], |v| map.colour(v.re));
    let ends = map_ends(map);
    let bar = GAP + width_of(&ends[0]) / 2;
    colour_bar(&mut canvas, [bar, top + height + GAP], map, &ends);
    let (rows, columns) = field.dim();
    Ok(Picture {
        png: canvas.png()?,
        caption: format!(
            "{title}: {rows} rows of {columns} values, blue below zero and red above, to {} on both sides.",
            significant(limit, 3)
        ),
    })
}

/// Means over equal blocks, so that neither side of the result is much longer than `side`.
fn averaged<T: Copy + Into<f64> + Sync>(
    field: ArrayView2<'_, T>,
    side: usize,
) -> Array2<Complex<f64>> {
    let (rows, columns) = field.dim();
    let block = rows.max(columns).div_ceil(side);
    let shape = (rows.div_ceil(block), columns.div_ceil(block));
    let means: Vec<Complex<f64>> = (0..shape.0 * shape.1)
        .into_par_iter()
        .map(|index| {
            let [row, column] = [index / shape.1 * block, index % shape.1 * block];
            let part = field.slice(s![
                row..(row + block).min(rows),
                column..(column + block).min(columns)
            ]);
            let sum: f64 = part.iter().map(|v| (*v).into()).sum();
            Complex::from(sum / part.len() as f64)
        })
        .collect();
    Array2::from_shape_fn(shape, |(row, column)| means[row * shape.1 + column])
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpstride_report::png::Rgb;

    #[test]
    fn signs_have_their_colours_and_blocks_their_mean() {
        let field = Array2::from_shape_fn((3000, 2000), |(row, column)| {
            let sign = if column < 1000 { -2.0_f32 } else { 2.0 };
            if row % 2 == 0 { 2.0 * sign } else { 0.0 }
        });
        // Blocks of 3 × 3, which begin alternately with an even and an odd row.
        let means = averaged(field.view(), 1000);
        assert_eq!(
            (means[[6, 3]].re, means[[7, 3]].re),
            (-8.0 / 3.0, -4.0 / 3.0)
        );
        let picture = field_picture("Field", field.view()).unwrap();
        let image = Rgb::read(&picture.png);
        let at = |x: u32| image.at(x, 300);
        let [left, right] = [at(60), at(600)];
        assert!(left[2] > left[0] + 50 && right[0] > right[2] + 50);
        assert!(picture.caption.contains("3000 rows of 2000 values"));
    }

    #[test]
    fn a_field_of_zeros_is_drawn_and_an_empty_field_is_an_error() {
        let zeros = Array2::<f64>::zeros((3, 3));
        assert!(field_picture("Field", zeros.view()).is_ok());
        let empty = Array2::<f64>::zeros((0, 3));
        assert!(field_picture("Field", empty.view()).is_err());
    }
}

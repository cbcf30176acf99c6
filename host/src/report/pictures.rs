//! Pictures of the object and the probe, as a beamline scientist looks at them.

use super::canvas::{Canvas, INK, TEXT, width_of};
use super::colours::{Map, hue};
use super::numbers::{length, round_below, significant};
use super::raster::Raster;
use super::write_whole;
use crate::data::Reconstruction;
use crate::io::IoError;
use crate::ptycho::quality::{LitRegion, Weighted, bounding_box, flatten};
use ndarray::{Array2, ArrayView2, Axis, s};
use num_complex::Complex;
use std::f64::consts::PI;
use std::ops::Range;
use std::path::Path;

/// A finished PNG.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// The file's bytes.
    pub png: Vec<u8>,
    /// What it shows, in one or two sentences: colours, limits, size.
    pub caption: String,
}

impl Picture {
    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// [`IoError::Write`].
    pub fn write(&self, path: &Path) -> Result<(), IoError> {
        write_whole(path, &self.png)
    }
}

/// All pictures of a reconstruction.
#[derive(Debug, Clone, PartialEq)]
pub struct Pictures {
    /// Modulus of the object, grey.
    pub modulus: Picture,
    /// Phase of the object without its ramp, on a circle of hues over −π…π.
    pub phase: Picture,
    /// The same on a sequential map between its own limits, where they span less than π.
    pub phase_stretched: Option<Picture>,
    /// Probe modes: brightness is modulus, hue is phase.
    pub probe: Picture,
}

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// Nothing to draw.
    #[error("the {what} has shape {shape:?}: there is nothing to draw")]
    Empty {
        /// `object`, `probe`, `field` or `image`.
        what: &'static str,
        /// Its shape.
        shape: Vec<usize>,
    },
    /// More pixels than a picture has.
    #[error(
        "a picture of {width} × {height} pixels (columns × rows) is too large: leave out the picture and the report, or take -o with the image alone"
    )]
    TooLarge {
        /// Columns.
        width: usize,
        /// Rows.
        height: usize,
    },
    /// The encoder.
    #[error("the picture could not be made into a PNG: {0}")]
    Encode(#[from] image::ImageError),
}

/// Grey and colour scales reach over this middle part of the lit values: single bad pixels do not
/// count.
const LIMITS: [f64; 2] = [0.005, 0.995];

/// Phases that span less than this are drawn a second time, stretched over a sequential map; on the
/// circle of hues they look much alike.
const STRETCHED_BELOW: f64 = PI;

/// Share of the lit region's extent that is shown all round it.
const MARGIN: f64 = 0.06;

/// The longer side of an object's picture: small objects are enlarged to the first, large ones
/// averaged down to the second (both pixels, roughly).
const OBJECT_SIDE: [usize; 2] = [640, 1600];
/// The same for one probe mode.
const PROBE_SIDE: [usize; 2] = [288, 400];
/// Modes side by side.
const TILES: usize = 4;
/// Modes drawn; the others carry next to no power.
const MODES: usize = 16;

/// White space between parts of a picture, pixels.
pub(super) const GAP: usize = 12;
/// Colour bar, pixels.
pub(super) const BAR: [usize; 2] = [200, 14];
/// Least width of a picture, for what stands below it.
pub(super) const LEAST_WIDTH: usize = 620;

impl Pictures {
    /// Draws `of`.
    ///
    /// # Errors
    /// [`PictureError`] for an object or probe without pixels.
    pub fn new(of: &Reconstruction) -> Result<Self, PictureError> {
        let region = LitRegion::default();
        let mut weight = region.weight(&of.fluence);
        if weight.dim() != of.object.dim() || bounding_box(&weight).is_none() {
            weight = Array2::ones(of.object.dim());
        }
        let lit = bounding_box(&weight).ok_or_else(|| PictureError::Empty {
            what: "object",
            shape: of.object.shape().to_vec(),
        })?;
        let flat = flatten(Weighted {
            values: &of.object,
            weight: &weight,
        });
        let shape: [usize; 2] = of.object.dim().into();
        let [rows, columns] = [0, 1].map(|axis| widened(&lit[axis], shape[axis]));
        let shown = flat.object.slice(s![rows.clone(), columns.clone()]);
        let weight = weight.slice(s![rows, columns]);
        Ok(Self {
            modulus: modulus(shown, weight, of.pixel)?,
            phase: phase(shown, weight, of.pixel)?,
            phase_stretched: phase_stretched(shown, weight, of.pixel)?,
            probe: probe(of)?,
        })
    }
}

fn modulus(
    object: ArrayView2<'_, Complex<f64>>,
    weight: ArrayView2<'_, f64>,
    pixel: [f64; 2],
) -> Result<Picture, PictureError> {
    let [low, high] = limits(object, weight, |v| v.norm());
    let map = Map::Grey { low, high };
    let raster = Raster::new(object, pixel, OBJECT_SIDE);
    let png = framed("Modulus", &raster, map, |v| map.colour(v.norm()))?;
    let caption = format!(
        "Modulus of the object's transmission. Black is {} or less, white {} or more (the middle 99 % of the lit region). {}",
        significant(low, 3),
        significant(high, 3),
        raster.extent()
    );
    Ok(Picture { png, caption })
}

fn phase(
    object: ArrayView2<'_, Complex<f64>>,
    weight: ArrayView2<'_, f64>,
    pixel: [f64; 2],
) -> Result<Picture, PictureError> {
    let [low, high] = limits(object, weight, |v| v.arg());
    let raster = Raster::new(object, pixel, OBJECT_SIDE);
    let png = framed("Phase", &raster, Map::Cyclic, |v| {
        Map::Cyclic.colour(v.arg())
    })?;
    let caption = format!(
        "Phase of the object's transmission, its ramp taken off and its median set to 0. The colours are a circle from -π to π; the middle 99 % of the lit region spans {} rad. {}",
        significant(high - low, 3),
        raster.extent()
    );
    Ok(Picture { png, caption })
}

fn phase_stretched(
    object: ArrayView2<'_, Complex<f64>>,
    weight: ArrayView2<'_, f64>,
    pixel: [f64; 2],
) -> Result<Option<Picture>, PictureError> {
    let [low, high] = limits(object, weight, |v| v.arg());
    if high - low >= STRETCHED_BELOW {
        return Ok(None);
    }
    let raster = Raster::new(object, pixel, OBJECT_SIDE);
    let map = Map::Sequential { low, high };
    let png = framed("Phase, stretched", &raster, map, |v| map.colour(v.arg()))?;
    let caption = format!(
        "The same phase, its colours stretched over {} to {} rad, the middle 99 % of the lit region. {}",
        significant(low, 3),
        significant(high, 3),
        raster.extent()
    );
    Ok(Some(Picture { png, caption }))
}

fn probe(of: &Reconstruction) -> Result<Picture, PictureError> {
    if of.probe.is_empty() {
        return Err(PictureError::Empty {
            what: "probe",
            shape: of.probe.shape().to_vec(),
        });
    }
    let modes: Vec<(Raster, f64)> = of
        .probe
        .axis_iter(Axis(0))
        .take(MODES)
        .map(|mode| {
            let raster = Raster::new(mode, of.pixel, PROBE_SIDE);
            let brightest = raster.values.iter().map(|v| v.norm());
            let brightest = brightest.filter(|v| v.is_finite()).fold(0.0, f64::max);
            (raster, brightest)
        })
        .collect();
    let [height, width] = modes[0].0.size;
    let across = modes.len().min(TILES);
    let down = modes.len().div_ceil(across);
    let tile = [width + GAP, height + TEXT + 2 * GAP];
    let below = [GAP, GAP + TEXT + down * tile[1]];
    let mut canvas = Canvas::new(
        (GAP + across * tile[0]).max(LEAST_WIDTH),
        below[1] + footer_height(),
    );
    canvas.text([GAP, GAP], "Probe");
    for (i, (raster, brightest)) in modes.iter().enumerate() {
        let corner = [
            GAP + i % across * tile[0],
            2 * GAP + TEXT + i / across * tile[1],
        ];
        raster.draw_framed(&mut canvas, corner, |v| {
            hue(
                v.arg(),
                if *brightest > 0.0 {
                    v.norm() / brightest
                } else {
                    0.0
                },
            )
        });
        let power = of.mode_power.get(i).map_or(String::new(), |p| {
            format!("{}: {} %", i + 1, significant(100.0 * p, 3))
        });
        canvas.text([corner[0], corner[1] + height + GAP / 2], &power);
    }
    footer(&mut canvas, below, &modes[0].0, Map::Cyclic);
    let left_out = match of.probe.len_of(Axis(0)) {
        all if all > MODES => format!(" The {MODES} strongest of {all} modes are shown."),
        _ => String::new(),
    };
    let caption = format!(
        "Probe modes, strongest first, with their share of the power. Brightness is the modulus (each mode to its own maximum), hue the phase.{left_out} {}",
        modes[0].0.extent()
    );
    Ok(Picture {
        png: canvas.png()?,
        caption,
    })
}

/// Limits of `value` over the lit pixels, without the extremes; always low < high.
fn limits(
    object: ArrayView2<'_, Complex<f64>>,
    weight: ArrayView2<'_, f64>,
    value: impl Fn(&Complex<f64>) -> f64,
) -> [f64; 2] {
    let lit = object.iter().zip(weight).filter(|(_, w)| **w > 0.0);
    let mut values: Vec<f64> = lit
        .map(|(v, _)| value(v))
        .filter(|v| v.is_finite())
        .collect();
    values.sort_unstable_by(f64::total_cmp);
    let Some(last) = values.len().checked_sub(1) else {
        return [0.0, 1.0];
    };
    let [low, high] = LIMITS.map(|share| values[(share * last as f64).round() as usize]);
    // A flat object would otherwise be all noise or divide by nothing.
    let least = 1e-3 * low.abs().max(high.abs()).max(1e-3);
    // What is next to nothing against the other end is rounding, not a number to read.
    let [low, high] = [low, high].map(|v| {
        if v.abs() < 1e-6 * (high - low) {
            0.0
        } else {
            v
        }
    });
    let missing = (least - (high - low)).max(0.0) / 2.0;
    [low - missing, high + missing]
}

fn widened(lit: &Range<usize>, length: usize) -> Range<usize> {
    let margin = (MARGIN * lit.len() as f64).ceil() as usize;
    lit.start.saturating_sub(margin)..(lit.end + margin).min(length)
}

/// Title, picture, scale bar and colour bar.
fn framed(
    title: &str,
    raster: &Raster,
    map: Map,
    colour: impl Fn(&Complex<f64>) -> [u8; 3],
) -> Result<Vec<u8>, PictureError> {
    let [height, width] = raster.size;
    let top = 2 * GAP + TEXT;
    let mut canvas = Canvas::new(
        (width + 2 * GAP).max(LEAST_WIDTH),
        top + height + footer_height(),
    );
    canvas.text([GAP, GAP], title);
    raster.draw_framed(&mut canvas, [GAP, top], colour);
    footer(&mut canvas, [GAP, top + height], raster, map);
    Ok(canvas.png()?)
}

fn footer_height() -> usize {
    GAP + BAR[1] + GAP / 2 + TEXT + GAP
}

/// Scale bar on the left, colour bar with its numbers beside it.
fn footer(canvas: &mut Canvas, at: [usize; 2], raster: &Raster, map: Map) {
    let (row, text_row) = (at[1] + GAP, at[1] + GAP + BAR[1] + GAP / 2);
    let display_pixel = raster.metres[1] / raster.size[1] as f64;
    let reach = (raster.size[1] as f64 * 0.3).clamp(16.0, BAR[0] as f64);
    let bar = round_below(reach * display_pixel);
    let bar_pixels = ((bar / display_pixel).round() as usize).max(1);
    canvas.fill([at[0], row + BAR[1] / 2 - 2], [bar_pixels, 5], INK);
    for end in [at[0], at[0] + bar_pixels - 2] {
        canvas.fill([end, row], [2, BAR[1]], INK);
    }
    canvas.text([at[0], text_row], &length(bar, 1));

    let [left, _] = map_ends(map);
    let start = at[0] + BAR[0] + 3 * GAP + width_of(&left) / 2;
    colour_bar(canvas, [start, row], map);
}

/// Numbers at the ends of a colour bar.
fn map_ends(map: Map) -> [String; 2] {
    let [low, high] = map.limits().map(|v| significant(v, 3));
    match map {
        Map::Cyclic => ["-π".to_owned(), "π rad".to_owned()],
        Map::Sequential { .. } => [low, format!("{high} rad")],
        Map::Grey { .. } | Map::Diverging { .. } => [low, high],
    }
}

/// A colour bar with its left upper corner at `at` (column, row), its numbers below its ends.
pub(super) fn colour_bar(canvas: &mut Canvas, at: [usize; 2], map: Map) {
    let [start, row] = at;
    let text_row = row + BAR[1] + GAP / 2;
    let [low, high] = map.limits();
    for x in 0..BAR[0] {
        let value = low + (high - low) * (x as f64 + 0.5) / BAR[0] as f64;
        canvas.fill([start + x, row], [1, BAR[1]], map.colour(value));
    }
    for x in [start - 1, start + BAR[0]] {
        canvas.fill([x, row], [1, BAR[1] + 3], INK);
    }
    let [left, right] = map_ends(map);
    let number = right.split(' ').next().unwrap_or_default();
    canvas.text([start.saturating_sub(width_of(&left) / 2), text_row], &left);
    canvas.text([start + BAR[0] - width_of(number) / 2, text_row], &right);
}

#[cfg(test)]
mod tests {
    use super::super::canvas::WHITE;
    use super::super::sample;
    use super::*;
    use image::RgbImage;

    fn decoded(picture: &Picture) -> RgbImage {
        image::load_from_memory(&picture.png).unwrap().to_rgb8()
    }

    /// Colour at a share of the drawn object's width and height.
    fn at(picture: &RgbImage, of: &Reconstruction, share: [f64; 2]) -> [u8; 3] {
        // The sample's lit region, less the erosion, with its margin: 32 × 52 pixels lit.
        let shown = [36.0, 60.0];
        assert_eq!(of.object.dim(), (60, 80));
        let zoom = (OBJECT_SIDE[0] as f64 / shown[1]).floor();
        let column = GAP as f64 + share[1] * shown[1] * zoom;
        let row = (2 * GAP + TEXT) as f64 + share[0] * shown[0] * zoom;
        picture.get_pixel(column as u32, row as u32).0
    }

    #[test]
    fn vacuum_is_bright_and_the_disc_dark_whatever_the_ramp() {
        let mut of = sample::reconstruction();
        for ((r, c), v) in of.object.indexed_iter_mut() {
            *v *= Complex::cis(0.7 + 0.05 * r as f64 - 0.11 * c as f64);
        }
        let pictures = Pictures::new(&of).unwrap();
        let modulus = decoded(&pictures.modulus);
        assert_eq!(at(&modulus, &of, [0.5, 0.5]), [0; 3]);
        assert_eq!(at(&modulus, &of, [0.05, 0.05]), WHITE);
        // One radian is stretched as well: the ends of the map are disc and vacuum.
        let stretched = pictures.phase_stretched.unwrap();
        let phase = decoded(&stretched);
        let map = Map::Sequential {
            low: -1.0,
            high: 0.0,
        };
        assert_eq!(at(&phase, &of, [0.5, 0.5]), map.colour(-1.0));
        assert_eq!(at(&phase, &of, [0.05, 0.05]), map.colour(0.0));
        assert!(stretched.caption.contains("stretched over -1.00 to 0 rad"));
    }

    #[test]
    fn phases_all_round_take_the_circle_of_hues() {
        let mut of = sample::reconstruction();
        for ((r, c), v) in of.object.indexed_iter_mut() {
            let inside = (r as f64 - 30.0).hypot(c as f64 - 40.0) < 12.0;
            *v = Complex::cis(if inside { 3.0 } else { 0.0 });
            if r < 25 && c < 20 {
                *v = Complex::cis(-2.5);
            }
        }
        let pictures = Pictures::new(&of).unwrap();
        let phase = decoded(&pictures.phase);
        assert_eq!(at(&phase, &of, [0.5, 0.5]), Map::Cyclic.colour(3.0));
        assert!(pictures.phase.caption.contains("circle"));
        assert_eq!(pictures.phase_stretched, None);
    }

    #[test]
    fn broken_values_and_a_missing_fluence_are_still_drawn() {
        let mut of = sample::reconstruction();
        of.object[[30, 40]] = Complex::new(f64::NAN, 1.0);
        of.probe.fill(Complex::default());
        let pictures = Pictures::new(&of).unwrap();
        assert_eq!(
            at(&decoded(&pictures.modulus), &of, [0.5, 0.5]),
            super::super::colours::NOT_FINITE
        );
        of.fluence.fill(0.0);
        assert!(Pictures::new(&of).is_ok());
        of.fluence = Array2::zeros((3, 3));
        assert!(Pictures::new(&of).is_ok());
        of.object = Array2::zeros((0, 5));
        let refused = Pictures::new(&of);
        assert!(matches!(
            refused,
            Err(PictureError::Empty { what: "object", .. })
        ));
    }

    #[test]
    fn every_mode_has_its_tile() {
        let of = sample::reconstruction();
        let probe = decoded(&Pictures::new(&of).unwrap().probe);
        let tile = PROBE_SIDE[0] as u32 + GAP as u32;
        let (row, first) = ((2 * GAP + TEXT) as u32 + 144, GAP as u32 + 144);
        // The first mode is brightest in its middle, where the second has its node.
        let bright = |column: u32| {
            probe
                .get_pixel(column, row)
                .0
                .iter()
                .copied()
                .max()
                .unwrap()
        };
        // The hues' brightest channel is 191 or more.
        assert!(bright(first) > 180 && bright(first + tile) < 20);
    }
}

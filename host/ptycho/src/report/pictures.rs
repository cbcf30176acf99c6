//! Pictures of the object and the probe.

use super::tiles::{footer, tiled};
use crate::data::Reconstruction;
use crate::quality::{LitRegion, WeightedImage, bounding_box, flatten};
use ndarray::{Array2, ArrayView2, Axis, s};
use num_complex::Complex;
use std::f64::consts::PI;
use std::ops::Range;
use warpstride_core::text::{length, significant};
use warpstride_report::canvas::{Canvas, Colour, TEXT};
use warpstride_report::colours::Map;
use warpstride_report::picture::{FOOTER, GAP, LEAST_WIDTH, Picture, PictureError};
use warpstride_report::raster::Raster;

/// All pictures of a reconstruction.
#[derive(Debug, Clone, PartialEq)]
pub struct Pictures {
    /// Modulus of the object, grey.
    pub modulus: Picture,
    /// Phase of the object without its ramp, on a cyclic colour map over −π…π.
    pub phase: Picture,
    /// The same on a sequential map between its own limits, if they span less than π.
    pub phase_stretched: Option<Picture>,
    /// Phase of each slice of a thick specimen, in the order of the beam; none for a thin one.
    pub slices: Vec<Picture>,
    /// Probe modes: brightness is modulus, hue is phase.
    pub probe: Picture,
    /// Variations of the first probe mode in the same way, if there are any.
    pub variations: Option<Picture>,
}

/// Quantiles of the well-lit values between which grey and colour scales extend, so that single bad
/// pixels have no effect.
const LIMITS: [f64; 2] = [0.01, 0.99];

/// The region whose values determine the scales. Towards the rim of a scan an object is noisy long
/// before its fluence falls below that of [`LitRegion::default`].
const WELL_LIT: LitRegion = LitRegion {
    fraction: 0.5,
    erosion: 4,
};

/// Phase range below which the phase is also drawn stretched over a sequential map, as it is hardly
/// visible on the cyclic map.
const STRETCHED_BELOW: f64 = PI;

/// Margin shown around the lit region, as a fraction of its extent.
const MARGIN: f64 = 0.06;

/// Approximate length of the longer side of an object's picture, pixels: smaller objects are
/// enlarged to the first value, larger ones averaged down to the second.
const OBJECT_SIDE: [usize; 2] = [640, 1600];
/// Largest number of slices drawn.
const MOST_SLICES: usize = 16;
/// Largest number of modes drawn; others have negligible power.
const MODES: usize = 16;

impl Pictures {
    /// Draws all pictures of `of`.
    ///
    /// # Errors
    /// Returns [`PictureError`] for an object or a probe without pixels.
    pub fn new(of: &Reconstruction) -> Result<Self, PictureError> {
        let weight = |region: LitRegion| {
            let weight = region.weight(&of.fluence);
            let usable = weight.dim() == of.object.dim() && bounding_box(&weight).is_some();
            if usable {
                weight
            } else {
                Array2::ones(of.object.dim())
            }
        };
        let (well_lit, weight) = (weight(WELL_LIT), weight(LitRegion::default()));
        let lit = bounding_box(&weight).ok_or_else(|| PictureError::Empty {
            what: "object",
            shape: of.object.shape().to_vec(),
        })?;
        let flat = flatten(WeightedImage {
            values: &of.object,
            weight: &weight,
        });
        let shape: [usize; 2] = of.object.dim().into();
        let [rows, columns] = [0, 1].map(|axis| widened(&lit[axis], shape[axis]));
        let lit = lit.clone();
        let shown = s![rows, columns];
        let object = Shown {
            values: flat.object.slice(shown),
            well_lit: well_lit.slice(shown),
            pixel: of.pixel,
        };
        Ok(Self {
            modulus: modulus(&object)?,
            phase: phase(&object)?,
            phase_stretched: phase_stretched(&object)?,
            slices: slices(of, &weight, &well_lit, lit)?,
            probe: probe(of)?,
            variations: variations(of)?,
        })
    }
}

/// The phases of the first slices of a thick specimen.
fn slices(
    of: &Reconstruction,
    weight: &Array2<f64>,
    well_lit: &Array2<f64>,
    lit: [Range<usize>; 2],
) -> Result<Vec<Picture>, PictureError> {
    let Some(stack) = &of.parts.slices else {
        return Ok(Vec::new());
    };
    let shape: [usize; 2] = of.object.dim().into();
    let [rows, columns] = [0, 1].map(|axis| widened(&lit[axis], shape[axis]));
    let shown = s![rows, columns];
    let count = stack.slices.dim().0;
    let one = |(n, slice): (usize, ArrayView2<'_, Complex<f64>>)| {
        let values = slice.to_owned();
        let flat = flatten(WeightedImage {
            values: &values,
            weight,
        });
        let object = Shown {
            values: flat.object.slice(shown),
            well_lit: well_lit.slice(shown),
            pixel: of.pixel,
        };
        let [low, high] = limits(&object, |v| v.arg());
        let map = Map::Sequential { low, high };
        let title = format!("Phase of slice {} of {count}", n + 1);
        let (png, extent) = framed(&title, &object, map, |v| map.colour(v.arg()))?;
        let place: f64 = stack.distances.iter().take(n).sum();
        let behind = match n {
            0 => "where the beam enters".to_owned(),
            _ => format!("{} behind the first", length(place, 4)),
        };
        let caption = format!(
            "Phase of slice {} of {count}, {behind}, with its ramp removed; the colours extend over {} to {} rad, the middle 98 % of the well-lit region. {extent}",
            n + 1,
            significant(low, 3),
            significant(high, 3),
        );
        Ok(Picture { png, caption })
    };
    stack
        .slices
        .outer_iter()
        .take(MOST_SLICES)
        .enumerate()
        .map(one)
        .collect()
}

/// The part of the object that is drawn (row, column).
struct Shown<'a> {
    values: ArrayView2<'a, Complex<f64>>,
    /// 1 on the pixels that determine the scales, 0 elsewhere.
    well_lit: ArrayView2<'a, f64>,
    /// Pixel (row, column), m.
    pixel: [f64; 2],
}

fn modulus(object: &Shown<'_>) -> Result<Picture, PictureError> {
    let [low, high] = limits(object, |v| v.norm());
    let map = Map::Grey { low, high };
    let (png, extent) = framed("Modulus", object, map, |v| map.colour(v.norm()))?;
    let caption = format!(
        "Modulus of the object's transmission. Black is {} or less, white {} or more (the middle 98 % of the well-lit region). {extent}",
        significant(low, 3),
        significant(high, 3),
    );
    Ok(Picture { png, caption })
}

fn phase(object: &Shown<'_>) -> Result<Picture, PictureError> {
    let [low, high] = limits(object, |v| v.arg());
    let (png, extent) = framed("Phase", object, Map::Cyclic, |v| {
        Map::Cyclic.colour(v.arg())
    })?;
    let caption = format!(
        "Phase of the object's transmission, with its ramp removed and its median set to 0. The colours form a circle from -π to π; the middle 98 % of the well-lit region spans {} rad. {extent}",
        significant(high - low, 3),
    );
    Ok(Picture { png, caption })
}

fn phase_stretched(object: &Shown<'_>) -> Result<Option<Picture>, PictureError> {
    let [low, high] = limits(object, |v| v.arg());
    if high - low >= STRETCHED_BELOW {
        return Ok(None);
    }
    let map = Map::Sequential { low, high };
    let (png, extent) = framed("Phase, stretched", object, map, |v| map.colour(v.arg()))?;
    let caption = format!(
        "The same phase with its colours stretched over {} to {} rad, the middle 98 % of the well-lit region. {extent}",
        significant(low, 3),
        significant(high, 3),
    );
    Ok(Some(Picture { png, caption }))
}

fn probe(of: &Reconstruction) -> Result<Picture, PictureError> {
    let modes = of.probe.axis_iter(Axis(0)).take(MODES).collect();
    let (canvas, extent) = tiled("Probe", modes, &of.mode_power, of.pixel)?;
    let omitted = match of.probe.len_of(Axis(0)) {
        all if all > MODES => format!(" The {MODES} strongest of {all} modes are shown."),
        _ => String::new(),
    };
    let caption = format!(
        "Probe modes, strongest first, with their fraction of the power. Brightness is the modulus (each mode relative to its own maximum), hue the phase.{omitted} {extent}",
    );
    Ok(Picture {
        png: canvas.png()?,
        caption,
    })
}

/// The variations of the first probe mode; `None` without them.
fn variations(of: &Reconstruction) -> Result<Option<Picture>, PictureError> {
    let Some(variable) = &of.parts.variable_probe else {
        return Ok(None);
    };
    let power = variable.power();
    let modes: f64 = of.probe.iter().map(Complex::norm_sqr).sum();
    let all = modes + power.sum();
    let share = |p: &f64| if all > 0.0 { p / all } else { 0.0 };
    let shares: Vec<f64> = power.iter().map(share).collect();
    let shapes = variable.shapes.axis_iter(Axis(0)).take(MODES).collect();
    let (canvas, extent) = tiled("Variations", shapes, &shares, of.pixel)?;
    let caption = format!(
        "What is added to the first probe mode of a frame, times its coefficients: strongest first, with their fraction of the power in the mean over the frames. Brightness is the modulus, hue the phase. {extent}"
    );
    Ok(Some(Picture {
        png: canvas.png()?,
        caption,
    }))
}

/// Limits of `value` over the well-lit pixels without the extremes; always low < high.
fn limits(object: &Shown<'_>, value: impl Fn(&Complex<f64>) -> f64) -> [f64; 2] {
    let lit = object.values.iter().zip(object.well_lit);
    let lit = lit.filter(|(_, w)| **w > 0.0);
    let mut values: Vec<f64> = lit
        .map(|(v, _)| value(v))
        .filter(|v| v.is_finite())
        .collect();
    values.sort_unstable_by(f64::total_cmp);
    let Some(last) = values.len().checked_sub(1) else {
        return [0.0, 1.0];
    };
    let [low, high] = LIMITS.map(|fraction| values[(fraction * last as f64).round() as usize]);
    // Prevents pure noise, or a division by zero, for a flat object.
    let min_span = 1e-3 * low.abs().max(high.abs()).max(1e-3);
    // A limit that is negligible against the other one is a rounding error, so it is set to 0.
    let [low, high] = [low, high].map(|v| {
        if v.abs() < 1e-6 * (high - low) {
            0.0
        } else {
            v
        }
    });
    let missing = (min_span - (high - low)).max(0.0) / 2.0;
    [low - missing, high + missing]
}

fn widened(lit: &Range<usize>, length: usize) -> Range<usize> {
    let margin = (MARGIN * lit.len() as f64).ceil() as usize;
    lit.start.saturating_sub(margin)..(lit.end + margin).min(length)
}

/// Draws title, picture, scale bar and colour bar; returns the PNG and a sentence on its extent.
fn framed(
    title: &str,
    object: &Shown<'_>,
    map: Map,
    colour: impl Fn(&Complex<f64>) -> Colour,
) -> Result<(Vec<u8>, String), PictureError> {
    let raster = Raster::new(object.values, object.pixel, OBJECT_SIDE);
    let [height, width] = raster.size;
    let top = 2 * GAP + TEXT;
    let mut canvas = Canvas::new((width + 2 * GAP).max(LEAST_WIDTH), top + height + FOOTER);
    canvas.text([GAP, GAP], title);
    raster.draw_framed(&mut canvas, [GAP, top], colour);
    footer(&mut canvas, [GAP, top + height], &raster, map);
    Ok((canvas.png()?, raster.extent()))
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::super::tiles::MODE_SIDE;
    use super::*;
    use warpstride_report::canvas::WHITE;
    use warpstride_report::png::Rgb;

    fn decoded(picture: &Picture) -> Rgb {
        Rgb::read(&picture.png)
    }

    /// Colour at a relative position (row, column) within the drawn object.
    fn at(picture: &Rgb, of: &Reconstruction, position: [f64; 2]) -> [u8; 3] {
        // The sample's lit region after erosion, 32 × 52 pixels, with its margin.
        let shown = [36.0, 60.0];
        assert_eq!(of.object.dim(), (60, 80));
        let zoom = (OBJECT_SIDE[0] as f64 / shown[1]).floor();
        let column = GAP as f64 + position[1] * shown[1] * zoom;
        let row = (2 * GAP + TEXT) as f64 + position[0] * shown[0] * zoom;
        picture.at(column as u32, row as u32)
    }

    #[test]
    fn vacuum_is_bright_and_the_disc_dark_for_any_ramp() {
        let mut of = sample::reconstruction();
        for ((r, c), v) in of.object.indexed_iter_mut() {
            *v *= Complex::cis(0.7 + 0.05 * r as f64 - 0.11 * c as f64);
        }
        let pictures = Pictures::new(&of).unwrap();
        let modulus = decoded(&pictures.modulus);
        assert_eq!(at(&modulus, &of, [0.5, 0.5]), [0; 3]);
        assert_eq!(at(&modulus, &of, [0.1, 0.1]), WHITE);
        // One radian is stretched too: the ends of the map are disc and vacuum.
        let stretched = pictures.phase_stretched.unwrap();
        let phase = decoded(&stretched);
        let map = Map::Sequential {
            low: -1.0,
            high: 0.0,
        };
        assert_eq!(at(&phase, &of, [0.5, 0.5]), map.colour(-1.0));
        assert_eq!(at(&phase, &of, [0.1, 0.1]), map.colour(0.0));
        assert!(stretched.caption.contains("stretched over -1.00 to 0 rad"));
    }

    /// The rim of the scan has a third of the fluence and wild values; the scales ignore it.
    #[test]
    fn the_scales_are_those_of_the_well_lit_part() {
        let mut of = sample::reconstruction();
        for ((r, c), v) in of.object.indexed_iter_mut() {
            let core = (16..44).contains(&r) && (16..64).contains(&c);
            if !core {
                of.fluence[[r, c]] /= 3.0;
                *v = Complex::from_polar(if r % 2 == 0 { 9.0 } else { 0.01 }, 0.0);
            }
        }
        let pictures = Pictures::new(&of).unwrap();
        let caption = &pictures.modulus.caption;
        assert!(
            caption.contains("Black is 0.500 or less, white 1.00 or more"),
            "{caption}"
        );
    }

    #[test]
    fn phases_over_the_full_circle_use_only_the_cyclic_map() {
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
    fn nan_values_and_a_missing_fluence_are_drawn() {
        let mut of = sample::reconstruction();
        of.object[[30, 40]] = Complex::new(f64::NAN, 1.0);
        of.probe.fill(Complex::default());
        let pictures = Pictures::new(&of).unwrap();
        assert_eq!(
            at(&decoded(&pictures.modulus), &of, [0.5, 0.5]),
            warpstride_report::colours::NOT_FINITE
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
    fn every_mode_has_a_tile() {
        let of = sample::reconstruction();
        let probe = decoded(&Pictures::new(&of).unwrap().probe);
        let tile = MODE_SIDE[0] as u32 + GAP as u32;
        let (row, first) = ((2 * GAP + TEXT) as u32 + 144, GAP as u32 + 144);
        // The first mode is brightest in its middle, where the second has a node.
        let bright = |column: u32| probe.at(column, row).iter().copied().max().unwrap();
        // The brightest channel of any hue is at min_span 191.
        assert!(bright(first) > 180 && bright(first + tile) < 20);
    }
}

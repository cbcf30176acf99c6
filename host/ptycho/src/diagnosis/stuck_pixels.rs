//! Pixels with the same count in every frame, which is not that of the light.

use super::hot_pixels::{around, valid_somewhere};
use crate::data::{Mask, Scan};
use ndarray::{Array2, s};
use warpstride_core::system::ScratchError;

/// Fewest frames in which light does not have the same count everywhere by chance.
const FRAMES: usize = 10;
/// A stuck pixel has less than one part of this of the median counts around, or more than so many
/// times as many; far brighter ones are named as hot ones.
const UNLIKE: f64 = 2.0;
const HOT: f64 = 5.0;
/// Standard deviations of photon noise by which it differs from those around, in all frames
/// together.
const DEVIATIONS: f64 = 6.0;

/// The pixels (row, column) of a scan with this mean that are stuck in all frames in which they are
/// valid.
///
/// # Errors
/// The counts are in a temporary file that cannot be read.
pub(crate) fn stuck(scan: &Scan, mean: &Array2<f64>) -> Result<Array2<bool>, ScratchError> {
    let mut found = Array2::from_elem(mean.dim(), false);
    let frames = scan.shape()[0];
    if frames < FRAMES {
        return Ok(found);
    }
    // Of masks for each frame, the mean is that of the frames in which a pixel is valid.
    let each = match scan.mask() {
        Mask::Shared(_) => None,
        Mask::PerFrame(each) => Some(each),
    };
    let mut valid = valid_somewhere(scan);
    let mut mean = mean.clone();
    if let Some(each) = each {
        for (place, mean) in mean.indexed_iter_mut() {
            let of_pixel = each.slice(s![.., place.0, place.1]);
            let seen = of_pixel.iter().filter(|valid| **valid).count();
            valid[place] = seen >= FRAMES;
            *mean = scan.sums().of_pixels[place] / seen.max(1) as f64;
        }
    }
    let unlike = |place: [usize; 2], here: f64| {
        let others = around(place, &valid).into_iter().map(|other| mean[other]);
        let mut others: Vec<f64> = others.collect();
        others.sort_by(f64::total_cmp);
        let Some(middle) = others.get(others.len() / 2) else {
            return false;
        };
        let differs = UNLIKE * here < *middle || (UNLIKE * middle < here && here < HOT * middle);
        let noise = ((here + middle) / frames as f64).sqrt();
        differs && (here - middle).abs() > DEVIATIONS * noise
    };
    let mut candidates: Vec<[usize; 2]> = (mean.indexed_iter())
        .filter(|(_, here)| **here > 0.0 && here.fract() == 0.0)
        .filter(|((row, column), here)| valid[[*row, *column]] && unlike([*row, *column], **here))
        .map(|((row, column), _)| [row, column])
        .collect();
    if candidates.is_empty() {
        return Ok(found);
    }
    scan.blocks(|first, block| {
        for (number, counts) in block.outer_iter().enumerate() {
            candidates.retain(|place| {
                let [row, column] = *place;
                f64::from(counts[*place]) == mean[*place]
                    || each.is_some_and(|each| !each[[first + number, row, column]])
            });
        }
        Ok::<(), ScratchError>(())
    })?;
    for place in candidates {
        found[place] = true;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SimulateOptions, simulate};

    #[test]
    fn pixels_with_the_same_count_in_every_frame_are_found() {
        let options = SimulateOptions {
            frame: 32,
            positions: 40,
            ..SimulateOptions::default()
        };
        let scan = simulate(&options).unwrap();
        let places = |scan: &Scan| -> Vec<(usize, usize)> {
            let found = stuck(scan, &scan.mean_frame()).unwrap();
            let found = found.indexed_iter().filter(|(_, stuck)| **stuck);
            found.map(|(place, _)| place).collect()
        };
        assert_eq!(places(&scan), []);
        let mut counts = scan.frames().unwrap().into_owned();
        for mut frame in counts.outer_iter_mut() {
            frame[[16, 17]] = 3.0;
            frame[[14, 15]] = 0.0;
        }
        let positions = scan.positions();
        let of = |mask| {
            Scan::new(
                counts.clone(),
                mask,
                positions.clone(),
                *scan.geometry(),
                None,
            )
            .unwrap()
        };
        assert_eq!(places(&of(None)), [(16, 17)]);
        // One frame is masked.
        let mut each = ndarray::Array3::from_elem(counts.dim(), true);
        each.slice_mut(s![7, .., ..]).fill(false);
        assert_eq!(places(&of(Some(Mask::PerFrame(each)))), [(16, 17)]);
    }
}

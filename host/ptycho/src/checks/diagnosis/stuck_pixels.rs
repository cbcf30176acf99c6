//! Pixels with the same count in every frame, which is not that of the light: single ones, lines
//! and modules of the detector.

use super::hot_pixels::areas::around;
use super::hot_pixels::valid_somewhere;
use crate::data::{Mask, Scan};
use ndarray::{Array2, s};
use std::collections::BTreeSet;
use warpstride_core::system::ScratchError;

/// Fewest frames in which light does not have the same count everywhere by chance.
const FRAMES: usize = 10;
/// A stuck area has less than one part of this of the median counts around, or more than so many
/// times as many. Far brighter ones of a few pixels are named as hot ones.
const UNLIKE: f64 = 2.0;
const HOT: f64 = 5.0;
const FEW: usize = 4;
/// Standard deviations of photon noise by which it differs from those around, in all frames
/// together.
const DEVIATIONS: f64 = 6.0;
/// An area as bright as those around is stuck if it has so many counts, and the variance of those
/// around is this part of their mean, or more.
const BRIGHT: f64 = 4.0;
const LIVELY: f64 = 0.25;
/// A saturated area is surrounded by pixels with at least this part of its counts.
const SATURATED: f64 = 0.25;

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
    let lit = mean
        .indexed_iter()
        .filter(|(place, mean)| valid[*place] && **mean > 0.0);
    // Each with its counts in the first frame in which it is valid.
    let mut constant: Vec<([usize; 2], Option<f32>)> = lit
        .map(|((row, column), _)| ([row, column], None))
        .collect();
    let lit = constant.len();
    scan.blocks(|first, block| {
        for (number, counts) in block.outer_iter().enumerate() {
            constant.retain_mut(|(place, value)| {
                let [row, column] = *place;
                if each.is_some_and(|each| !each[[first + number, row, column]]) {
                    return true;
                }
                *value.get_or_insert(counts[*place]) == counts[*place]
            });
        }
        Ok::<(), ScratchError>(())
    })?;
    // Without noise, pixels that the specimen does not change are constant, too.
    if constant.is_empty() || 2 * constant.len() > lit {
        return Ok(found);
    }
    let photon = scan.counts_of_photon()?;
    let mut varying = valid;
    constant
        .iter()
        .for_each(|(place, _)| varying[*place] = false);
    let places = constant.into_iter().map(|(place, _)| place).collect();
    let mut squares = Array2::zeros(mean.dim());
    scan.blocks(|_, block| {
        for counts in block.outer_iter() {
            let sum = |sum: &mut f64, count: &f32| *sum += f64::from(*count).powi(2);
            squares.zip_mut_with(&counts, sum);
        }
        Ok::<(), ScratchError>(())
    })?;
    // With a mask for each frame, this is at most the variance.
    let variance = |place: [usize; 2]| squares[place] / frames as f64 - mean[place].powi(2);
    for area in areas(places) {
        let ring: BTreeSet<[usize; 2]> = area
            .iter()
            .flat_map(|place| around(*place, &varying))
            .collect();
        let here = median(area.iter().map(|place| mean[*place]));
        let (Some(here), Some(there)) = (here, median(ring.iter().map(|place| mean[*place])))
        else {
            continue;
        };
        let brightest = ring
            .iter()
            .fold(0.0, |most: f64, place| most.max(mean[*place]));
        // `data.no_data` says what is done with the values of detectors for pixels without data.
        if here >= f64::from(u32::MAX) {
            continue;
        }
        let is_saturated = here >= f64::from(scan.sums().largest) && brightest >= SATURATED * here;
        let is_far = UNLIKE * here < there || UNLIKE * there < here;
        let noise = (photon * (here + there) / frames as f64).sqrt();
        let differs = is_far && (here - there).abs() > DEVIATIONS * noise;
        let is_hot = area.len() < FEW && here >= HOT * there;
        let of_mean = |place: &[usize; 2]| variance(*place) / (photon * mean[*place]).max(1e-300);
        let lively = median(ring.iter().map(of_mean)) >= Some(LIVELY);
        let is_still = area.len() >= FEW && here.min(there) >= BRIGHT * photon && lively;
        if !is_saturated && !is_hot && (differs || is_still) {
            area.into_iter().for_each(|place| found[place] = true);
        }
    }
    Ok(found)
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// The connected areas of these pixels.
fn areas(mut left: BTreeSet<[usize; 2]>) -> Vec<Vec<[usize; 2]>> {
    let mut areas = Vec::new();
    while let Some(first) = left.pop_first() {
        let mut area = vec![first];
        let mut next = 0;
        while let Some([row, column]) = area.get(next).copied() {
            for row in row.saturating_sub(1)..=row + 1 {
                for column in column.saturating_sub(1)..=column + 1 {
                    area.extend(left.take(&[row, column]));
                }
            }
            next += 1;
        }
        areas.push(area);
    }
    areas
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
        // A module with one count, a far brighter one, and one that repeats its first frame.
        for value in [Some(3.0), Some(1e6), None] {
            let mut counts = counts.clone();
            let first = counts.slice(s![0, 18..26, 3..13]).to_owned();
            for mut frame in counts.outer_iter_mut() {
                let mut module = frame.slice_mut(s![18..26, 3..13]);
                match value {
                    Some(value) => module.fill(value),
                    None => module.assign(&first),
                }
            }
            let scan = Scan::new(counts, None, positions.clone(), *scan.geometry(), None);
            let found = places(&scan.unwrap());
            let in_module = |(row, column): &&(usize, usize)| {
                (18..26).contains(row) && (3..13).contains(column)
            };
            let number = found.iter().filter(in_module).count();
            assert_eq!(number, 80, "{value:?}: {found:?}");
            assert!(found.len() <= 81, "{value:?}: {found:?}");
        }
        // One frame is masked.
        let mut each = ndarray::Array3::from_elem(counts.dim(), true);
        each.slice_mut(s![7, .., ..]).fill(false);
        assert_eq!(places(&of(Some(Mask::PerFrame(each)))), [(16, 17)]);
    }
}

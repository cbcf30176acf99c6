//! A compact part of a scan, for trial reconstructions.

use crate::data::{Mask, Scan};
use ndarray::Axis;
use warpstride_core::system::ScratchError;

/// The frames with counts nearest to the centre of the scan, at most `most`, in the order of the
/// scan, with its start probe; their free pixels are those that they have in the scan. `None` if
/// they are not a scan.
///
/// # Errors
/// The counts are in a temporary file that cannot be read.
pub fn central_part(scan: &Scan, most: usize) -> Result<Option<Scan>, ScratchError> {
    let positions = scan.positions();
    let Some(middle) = positions.mean_axis(Axis(0)) else {
        return Ok(None);
    };
    let distance = |frame: usize| {
        let p = positions.row(frame);
        (p[0] - middle[0]).hypot(p[1] - middle[1])
    };
    let counts = &scan.sums().of_frames;
    let lit = |frame: &usize| counts.get(*frame).is_none_or(|counts| *counts > 0.0);
    let mut order: Vec<usize> = (0..positions.nrows()).filter(lit).collect();
    order.sort_by(|a, b| distance(*a).total_cmp(&distance(*b)).then(a.cmp(b)));
    order.truncate(most);
    order.sort_unstable();
    let mask = match scan.mask() {
        Mask::Shared(m) => Mask::Shared(m.clone()),
        Mask::PerFrame(m) => Mask::PerFrame(m.select(Axis(0), &order)),
    };
    let frames = scan.some_frames(&order)?;
    let positions = positions.select(Axis(0), &order);
    let probe = scan.probe().cloned();
    let part = Scan::new(frames, Some(mask), positions, *scan.geometry(), probe).ok();
    let numbers = order.iter().map(|frame| scan.frame_number(*frame));
    let travel = scan.travel();
    let travel = order.iter().map(|frame| travel[*frame]);
    Ok(part.map(|part| {
        part.with_frame_numbers(numbers.collect())
            .with_travel(travel.collect())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Problem, Recipe, SimulateOptions, simulate};

    #[test]
    fn frames_of_a_part_have_the_free_pixels_of_the_scan() {
        let options = SimulateOptions {
            frame: 16,
            positions: 20,
            ..SimulateOptions::default()
        };
        let recipe = Recipe {
            free_pixels: 0.1,
            ..Recipe::default()
        };
        let backwards: Vec<usize> = (0..20).rev().collect();
        let scan = simulate(&options).unwrap().of_some(&backwards).unwrap();
        let part = central_part(&scan, 7).unwrap().unwrap();
        let numbers: Vec<usize> = (0..7).map(|frame| part.frame_number(frame)).collect();
        assert!(
            numbers.is_sorted() && numbers != [0, 1, 2, 3, 4, 5, 6],
            "{numbers:?}"
        );
        let all = Problem::prepare(&scan, &recipe).unwrap().magnitudes;
        let own = Problem::prepare(&part, &recipe).unwrap().magnitudes;
        let first: Vec<usize> = (0..7).collect();
        assert_eq!(all.select(&numbers).unwrap(), own.select(&first).unwrap());
    }
}

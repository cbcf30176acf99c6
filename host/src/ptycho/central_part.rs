//! A compact part of a scan, for trial reconstructions.

use crate::data::{Mask, Scan};
use crate::system::ScratchError;
use ndarray::Axis;

/// The frames with counts nearest to the centre of the scan, at most `most`, with the scan's start probe. `None` if they are not a scan.
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
    let mask = match scan.mask() {
        Mask::Shared(m) => Mask::Shared(m.clone()),
        Mask::PerFrame(m) => Mask::PerFrame(m.select(Axis(0), &order)),
    };
    let frames = scan.some_frames(&order)?;
    let positions = positions.select(Axis(0), &order);
    let probe = scan.probe().cloned();
    Ok(Scan::new(frames, Some(mask), positions, *scan.geometry(), probe).ok())
}

//! Several curves in the same datasets: frames of a series.

use super::super::IoError;
use super::split;
use warpstride_files::source::Source;

/// One of several curves in the same datasets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    /// From 0.
    pub(super) index: usize,
    pub(super) count: usize,
    /// Whether the frames are the last axis, and not those before q.
    pub(super) last: bool,
}

impl Frame {
    /// The values of this frame out of those of all.
    pub(super) fn of(self, values: &[f64]) -> Vec<f64> {
        let rows = values.len() / self.count;
        let begin = self.index * rows;
        if self.last {
            let own = values.iter().skip(self.index).step_by(self.count);
            own.copied().collect()
        } else {
            values[begin..begin + rows].to_vec()
        }
    }
}

/// Number of curves in the group `path`, and whether they are the last axis: one axis of its
/// intensities is Q, the last or the first one, and the others, such as time and temperature, count
/// frames.
pub(super) fn frames(source: &Source, path: &str) -> Result<(usize, bool), IoError> {
    let signal = source
        .attribute(path, "signal")?
        .filter(|name| !name.is_empty());
    let signal = signal.unwrap_or_else(|| "I".to_owned());
    let at = |name: &str| format!("{path}/{name}");
    // Missing or unreadable datasets are reported when they are read.
    let shape_of = |name: &str| -> Option<Vec<usize>> {
        let found = !name.contains('/') && source.has(&at(name)).unwrap_or(false);
        let numbers = source.require(name, &[&at(name)]).ok().filter(|_| found)?;
        Some(numbers.shape().to_vec())
    };
    let single = (1, false);
    let Some(shape) = shape_of(&signal).filter(|shape| shape.len() > 1) else {
        return Ok(single);
    };
    let named = match source.attribute_texts(path, "I_axes")? {
        Some(axes) => split(&axes),
        None => split(&source.attribute_texts(path, "axes")?.unwrap_or_default()),
    };
    let axis = named.iter().find(|axis| axis.starts_with(['Q', 'q']));
    let axis = axis.map_or("Q", String::as_str);
    let Some(of_q) = shape_of(axis).filter(|_| axis != "Qx" && axis != "Qy") else {
        return Ok(single);
    };
    // q of the curves, or of every frame; not q of the pixels of an image.
    let [first, last] = [shape[0], shape[shape.len() - 1]];
    let has = |rows: usize| rows > 1 && (of_q.iter().product::<usize>() == rows || of_q == shape);
    let starts = named.len() > 1 && named.first().is_some_and(|name| name == axis);
    let ends = named.len() < 2 || named.last().is_some_and(|name| name == axis);
    let others = |rows: usize| shape.iter().product::<usize>() / rows;
    Ok(if ends && has(last) {
        (others(last).max(1), false)
    } else if (starts || named.len() < 2) && has(first) {
        (others(first).max(1), true)
    } else {
        single
    })
}

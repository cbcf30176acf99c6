//! Chains of NXtransformations: where a thing of the experiment is, in the laboratory frame of
//! NeXus.
//!
//! That frame is McStas's: z along the beam, y upwards, x so that the axes are right-handed. An
//! axis T moves things actively; the axes on which it depends are applied after it: T₃ T₂ T₁ for T₁
//! that depends on T₂, which depends on T₃. With the value v, the vector u and the offset o, a
//! translation maps p to p + v u + o, and a rotation to R(v, u) p + o
//! (<https://manual.nexusformat.org/classes/base_classes/NXtransformations.html>).

use super::logs;
use crate::data::each_frame;
use crate::positions::units::{likely_units, typical_step};
use crate::session::quantities::one_of;
use crate::session::read_options::si_units;
use ndarray::Array2;
use warpstride_core::text::{Dimension, significant};
use warpstride_files::IoError;
use warpstride_files::source::{Numbers, Source};

/// Most axes of a chain.
const LONGEST: usize = 64;
/// The end of a chain: the laboratory frame.
const END: &str = ".";

/// How an axis moves things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Motion {
    Translation,
    Rotation,
}

/// An axis of a chain, in metres and radians.
#[derive(Debug, Clone, PartialEq)]
struct AxisMotion {
    motion: Motion,
    /// One value, or one for each frame.
    values: Vec<f64>,
    vector: [f64; 3],
    offset: [f64; 3],
}

impl AxisMotion {
    /// Where frame `frame` has what is at `point` before.
    fn applied(&self, point: [f64; 3], frame: usize) -> [f64; 3] {
        let one = self.values.first().copied().unwrap_or(0.0);
        let value = if self.values.len() == 1 {
            one
        } else {
            self.values.get(frame).copied().unwrap_or(one)
        };
        let moved = match self.motion {
            Motion::Translation => [0, 1, 2].map(|k| point[k] + value * self.vector[k]),
            Motion::Rotation => rotated(point, self.vector, value),
        };
        [0, 1, 2].map(|k| moved[k] + self.offset[k])
    }
}

/// `point`, rotated by `angle` about the direction `axis`, right-handed (Rodrigues' formula).
fn rotated(point: [f64; 3], axis: [f64; 3], angle: f64) -> [f64; 3] {
    let length = axis.iter().map(|c| c * c).sum::<f64>().sqrt();
    let [x, y, z] = axis.map(|c| c / length);
    let [a, b, c] = point;
    let (sine, cosine) = angle.sin_cos();
    let along = (x * a + y * b + z * c) * (1.0 - cosine);
    [
        a * cosine + (y * c - z * b) * sine + x * along,
        b * cosine + (z * a - x * c) * sine + y * along,
        c * cosine + (x * b - y * a) * sine + z * along,
    ]
}

/// A chain of axes, from the thing to the laboratory frame.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Chain {
    axes: Vec<AxisMotion>,
}

impl Chain {
    /// Reads the chain that begins with the axis `first`, a path; `given` is the unit of its
    /// lengths that the options state, and `frames` are stored as the raster `scan_shape`, if they
    /// are.
    ///
    /// # Errors
    /// A loop, an axis that is missing or has no known units, or axes with different numbers of
    /// values.
    pub(super) fn read(
        source: &Source,
        first: &str,
        given: Option<&str>,
        (frames, scan_shape): (usize, Option<[usize; 2]>),
    ) -> Result<Self, IoError> {
        let mut chain = Self::default();
        let mut seen: Vec<String> = Vec::new();
        let mut next = first.to_owned();
        while next != END {
            if seen.contains(&next) || seen.len() >= LONGEST {
                return Err(damaged_chain(
                    source,
                    &next,
                    &format!(
                        "its chain of depends_on, {} -> {next}, has no end",
                        seen.join(" -> ")
                    ),
                ));
            }
            let values = match logs::of_frames(source, &next, frames)? {
                Some(values) => values,
                None if source.group(&next)?.is_some() => {
                    return Err(damaged_chain(
                        source,
                        &next,
                        "depends_on names a group that is no log (NXlog): a coordinate system, which is not read",
                    ));
                }
                None => next.clone(),
            };
            let numbers = source.require("an axis that depends_on names", &[&values])?;
            let place = Axis {
                path: &next,
                numbers: &numbers,
            };
            let read = axis(source, &place, given, (frames, scan_shape))?;
            chain.push(read, &numbers, frames)?;
            let on = place.text(source, "depends_on")?;
            let on = on
                .filter(|on| !on.is_empty())
                .unwrap_or_else(|| END.to_owned());
            let parent = next
                .rsplit_once('/')
                .map_or("", |(parent, _)| parent)
                .to_owned();
            seen.push(std::mem::replace(&mut next, resolved(&parent, &on)));
        }
        Ok(chain)
    }

    /// Adds an axis with these numbers, of a scan with `frames` frames.
    fn push(
        &mut self,
        axis: AxisMotion,
        numbers: &Numbers<'_>,
        frames: usize,
    ) -> Result<(), IoError> {
        let (all, more) = (self.len(), axis.values.len());
        if all > 1 && more > 1 && all != more {
            let expected = format!(
                "one value, or one for {}, as on the other axes of its chain",
                each_frame(frames)
            );
            return Err(numbers.bad_shape(&expected));
        }
        self.axes.push(axis);
        Ok(())
    }

    /// The number of positions that it has.
    pub(super) fn len(&self) -> usize {
        let lengths = self.axes.iter().map(|axis| axis.values.len());
        lengths.max().unwrap_or(1).max(1)
    }

    /// Whether no axis rotates, so that chains of it may be joined in any order.
    pub(super) fn only_translates(&self) -> bool {
        (self.axes.iter()).all(|axis| axis.motion == Motion::Translation)
    }

    /// Adds the axes of a chain after these; `false` if their numbers of values differ.
    pub(super) fn join(&mut self, other: Self) -> bool {
        let same = self.len() == 1 || other.len() == 1 || self.len() == other.len();
        self.axes.extend(other.axes);
        same
    }

    /// Whether no axis has more than one value.
    pub(super) fn is_constant(&self) -> bool {
        self.axes.iter().all(|axis| axis.values.len() <= 1)
    }

    /// Where the origin of the thing is in every frame: (frame, (x, y, z)), m.
    pub(super) fn positions(&self, frames: usize) -> Array2<f64> {
        let mut positions = Array2::zeros((frames, 3));
        for (frame, mut row) in positions.rows_mut().into_iter().enumerate() {
            let at = (self.axes.iter()).fold([0.0; 3], |point, axis| axis.applied(point, frame));
            for (to, from) in row.iter_mut().zip(at) {
                *to = from;
            }
        }
        positions
    }
}

/// The error for a chain that cannot be followed.
fn damaged_chain(source: &Source, axis: &str, reason: &str) -> IoError {
    IoError::Damaged {
        file: source.name().to_owned(),
        dataset: axis.to_owned(),
        reason: reason.to_owned(),
    }
}

/// The path `on` that an object in the group `parent` names; [`END`] is kept.
pub(super) fn resolved(parent: &str, on: &str) -> String {
    let on = on.trim();
    if on == END {
        return END.to_owned();
    }
    let mut parts: Vec<&str> = Vec::new();
    let begin = if on.starts_with('/') { "" } else { parent };
    for part in begin.split('/').chain(on.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Where an axis is: its numbers, and the dataset or log that has its attributes.
struct Axis<'a> {
    path: &'a str,
    numbers: &'a Numbers<'a>,
}

impl Axis<'_> {
    /// Whether it is a log, which may have its attributes or leave them to the dataset with its
    /// values.
    fn is_log(&self) -> bool {
        self.path != self.numbers.path()
    }

    /// A text in an attribute.
    fn text(&self, source: &Source, name: &str) -> Result<Option<String>, IoError> {
        let own = source.attribute(self.path, name)?;
        match own {
            None if self.is_log() => source.attribute(self.numbers.path(), name),
            own => Ok(own),
        }
    }

    /// Numbers in an attribute.
    fn numbers(&self, source: &Source, name: &str) -> Result<Option<Vec<f64>>, IoError> {
        let own = source.attribute_numbers(self.path, name)?;
        match own {
            None if self.is_log() => source.attribute_numbers(self.numbers.path(), name),
            own => Ok(own),
        }
    }
}

/// Reads one axis.
fn axis(
    source: &Source,
    place: &Axis<'_>,
    given: Option<&str>,
    frames: (usize, Option<[usize; 2]>),
) -> Result<AxisMotion, IoError> {
    let (path, numbers) = (place.path, place.numbers);
    let wrong = |found: String, expected: &str| IoError::Value {
        file: source.name().to_owned(),
        dataset: path.to_owned(),
        found,
        expected: expected.to_owned(),
    };
    let kind = place.text(source, "transformation_type")?;
    let motion = match kind.as_deref() {
        Some("translation") => Motion::Translation,
        Some("rotation") => Motion::Rotation,
        other => {
            return Err(wrong(
                format!("\"{}\"", other.unwrap_or_default()),
                "the attribute transformation_type to be translation or rotation",
            ));
        }
    };
    let three = |name: &str| match place.numbers(source, name)? {
        None => Ok(None),
        Some(found) => match found.as_slice() {
            &[x, y, z] if found.iter().all(|c| c.is_finite()) => Ok(Some([x, y, z])),
            _ => Err(wrong(
                format!("{found:?}"),
                &format!("three finite numbers in the attribute {name}"),
            )),
        },
    };
    let vector = three("vector")?.filter(|v| v.iter().any(|c| *c != 0.0));
    let vector = vector.ok_or_else(|| {
        wrong(
            "none".to_owned(),
            "a direction other than 0 in the attribute vector",
        )
    })?;
    let unit = |name: &str, dimension: Dimension, or: Option<&str>| {
        let stated = place
            .text(source, name)?
            .filter(|unit| !unit.trim().is_empty());
        // The options replace what the file states.
        let given = given.filter(|_| dimension == Dimension::Length);
        let unit = given.or(stated.as_deref()).or(or).unwrap_or_default();
        si_units(dimension, unit).ok_or_else(|| {
            let moved = values(numbers, place.is_log(), frames).unwrap_or_default();
            if unit.is_empty() && dimension == Dimension::Length && moved.len() > 1 {
                let column = Array2::from_shape_fn((moved.len(), 2), |(at, _)| moved[at]);
                let step = typical_step(&column);
                let units = likely_units(step);
                let found = format!("steps of about {} without a unit", significant(step, 3));
                return wrong(
                    format!("{found}: is it in {}?", one_of(&units)),
                    &format!(
                        "a unit of length in the attribute {name} (data.units.positions states it: --set 'data.units.positions=\"{}\"')",
                        units.first().copied().unwrap_or("m")
                    ),
                );
            }
            wrong(
                format!("\"{unit}\""),
                &format!(
                    "a unit ({}) in the attribute {name}{}",
                    dimension.names(),
                    match dimension {
                        Dimension::Length => {
                            " (data.units.positions states it for a stage, data.units.distance for a detector)"
                        }
                        _ => "",
                    }
                ),
            )
        })
    };
    let factor = match motion {
        Motion::Translation => unit("units", Dimension::Length, None)?,
        Motion::Rotation => unit("units", Dimension::Angle, None)?,
    };
    let offset = match three("offset")?.filter(|o| o.iter().any(|c| *c != 0.0)) {
        None => [0.0; 3],
        Some(offset) => {
            let own = place.text(source, "units")?;
            let own = own.as_deref().filter(|_| motion == Motion::Translation);
            let metres = unit("offset_units", Dimension::Length, own)?;
            offset.map(|c| c * metres)
        }
    };
    Ok(AxisMotion {
        motion,
        values: values(numbers, place.is_log(), frames)?
            .into_iter()
            .map(|v| v * factor)
            .collect(),
        vector,
        offset,
    })
}

/// The values of an axis: one, or one for each frame. Those of a raster may be one for each row or
/// for each point of a row.
fn values(
    numbers: &Numbers<'_>,
    log: bool,
    (frames, scan_shape): (usize, Option<[usize; 2]>),
) -> Result<Vec<f64>, IoError> {
    let count = (numbers.shape().iter()).fold(1_usize, |n, d| n.saturating_mul(*d));
    let wrong = |also: &str| {
        numbers.bad_shape(&format!(
            "one value, or one for {}{also}",
            each_frame(frames)
        ))
    };
    let of_raster = match scan_shape {
        Some([slow, fast]) if slow != fast && (count == slow || count == fast) => {
            Some([slow, fast])
        }
        _ => None,
    };
    if log && count != frames {
        // A motor that did not move.
        return numbers.common_value().map(|value| vec![value]).map_err(|_| {
            wrong(", as the times of a log (NXlog) are not compared with those of the frames (data.positions names a table instead)")
        });
    }
    if let Some([slow, fast]) = scan_shape
        && slow == fast
        && count == slow
        && count != 1
    {
        return Err(wrong(
            ", as the raster has as many rows as points in a row (data.raster states positions)",
        ));
    }
    if frames == 1 && count != 1 {
        return Err(wrong(""));
    }
    let read: Vec<f64> = numbers.reals()?.into_iter().collect();
    if let Some(bad) = read.iter().find(|v| !v.is_finite()) {
        return Err(numbers.bad_value(bad, "finite numbers"));
    }
    Ok(match of_raster {
        Some([slow, fast]) if count != 1 && count != frames => (0..slow * fast)
            .map(|frame| {
                read[if count == fast {
                    frame % fast
                } else {
                    frame / fast
                }]
            })
            .collect(),
        _ => read,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_resolved_from_their_group() {
        assert_eq!(
            resolved("/entry/sample", "transformations/x"),
            "/entry/sample/transformations/x"
        );
        assert_eq!(resolved("/entry/sample/t", "/entry/t/y"), "/entry/t/y");
        assert_eq!(resolved("/entry/sample/t", "../u/z"), "/entry/sample/u/z");
        assert_eq!(resolved("/e", "./x"), "/e/x");
        assert_eq!(resolved("/e", "../../../x"), "/x");
        assert_eq!(resolved("/e", "."), ".");
    }

    #[test]
    fn axes_are_applied_from_the_thing_outwards() {
        let chain = Chain {
            axes: vec![
                // The stage, on a plate that is turned by 90° about z, on a table 1 m along the
                // beam.
                AxisMotion {
                    motion: Motion::Translation,
                    values: vec![1.0, 2.0],
                    vector: [1.0, 0.0, 0.0],
                    offset: [0.0, 0.5, 0.0],
                },
                AxisMotion {
                    motion: Motion::Rotation,
                    values: vec![std::f64::consts::FRAC_PI_2],
                    vector: [0.0, 0.0, 2.0],
                    offset: [0.0; 3],
                },
                AxisMotion {
                    motion: Motion::Translation,
                    values: vec![1.0],
                    vector: [0.0, 0.0, 1.0],
                    offset: [10.0, 0.0, 0.0],
                },
            ],
        };
        let positions = chain.positions(2);
        let expected = ndarray::arr2(&[[9.5, 1.0, 1.0], [9.5, 2.0, 1.0]]);
        for (a, b) in positions.iter().zip(&expected) {
            assert!((a - b).abs() < 1e-12, "{positions}");
        }
        assert!(!chain.only_translates() && !chain.is_constant());
    }
}

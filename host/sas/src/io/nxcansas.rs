//! NXcanSAS: groups whose attributes mark them as SASentry and SASdata, with I, Q and related
//! datasets.
//!
//! The attribute `signal` names the intensities, `I_axes` their axes, `uncertainties` of I and
//! `resolutions` of Q the uncertainties and resolutions. If an attribute is missing, the usual
//! names apply.

mod frames;
mod signal;

use super::check::{self, RawCurve, RawImage};
use super::{IoError, MAX_NOTES, Memory, ReadOptions, allow, name_of, select, shorten, units};
use crate::data::Scattering;
use frames::{Frame, frames};
use std::path::Path;
use warpstride_files::source::Source;

/// Maximum number of links read per group.
const MAX_LINKS: usize = 4096;
/// Bytes of numbers in a dataset of which the file may store almost nothing.
const UNJUDGED: u128 = 4 << 20;
/// Maximum number of data sets per file.
const MAX_DATA_SETS: usize = 100_000;

/// Reads the selected data set, or the first one.
pub(super) fn read(
    path: &Path,
    options: &ReadOptions,
    memory: Memory,
) -> Result<Scattering, IoError> {
    let source = Source::open_unclosed(path, memory)?;
    read_from(&source, options, memory).map_err(|e| match e {
        // `TooLarge` is about frames of a scan.
        IoError::TooLarge {
            file,
            dataset,
            needed,
            available,
        } => IoError::ScatteringTooLarge {
            file,
            dataset,
            needed,
            available,
        },
        other => other,
    })
}

fn read_from(
    source: &Source,
    options: &ReadOptions,
    memory: Memory,
) -> Result<Scattering, IoError> {
    let mut left_out = Vec::new();
    let sets = data_sets(source, &mut left_out)?;
    let left_out = (!left_out.is_empty()).then(|| {
        format!(
            "links to other files or to nothing, which are left out: {}",
            shorten(&left_out.join(", "))
        )
    });
    if sets.is_empty() {
        let group = "a group with canSAS_class SASdata in one with canSAS_class SASentry";
        return Err(IoError::Missing {
            file: source.name().to_owned(),
            what: "scattering data".to_owned(),
            tried: std::iter::once(group.to_owned()).chain(left_out).collect(),
        });
    }
    let titles: Vec<String> = sets.iter().map(|s| s.title.clone()).collect();
    let mut notes: Vec<String> = left_out.into_iter().chain(source.unclosed()).collect();
    if sets.len() == MAX_DATA_SETS {
        notes.push(format!(
            "the file may hold more data sets: only the first {MAX_DATA_SETS} can be selected"
        ));
    }
    let chosen = select(source.name(), &titles, options, &mut notes)?;
    DataSet::open(source, &sets[chosen], options, memory, notes)?.read()
}

/// Path and title of a data set.
struct DataSetPath {
    path: String,
    title: String,
    /// The frame, if the intensities have several at each q.
    frame: Option<Frame>,
}

/// Whether the group `path` has that class.
fn is_class(source: &Source, path: &str, class: &str, nexus: &str) -> Result<bool, IoError> {
    if let Some(name) = source.attribute(path, "canSAS_class")? {
        return Ok(name == class);
    }
    Ok(source.attribute(path, "NX_class")?.as_deref() == Some(nexus))
}

/// Groups in `path` with a class.
fn groups_of(
    source: &Source,
    path: &str,
    class: &str,
    nexus: &str,
    left_out: &mut Vec<String>,
) -> Result<Vec<String>, IoError> {
    let names = if path == "/" {
        source.groups()?
    } else {
        source.members(path)?.unwrap_or_default()
    };
    let mut found = Vec::new();
    for name in names.iter().take(MAX_LINKS) {
        let inside = format!("{}/{name}", path.trim_end_matches('/'));
        // A damaged or foreign link beside the data does not prevent reading the data.
        let Ok(Some(_)) = source.group(&inside) else {
            if source.leads_elsewhere(&inside) {
                left_out.push(inside);
            }
            continue;
        };
        if is_class(source, &inside, class, nexus)? {
            found.push(inside);
        }
    }
    Ok(found)
}

fn data_sets(source: &Source, left_out: &mut Vec<String>) -> Result<Vec<DataSetPath>, IoError> {
    let mut sets = Vec::new();
    for entry in groups_of(source, "/", "SASentry", "NXentry", left_out)? {
        let title = source.label(&format!("{entry}/title")).unwrap_or_default();
        let title = title.map(|t| shorten(&t)).filter(|t| !t.is_empty());
        let title = title.unwrap_or_else(|| shorten(entry.trim_start_matches('/')));
        let groups = groups_of(source, &entry, "SASdata", "NXdata", left_out)?;
        let several = groups.len() > 1;
        for path in groups {
            let last = path.rsplit('/').next().unwrap_or_default();
            let title = if several {
                format!("{title} {}", shorten(last))
            } else {
                title.clone()
            };
            let (frames, last) = frames(source, &path)?;
            for frame in 0..frames {
                sets.push(DataSetPath {
                    title: match frames {
                        1 => title.clone(),
                        _ => format!("{title} frame {}", frame + 1),
                    },
                    path: path.clone(),
                    frame: (frames > 1).then_some(Frame {
                        index: frame,
                        count: frames,
                        last,
                    }),
                });
                if sets.len() == MAX_DATA_SETS {
                    return Ok(sets);
                }
            }
        }
    }
    Ok(sets)
}

/// A group of data that is being read.
struct DataSet<'s> {
    source: &'s Source,
    path: &'s str,
    /// The frame, if there are several.
    frame: Option<Frame>,
    memory: Memory,
    /// Name of the dataset of intensities.
    signal: String,
    axes: Vec<String>,
    /// Factor of q if the file gives no unit.
    q_unit: Option<f64>,
    title: String,
    notes: Vec<String>,
}

/// Names in an attribute, which is a comma-separated list or an array of texts.
fn split(names: &[String]) -> Vec<String> {
    names
        .iter()
        .flat_map(|n| n.split(','))
        .map(|n| n.trim().to_owned())
        .filter(|n| !n.is_empty())
        .collect()
}

impl<'s> DataSet<'s> {
    fn open(
        source: &'s Source,
        found: &'s DataSetPath,
        options: &ReadOptions,
        memory: Memory,
        notes: Vec<String>,
    ) -> Result<Self, IoError> {
        let text = |name: &str| source.attribute_texts(&found.path, name);
        let signal = text("signal")?.and_then(|n| n.into_iter().next());
        let axes = match text("I_axes")? {
            Some(axes) => Some(axes),
            None => text("axes")?,
        };
        let title = if found.title.trim().is_empty() {
            name_of(source.name())
        } else {
            found.title.clone()
        };
        Ok(Self {
            source,
            path: &found.path,
            frame: found.frame,
            memory,
            signal: signal
                .filter(|s| !s.is_empty())
                .unwrap_or_else(|| "I".to_owned()),
            axes: split(&axes.unwrap_or_default()),
            q_unit: options.q_unit.map(super::QUnit::factor),
            title,
            notes,
        })
    }

    fn at(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }

    fn has(&self, name: &str) -> Result<bool, IoError> {
        // A name with a slash would refer to another group.
        Ok(!name.contains('/') && self.source.has(&self.at(name))?)
    }

    /// The values of dataset `name`, and its shape.
    fn numbers(&self, name: &str, what: &str) -> Result<(Vec<f64>, Vec<usize>), IoError> {
        let path = self.at(name);
        let numbers = self.source.require(what, &[&path])?;
        let shape = numbers.shape().to_vec();
        let size = shape
            .iter()
            .fold(1_u128, |n, d| n.saturating_mul(*d as u128));
        // Memory for all columns, their order, and a copy while they are sorted.
        allow(
            self.source.name(),
            &path,
            size.saturating_mul(128),
            self.memory,
        )?;
        numbers.check_density(UNJUDGED)?;
        let values = numbers.reals()?;
        Ok((values.into_iter().collect(), shape))
    }

    /// Like [`Self::numbers`], but the dataset must have as many values as the intensities.
    fn column(&self, name: &str, what: &str, rows: usize) -> Result<Vec<f64>, IoError> {
        let (values, shape) = self.numbers(name, what)?;
        let values = match self.frame {
            Some(frame) if values.len() == rows * frame.count => self.of_frame(values),
            _ => values,
        };
        if values.len() != rows {
            let expected = format!("{rows} numbers (as many as {} has)", self.signal);
            return Err(self.source.bad_shape(&self.at(name), &shape, &expected));
        }
        Ok(values)
    }

    /// The values of the frame out of those of all.
    fn of_frame(&self, values: Vec<f64>) -> Vec<f64> {
        match self.frame {
            Some(frame) => frame.of(&values),
            None => values,
        }
    }

    /// The unit of dataset `name`, if it has one.
    fn unit(&self, name: &str) -> Result<Option<String>, IoError> {
        let path = self.at(name);
        let unit = match self.source.attribute(&path, "units")? {
            Some(unit) => Some(unit),
            None => self.source.attribute(&path, "unit")?,
        };
        Ok(unit.filter(|u| !u.trim().is_empty()))
    }

    /// Factor that converts q in `name` to 1/Å.
    fn factor_of_q(&mut self, name: &str) -> Result<f64, IoError> {
        let path = self.at(name);
        let Some(unit) = self.unit(name)? else {
            if self.q_unit.is_none() {
                self.note(format!("{name} has no units: 1/Å is assumed"));
            }
            return Ok(self.q_unit.unwrap_or(1.0));
        };
        let factor = units::of_q(&unit).ok_or_else(|| IoError::Value {
            file: self.source.name().to_owned(),
            dataset: format!("the unit of {path}"),
            found: format!("\"{}\"", shorten(&unit)),
            expected: "1/angstrom or 1/nm".to_owned(),
        })?;
        if factor != 1.0 {
            self.note(format!(
                "{name} is converted from {} to 1/Å",
                shorten(&unit)
            ));
        }
        if let Some(note) = units::not_used(self.q_unit, &shorten(&unit), factor) {
            self.note(note);
        }
        Ok(factor)
    }

    /// Factor that converts the resolution in `name` to 1/Å; without a unit, it has that of `axis`.
    fn factor_of_width(&mut self, name: &str, axis: &str) -> Result<f64, IoError> {
        if self.unit(name)?.is_some() {
            return self.factor_of_q(name);
        }
        self.note(format!("{name} has no units: those of {axis} are assumed"));
        self.factor_of_q(axis)
    }

    fn factor_of_intensity(&mut self) -> Result<f64, IoError> {
        let unit = self.unit(&self.signal)?.unwrap_or_default();
        Ok(match units::of_intensity(&unit) {
            Some(factor) => {
                if factor != 1.0 {
                    self.note(format!(
                        "intensities are converted from {} to 1/cm",
                        shorten(&unit)
                    ));
                }
                factor
            }
            None if unit.trim().is_empty() => {
                self.note("intensities have no unit: they are not converted".to_owned());
                1.0
            }
            None => {
                self.note(format!(
                    "intensities are in \"{}\", not in 1/cm: they are not converted",
                    shorten(&unit)
                ));
                1.0
            }
        })
    }

    fn note(&mut self, text: String) {
        if self.notes.len() < MAX_NOTES && !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    /// q of dataset `name` in 1/Å, with as many values as the intensities.
    fn q_column(&mut self, name: &str, what: &str, rows: usize) -> Result<Vec<f64>, IoError> {
        let factor = self.factor_of_q(name)?;
        Ok(scaled(self.column(name, what, rows)?, factor))
    }

    fn read(self) -> Result<Scattering, IoError> {
        let two = self.axes.len() == 2 && self.axes.iter().all(|a| a != "Temperature");
        let components = self.has("Qx")? && self.has("Qy")?;
        if components && (two || !self.has("Q")?) {
            self.image().map(Scattering::Image)
        } else {
            self.curve().map(Scattering::Curve)
        }
    }

    fn curve(mut self) -> Result<crate::data::Curve, IoError> {
        let (intensity, shape) = self.numbers(&self.signal, "intensities")?;
        if self.frame.is_none() && shape.iter().filter(|d| **d != 1).count() > 1 {
            return Err(self.source.bad_shape(
                &self.at(&self.signal),
                &shape,
                "one number for each q",
            ));
        }
        let intensity = self.of_frame(intensity);
        let rows = intensity.len();
        let named = self
            .axes
            .iter()
            .find(|a| a.starts_with('Q') || a.starts_with('q'));
        let axis = named.cloned().unwrap_or_else(|| "Q".to_owned());
        let q = self.q_column(&axis, "wave vectors", rows)?;
        let factor = self.factor_of_intensity()?;
        self.check_scaling()?;
        let sigma = self.uncertainties(rows, factor)?;
        let resolutions = match self
            .source
            .attribute_texts(&self.at(&axis), "resolutions")?
        {
            Some(names) => split(&names),
            None => {
                let usual = ["Qdev", "dQl", "dQw"];
                let mut present = Vec::new();
                for name in usual {
                    if self.has(name)? {
                        present.push(name.to_owned());
                    }
                }
                present
            }
        };
        let (mut width, mut length, mut across) = (None, None, None);
        for name in &resolutions {
            let slot = match name.as_str() {
                "dQl" => &mut length,
                "dQw" => &mut across,
                _ => &mut width,
            };
            if slot.is_none() {
                let factor = self.factor_of_width(name, &axis)?;
                *slot = Some(scaled(self.column(name, "resolution", rows)?, factor));
            }
        }
        let zeros = || vec![0.0; rows];
        let slit = match (length, across) {
            (None, None) => None,
            (length, across) => Some((length.unwrap_or_else(zeros), across.unwrap_or_else(zeros))),
        };
        let kept = self.unmasked(rows)?;
        let path = self.path.to_owned();
        let mut raw = RawCurve {
            q,
            intensity: scaled(intensity, factor),
            sigma,
            width,
            slit,
            title: self.title,
            notes: self.notes,
        };
        if let Some(kept) = &kept {
            raw.keep(kept);
        }
        let label = |i: usize| format!("{path}, point {}", number_in_file(kept.as_deref(), i));
        check::curve(self.source.name(), raw, &label)
    }

    fn image(mut self) -> Result<crate::data::ScatteringImage, IoError> {
        let (intensity, shape) = self.numbers(&self.signal, "intensities")?;
        let pixels = intensity.len();
        let [qx, qy] = self.components(pixels, &shape)?;
        let factor = self.factor_of_intensity()?;
        self.check_scaling()?;
        let sigma = self.uncertainties(pixels, factor)?;
        let mut widths = Vec::new();
        for name in ["dQx", "dQy"] {
            if self.has(name)? {
                let factor = self.factor_of_width(name, "Qx")?;
                widths.push(scaled(self.column(name, "resolution", pixels)?, factor));
            }
        }
        let mut widths = widths.into_iter();
        let kept = self.unmasked(pixels)?;
        let path = self.path.to_owned();
        let mut raw = RawImage {
            qx,
            qy,
            intensity: scaled(intensity, factor),
            sigma,
            widths: widths.next().zip(widths.next()),
            title: self.title,
            notes: self.notes,
        };
        if let Some(kept) = &kept {
            raw.keep(kept);
        }
        let label = |i: usize| format!("{path}, pixel {}", number_in_file(kept.as_deref(), i));
        check::image(self.source.name(), raw, &label)
    }

    /// qx and qy of every pixel, given per pixel or as axes.
    fn components(&mut self, pixels: usize, shape: &[usize]) -> Result<[Vec<f64>; 2], IoError> {
        let factors = [self.factor_of_q("Qx")?, self.factor_of_q("Qy")?];
        let (qx, shape_x) = self.numbers("Qx", "wave vectors")?;
        let (qy, _) = self.numbers("Qy", "wave vectors")?;
        let (qx, qy) = (scaled(qx, factors[0]), scaled(qy, factors[1]));
        if qx.len() == pixels && qy.len() == pixels {
            return Ok([qx, qy]);
        }
        // The first of I_axes varies more slowly; without I_axes, rows are qy.
        let x_first = self.axes.first().is_some_and(|a| a == "Qx");
        let expected = if x_first {
            [qx.len(), qy.len()]
        } else {
            [qy.len(), qx.len()]
        };
        if shape != expected {
            return Err(self.source.bad_shape(
                &self.at("Qx"),
                &shape_x,
                &format!("one number for each of the {pixels} pixels or an axis of I"),
            ));
        }
        let mut full = [Vec::with_capacity(pixels), Vec::with_capacity(pixels)];
        let (slow, fast) = if x_first { (&qx, &qy) } else { (&qy, &qx) };
        for s in slow {
            for f in fast {
                let (x, y) = if x_first { (*s, *f) } else { (*f, *s) };
                full[0].push(x);
                full[1].push(y);
            }
        }
        Ok(full)
    }
}

/// Number in the file, from 1, of value `i` of those that are `kept`: all if there is no mask.
fn number_in_file(kept: Option<&[usize]>, i: usize) -> usize {
    kept.and_then(|kept| kept.get(i).copied()).unwrap_or(i) + 1
}

fn scaled(mut values: Vec<f64>, factor: f64) -> Vec<f64> {
    if factor != 1.0 {
        values.iter_mut().for_each(|v| *v *= factor);
    }
    values
}

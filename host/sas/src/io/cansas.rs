//! canSAS 1-D XML, versions 1.0 and 1.1: SASroot / SASentry / SASdata / Idata with Q, I and
//! optional columns.
//!
//! Elements are identified by their local names, because the namespaces of the two versions differ
//! and many files have none. The parser refuses document types, and with them entities.

use super::check::{self, RawCurve};
use super::{
    IoError, MAX_NOTES, Memory, ReadOptions, allow, name_of, not_scattering, select, shorten, units,
};
use crate::data::Scattering;
use roxmltree::{Document, Node, ParsingOptions};
use warpstride_files::xml;

/// Maximum number of elements, attributes and texts.
const MAX_NODES: u32 = 1 << 20;
/// Memory per byte of text: an empty element of four bytes becomes a node of about a hundred.
const GROWTH: u128 = 32;

/// Reads the selected curve, or the first one.
pub(super) fn read(
    file: &str,
    text: &str,
    options: &ReadOptions,
    memory: Memory,
) -> Result<Scattering, IoError> {
    allow(file, "the XML", text.len() as u128 * GROWTH, memory)?;
    let parsing = ParsingOptions {
        nodes_limit: MAX_NODES,
        ..ParsingOptions::default()
    };
    xml::check(text).map_err(|found| not_scattering(file, format!("XML with {found}")))?;
    let document = Document::parse_with_options(text, parsing).map_err(|e| {
        not_scattering(
            file,
            format!("XML that is not well-formed: {}", shorten(&e.to_string())),
        )
    })?;
    let root = document.root_element();
    if root.tag_name().name() != "SASroot" {
        let name = shorten(root.tag_name().name());
        return Err(not_scattering(
            file,
            format!("XML with the root <{name}> instead of <SASroot>"),
        ));
    }
    let mut sets = Vec::new();
    for entry in children(root, "SASentry") {
        let title = children(entry, "Title").next().map(words);
        let name = entry.attribute("name").map(shorten);
        let title = title
            .filter(|t| !t.is_empty())
            .or(name)
            .filter(|t| !t.is_empty())
            .unwrap_or_else(|| name_of(file));
        let several = children(entry, "SASdata").nth(1).is_some();
        for data in children(entry, "SASdata") {
            let part = data.attribute("name").map(shorten);
            let title = match part.filter(|p| !p.is_empty() && *p != title) {
                Some(part) if several => format!("{title} {part}"),
                _ => title.clone(),
            };
            sets.push((title, data));
        }
    }
    if sets.is_empty() {
        return Err(IoError::Missing {
            file: file.to_owned(),
            what: "data".to_owned(),
            tried: vec!["SASroot/SASentry/SASdata".to_owned()],
        });
    }
    let titles: Vec<String> = sets.iter().map(|(title, _)| title.clone()).collect();
    let mut notes = Vec::new();
    let chosen = select(file, &titles, options, &mut notes)?;
    let (title, data) = &sets[chosen];
    let mut columns = Columns::new(file, options);
    for row in children(*data, "Idata") {
        columns.add(row)?;
    }
    notes.append(&mut columns.notes);
    let label = |i: usize| format!("Idata {} of SASdata {}", i + 1, chosen + 1);
    let raw = columns.curve(title.clone(), notes, &label)?;
    check::curve(file, raw, &label).map(Scattering::Curve)
}

/// Children with that local name.
fn children<'a, 'i>(
    node: Node<'a, 'i>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'i>> + use<'a, 'i> {
    node.children()
        .filter(move |child| child.is_element() && child.tag_name().name() == name)
}

fn words(node: Node<'_, '_>) -> String {
    shorten(node.text().unwrap_or_default().trim())
}

/// Optional elements of a row besides Q and I.
const OPTIONAL: [&str; 4] = ["Idev", "Qdev", "dQl", "dQw"];

/// Columns of the rows read so far.
struct Columns<'f> {
    file: &'f str,
    q_unit: Option<f64>,
    q: Vec<f64>,
    intensity: Vec<f64>,
    /// In the order of [`OPTIONAL`]; NaN where a row lacks an element.
    optional: [Vec<f64>; 4],
    /// Whether some row has Q and I, and each of [`OPTIONAL`].
    present: ([bool; 2], [bool; 4]),
    notes: Vec<String>,
}

impl<'f> Columns<'f> {
    fn new(file: &'f str, options: &ReadOptions) -> Self {
        Self {
            file,
            q_unit: options.q_unit.map(super::QUnit::factor),
            q: Vec::new(),
            intensity: Vec::new(),
            optional: Default::default(),
            present: Default::default(),
            notes: Vec::new(),
        }
    }

    fn add(&mut self, row: Node<'_, '_>) -> Result<(), IoError> {
        let mut found = [None; 2];
        let mut optional = [None; 4];
        for node in row.children().filter(Node::is_element) {
            let name = node.tag_name().name();
            let (slot, of_q) = match name {
                "Q" => (&mut found[0], true),
                "I" => (&mut found[1], false),
                _ => match OPTIONAL.iter().position(|o| *o == name) {
                    Some(i) => (&mut optional[i], i > 0),
                    None => continue,
                },
            };
            if slot.is_none() {
                let text = node.text().unwrap_or_default().trim();
                // A row with an empty element is left out later.
                let value: f64 = match text {
                    "" => f64::NAN,
                    _ => (text.parse())
                        .map_err(|_| self.refused(name, &shorten(text), "a number"))?,
                };
                let factor = if of_q {
                    self.factor_of_q(node, name)?
                } else {
                    self.factor_of_intensity(node)
                };
                *slot = Some(value * factor);
            }
        }
        let columns = [&mut self.q, &mut self.intensity];
        for ((column, value), present) in columns.into_iter().zip(found).zip(&mut self.present.0) {
            *present |= value.is_some();
            column.push(value.unwrap_or(f64::NAN));
        }
        let columns = self.optional.iter_mut().zip(optional);
        for ((column, value), present) in columns.zip(&mut self.present.1) {
            *present |= value.is_some();
            column.push(value.unwrap_or(f64::NAN));
        }
        Ok(())
    }

    fn refused(&self, name: &str, found: &str, expected: &str) -> IoError {
        IoError::Value {
            file: self.file.to_owned(),
            dataset: format!("{name} in Idata {}", self.q.len() + 1),
            found: format!("\"{found}\""),
            expected: expected.to_owned(),
        }
    }

    fn note(&mut self, text: String) {
        if self.notes.len() < MAX_NOTES && !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    fn factor_of_q(&mut self, node: Node<'_, '_>, name: &str) -> Result<f64, IoError> {
        let unit = node.attribute("unit").unwrap_or_default().trim();
        if unit.is_empty() {
            if self.q_unit.is_none() {
                self.note(format!("{name} has no unit: 1/Å is assumed"));
            }
            return Ok(self.q_unit.unwrap_or(1.0));
        }
        let factor = units::of_q(unit).ok_or_else(|| {
            self.refused(
                &format!("the unit of {name}"),
                &shorten(unit),
                "1/A or 1/nm",
            )
        })?;
        if factor != 1.0 {
            self.note(format!("{name} is converted from {} to 1/Å", shorten(unit)));
        }
        if let Some(note) = units::not_used(self.q_unit, &shorten(unit), factor) {
            self.note(note);
        }
        Ok(factor)
    }

    fn factor_of_intensity(&mut self, node: Node<'_, '_>) -> f64 {
        let unit = node.attribute("unit").unwrap_or_default().trim();
        match units::of_intensity(unit) {
            Some(1.0) => 1.0,
            Some(factor) => {
                self.note(format!(
                    "intensities are converted from {} to 1/cm",
                    shorten(unit)
                ));
                factor
            }
            None => {
                let what = if unit.is_empty() {
                    "have no unit".to_owned()
                } else {
                    format!("are in \"{}\"", shorten(unit))
                };
                self.note(format!(
                    "intensities {what}, not in 1/cm: they are not converted"
                ));
                1.0
            }
        }
    }

    /// The curve. A row that lacks an element of other rows is invalid.
    fn curve(
        self,
        title: String,
        notes: Vec<String>,
        label: check::RowLabel<'_>,
    ) -> Result<RawCurve, IoError> {
        let rows = self.q.len();
        if rows == 0 {
            return Err(IoError::Missing {
                file: self.file.to_owned(),
                what: "points".to_owned(),
                tried: vec!["SASdata/Idata".to_owned()],
            });
        }
        for (name, present) in ["Q", "I"].iter().zip(self.present.0) {
            if !present {
                return Err(IoError::Missing {
                    file: self.file.to_owned(),
                    what: (*name).to_owned(),
                    tried: vec![label(0)],
                });
            }
        }
        let mut optional = self.optional.into_iter().zip(self.present.1);
        let [sigma, width, length, across] = std::array::from_fn(|_| {
            let (column, present) = optional.next()?;
            present.then_some(column)
        });
        let zeros = || vec![0.0; rows];
        let slit = match (length, across) {
            (None, None) => None,
            (length, across) => Some((length.unwrap_or_else(zeros), across.unwrap_or_else(zeros))),
        };
        Ok(RawCurve {
            q: self.q,
            intensity: self.intensity,
            sigma,
            width,
            slit,
            title,
            notes,
        })
    }
}

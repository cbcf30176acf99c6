//! What is refused or noted of a header.

use super::super::names::{
    Role, is_intensity, is_unit_of_other, is_unknown_unit, may_be_intensity,
};
use super::super::{IoError, QUnit, ReadOptions, shorten, units};
use super::Header;

/// How the notes on the unit of q begin.
pub(crate) const UNIT_NOTES: [&str; 3] = [
    "the header mentions",
    "q is read in the given unit",
    "q is converted from",
];

/// q in an unknown unit, in column `at`.
fn unknown_unit(file: &str, at: usize, unit: &str) -> IoError {
    IoError::Value {
        file: file.to_owned(),
        dataset: format!("column {}", at + 1),
        found: format!("a unit that is not known ({})", shorten(unit)),
        expected: "q in 1/Å or 1/nm: give its unit, such as --q-unit 1/nm, or convert q first"
            .to_owned(),
    }
}

impl Header {
    /// Refuses data that the header names as no function of q; `first` is the first column.
    pub(in crate::io) fn check(&self, file: &str, first: &[f64]) -> Result<(), IoError> {
        if let (Some((column, of, name)), None) = (&self.foreign, &self.columns) {
            let (found, expected) = of.messages();
            return Err(IoError::Value {
                file: file.to_owned(),
                dataset: format!("column {}", column + 1),
                found: format!("{found}, as the header says ({})", shorten(name)),
                expected: expected.to_owned(),
            });
        }
        if let (Some((of, name)), None) = (&self.unlike, &self.columns) {
            let (found, expected) = of.messages();
            return Err(IoError::Value {
                file: file.to_owned(),
                dataset: "column 1".to_owned(),
                found: format!("{found}, as the header says ({})", shorten(name)),
                expected: format!(
                    "{expected}; if the columns are q and I, name them so in the header"
                ),
            });
        }
        let ascends = first.windows(2).all(|pair| pair[0] <= pair[1]);
        match (&self.columns, &self.detector[..]) {
            (None, [_, _, ..]) if !ascends => Err(IoError::Value {
                file: file.to_owned(),
                dataset: "the columns".to_owned(),
                found: format!(
                    "the pixels of a detector without q (the header gives {})",
                    self.detector.join(", ")
                ),
                expected:
                    "q, I and its uncertainty, or Qx, Qy and I, as a reduction program writes them"
                        .to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// Refuses a unit of the column of q that is no inverse length, or written in an unknown way,
    /// unless the unit is given.
    pub(in crate::io) fn check_unit(
        &self,
        file: &str,
        options: &ReadOptions,
    ) -> Result<(), IoError> {
        let names = self.columns.as_ref().map(|columns| &columns.names);
        let named = |role| {
            let at = self.column(role)?;
            Some((at, names?.get(at)?))
        };
        for (at, name) in [Role::Q, Role::Qx, Role::Qy].into_iter().filter_map(named) {
            let Some(unit) = name.unit.as_ref().or(self.other_unit.as_ref()) else {
                continue;
            };
            if options.q_unit.is_none() && is_unit_of_other(unit) {
                return Err(IoError::Value {
                    file: file.to_owned(),
                    dataset: format!("column {}", at + 1),
                    found: format!("q in {}, which is no inverse length", shorten(unit)),
                    expected: "q in 1/Å or 1/nm (if it is, --q-unit states its unit)".to_owned(),
                });
            }
            if options.q_unit.is_none() && is_unknown_unit(unit) {
                return Err(unknown_unit(file, at, unit));
            }
        }
        if let Some(at) = self.column(Role::Width)
            && self.unit(at) == Some("%")
        {
            return Err(IoError::Value {
                file: file.to_owned(),
                dataset: format!("column {}", at + 1),
                found: "the resolution in percent of q".to_owned(),
                expected: "the resolution in the unit of q: multiply it by q/100".to_owned(),
            });
        }
        let named = named(Role::Q).or_else(|| named(Role::Qx));
        let (at, written) = match (named, &self.assumed) {
            (Some((at, name)), _) => (at, name.unit.as_ref().unwrap_or(&name.text)),
            (None, Some((at, text))) => (*at, text),
            (None, None) => return Ok(()),
        };
        if !written
            .to_lowercase()
            .starts_with(['q', 'n', 'u', 'µ', 'μ', 'm', '1', '[', '('])
        {
            return Ok(());
        }
        let length = |word: &&str| written.to_lowercase().contains(*word);
        let lengths = ["nm", "um", "µm", "μm", "nano", "micro"];
        if options.q_unit.is_some()
            || self.q_unit_is_named
            || units::of_q(written).is_some()
            || !lengths.iter().any(length)
        {
            return Ok(());
        }
        Err(unknown_unit(file, at, written))
    }

    /// Factor of q to 1/Å: the given unit, or that of the column of q.
    pub(in crate::io) fn factor(&self, options: &ReadOptions) -> f64 {
        match (&self.q_unit, options.q_unit) {
            (_, Some(given)) => given.factor(),
            (Some(unit), None) if self.q_unit_is_named => unit.factor,
            _ => 1.0,
        }
    }

    /// Factor of a component of q, or of the resolution, in a column: that of its own unit, or of
    /// q.
    pub(in crate::io) fn factor_of(&self, column: usize, options: &ReadOptions) -> f64 {
        let own = self.unit(column).and_then(units::of_q);
        let own = own.filter(|_| options.q_unit.is_none());
        own.unwrap_or_else(|| self.factor(options))
    }

    /// A note if the units of qx and qy, in these columns, differ.
    pub(in crate::io) fn note_on_axes(
        &self,
        columns: [Option<usize>; 2],
        options: &ReadOptions,
    ) -> Option<String> {
        let [x, y] = columns.map(|at| self.unit(at?));
        let differ = units::of_q(x?)? != units::of_q(y?)?;
        (differ && options.q_unit.is_none()).then(|| {
            format!(
                "qx is in {} and qy in {}, as the header names their units: each is converted to 1/Å",
                shorten(x.unwrap_or_default()),
                shorten(y.unwrap_or_default())
            )
        })
    }

    /// Notes on units that the header gives.
    pub(in crate::io) fn notes_on_units(&self, options: &ReadOptions) -> Vec<String> {
        let mut notes = Vec::new();
        match (&self.q_unit, options.q_unit) {
            (Some(unit), None) if unit.factor != 1.0 && self.q_unit_is_named => {
                notes.push(format!(
                    "q is converted from {} to 1/Å, as the header names its unit",
                    shorten(&unit.text)
                ))
            }
            (Some(unit), None) if unit.factor != 1.0 => {
                let nm = unit.factor == QUnit::InverseNanometre.factor();
                notes.push(format!(
                    "the header mentions {}, but q is read as 1/Å: {}",
                    shorten(&unit.text),
                    if nm {
                        "if that is its unit, give --q-unit 1/nm"
                    } else {
                        "convert it to 1/Å or 1/nm"
                    }
                ));
            }
            (Some(unit), Some(given)) if unit.factor != given.factor() => notes.push(format!(
                "q is read in the given unit, {}, but the header mentions {}",
                given.name(),
                shorten(&unit.text)
            )),
            _ => {}
        }
        if let Some(unit) = self.intensity_unit.as_ref().filter(|u| u.factor != 1.0) {
            notes.push(format!(
                "the header gives intensities in {}, but they are read as 1/cm",
                shorten(&unit.text)
            ));
        }
        notes
    }

    /// A note if the column of q has a name that does not say so.
    pub(in crate::io) fn note_on_q(&self, column: Option<usize>) -> Option<String> {
        let (at, name) = self
            .assumed
            .as_ref()
            .filter(|(at, _)| Some(*at) == column)?;
        let at = at + 1;
        Some(match name.as_str() {
            "s" | "sexp" | "h" | "k" => format!(
                "column {at} ({name}) is taken for q = 4π sin(θ)/λ, as ATSAS names it; if it is 2 sin(θ)/λ, multiply it by 2π"
            ),
            _ => format!("column {at} ({}) is taken for q", shorten(name)),
        })
    }

    /// A note if the header gives the column of I a name of another quantity, or of none that is
    /// known.
    pub(in crate::io) fn note_on_intensity(&self, column: Option<usize>) -> Option<String> {
        let at = column?;
        let name = match (&self.columns, &self.by_place) {
            (Some(columns), _) => &columns.names.get(at)?.text,
            (None, Some((place, name))) if *place == at => name,
            (None, _) => return None,
        };
        if is_intensity(name) || may_be_intensity(name) {
            return None;
        }
        Some(format!(
            "column {} ({}) is read as I, although the header does not call it so: models do not describe other quantities, such as a structure factor S(q)",
            at + 1,
            shorten(name)
        ))
    }

    /// A note if the header seems to name columns that are not read so; `curve`: the columns were
    /// found to be those of a curve.
    pub(in crate::io) fn note_on_columns(&self, curve: bool) -> Option<String> {
        if curve && self.mentions_components {
            return Some(
                "the header mentions Qx and Qy, but no line of it names the columns Qx, Qy and I: they are read as q, I, its uncertainty and resolution"
                    .to_owned(),
            );
        }
        let guessed = self.columns.as_ref().is_some_and(|columns| columns.guessed);
        guessed.then(|| {
            "the column that the header names as σ(q) is read as the uncertainty of I, as the header names no other"
                .to_owned()
        })
    }
}

//! Units of numbers in files without a fixed unit: as the options say, as the file states, or the
//! only plausible one.

mod voltage;

use super::ReadOptions;
use crate::positions::units::{by_likelihood, plausible_units, typical_step};
pub(super) use crate::session::quantities::Measure;
use crate::session::quantities::{LARGEST_JOULE, one_of};
use crate::session::read_options::{PositionUnit, is_pixel, noun, si_units};
use ndarray::Array2;
use std::cell::RefCell;
use warpstride_core::text::{Dimension, shortest, significant};
use warpstride_files::IoError;
use warpstride_files::source::Source;

/// Steps in frames that are no metres, if nothing says that they are.
const ABSURD_STEP: f64 = 100.0;
/// Largest step in frames that is taken to be in metres, where they are documented, though another
/// unit is plausible.
const LARGEST_STEP: f64 = 2.0;

/// The option that states the unit; `None` if there is none.
pub(super) fn option(measure: Measure) -> Option<&'static str> {
    Some(match measure {
        Measure::Positions => "data.units.positions",
        Measure::Wavelength => "data.units.wavelength",
        Measure::Energy => "data.units.energy",
        Measure::Distance => "data.units.distance",
        Measure::PixelSize => "data.units.pixel_size",
        Measure::Focus | Measure::Optics | Measure::Path | Measure::Step => return None,
    })
}

/// What the options can state a unit of.
const STATED: [Measure; 5] = [
    Measure::Positions,
    Measure::Wavelength,
    Measure::Energy,
    Measure::Distance,
    Measure::PixelSize,
];

/// The unit that the options state.
fn given(measure: Measure, options: &ReadOptions) -> Option<&str> {
    let units = &options.units;
    let unit = match measure {
        Measure::Positions => &units.positions,
        Measure::Wavelength => &units.wavelength,
        Measure::Energy => &units.energy,
        Measure::Distance => &units.distance,
        Measure::PixelSize => &units.pixel_size,
        Measure::Focus | Measure::Optics | Measure::Path | Measure::Step => return None,
    };
    unit.as_deref()
}

/// The unit that attributes of a dataset state; `None` if they state none.
///
/// # Errors
/// They state several units.
pub(super) fn attribute_unit(source: &Source, dataset: &str) -> Result<Option<String>, IoError> {
    for name in ["units", "unit"] {
        let mut units = source.attribute_texts(dataset, name)?.unwrap_or_default();
        if units.iter().any(|unit| unit.trim() != units[0].trim()) {
            return Err(IoError::Value {
                file: source.name().to_owned(),
                dataset: dataset.to_owned(),
                found: format!("the attribute {name} = {units:?}"),
                expected: "one unit for all numbers (data.units.positions, wavelength, energy, distance or pixel_size replaces it, as in --set 'data.units.distance=\"mm\"')".to_owned(),
            });
        }
        units.truncate(1);
        if let Some(unit) = units.pop().filter(|unit| !unit.trim().is_empty()) {
            return Ok(Some(unit));
        }
    }
    Ok(None)
}

/// Refuses units that the options state of numbers that have not been read: those of other than
/// `read`.
///
/// # Errors
/// Names the first such option.
pub(super) fn check_used(
    file: &str,
    options: &ReadOptions,
    read: &[Measure],
) -> Result<(), IoError> {
    // A table of positions has the unit of its own option, or else this.
    let table = options.positions.as_ref();
    let of_table = table.is_some_and(|file| file.unit.is_none()) || options.without_positions;
    let has_wavelength = read.contains(&Measure::Wavelength);
    let constants = &options.constants;
    let replaced = |measure: &Measure| match measure {
        Measure::Wavelength | Measure::Energy => constants.has_beam(),
        Measure::Distance => constants.distance.is_some(),
        Measure::PixelSize => constants.pixel_size.is_some(),
        _ => false,
    };
    let unused = STATED.into_iter().find(|measure| {
        let used = match measure {
            Measure::Positions => of_table || read.contains(measure),
            Measure::Energy => read.contains(measure) && !has_wavelength,
            _ => read.contains(measure),
        };
        given(*measure, options).is_some() && (!used || replaced(measure))
    });
    let Some((measure, option)) = unused.and_then(|measure| Some((measure, option(measure)?)))
    else {
        return Ok(());
    };
    let what = match measure {
        measure if replaced(&measure) => {
            "data.constants takes the place of what the file has, with its own unit"
        }
        Measure::Positions if options.raster.is_some() => {
            "the step of the raster has its unit with it"
        }
        Measure::Positions if table.is_some() => "data.positions.unit states it already",
        Measure::Positions => "the layout of this file has no positions in a unit of length",
        Measure::Wavelength => "no wavelength is read from this file",
        Measure::Energy if has_wavelength => {
            "the wavelength of this file is used and not an energy"
        }
        Measure::Energy => "no energy is read from this file",
        Measure::Distance => "no distance is read from this file",
        _ => "no size of a detector pixel in a unit of length is read from this file",
    };
    Err(IoError::Option {
        file: file.to_owned(),
        option,
        reason: format!("the option has no effect here, as {what}: leave it out"),
    })
}

/// Where a unit comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Option,
    Attribute,
    Name,
    OnlyPlausible,
    /// Nothing is plausible, and the documented unit is taken.
    Documented,
}

/// The units of the numbers of a file, and notes on those that the file does not state in an
/// attribute.
pub(super) struct UnitReader<'a> {
    source: &'a Source,
    options: &'a ReadOptions,
    by_name: Vec<String>,
    plausible: Vec<String>,
    /// Pairs of datasets in different units.
    unlike: Vec<String>,
    /// The kinds of numbers that have been read.
    read: RefCell<Vec<Measure>>,
}

impl<'a> UnitReader<'a> {
    pub(super) fn new(source: &'a Source, options: &'a ReadOptions) -> Self {
        Self {
            source,
            options,
            by_name: Vec::new(),
            plausible: Vec::new(),
            unlike: Vec::new(),
            read: RefCell::default(),
        }
    }

    /// The unit that the options state of a number that is read.
    fn given(&self, measure: Measure) -> Option<&'a str> {
        self.read.borrow_mut().push(measure);
        given(measure, self.options)
    }

    /// Notes that a number has been read by other means.
    pub(super) fn mark(&self, measure: Measure) {
        self.read.borrow_mut().push(measure);
    }

    /// The kinds of numbers that have been read.
    pub(super) fn read(&self) -> Vec<Measure> {
        self.read.borrow().clone()
    }

    /// SI units in one of the unit of the number `value` in `dataset`.
    ///
    /// # Errors
    /// The file states an unknown unit, or none and several are plausible.
    pub(super) fn factor(
        &mut self,
        measure: Measure,
        dataset: &str,
        value: f64,
    ) -> Result<f64, IoError> {
        let dimension = measure.dimension();
        let (unit, origin) = match self.stated(measure, dataset)? {
            Some(stated) => stated,
            None => {
                let plausible = measure.plausible(value);
                if plausible.is_empty() {
                    self.documented(measure, dataset, value)?;
                }
                self.only(measure, dataset, &plausible, &shortest(value.abs()))?
            }
        };
        let factor = si_units(dimension, &unit);
        let factor = factor.ok_or_else(|| self.unknown(measure, dataset, &unit, origin))?;
        self.note(dataset, &unit, origin);
        Ok(factor)
    }

    /// The number `value` in `dataset` of a layout in which lengths are in metres and energies in
    /// any unit, unless the options or the attribute `units` say otherwise: in SI units, or as it
    /// is for an energy without a unit. Adds units other than those to `notes`.
    ///
    /// # Errors
    /// The unit is not known, or there is none and another one than metres is plausible.
    pub(super) fn converted(
        &self,
        measure: Measure,
        dataset: &str,
        value: f64,
        notes: &mut Vec<String>,
    ) -> Result<f64, IoError> {
        let dimension = measure.dimension();
        let attribute = match given(measure, self.options) {
            Some(_) => None,
            None => attribute_unit(self.source, dataset)?,
        };
        let Some(name) = self.given(measure).or(attribute.as_deref()) else {
            if dimension == Dimension::Length {
                self.documented(measure, dataset, value)?;
            }
            return Ok(value);
        };
        let known = si_units(dimension, name);
        let factor = match (known, &*measure.plausible(value)) {
            (Some(factor), _) => factor,
            (None, [only]) => {
                notes.push(format!(
                    "{dataset} has the unit {}, which is not known as one of {dimension}: it is taken to be in {only}, the only plausible one",
                    warpstride_core::text::visible(name)
                ));
                si_units(dimension, only).unwrap_or(1.0)
            }
            (None, plausible) => {
                let units = match plausible {
                    [] => measure.units(),
                    some => some,
                };
                let found = format!("{} with units = \"{name}\"", shortest(value));
                return Err(self.asked(measure, dataset, units, found));
            }
        };
        let converted = value * factor;
        if measure == Measure::Energy && converted >= LARGEST_JOULE {
            notes.push(format!(
                "{dataset} has the unit {name}, which {} cannot be in: the unit is not used",
                shortest(value)
            ));
            return Ok(value);
        }
        if known.is_some_and(|factor| factor != 1.0) {
            notes.push(format!("{dataset} is {} {name}", shortest(value)));
        }
        Ok(converted)
    }

    /// Metres of the length `value` in `dataset` of a layout whose documented unit is `unit`,
    /// unless the options or the attribute `units` say otherwise, and whether the documented unit
    /// was taken.
    ///
    /// # Errors
    /// The unit is not known, or there is none and another one than the documented one is
    /// plausible; in Å, which is documented for wavelengths of X-rays, only if Å is not.
    pub(super) fn with_default(
        &self,
        measure: Measure,
        dataset: &str,
        value: f64,
        unit: &'static str,
    ) -> Result<(f64, bool), IoError> {
        let stated = self.stated(measure, dataset)?;
        let assumed = stated.is_none();
        let (name, origin) = stated.unwrap_or((unit.to_owned(), Origin::Documented));
        if assumed {
            let plausible = measure.plausible(value);
            let doubtful = match unit {
                "m" => measure.doubt(value),
                _ if plausible.contains(&unit) || plausible.is_empty() => Vec::new(),
                _ => [&plausible[..], &[unit]].concat(),
            };
            if !doubtful.is_empty() {
                return Err(self.question(measure, dataset, &doubtful, &shortest(value.abs())));
            }
        }
        let metres = si_units(measure.dimension(), &name);
        let metres = metres.ok_or_else(|| self.unknown(measure, dataset, &name, origin))?;
        // 75 µm are 75/10⁶, which is the nearest number, unlike 75 · 10⁻⁶.
        Ok((value / (1.0 / metres).round(), assumed))
    }

    /// Refuses a length without a unit, where metres are documented, if it is in doubt.
    ///
    /// # Errors
    /// The question.
    fn documented(&self, measure: Measure, dataset: &str, value: f64) -> Result<(), IoError> {
        match &*measure.doubt(value) {
            [] => Ok(()),
            units => Err(self.question(measure, dataset, units, &shortest(value.abs()))),
        }
    }

    /// Positions (frame, (row, column)), m, of a layout in which they are in metres, unless the
    /// options or the attribute `units` say otherwise, which is added to `notes`; `values` are
    /// those in `dataset`, `pixel` is the object pixel and `frame` a frame's rows and columns. And
    /// the metres of one in the file.
    ///
    /// # Errors
    /// The unit is not known, or there is none and another one than metres is plausible.
    pub(super) fn positions_in_metres(
        &self,
        dataset: &str,
        mut values: Array2<f64>,
        pixel: [f64; 2],
        frame: [usize; 2],
        notes: &mut Vec<String>,
    ) -> Result<(Array2<f64>, f64), IoError> {
        let measure = Measure::Positions;
        let stated = match self.given(measure) {
            Some(unit) => Some((unit.to_owned(), Origin::Option)),
            None => attribute_unit(self.source, dataset)?.map(|unit| (unit, Origin::Attribute)),
        };
        let Some((unit, origin)) = stated else {
            let step = typical_step(&values);
            let frames = step / pixel[0].max(pixel[1]) / frame[0].max(frame[1]) as f64;
            let mut plausible = plausible_units(step, pixel, frame);
            if plausible.is_empty() && frames > ABSURD_STEP {
                plausible = by_likelihood(step, pixel, frame);
                plausible.retain(|unit| *unit != "m");
            }
            if frames > LARGEST_STEP && !plausible.is_empty() {
                plausible.push("m");
                let step = format!("steps of about {}", significant(step, 3));
                return Err(self.question(measure, dataset, &plausible, &step));
            }
            return Ok((values, 1.0));
        };
        let mut factor = pixel[0];
        if is_pixel(&unit) {
            for (mut column, pixel) in values.columns_mut().into_iter().zip(pixel) {
                column *= pixel;
            }
        } else {
            let known = si_units(Dimension::Length, &unit);
            factor = known.ok_or_else(|| self.unknown(measure, dataset, &unit, origin))?;
            if factor == 1.0 {
                return Ok((values, factor));
            }
            // 20 µm are 20/10⁶, which is the nearest number, unlike 20 · 10⁻⁶.
            values /= (1.0 / factor).round();
        }
        notes.push(format!(
            "{dataset} is in {}",
            warpstride_core::text::visible(&unit)
        ));
        Ok((values, factor))
    }

    /// Metres in one of the unit of positions (row, column) in `dataset`, which are `step` of it
    /// apart; `pixel` is the object pixel and `frame` a frame's rows and columns.
    ///
    /// # Errors
    /// As [`UnitReader::factor`].
    pub(super) fn of_positions(
        &mut self,
        dataset: &str,
        step: f64,
        pixel: [f64; 2],
        frame: [usize; 2],
    ) -> Result<[f64; 2], IoError> {
        let measure = Measure::Positions;
        let of_paths = self.options.paths.as_ref();
        let of_paths = of_paths.and_then(|paths| paths.position_unit.as_ref());
        let (unit, origin) = match of_paths {
            Some(PositionUnit::Metres(metres)) => return Ok([*metres; 2]),
            Some(PositionUnit::Name(name)) => (name.clone(), Origin::Option),
            None => match self.stated(measure, dataset)? {
                Some(stated) => stated,
                None => {
                    let mut plausible = plausible_units(step, pixel, frame);
                    let frames = step / pixel[0].max(pixel[1]) / frame[0].max(frame[1]) as f64;
                    if plausible.is_empty() && frames > ABSURD_STEP {
                        plausible = by_likelihood(step, pixel, frame);
                        plausible.retain(|unit| *unit != "m");
                    }
                    let step = format!("steps of about {}", significant(step, 3));
                    self.only(measure, dataset, &plausible, &step)?
                }
            },
        };
        if is_pixel(&unit) {
            self.note(dataset, "object pixels", origin);
            return Ok(pixel);
        }
        let factor = si_units(Dimension::Length, &unit);
        let factor = factor.ok_or_else(|| self.unknown(measure, dataset, &unit, origin))?;
        self.note(dataset, &unit, origin);
        Ok([factor; 2])
    }

    /// Metres of one in the unit of positions that options, attribute or name state, and else 1.
    pub(super) fn metres_of_position(&self, dataset: &str) -> Result<f64, IoError> {
        let stated = self.stated(Measure::Positions, dataset)?;
        let known = stated.and_then(|(unit, _)| si_units(Dimension::Length, &unit));
        Ok(known.unwrap_or(1.0))
    }

    /// The unit that options, attribute or name state.
    fn stated(&self, measure: Measure, dataset: &str) -> Result<Option<(String, Origin)>, IoError> {
        if let Some(unit) = self.given(measure) {
            return Ok(Some((unit.to_owned(), Origin::Option)));
        }
        if let Some(unit) = attribute_unit(self.source, dataset)? {
            return Ok(Some((unit, Origin::Attribute)));
        }
        let named = unit_in_name(dataset, measure.dimension());
        Ok(named.map(|unit| (unit.to_owned(), Origin::Name)))
    }

    /// The unit if no or one is `plausible`.
    fn only(
        &self,
        measure: Measure,
        dataset: &str,
        plausible: &[&str],
        value: &str,
    ) -> Result<(String, Origin), IoError> {
        match plausible {
            [] if measure == Measure::Energy => {
                Err(self.question(measure, dataset, &["eV", "keV", "J"], value))
            }
            [] => Ok(("m".to_owned(), Origin::Documented)),
            [unit] => Ok(((*unit).to_owned(), Origin::OnlyPlausible)),
            several => Err(self.question(measure, dataset, several, value)),
        }
    }

    /// The error of a value without a unit.
    fn question(&self, measure: Measure, dataset: &str, units: &[&str], value: &str) -> IoError {
        self.asked(measure, dataset, units, format!("{value} without a unit"))
    }

    /// The error of a value whose unit has to be stated.
    fn asked(&self, measure: Measure, dataset: &str, units: &[&str], found: String) -> IoError {
        let first = units.first().copied().unwrap_or("m");
        let how = match option(measure) {
            Some(option) => format!("{option} states it: --set '{option}=\"{first}\"'"),
            None => "data.focus_to_sample takes its place: --focus-to-sample 3.65mm".to_owned(),
        };
        IoError::Value {
            file: self.source.name().to_owned(),
            dataset: dataset.to_owned(),
            found: format!("{found}: is it in {}?", one_of(units)),
            expected: format!("a unit of {} ({how})", noun(measure.dimension())),
        }
    }

    fn unknown(&self, measure: Measure, dataset: &str, unit: &str, origin: Origin) -> IoError {
        let dimension = measure.dimension();
        let voltage = match measure == Measure::Energy {
            true if si_units(Dimension::Voltage, unit).is_some() => {
                ", data.constants.voltage states the voltage of electrons"
            }
            _ => "",
        };
        let expected = format!(
            "a unit of {} ({}; {} replaces it{voltage})",
            noun(dimension),
            dimension.names(),
            option(measure).unwrap_or("an option")
        );
        let found = match origin {
            Origin::Attribute => format!("the attribute units = \"{unit}\""),
            _ => format!("\"{unit}\""),
        };
        IoError::Value {
            file: self.source.name().to_owned(),
            dataset: dataset.to_owned(),
            found,
            expected,
        }
    }

    fn note(&mut self, dataset: &str, unit: &str, origin: Origin) {
        let text = format!("{dataset} in {unit}");
        match origin {
            Origin::Name => self.by_name.push(text),
            // The documented unit needs no note.
            Origin::OnlyPlausible if unit != "m" => self.plausible.push(text),
            _ => {}
        }
    }

    /// Notes rows and columns in different units, of which one may be wrong: `factors` are their
    /// units, m.
    pub(super) fn compare(&mut self, measure: Measure, datasets: [&str; 2], factors: [f64; 2]) {
        if (factors[0] - factors[1]).abs() > 1e-6 * factors[0].abs() {
            let [rows, columns] = factors.map(shortest);
            self.unlike.push(format!(
                "{} is in units of {rows} m and {} in units of {columns} m: if one of them is wrong, {} states one for both",
                datasets[0],
                datasets[1],
                option(measure).unwrap_or_default()
            ));
        }
    }

    /// Adds what was found to the notes.
    pub(super) fn into_notes(self, notes: &mut Vec<String>) {
        notes.extend(self.unlike);
        if !self.by_name.is_empty() {
            notes.push(format!(
                "units that the names of datasets state: {} (data.units states others)",
                self.by_name.join(", ")
            ));
        }
        if !self.plausible.is_empty() {
            notes.push(format!(
                "units that the file does not state, the only plausible ones: {} (data.units states others)",
                self.plausible.join(", ")
            ));
        }
    }
}

/// Whether the file states the unit of a number in `dataset`, whose attribute `units` is given.
pub(super) fn is_stated(measure: Measure, dataset: &str, units: Option<&str>) -> bool {
    units.is_some() || unit_in_name(dataset, measure.dimension()).is_some()
}

/// The unit at the end of a dataset's name: `um` of `/stage/x_um`.
fn unit_in_name(dataset: &str, dimension: Dimension) -> Option<&str> {
    let name = dataset.rsplit('/').next()?;
    let separator = |c: char| !(c.is_alphanumeric() || c == '\u{212b}');
    let name = name.trim_end_matches(separator);
    let (begin, unit) = name.rsplit_once(separator)?;
    (!begin.is_empty() && si_units(dimension, unit).is_some()).then_some(unit)
}

#[cfg(test)]
mod tests;

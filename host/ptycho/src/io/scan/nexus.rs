//! Reader of NeXus files: NXcxi_ptycho, and others whose groups have classes (`NX_class`).
//!
//! Groups are found by their classes, not by their names: NXentry, in it NXinstrument with
//! NXdetector and NXbeam, NXsample, and NXdata (<https://manual.nexusformat.org/>). Positions are
//! those of the sample's stage in the laboratory frame (`transformations.rs`): row = +y, column = +x,
//! as in CXI.

mod classes;
mod detectors;
mod logs;
mod transformations;

use super::found_positions::FoundPositions;
use super::frame_stack::FrameStack;
use super::geometry::{ExpectedPaths, FileGeometry, resolve};
use super::pairing::{StoredFrames, pair};
use super::parts::{Parts, ScanFile};
use super::several_files::ScanFiles;
use super::units::{Measure, UnitReader};
use super::window::Window;
use super::{MaskPolarity, ReadOptions, positions};
use crate::data::{Geometry, each_frame};
use crate::positions::units::typical_step;
use classes::{heads, of_class};
use detectors::Candidate;
use ndarray::{Array2, Axis};
use std::cell::RefCell;
use std::path::Path;
use transformations::{Chain, resolved};
use warpstride_core::text::{shortest, significant};
use warpstride_files::IoError;
use warpstride_files::source::{Numbers, Source};

/// Definitions of ptychography: there the energy of the source is that of the machine.
const DEFINITIONS: [&str; 2] = ["NXcxi_ptycho", "NXptycho"];
/// 1 keV, J (CODATA 2018, exact).
const KILOELECTRONVOLT: f64 = 1.602_176_634e-16;
/// Largest energy of a beam, J: 1 MeV. Sources have that of their machine.
const LARGEST_ENERGY: f64 = 1e3 * KILOELECTRONVOLT;

/// Whether the file is NeXus: CXI files count as that only with a definition of ptychography.
pub(super) fn is_nexus(source: &Source) -> bool {
    let definition = source.label("/entry_1/definition").ok().flatten();
    if definition.is_some_and(|name| DEFINITIONS.contains(&name.as_str())) {
        return true;
    }
    !source.has("/entry_1").unwrap_or(true) && entry(source).is_some()
}

/// The entry: the default one, or the first.
fn entry(source: &Source) -> Option<String> {
    let entries = of_class(source, "", "NXentry");
    let default = source.attribute("/", "default").ok().flatten();
    let default = default.map(|name| resolved("", &name));
    let chosen = entries
        .iter()
        .find(|entry| Some(*entry) == default.as_ref());
    chosen.or(entries.first()).cloned()
}

/// The groups of an entry that a scan has.
struct Groups {
    entry: String,
    detectors: Vec<String>,
    /// NXbeam and NXmonochromator, then NXsource.
    beams: Vec<String>,
    sources: Vec<String>,
    samples: Vec<String>,
    data: Vec<String>,
}

impl Groups {
    fn of(source: &Source, entry: String) -> Self {
        let samples = of_class(source, &entry, "NXsample");
        let mut within = of_class(source, &entry, "NXinstrument");
        within.push(entry.clone());
        let all = |class: &str, also: &[String]| -> Vec<String> {
            let parents = within.iter().chain(also);
            parents
                .flat_map(|parent| of_class(source, parent, class))
                .collect()
        };
        let mut beams = all("NXbeam", &samples);
        beams.extend(all("NXmonochromator", &[]));
        let mut data = of_class(source, &entry, "NXdata");
        let default = source.attribute(&entry, "default").ok().flatten();
        let default = default.map(|name| resolved(&entry, &name));
        data.sort_by_key(|path| Some(path) != default.as_ref());
        Self {
            detectors: all("NXdetector", &[]),
            sources: all("NXsource", &[]),
            beams,
            samples,
            data,
            entry,
        }
    }

    /// Frames: those of a detector, or the signal of an NXdata; and the detector. `chosen` names a
    /// detector or its frames.
    fn frames<'s>(
        &self,
        source: &'s Source,
        chosen: Option<&str>,
        notes: &mut Vec<String>,
    ) -> Result<(Numbers<'s>, Option<String>), IoError> {
        let is_stack = |numbers: &Numbers<'_>| matches!(numbers.shape().len(), 3 | 4);
        let mut tried = Vec::new();
        let mut found: Vec<Candidate<'s>> = Vec::new();
        for detector in &self.detectors {
            let path = format!("{detector}/data");
            tried.push(path.clone());
            if let Some(numbers) = source.numbers(&path)?.filter(is_stack) {
                found.push(Candidate {
                    numbers,
                    detector: detector.clone(),
                });
            }
        }
        if !found.is_empty() {
            let candidate = detectors::choose(source, &self.samples, found, chosen, notes)?;
            return Ok((candidate.numbers, Some(candidate.detector)));
        }
        for data in &self.data {
            let signal = source
                .attribute(data, "signal")?
                .unwrap_or_else(|| "data".to_owned());
            let path = resolved(data, &signal);
            tried.push(path.clone());
            if let Some(numbers) = source.numbers(&path)?.filter(is_stack) {
                return Ok((numbers, self.detectors.first().cloned()));
            }
        }
        tried.push("a group of class NXdetector or NXdata".to_owned());
        Err(IoError::Missing {
            file: source.name().to_owned(),
            what: "frames".to_owned(),
            tried,
        })
    }
}

/// Reads the first or default entry of a NeXus file.
pub(super) fn read(
    source: &ScanFiles,
    options: &ReadOptions,
    scratch: Option<&Path>,
) -> Result<ScanFile, IoError> {
    let Some(entry) = entry(source) else {
        return Err(IoError::Missing {
            file: source.name().to_owned(),
            what: "an entry".to_owned(),
            tried: vec!["a group of class NXentry".to_owned()],
        });
    };
    let mut notes = vec![format!("NeXus file: {entry} is read")];
    let groups = Groups::of(source, entry);
    let (numbers, detector) = groups.frames(source, options.dataset.as_deref(), &mut notes)?;
    let frames = source.with_others(
        FrameStack::of_dataset(numbers)?,
        |other| frames(other, options),
        &mut notes,
    )?;
    let shape = frames.shape();
    let mut window = Window::new(source.name(), shape, options)?.with_raster(frames.scan_shape());
    let detector = detector.unwrap_or_default();
    let masks = masks_of(&detector);
    let mask = source.first(&[&masks[0], &masks[1]])?;
    let per_frame = mask.as_ref().is_some_and(|m| m.shape().len() == 3);
    let scratch = window.in_scratch(source.input(), &frames, per_frame, scratch)?;
    let mut units = UnitReader::new(source, options);
    let found = geometry(source, &groups, &detector, options, &mut units, &mut notes)?;
    source.same_geometry(&found, options, |other| {
        let groups = Groups::of(other, self::entry(other).unwrap_or_default());
        let (_, detector) = groups.frames(other, options.dataset.as_deref(), &mut Vec::new())?;
        let mut units = UnitReader::new(other, options);
        let detector = detector.unwrap_or_default();
        geometry(
            other,
            &groups,
            &detector,
            options,
            &mut units,
            &mut Vec::new(),
        )
    })?;
    let geometry = resolve(
        source.input(),
        &found,
        options,
        &ExpectedPaths {
            wavelength: &["incident_wavelength or incident_energy of a group of class NXbeam"],
            distance: &["distance of the detector", "its chain of depends_on"],
            pixel_size: &["x_pixel_size and y_pixel_size of the detector"],
        },
        &mut notes,
    )?;
    let of_frames = (shape[0], frames.scan_shape());
    let pixel = geometry.object_pixel(shape[1], shape[2]);
    let elsewhere = positions::given(source.input(), options, of_frames, &mut notes)?;
    let mut measures = units.read();
    let found = match elsewhere {
        Some(given) => given,
        None => {
            let unit = |dataset: &str, step: f64| {
                units.of_positions(dataset, step, pixel, [shape[1], shape[2]])
            };
            let (path, values) = stage(source, &groups, options, of_frames, unit, &mut notes)?;
            notes.push(format!(
                "{path} moves the sample: row = +y, column = +x of the laboratory frame"
            ));
            measures.push(Measure::Positions);
            let metres = units.metres_of_position(&path)?;
            FoundPositions::of_dataset(source.input(), path, values).in_units_of(metres)
        }
    };
    units.into_notes(&mut notes);
    let (path, positions) = pair(
        found,
        &StoredFrames::of_files(&frames),
        &mut window,
        options,
        &mut notes,
    )?;
    let of_file = |m: &Numbers<'_>| -> Result<_, IoError> {
        let valid = |v| options.file_mask(MaskPolarity::Bad).is_valid(v);
        let read = window.mask(source.input(), m, shape, valid)?;
        Ok((m.path().to_owned(), read))
    };
    let mask = mask.as_ref().map(&of_file).transpose()?;
    let mask = source.with_masks(mask, &mut notes, |other| {
        let found = other.first(&[&masks[0], &masks[1]])?;
        found.as_ref().map(&of_file).transpose()
    })?;
    if mask.is_none() {
        notes.push("the file has no mask: all pixels are treated as valid".to_owned());
    }
    let valid = mask.as_ref().map(|(_, mask)| mask);
    let mask_light = window.mask_light(source.input(), &frames, valid)?;
    Parts {
        frames: (
            frames.path().to_owned(),
            window.frames(source.input(), &frames, (valid, scratch))?,
        ),
        mask,
        mask_marks: MaskPolarity::Bad,
        mask_light,
        positions: (path, window.select(&positions)),
        geometry,
        probe: None,
        unusable_probe: None,
        simulation: None,
        window,
        cutoff: None,
        measures,
        notes,
    }
    .into_scan(source.input(), options)
}

/// Where a mask may be.
fn masks_of(detector: &str) -> [String; 2] {
    ["pixel_mask", "mask"].map(|name| format!("{detector}/{name}"))
}

/// The frames of another file.
fn frames<'s>(source: &'s Source, options: &ReadOptions) -> Result<FrameStack<'s>, IoError> {
    let groups = Groups::of(source, entry(source).unwrap_or_default());
    let (numbers, _) = groups.frames(source, options.dataset.as_deref(), &mut Vec::new())?;
    FrameStack::of_dataset(numbers)
}

/// Where a voltage was found, and the voltage, V.
type PathAndVolts = (String, f64);

/// Reads wavelength, distance and pixel size.
fn geometry(
    source: &Source,
    groups: &Groups,
    detector: &str,
    options: &ReadOptions,
    units: &mut UnitReader<'_>,
    notes: &mut Vec<String>,
) -> Result<FileGeometry, IoError> {
    // A voltage in the place of an energy, and the note on it.
    let of_energy: RefCell<(Option<PathAndVolts>, Vec<String>)> = RefCell::default();
    let mut value = |measure: Measure, group: &str, names: &[&str]| {
        for name in names {
            let path = logs::common(source, &format!("{group}/{name}"))?;
            if let Some(numbers) = source.numbers(&path)? {
                let value = numbers.common_value()?;
                let stated = logs::with_units(source, &path)?;
                // In a beam; that of a source of X-rays is the voltage of its tube.
                if measure == Measure::Energy && groups.beams.iter().any(|beam| beam == group) {
                    let (voltage, note) = &mut *of_energy.borrow_mut();
                    let stored = (stated.clone(), value);
                    if let Some((_, volts)) = units.voltage_of_energy(Some(&stored), true, note)? {
                        *voltage = Some((path, volts));
                        return Ok(None);
                    }
                }
                let value = value * units.factor(measure, &stated, value)?;
                return Ok(Some((path, value)));
            }
        }
        Ok::<_, IoError>(None)
    };
    let mut wavelength = None;
    for beam in &groups.beams {
        if wavelength.is_none() {
            wavelength = value(
                Measure::Wavelength,
                beam,
                &["incident_wavelength", "wavelength"],
            )?;
        }
    }
    if wavelength.is_none() {
        let names = ["incident_energy", "incident_beam_energy", "energy"];
        let mut energy = None;
        for beam in &groups.beams {
            if energy.is_none() && of_energy.borrow().0.is_none() {
                energy = value(Measure::Energy, beam, &names)?;
            }
        }
        let known = of_energy.borrow().0.is_some();
        for of in groups.sources.iter().filter(|_| !known) {
            // Of most sources the energy is that of the machine, and the wavelength none.
            if wavelength.is_none() && energy.is_none() {
                wavelength = value(Measure::Wavelength, of, &["wavelength"])?;
            }
            let definition = source.label(&format!("{}/definition", groups.entry))?;
            let of_machine = definition.is_some_and(|name| DEFINITIONS.contains(&name.as_str()));
            if wavelength.is_none() && energy.is_none() && !of_machine {
                energy = value(Measure::Energy, of, &["energy"])?
                    .filter(|(_, joule)| *joule <= LARGEST_ENERGY);
            }
        }
        if let (None, Some((path, joule))) = (&wavelength, energy) {
            let metres = Geometry::wavelength_of_energy(joule);
            notes.push(format!(
                "{path} is the energy of photons, {} keV: wavelength {metres:.6e} m",
                significant(joule / KILOELECTRONVOLT, 6)
            ));
            wavelength = Some((path, metres));
        }
    }
    let mut distance = value(
        Measure::Distance,
        detector,
        &["distance", "detector_distance"],
    )?;
    let sizes = [
        value(Measure::PixelSize, detector, &["y_pixel_size"])?,
        value(Measure::PixelSize, detector, &["x_pixel_size"])?,
    ];
    let pixel_size = match sizes {
        [Some((path, y)), Some((_, x))] => Some((path, [y, x])),
        [Some((path, side)), None] | [None, Some((path, side))] => {
            notes.push(format!(
                "{path} is used for both directions of the detector pixel"
            ));
            Some((path, [side, side]))
        }
        [None, None] => None,
    };
    if let Some(first) = source.label(&format!("{detector}/depends_on"))? {
        let first = resolved(detector, &first);
        let chain = Chain::read(source, &first, options.units.distance.as_deref(), (1, None));
        match (chain, &distance) {
            (Ok(chain), given) if chain.is_constant() => {
                let z = chain.positions(1)[[0, 2]];
                match given {
                    None if z != 0.0 => {
                        notes.push(format!(
                            "the detector is at z = {} m, according to its chain of depends_on ({first})",
                            shortest(z)
                        ));
                        units.mark(Measure::Distance);
                        distance = Some((first, z.abs()));
                    }
                    Some((path, d)) if z != 0.0 && (z.abs() - d.abs()).abs() > 0.01 * d.abs() => {
                        notes.push(format!(
                            "{path} ({} m) is used; according to {first} the detector is at z = {} m",
                            shortest(*d),
                            shortest(z)
                        ));
                    }
                    _ => {}
                }
            }
            // The chain is not needed for anything else.
            (Ok(_) | Err(_), Some(_)) => {}
            (Err(error), None) if options.constants.distance.is_none() => return Err(error),
            _ => {}
        }
    }
    let (voltage, note) = of_energy.into_inner();
    notes.extend(note);
    Ok(FileGeometry {
        wavelength,
        energy: None,
        voltage,
        distance,
        pixel_size,
        ..FileGeometry::default()
    })
}

/// The positions (frame, (row, column)), m, and the dataset that they begin with.
fn stage(
    source: &Source,
    groups: &Groups,
    options: &ReadOptions,
    of_frames: (usize, Option<[usize; 2]>),
    mut unit: impl FnMut(&str, f64) -> Result<[f64; 2], IoError>,
    notes: &mut Vec<String>,
) -> Result<(String, Array2<f64>), IoError> {
    let frames = of_frames.0;
    let mut tried = Vec::new();
    for sample in &groups.samples {
        let first = heads(source, sample)?;
        let Some((path, rest)) = first.split_first() else {
            tried.push(format!("{sample}/depends_on"));
            continue;
        };
        let given = options.units.positions.as_deref();
        let mut chain = Chain::read(source, path, given, of_frames)?;
        for other in rest {
            let other = Chain::read(source, other, given, of_frames)?;
            if !(chain.only_translates() && other.only_translates()) {
                return Err(IoError::Missing {
                    file: source.name().to_owned(),
                    what: "the order of the sample's axes".to_owned(),
                    tried: vec![format!("{sample}/depends_on")],
                });
            }
            if !chain.join(other) {
                return Err(IoError::Value {
                    file: source.name().to_owned(),
                    dataset: path.clone(),
                    found: "different numbers".to_owned(),
                    expected: format!(
                        "one value, or one for {}, on all axes of {sample}",
                        each_frame(frames)
                    ),
                });
            }
        }
        if !chain.is_constant() || frames == 1 {
            let all = chain.positions(chain.len());
            return Ok((path.clone(), all.select(Axis(1), &[1, 0])));
        }
        tried.push(format!("{path} (its chain does not move)"));
    }
    let mut candidates: Vec<String> = Vec::new();
    for sample in &groups.samples {
        candidates.push(format!("{sample}/geometry_1/translation"));
    }
    for group in groups.detectors.iter().chain(&groups.data) {
        candidates.push(format!("{group}/translation"));
    }
    candidates.push(format!("{}/data_1/translation", groups.entry));
    for path in candidates {
        if let Some(numbers) = source.numbers(&path)? {
            let all = positions::translation(&numbers, frames)?;
            notes.extend(positions::note_of_height(&path, all.view()));
            let mut positions = all.select(Axis(1), &[1, 0]);
            let factors = unit(&path, typical_step(&positions))?;
            for (mut column, factor) in positions.columns_mut().into_iter().zip(factors) {
                column *= factor;
            }
            return Ok((path, positions));
        }
        tried.push(path);
    }
    let tried: Vec<&str> = tried.iter().map(String::as_str).collect();
    Err(positions::missing(source.input(), &tried))
}

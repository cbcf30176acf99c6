//! The files of a series: which frames exist, if some files were never written or are lost.

use super::{DATA, number, number_of};
use crate::io::source::{Numbers, Source};
use crate::io::{IoError, Remedy};
use crate::ptycho::Pair;
use crate::ptycho::io::scan::frame_stack::FrameStack;
use crate::ptycho::io::scan::pairing::StoredFrames;
use crate::text::count;

/// Attribute of a dataset of frames with the number of its first frame in the series, from 1.
const FIRST: &str = "image_nr_low";
/// Most names of missing files in an error.
const MOST_NAMED: usize = 3;

/// The frames of a master file.
pub(super) struct Series<'s> {
    pub(super) frames: FrameStack<'s>,
    /// The largest number of their type.
    pub(super) largest: Option<f64>,
    pub(super) stored: StoredFrames,
    /// What is missing, if the options permit it.
    pub(super) note: Option<String>,
}

/// Reads which frames exist; with `pair` some of the files may be missing.
///
/// # Errors
/// Files are missing, or have frames of another size.
pub(super) fn series(source: &Source, pair: Option<Pair>) -> Result<Series<'_>, IoError> {
    let names = source.members(DATA)?.unwrap_or_default();
    let mut numbered: Vec<(u64, String)> = (names.into_iter())
        .filter_map(|name| Some((number_of(&name)?, name)))
        .collect();
    numbered.sort();
    let first = numbered.first().map_or(0, |(number, _)| *number);
    let mut datasets: Vec<Numbers<'_>> = Vec::with_capacity(numbered.len());
    let mut missing: Vec<Missing> = Vec::new();
    // The number of the first frame of each dataset in the series.
    let mut firsts: Vec<usize> = Vec::new();
    for ((number, name), expected) in numbered.iter().zip(first..) {
        if *number != expected {
            let missing = format!("{DATA}/data_{expected:06}");
            return Err(source.missing("the frames between others", &missing));
        }
        let path = format!("{DATA}/{name}");
        if let Some(file) = source.lost_file(&path)? {
            missing.push(Missing {
                file,
                after: datasets.len(),
            });
            continue;
        }
        let numbers = source.require("frames", &[&path])?;
        if let Some(before) = datasets.first()
            && before.shape().get(1..) != numbers.shape().get(1..)
        {
            let [rows, columns] = [1, 2].map(|axis| before.shape().get(axis).copied().unwrap_or(0));
            let expected = format!("frames of {rows} x {columns} pixels, as in the first dataset");
            return Err(numbers.bad_shape(&expected));
        }
        let stated = source.attribute_number(&path, FIRST)?;
        let after = (datasets.iter()).fold(0_usize, |n, of| {
            n.saturating_add(of.shape().first().copied().unwrap_or(0))
        });
        // Files before that are missing have as many frames as this one, unless it says where it begins.
        let length = numbers.shape().first().copied().unwrap_or(0);
        let before = missing.len().saturating_mul(length);
        let stated = stated.filter(|n| n.fract() == 0.0 && (1.0..1e12).contains(n));
        let stated = stated.map(|n| n as usize - 1).filter(|n| *n >= after);
        firsts.push(stated.unwrap_or(after.saturating_add(before)));
        datasets.push(numbers);
    }
    if missing.is_empty() {
        let largest = datasets.first().and_then(Numbers::largest);
        return Ok(Series {
            frames: FrameStack::of_datasets(datasets)?,
            largest,
            stored: StoredFrames::All,
            note: None,
        });
    }
    let numbers: Vec<usize> = (firsts.iter().zip(&datasets))
        .flat_map(|(first, of)| *first..first + of.shape().first().copied().unwrap_or(0))
        .collect();
    let at_end = missing.iter().all(|of| of.after == datasets.len());
    let planned = planned(source)?;
    let exist = numbers.len();
    let all = planned.max(numbers.iter().max().map_or(0, |last| last + 1));
    let named: Vec<&str> = (missing.iter().take(MOST_NAMED))
        .map(|of| of.file.as_str())
        .collect();
    let more = if missing.len() > MOST_NAMED {
        ", …"
    } else {
        ""
    };
    let lost = format!(
        "{} of the series {} missing: {}{more}",
        count(missing.len(), ["file", "files"]),
        if missing.len() == 1 { "is" } else { "are" },
        named.join(", ")
    );
    let frames = match all.saturating_sub(exist) {
        0 => format!("{exist} frames exist"),
        lost => format!("{exist} of {all} frames exist and {lost} are lost"),
    };
    let permitted = match pair {
        Some(Pair::First) => at_end,
        Some(_) => true,
        None => false,
    };
    if exist == 0 || !permitted {
        let how = match (exist, at_end) {
            (0, _) => None,
            (_, true) => Some("--pair first"),
            (_, false) => Some("--pair by-index"),
        };
        let (place, file) = (DATA.to_owned(), source.name().to_owned());
        return Err(IoError::MissingFiles {
            file,
            dataset: place,
            found: format!("{lost}; {frames}"),
            remedy: how.map(|flag| {
                Remedy::boxed((
                    format!("copy what is missing into the folder of the master file, or {flag} (data.pair) uses the frames that exist, each with its own position"),
                    flag,
                ))
            }),
        });
    }
    let largest = datasets.first().and_then(Numbers::largest);
    Ok(Series {
        frames: FrameStack::of_datasets(datasets)?,
        largest,
        stored: StoredFrames::Some { numbers, all },
        note: Some(format!("{lost}; {frames} (data.pair)")),
    })
}

/// A file that is missing.
struct Missing {
    file: String,
    /// How many datasets before it exist.
    after: usize,
}

/// How many frames the detector was to measure; 0 if the file does not say it.
fn planned(source: &Source) -> Result<usize, IoError> {
    let of = |name: &str| -> Result<Option<f64>, IoError> {
        Ok(number(source, name)?.map(|(_, value)| value))
    };
    let images = of("nimages")?.unwrap_or(0.0);
    let triggers = of("ntrigger")?.unwrap_or(1.0).max(1.0);
    let all = images * triggers;
    Ok(match all.fract() == 0.0 && (0.0..1e12).contains(&all) {
        true => all as usize,
        false => 0,
    })
}

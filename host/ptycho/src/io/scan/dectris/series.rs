//! The files of a series: which frames exist, if some files were never written or are lost.

use super::numbers::{DATA, number, number_of};
use crate::Pair;
use crate::io::scan::frame_stack::FrameStack;
use crate::io::scan::pairing::StoredFrames;
use warpstride_core::text::count;
use warpstride_files::source::{Numbers, Source};
use warpstride_files::{IoError, Remedy};

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
    // The number of the first frame of each dataset in the series, if it says it.
    let mut stated: Vec<Option<usize>> = Vec::new();
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
        let first = source.attribute_number(&path, FIRST)?;
        let first = first.filter(|n| n.fract() == 0.0 && (1.0..1e12).contains(n));
        stated.push(first.map(|n| n as usize - 1));
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
    let lengths: Vec<usize> = (datasets.iter())
        .map(|of| of.shape().first().copied().unwrap_or(0))
        .collect();
    let before: Vec<usize> = missing.iter().map(|of| of.after).collect();
    let planned = planned(source)?;
    let Places { firsts, is_clear } = places(&lengths, &stated, &before, planned);
    let numbers: Vec<usize> = (firsts.iter().zip(&lengths))
        .flat_map(|(first, length)| *first..first.saturating_add(*length))
        .collect();
    let at_end = missing.iter().all(|of| of.after == datasets.len());
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
        0 if exist == 1 => "1 frame exists".to_owned(),
        0 => format!("{exist} frames exist"),
        lost => format!(
            "{exist} of {} {} and {lost} {} lost",
            count(all, ["frame", "frames"]),
            if exist == 1 { "exists" } else { "exist" },
            if lost == 1 { "is" } else { "are" }
        ),
    };
    let permitted = match pair {
        Some(Pair::First) => at_end,
        Some(_) => true,
        None => false,
    };
    if exist > 0 && !is_clear {
        return Err(IoError::MissingFiles {
            file: source.name().to_owned(),
            dataset: DATA.to_owned(),
            found: format!(
                "{lost}; {frames}, and neither {FIRST} nor the lengths of the files say which: copy what is missing into the folder of the master file"
            ),
            remedy: None,
        });
    }
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

/// Where the files that exist are in the series.
struct Places {
    /// The number of the first frame of each.
    firsts: Vec<usize>,
    /// Whether nothing contradicts these numbers.
    is_clear: bool,
}

/// The places of files with these `lengths`, which say it themselves (`stated`) or follow one
/// another, with missing files `before` some of them, which have as many frames as the longest:
/// only the last file of a series is shorter.
fn places(lengths: &[usize], stated: &[Option<usize>], before: &[usize], planned: usize) -> Places {
    let longest = lengths.iter().copied().max().unwrap_or(0);
    let missing = |file: usize| before.iter().filter(|after| **after == file).count();
    let mut firsts = Vec::with_capacity(lengths.len());
    let (mut next, mut assumed) = (0_usize, false);
    for (file, (length, stated)) in lengths.iter().zip(stated).enumerate() {
        let stated = stated.filter(|first| *first >= next);
        if stated.is_some() || missing(file) > 0 {
            assumed = stated.is_none();
        }
        let first = stated.unwrap_or(next.saturating_add(missing(file).saturating_mul(longest)));
        firsts.push(first);
        next = first.saturating_add(*length);
    }
    // The files after the last one that exists.
    let at_end = missing(lengths.len()).saturating_mul(longest);
    let fits = match (planned, at_end) {
        // The last file alone may be a short one.
        (0, 0) => lengths.len() > 1,
        (0, _) => true,
        (_, 0) => next == planned,
        _ => next < planned && planned <= next.saturating_add(at_end),
    };
    Places {
        firsts,
        is_clear: !assumed || fits,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_after_a_missing_one_keep_their_places() {
        let of = |lengths: &[usize], stated: &[Option<usize>], before: &[usize], planned| {
            let Places { firsts, is_clear } = places(lengths, stated, before, planned);
            is_clear.then_some(firsts)
        };
        let none = [None; 2];
        // The last file is shorter.
        assert_eq!(of(&[25, 10], &none, &[1], 60), Some(vec![0, 50]));
        assert_eq!(of(&[25, 10], &none, &[1], 0), Some(vec![0, 50]));
        assert_eq!(of(&[20, 20], &none, &[1], 60), Some(vec![0, 40]));
        assert_eq!(of(&[25, 25], &none, &[0, 2], 85), Some(vec![25, 50]));
        // The first file is missing, and the other is a full one or not.
        assert_eq!(of(&[10], &[None], &[0], 0), None);
        assert_eq!(of(&[10], &[None], &[0], 35), None);
        assert_eq!(of(&[10], &[Some(25)], &[0], 35), Some(vec![25]));
        // The series was stopped in its last file, or is longer than planned.
        assert_eq!(of(&[25, 10], &none, &[1], 100), None);
        assert_eq!(of(&[25, 10], &none, &[1, 1], 60), None);
        assert_eq!(
            of(&[25, 10], &[None, Some(50)], &[1], 100),
            Some(vec![0, 50])
        );
        assert_eq!(of(&[25, 25], &none, &[2], 100), Some(vec![0, 25]));
    }
}

//! Frames of several files: positions by the numbers in the files' names, and by a column of a
//! table that has the names.

use crate::Pair;
use crate::io::scan::found_positions::{FoundPositions, FrameNumbers, Texts};
use crate::io::scan::numbered_names::{Count, FramesOfFile, NumberedFiles, by_numbers};
use std::collections::{BTreeSet, HashMap, HashSet};
use warpstride_core::text::count;
use warpstride_files::{IoError, Remedy};

/// The file name in a path, with either kind of separators.
fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// A name without its ending, which may be another one in a table; numbers after a point are no
/// ending.
fn stem(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && ending.chars().any(|c| !c.is_ascii_digit()) => {
            stem
        }
        _ => name,
    }
}

/// The last components of a path, without the ending, or `None` if it has fewer.
fn last(path: &str, components: usize) -> Option<String> {
    let path = stem(path.trim()).replace('\\', "/");
    let parts: Vec<&str> = (path.split('/').filter(|part| !matches!(*part, "" | "."))).collect();
    let first = parts.len().checked_sub(components)?;
    Some(parts[first..].join("/"))
}

/// What is compared of the last components of a path: the text, or the text with its numbers as
/// numbers.
const KEYS: [fn(&str, usize) -> Option<String>; 2] = [last, |path, components| {
    last(path, components).map(|text| format!("{:?}", by_numbers(&text)))
}];

/// Most components of paths that are compared.
const MOST_COMPONENTS: usize = 32;

/// The file that each position names, where it is one of `files`, by the key that finds most.
/// Compared are as many of the last components of the paths, at least, as differ for all files.
fn matches(texts: &Texts, files: &[FramesOfFile]) -> Vec<Option<usize>> {
    let by_key = |key: &fn(&str, usize) -> Option<String>| {
        (1..=MOST_COMPONENTS).find_map(|components| {
            let of_file = |(number, file): (usize, &FramesOfFile)| {
                Some((key(&file.name, components)?, number))
            };
            let known: HashMap<String, usize> =
                files.iter().enumerate().filter_map(of_file).collect();
            let all_differ = known.len() == files.len();
            all_differ.then(|| {
                let of = |text: &String| known.get(&key(text, components)?).copied();
                texts.values.iter().map(of).collect::<Vec<_>>()
            })
        })
    };
    let found = KEYS.iter().filter_map(by_key);
    // The first of several that find as many.
    let mut best = vec![None; texts.values.len()];
    for of in found {
        if of.iter().flatten().count() > best.iter().flatten().count() {
            best = of;
        }
    }
    best
}

/// The first text of columns that have a file's name on each line, if several files in different
/// folders have it.
fn ambiguous<'t>(texts: &'t [Texts], files: &[FramesOfFile]) -> Option<(&'t Texts, &'t str)> {
    let mut number: HashMap<String, usize> = HashMap::new();
    for name in files.iter().filter_map(|file| last(&file.name, 1)) {
        *number.entry(name).or_default() += 1;
    }
    let of = |text: &str| last(text, 1).and_then(|name| number.get(&name).copied());
    texts.iter().find_map(|texts| {
        let mut values = texts.values.iter().map(String::as_str);
        let all = values.clone().all(|text| of(text).is_some());
        let several = values.find(|text| of(text).is_some_and(|files| files > 1));
        several.filter(|_| all).map(|text| (texts, text))
    })
}

/// The position of each frame, by the names of files in a column of the table; `None` if no column
/// has such names.
///
/// # Errors
/// Some positions name other files, which the option does not permit, or not as many name a file as
/// it has frames.
pub(super) fn by_names(
    found: &FoundPositions,
    files: &[FramesOfFile],
    pair: Option<Pair>,
    notes: &mut Vec<String>,
) -> Result<Option<Vec<Option<usize>>>, IoError> {
    let frames: usize = files.iter().map(|file| file.frames).sum();
    let numbered = found.numbers.as_ref().filter(|numbers| !numbers.doubtful);
    let asked = pair == Some(Pair::ByName);
    if pair == Some(Pair::First) || (numbered.is_some() && pair.is_some() && !asked) {
        return Ok(None);
    }
    let matched = |texts: &'_ Texts| matches(texts, files);
    let best = (found.texts.iter())
        .map(|texts| (texts, matched(texts)))
        .max_by_key(|(_, rows)| rows.iter().flatten().count());
    let best = best.filter(|(_, rows)| rows.iter().any(Option::is_some));
    let Some((texts, rows)) = best else {
        if let Some((texts, text)) = ambiguous(&found.texts, files) {
            return Err(IoError::Pairing {
                file: found.file.clone(),
                dataset: found.name.clone(),
                frames,
                found: format!(
                    "{} with names of files in the column {} that files in several folders have, such as {text}: the folders have to be in the column, too",
                    found.described(),
                    texts.column
                ),
                remedy: Some(Remedy::boxed((
                    "--pair first (data.pair) pairs in the order of the files and the lines"
                        .to_owned(),
                    "--pair first",
                ))),
            });
        }
        return match asked {
            false => Ok(None),
            true => Err(IoError::Option {
                file: found.file.clone(),
                option: "data.pair",
                reason: format!(
                    "expected a column with the names of the files of the frames, such as {}, found none",
                    files.first().map_or("", |file| base_name(&file.name))
                ),
            }),
        };
    };
    // One name for all is that of the scan.
    if files.len() == 1 && rows.iter().all(Option::is_some) {
        return Ok(None);
    }
    let others: Vec<usize> = (0..rows.len()).filter(|row| rows[*row].is_none()).collect();
    if let Some(first) = others.first()
        && !asked
    {
        let mut refused = found.mismatch(
            frames,
            Some((
                "--pair by-name (data.pair) uses the positions of the files that are given"
                    .to_owned(),
                "--pair by-name",
            )),
        );
        if let IoError::Pairing { found, .. } = &mut refused {
            *found += &format!(
                ", of which {} in the column {} that {} none of the {} of frames: {} in line {}",
                count(others.len(), ["has a name", "have names"]),
                texts.column,
                if others.len() == 1 { "is" } else { "are" },
                count(files.len(), ["file", "files"]),
                texts.values[*first],
                texts.lines[*first]
            );
        }
        return Err(refused);
    }
    let mut of_frames = Vec::with_capacity(frames);
    for (number, file) in files.iter().enumerate() {
        let mut of_file: Vec<usize> = (0..rows.len())
            .filter(|row| rows[*row] == Some(number))
            .collect();
        if let Some(numbers) = numbered {
            of_file.sort_by(|a, b| numbers.values[*a].total_cmp(&numbers.values[*b]));
        }
        match of_file.len() {
            0 => of_frames.extend(std::iter::repeat_n(None, file.frames)),
            all if all == file.frames => of_frames.extend(of_file.into_iter().map(Some)),
            all => {
                return Err(IoError::Pairing {
                    file: found.file.clone(),
                    dataset: format!("{}: {}", found.name, base_name(&file.name)),
                    frames: file.frames,
                    found: format!("{all} with this name in the column {}", texts.column),
                    remedy: None,
                });
            }
        }
    }
    let in_order = of_frames.iter().flatten().is_sorted();
    if !in_order || of_frames.len() != rows.len() || of_frames.contains(&None) {
        let order = match in_order {
            true => "",
            false => "; the lines are in another order than the frames",
        };
        let beyond = match others.len() {
            0 => String::new(),
            more => format!(
                "; {} no file that is given and {} not used",
                count(more, ["position has", "positions have"]),
                if more == 1 { "is" } else { "are" }
            ),
        };
        notes.push(format!(
            "{}: {} for {}, by the names of files in the column {}{beyond}{order}",
            found.file,
            count(found.len(), ["position", "positions"]),
            count(frames, ["frame", "frames"]),
            texts.column
        ));
    }
    Ok(Some(of_frames))
}

/// The place of each frame in a series of so many `positions`, by the numbers in the names of the
/// files, if `pair` asks for it.
///
/// # Errors
/// It is not known which number is that of the first position, or how many frames the missing files
/// had.
pub(super) fn places(
    found: &FoundPositions,
    series: &NumberedFiles,
    frames: usize,
    pair: Pair,
    notes: &mut Vec<String>,
) -> Result<Vec<usize>, IoError> {
    let refused = || Err(found.mismatch(frames, remedy(series, found.len())));
    let Some(count) = series.count(found.len()) else {
        return refused();
    };
    let base = match (pair, count.bases.as_slice()) {
        (Pair::ByIndexFrom0, _) => 0,
        (Pair::ByIndexFrom1, _) => 1,
        (_, [base]) => *base,
        _ => return refused(),
    };
    let Some(places) = series.places(base, &count) else {
        return refused();
    };
    notes.push(format!(
        "data.pair: each file has the position of the number in its name, of {}; the first is that of {}{}",
        found.len(),
        series.name_of(base, &count),
        (series.gap(&count)).map_or_else(String::new, |gap| format!(", and {gap}"))
    ));
    Ok(places)
}

/// Two options, of which the numbers decide.
const EITHER: &str = "--pair by-index-from-0 or --pair by-index-from-1 (data.pair)";

/// What can be done about another number of positions than of frames in the files of a series.
pub(super) fn remedy(series: &NumberedFiles, positions: usize) -> Option<(String, &'static str)> {
    let count = series.count(positions)?;
    let from = |base: &usize| match base {
        0 => "--pair by-index-from-0",
        _ => "--pair by-index-from-1",
    };
    let base = *count.bases.first()?;
    let Some(gap) = series.gap(&count) else {
        let at_start: Vec<&usize> = (count.bases.iter())
            .filter(|base| series.begins_before(**base, &count))
            .collect();
        let first = format!(
            "--pair first (data.pair) pairs them from the first, {}, on, if no file is missing before it",
            series.first_name()
        );
        let before = |base: &usize| {
            let option = match count.bases.as_slice() {
                [_] => "--pair by-index",
                _ => from(base),
            };
            format!(
                "; {option}, if the series begins with {}",
                series.name_of(*base, &count)
            )
        };
        let how = at_start.iter().map(|base| before(base)).collect::<String>();
        // A series from 2 or more on lacks its beginning.
        let option = match (count.bases.as_slice(), at_start.as_slice()) {
            ([1], [1]) => "--pair by-index",
            _ => "--pair first",
        };
        return Some((first + &how, option));
    };
    if series.places(base, &count).is_none() {
        let how = format!(
            "{gap}, and as the files have different numbers of frames, it is not known which positions are theirs: a column of the table with the name of the file of each position says it (--pair by-name)"
        );
        return Some((how, ""));
    }
    Some(match count.bases.as_slice() {
        [_] => (
            format!(
                "{gap}: --pair by-index (data.pair) gives each file the position of its number, of which the first is that of {}",
                series.name_of(base, &count)
            ),
            "--pair by-index",
        ),
        _ => (
            format!(
                "{gap}: is the first position that of {} or of {}? {EITHER} says it",
                series.name_of(0, &count),
                series.name_of(1, &count)
            ),
            match series.begins_before(0, &count) && !series.begins_before(1, &count) {
                true => from(&1),
                false => from(&0),
            },
        ),
    })
}

/// The problem of pairs in the order of files of which one is missing.
pub(super) fn doubt(gap: &str) -> String {
    format!(
        "--pair first (data.pair) pairs files and positions in their order, although {gap}: --pair by-index gives each file the position of its number"
    )
}

/// A table whose column has the numbers of frames, for files whose names have numbers: the number
/// of each frame in the column. The column may have the numbers of the names, or count from 0 or 1.
/// `None` if it does not have all, unless both have gaps: those that the most frames have are taken
/// then, if `pair` asks for it.
///
/// # Errors
/// Several are possible, and `pair` does not say which.
pub(super) fn numbers_of_frames(
    found: &FoundPositions,
    numbers: &FrameNumbers,
    (whole, selected): (&[usize], &[usize]),
    series: &NumberedFiles,
    pair: Option<Pair>,
) -> Result<Option<Vec<usize>>, IoError> {
    let known: HashSet<usize> = whole.iter().copied().collect();
    let Some(count) = series.own_count() else {
        return Ok(None);
    };
    let Some(places) = series.places(0, &count) else {
        return Ok(None);
    };
    let each = series.frames_of_file();
    let in_table = match pair {
        Some(Pair::ByIndexFrom0) => 0..=0,
        Some(Pair::ByIndexFrom1) => 1..=1,
        _ => 0..=1,
    };
    // The number in the column of the first frame of the file with the number 0.
    let mut offsets: BTreeSet<isize> = BTreeSet::new();
    let both_have_gaps = series.gap(&count).is_some() && has_gap(whole);
    let mut most = match both_have_gaps {
        true => 1,
        false => selected.len(),
    };
    for first in in_table {
        for base in [0, 1, count.bases[0]] {
            let offset = first - (base * each) as isize;
            let covers = |frame: &usize| {
                let number = places
                    .get(*frame)
                    .and_then(|at| at.checked_add_signed(offset));
                number.is_some_and(|number| known.contains(&number))
            };
            let covered = selected.iter().filter(|frame| covers(frame)).count();
            if covered > most {
                offsets.clear();
                most = covered;
            }
            if covered == most {
                offsets.insert(offset);
            }
        }
    }
    if most < selected.len() && !offsets.is_empty() && pair.is_none() {
        let how = "--pair by-index (data.pair) takes them for those in the names of the files, and leaves out the frames without a position";
        let mut refused = found.mismatch(places.len(), Some((how.to_owned(), "--pair by-index")));
        if let IoError::Pairing { found, .. } = &mut refused {
            *found += &format!(
                " with numbers in the column {}, which lack other ones than those in the names of the files do",
                numbers.column
            );
        }
        return Err(refused);
    }
    let own = each == 1 && offsets.contains(&0);
    let offset = match (offsets.len(), pair) {
        (0, _) => return Ok(None),
        (1, _) => offsets.first().copied().unwrap_or(0),
        (_, Some(_)) if own => 0,
        (_, Some(_)) => offsets.last().copied().unwrap_or(0),
        _ => {
            let how = match own {
                true => {
                    "--pair by-index (data.pair) takes them for those in the names, --pair first pairs in the order of the lines"
                }
                false => {
                    "is the first frame 0 or 1? --pair by-index-from-0 or --pair by-index-from-1 (data.pair) says it"
                }
            };
            let option = match own {
                true => "--pair by-index",
                false => "--pair by-index-from-0",
            };
            let mut refused = found.mismatch(places.len(), Some((how.to_owned(), option)));
            if let IoError::Pairing { found, .. } = &mut refused {
                *found += &format!(
                    " with numbers in the column {}, which may be those in the names of the files or count from another one",
                    numbers.column
                );
            }
            return Err(refused);
        }
    };
    Ok((places.iter().map(|at| at.checked_add_signed(offset))).collect())
}

/// Whether numbers, each once, do not fill their range.
pub(super) fn has_gap(numbers: &[usize]) -> bool {
    let ends = numbers.iter().min().zip(numbers.iter().max());
    ends.is_some_and(|(least, most)| most - least >= numbers.len())
}

/// What the numbers in the names of the files say about as many positions as frames.
pub(super) fn note(series: &NumberedFiles, found: &FoundPositions) -> Option<String> {
    let count: Count = series.own_count()?;
    let gap = series.gap(&count)?;
    Some(format!(
        "{gap}; as there are {} positions for as many frames, they are taken for those of the files that exist, in their order",
        found.len()
    ))
}

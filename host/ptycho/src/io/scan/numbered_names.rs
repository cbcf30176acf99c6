//! Names of files with numbers in them: the order of the numbers, and those that are missing in a
//! series.

use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Most numbers from the first to the last one of a series of files.
const LONGEST: usize = 1 << 20;
/// Most names of missing files in a sentence.
const MOST_NAMED: usize = 4;

/// A name as texts, each with the digits that follow it.
fn pieces(name: &str) -> Vec<(&str, &str)> {
    let mut pieces = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let text = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (before, after) = rest.split_at(text);
        let digits = after
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(after.len());
        let (number, after) = after.split_at(digits);
        pieces.push((before, number));
        rest = after;
    }
    pieces
}

/// A name as texts and numbers, so that 2 comes before 10.
pub(super) fn by_numbers(name: &str) -> Vec<(String, u128)> {
    let number = |digits: &str| match digits {
        "" => 0,
        digits => digits.parse().unwrap_or(u128::MAX),
    };
    (pieces(name).into_iter())
        .map(|(text, digits)| (text.to_owned(), number(digits)))
        .collect()
}

/// Whether the numbers descend from one name to a later one that differs in its numbers only.
pub(super) fn has_descending_numbers(names: &[&str]) -> bool {
    let mut last: BTreeMap<Vec<String>, Vec<u128>> = BTreeMap::new();
    names.iter().any(|name| {
        let (texts, numbers): (Vec<String>, Vec<u128>) = by_numbers(name).into_iter().unzip();
        match last.insert(texts, numbers.clone()) {
            Some(before) => before > numbers,
            None => false,
        }
    })
}

/// Whether names are in the order of the numbers in them.
pub(super) fn is_natural(names: &[&str]) -> bool {
    names.is_sorted_by(|a, b| by_numbers(a) <= by_numbers(b))
}

/// The number in which names differ, another one in each.
pub(super) struct Varying {
    /// Its place among the numbers of a name.
    place: usize,
    /// Whether the names differ in nothing else.
    pub(super) alone: bool,
    pub(super) values: Vec<usize>,
}

/// The number by which names are those of a series, of several the one with the least range, as of
/// an index beside a time of day.
pub(super) fn varying(names: &[&str]) -> Option<Varying> {
    let split: Vec<Vec<(String, u128)>> = names.iter().map(|name| by_numbers(name)).collect();
    let first = split.first()?;
    let texts = |name: &[(String, u128)]| name.iter().map(|part| part.0.clone()).collect();
    let expected: Vec<String> = texts(first);
    if split.iter().any(|name| texts(name) != expected) {
        return None;
    }
    let mut differing = 0;
    let mut best: Option<(u128, Varying)> = None;
    for place in 0..first.len() {
        let values: Vec<u128> = split.iter().map(|name| name[place].1).collect();
        let distinct: HashSet<u128> = values.iter().copied().collect();
        differing += usize::from(distinct.len() > 1);
        let (least, most) = (values.iter().min()?, values.iter().max()?);
        let range = most - least;
        if distinct.len() < values.len() || best.as_ref().is_some_and(|(of, _)| *of <= range) {
            continue;
        }
        let values: Result<Vec<usize>, _> = values.into_iter().map(usize::try_from).collect();
        if let Ok(values) = values {
            let alone = false;
            best = Some((
                range,
                Varying {
                    place,
                    alone,
                    values,
                },
            ));
        }
    }
    let (_, best) = best?;
    Some(Varying {
        alone: differing == 1,
        ..best
    })
}

/// A file with frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FramesOfFile {
    pub(super) name: String,
    /// How many it has.
    pub(super) frames: usize,
}

/// Files whose names have the numbers of a series.
pub(super) struct NumberedFiles {
    /// The number of each file.
    numbers: Vec<usize>,
    /// The number of frames of each.
    lengths: Vec<usize>,
    /// What is before and after the number in a name, and its digits at least, if names differ in
    /// nothing else.
    pattern: Option<(String, String, usize)>,
}

/// How the numbers of files count the parts of a scan.
pub(super) struct Count {
    /// The difference of the numbers of neighbours.
    stride: usize,
    /// The number of the first file of the series, which may be missing: at least one, several if
    /// either is possible. In strides.
    pub(super) bases: Vec<usize>,
}

impl NumberedFiles {
    /// The numbers of at least two files, if they are those of a series.
    pub(super) fn of(files: &[FramesOfFile]) -> Option<Self> {
        if files.len() < 2 {
            return None;
        }
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        let found = varying(&names)?;
        let (least, most) = (found.values.iter().min()?, found.values.iter().max()?);
        if most - least > LONGEST {
            return None;
        }
        let digits = |name: &&str| pieces(name).get(found.place).map_or(0, |(_, d)| d.len());
        let width = names.iter().map(digits).min().unwrap_or(0);
        let pattern = found.alone.then(|| {
            let all = pieces(names[0]);
            let (before, after) = all.split_at(found.place);
            let joined = |parts: &[(&str, &str)]| -> String {
                parts
                    .iter()
                    .flat_map(|(text, digits)| [*text, *digits])
                    .collect()
            };
            let before = joined(before) + after[0].0;
            let file = before.rsplit('/').next().unwrap_or_default().to_owned();
            (file, joined(&after[1..]), width)
        });
        Some(Self {
            numbers: found.values,
            lengths: files.iter().map(|file| file.frames).collect(),
            pattern,
        })
    }

    fn least(&self) -> usize {
        self.numbers.iter().copied().min().unwrap_or(0)
    }

    fn most(&self) -> usize {
        self.numbers.iter().copied().max().unwrap_or(0)
    }

    /// The greatest stride with which all numbers can be counted.
    fn greatest_stride(&self) -> usize {
        let least = self.least();
        (self.numbers.iter())
            .fold(0, |stride, number| greatest_divisor(stride, number - least))
            .max(1)
    }

    /// A number in strides: from 0, or from the least one if that is no multiple of the stride.
    fn in_strides(&self, number: usize, stride: usize) -> usize {
        match self.least() % stride {
            0 => number / stride,
            _ => (number - self.least()) / stride,
        }
    }

    /// The number of frames of each file of the series, of which only the last may have fewer;
    /// `None` if others have, too.
    fn each(&self) -> Option<usize> {
        let longest = self.lengths.iter().copied().max()?;
        let last = self.most();
        let whole = |(number, length): (&usize, &usize)| *number == last || *length == longest;
        (self.numbers.iter().zip(&self.lengths))
            .all(whole)
            .then_some(longest)
    }

    /// How the numbers count the parts of a scan with so many `positions`; `None` if they are no
    /// plausible series for it.
    pub(super) fn count(&self, positions: usize) -> Option<Count> {
        let each = self.each().or(self.lengths.iter().copied().max())?;
        let last = (self.numbers.iter().zip(&self.lengths)).max()?.1;
        let greatest = self.greatest_stride();
        for stride in [1, greatest] {
            let [least, most] = [self.least(), self.most()].map(|n| self.in_strides(n, stride));
            let needed = |base: usize| (most - base).saturating_mul(each).saturating_add(*last);
            let fits = |base: &usize| *base <= least && needed(*base) <= positions;
            let bases: Vec<usize> = [0, 1].into_iter().filter(fits).collect();
            if !bases.is_empty() {
                return Some(Count { stride, bases });
            }
            if fits(&least) {
                let bases = vec![least];
                return Some(Count { stride, bases });
            }
        }
        // Fewer positions than the series needs, if it has most of its numbers.
        let least = self.in_strides(self.least(), greatest);
        self.is_dense(greatest).then(|| Count {
            stride: greatest,
            bases: vec![least],
        })
    }

    fn is_dense(&self, stride: usize) -> bool {
        (self.most() - self.least()) / stride < 2 * self.numbers.len()
    }

    /// The count of the files alone, if at least half of the numbers are there.
    pub(super) fn own_count(&self) -> Option<Count> {
        let stride = self.greatest_stride();
        let bases = vec![self.in_strides(self.least(), stride)];
        self.is_dense(stride).then_some(Count { stride, bases })
    }

    /// The numbers between the first and the last file of which there is no file.
    fn missing(&self, count: &Count) -> Vec<usize> {
        let known: BTreeSet<usize> = self.numbers.iter().copied().collect();
        (self.least()..=self.most())
            .step_by(count.stride)
            .filter(|number| !known.contains(number))
            .collect()
    }

    /// What is missing between the files: `g_4.npy is missing between g_1.npy and g_6.npy`.
    pub(super) fn gap(&self, count: &Count) -> Option<String> {
        let missing = self.missing(count);
        if missing.is_empty() {
            return None;
        }
        let named: Vec<String> = (missing.iter().take(MOST_NAMED))
            .map(|number| self.named(*number))
            .collect();
        let more = match missing.len().saturating_sub(MOST_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!(
            "{}{more} {} missing between {} and {}",
            named.join(", "),
            if missing.len() == 1 { "is" } else { "are" },
            self.named(self.least()),
            self.named(self.most())
        ))
    }

    /// The name of the file of a number.
    fn named(&self, number: usize) -> String {
        match &self.pattern {
            Some((before, after, width)) => format!("{before}{number:0width$}{after}"),
            None => format!("number {number}"),
        }
    }

    /// The name of the file of a number in strides.
    pub(super) fn name_of(&self, base: usize, count: &Count) -> String {
        let offset = match self.least() % count.stride {
            0 => 0,
            _ => self.least(),
        };
        self.named(offset + base * count.stride)
    }

    /// The number of frames of a whole file.
    pub(super) fn frames_of_file(&self) -> usize {
        self.lengths.iter().copied().max().unwrap_or(0)
    }

    /// The name of the first file that exists.
    pub(super) fn first_name(&self) -> String {
        self.named(self.least())
    }

    /// Whether the series begins before the first file that exists, if its first number is `base`.
    pub(super) fn begins_before(&self, base: usize, count: &Count) -> bool {
        base < self.in_strides(self.least(), count.stride)
    }

    /// The place of each frame in the series whose first file has the number `base`; `None` if
    /// files have different numbers of frames, so that places are not known, or begin before it.
    pub(super) fn places(&self, base: usize, count: &Count) -> Option<Vec<usize>> {
        let each = self.each()?;
        let mut places = Vec::new();
        for (number, length) in self.numbers.iter().zip(&self.lengths) {
            let file = self.in_strides(*number, count.stride).checked_sub(base)?;
            let first = file.checked_mul(each)?;
            places.extend(first..first.checked_add(*length)?);
        }
        Some(places)
    }
}

fn greatest_divisor(a: usize, b: usize) -> usize {
    match b {
        0 => a,
        _ => greatest_divisor(b, a % b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &[&str], frames: &[usize]) -> Vec<FramesOfFile> {
        (names.iter().zip(frames))
            .map(|(name, frames)| FramesOfFile {
                name: (*name).to_owned(),
                frames: *frames,
            })
            .collect()
    }

    #[test]
    fn names_are_ordered_by_their_numbers() {
        assert!(by_numbers("a_2.h5") < by_numbers("a_10.h5"));
        assert!(by_numbers("run 1/f10") < by_numbers("run 2/f9"));
        assert!(by_numbers("a") < by_numbers("a1"));
        for (names, doubtful) in [
            (&["im_1", "im_10", "im_2"][..], true),
            (&["r2/im_1", "r10/im_1", "r3/im_2"], true),
            (&["im_1", "dark", "im_0"], true),
            (&["im_1", "im_2", "im_10"], false),
            // Names that differ in more than numbers were given in this order.
            (&["second", "first"], false),
            (&["b_1", "a_2"], false),
        ] {
            assert_eq!(has_descending_numbers(names), doubtful, "{names:?}");
        }
    }

    #[test]
    fn the_numbers_of_a_series_are_found() {
        let of = |names: &[&str]| varying(names).map(|found| (found.values, found.alone));
        assert_eq!(of(&["g_1.npy", "g_3.npy"]), Some((vec![1, 3], true)));
        // An index beside a time of day, and runs whose files have the same numbers.
        let timed = ["s_01_120501", "s_02_120507", "s_04_120519"];
        assert_eq!(of(&timed), Some((vec![1, 2, 4], false)));
        assert_eq!(of(&["r1/g_1", "r1/g_2", "r2/g_1"]), None);
        assert_eq!(of(&["a_1", "b_2"]), None);
        assert_eq!(of(&["a_1", "a_1b"]), None);
    }

    #[test]
    fn files_that_are_missing_are_named() {
        let gap = |names: &[&str], frames: &[usize], positions| {
            let series = NumberedFiles::of(&files(names, frames)).unwrap();
            let count = series.count(positions)?;
            Some((series.gap(&count), count.bases))
        };
        let one = &["d/g_1.npy", "d/g_2.npy", "d/g_3.npy", "d/g_5.npy"][..];
        let between = "g_4.npy is missing between g_1.npy and g_5.npy".to_owned();
        assert_eq!(gap(one, &[1; 4], 5), Some((Some(between.clone()), vec![1])));
        assert_eq!(
            gap(one, &[2; 4], 10),
            Some((Some(between.clone()), vec![1]))
        );
        // The last file is shorter, and the series may begin with either.
        assert_eq!(
            gap(one, &[2, 2, 2, 1], 9),
            Some((Some(between.clone()), vec![1]))
        );
        assert_eq!(gap(one, &[1; 4], 6), Some((Some(between), vec![0, 1])));
        // Leading zeros, two missing, the first or the last missing.
        let two = &["g008", "g009", "g011", "g013"][..];
        let named = "g010, g012 are missing between g008 and g013".to_owned();
        assert_eq!(gap(two, &[1; 4], 6), Some((Some(named), vec![8])));
        let first = &["g_2", "g_3", "g_4"][..];
        assert_eq!(gap(first, &[1; 3], 4), Some((None, vec![1])));
        assert_eq!(gap(&["g_0", "g_1"], &[1; 2], 4), Some((None, vec![0])));
        // Every tenth number, with one missing; and numbers that are times.
        let tens = &["g_10", "g_20", "g_40"][..];
        let named = "g_30 is missing between g_10 and g_40".to_owned();
        assert_eq!(gap(tens, &[1; 3], 4), Some((Some(named), vec![1])));
        assert_eq!(gap(&["g_120501", "g_120507", "g_120512"], &[1; 3], 4), None);
    }

    #[test]
    fn frames_have_places_in_their_series() {
        let names = &["g_1", "g_2", "g_4"][..];
        let series = NumberedFiles::of(&files(names, &[2, 2, 1])).unwrap();
        let count = series.count(7).unwrap();
        assert_eq!(series.places(1, &count), Some(vec![0, 1, 2, 3, 6]));
        let other = NumberedFiles::of(&files(names, &[2, 1, 2])).unwrap();
        assert_eq!(other.places(1, &count), None);
    }
}

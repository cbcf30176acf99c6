//! Columns of dates and times that nothing is read from, and whether they tell series apart.

use std::collections::{BTreeMap, HashMap};

/// Most pairs of series and date of a column that are distinguished. A column with more is one of
/// times of single rows, such as those of their arrival.
const MOST: usize = 1 << 18;

/// For each date in a column that nothing is read from, when its series has points.
///
/// Such a column tells series apart if, within what is read as one series, the points of one date
/// begin before those of another end: runs that are side by side, or forecasts of the same hours. A
/// column that follows the time does not: the date of a row's time, the day of a run after another,
/// the time of a row's arrival, or the same time on the clocks of a zone, also where they are set
/// back.
#[derive(Debug, Default)]
pub struct UnusedDates {
    columns: BTreeMap<usize, Ranges>,
}

#[derive(Debug, Default)]
struct Ranges {
    /// (series, date): the first and the last time, nanoseconds since 1970.
    of_dates: HashMap<(u32, u64), (i64, i64)>,
    has_too_many: bool,
}

impl UnusedDates {
    /// Adds the date of a point in a column: a number that differs between dates, such as
    /// nanoseconds since 1970, for times on local clocks as well.
    pub fn add(&mut self, column: usize, series: u32, date: u64, time: i64) {
        let ranges = self.columns.entry(column).or_default();
        if ranges.has_too_many {
            return;
        }
        let of_date = ranges.of_dates.entry((series, date));
        let (first, last) = of_date.or_insert((time, time));
        (*first, *last) = ((*first).min(time), (*last).max(time));
        if ranges.of_dates.len() > MOST {
            *ranges = Ranges {
                has_too_many: true,
                ..Ranges::default()
            };
        }
    }

    /// The columns that tell series apart, in ascending order.
    #[must_use]
    pub fn labels(&self) -> Vec<usize> {
        let columns = self.columns.iter();
        let labels = columns.filter(|(_, ranges)| ranges.overlap() && !ranges.is_local_time());
        labels.map(|(column, _)| *column).collect()
    }
}

impl Ranges {
    /// Whether the dates are the times of the points on the clocks of a zone: the difference is an
    /// offset of whole quarters of an hour, and changes at most twice in a year, by two hours at
    /// most.
    fn is_local_time(&self) -> bool {
        const QUARTER: i64 = 900_000_000_000;
        let dates = self.of_dates.iter();
        let times = dates.flat_map(|((_, date), (first, last))| {
            let date = date.cast_signed();
            [
                (*first, date.wrapping_sub(*first)),
                (*last, date.wrapping_sub(*last)),
            ]
        });
        let mut times: Vec<(i64, i64)> = times.collect();
        times.sort_unstable();
        let is_offset = |offset: i64| offset % QUARTER == 0 && offset.abs() <= 56 * QUARTER;
        let (Some((begin, _)), Some((end, _))) = (times.first(), times.last()) else {
            return false;
        };
        let half_years = (end - begin) / (182 * 96 * QUARTER);
        let is_small = |pair: &[(i64, i64)]| (pair[0].1 - pair[1].1).abs() <= 8 * QUARTER;
        let changes = times
            .windows(2)
            .filter(|pair| pair[0].1 != pair[1].1)
            .count() as i64;
        times.iter().all(|(_, offset)| is_offset(*offset))
            && times.windows(2).all(is_small)
            && changes <= 1 + half_years
    }

    /// Whether two dates of a series have points in a common range of time. Two points at the same
    /// time alone are no range: an event may be recorded twice.
    fn overlap(&self) -> bool {
        let mut all: Vec<(u32, i64, i64)> = self
            .of_dates
            .iter()
            .map(|((series, _), (first, last))| (*series, *first, *last))
            .collect();
        all.sort_unstable();
        let mut before: Option<(u32, i64, i64)> = None;
        for (series, first, last) in all {
            if let Some((_, begin, end)) = before.filter(|(other, ..)| *other == series) {
                let is_range = begin < end || first < last;
                if first < end || first == end && is_range {
                    return true;
                }
            }
            before = Some((series, first, last));
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The columns that tell series apart, of rows (series, date, time).
    fn labels(rows: &[(u32, u64, i64)]) -> Vec<usize> {
        let mut dates = UnusedDates::default();
        for (series, date, time) in rows {
            dates.add(3, *series, *date, *time);
        }
        dates.labels()
    }

    #[test]
    fn dates_that_follow_the_time_tell_nothing_apart() {
        for rows in [
            &[][..],
            // The date of the time, in any order.
            &[(0, 2, 25), (0, 1, 10), (0, 1, 12), (0, 2, 26)],
            // One date, and one date for each series.
            &[(0, 7, 10), (0, 7, 20)],
            &[(0, 7, 10), (1, 8, 10), (0, 7, 20), (1, 8, 20)],
            // Times of arrival, also of an event that was recorded twice.
            &[(0, 11, 10), (0, 12, 11), (0, 13, 12), (0, 14, 12)],
        ] {
            assert!(labels(rows).is_empty(), "{rows:?}");
        }
    }

    #[test]
    fn local_times_tell_nothing_apart() {
        const HOUR: i64 = 3_600_000_000_000;
        // Half an hour apart; clocks are set back, or forward and back, by an hour.
        let points = |offset: &dyn Fn(i64) -> i64| {
            let times = (0..40).map(|half| half * HOUR / 2);
            let rows = times.map(|time| (0, (time + offset(time)).cast_unsigned(), time));
            labels(&rows.collect::<Vec<_>>())
        };
        let set_back = |time: i64| if time < 9 * HOUR { 2 * HOUR } else { HOUR };
        assert!(points(&set_back).is_empty());
        assert!(points(&|time| set_back(time) - 9 * HOUR).is_empty());
        // A second run with another lead time.
        assert_eq!(
            points(&|time| if time < 9 * HOUR { 6 * HOUR } else { 0 }),
            [3]
        );
        // Forecasts with one of two lead times, and offsets that are no offsets of clocks.
        assert_eq!(points(&|time| -(time / HOUR % 2) * HOUR), [3]);
        assert_eq!(points(&|time| set_back(time) + 7), [3]);
        assert_eq!(points(&|time| set_back(time) + 20 * HOUR), [3]);
    }

    #[test]
    fn dates_side_by_side_tell_series_apart() {
        for rows in [
            // One run after another in the file, and both row by row.
            &[(0, 1, 10), (0, 1, 20), (0, 2, 10), (0, 2, 20)][..],
            &[(0, 1, 10), (0, 2, 11), (0, 1, 20), (0, 2, 21)],
            // Forecasts that share an hour.
            &[(0, 1, 0), (0, 1, 6), (0, 2, 6), (0, 2, 12)],
            &[(5, 1, 0), (5, 1, 9), (5, 2, 4)],
        ] {
            assert_eq!(labels(rows), [3], "{rows:?}");
        }
    }

    #[test]
    fn columns_with_very_many_dates_are_times_of_rows() {
        let mut dates = UnusedDates::default();
        for row in 0..=MOST as i64 {
            dates.add(0, 0, row as u64, -row);
            dates.add(1, 0, row as u64 % 2, row);
        }
        dates.add(0, 0, 0, -5);
        assert_eq!(dates.labels(), [1]);
    }
}

//! Archive policies: what a store keeps of every series.

use super::super::{Aggregate, Granularity, Method, NanPolicy, Resample};
use super::StoreError;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Most archives of a policy.
pub const MOST_ARCHIVES: usize = 16;
/// Most aggregates of a policy.
pub const MOST_AGGREGATES: usize = 64;

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Buckets of one length, and how many of them are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Archive {
    /// Length of a bucket, nanoseconds.
    pub step: u64,
    /// Buckets that are kept: the one of the last point, and those before it.
    pub buckets: u64,
}

impl Archive {
    /// So many nanoseconds of buckets of so many.
    const fn spanning(step: u64, timespan: u64) -> Self {
        Self {
            step,
            buckets: timespan / step,
        }
    }

    /// Length of a bucket.
    #[must_use]
    pub fn granularity(&self) -> Granularity {
        Granularity::Fixed(self.step)
    }

    /// How far back it reaches, nanoseconds.
    #[must_use]
    pub fn timespan(&self) -> u64 {
        self.step * self.buckets
    }

    /// The first bucket that is kept where the last point is at `last`: its start is later than the last bucket's
    /// less the timespan.
    pub(super) fn first_kept(&self, last: i64) -> u64 {
        (last as u64 / self.step).saturating_sub(self.buckets - 1)
    }
}

impl fmt::Display for Archive {
    /// `1m for 7d`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timespan = Granularity::Fixed(self.timespan());
        write!(f, "{} for {timespan}", self.granularity())
    }
}

/// What a store keeps of every series: archives, the aggregates of their buckets, and how late points may come.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    name: String,
    archives: Vec<Archive>,
    aggregates: Vec<Aggregate>,
    back_window: u64,
}

impl Policy {
    /// Names of those that need no file.
    pub const BUILT_IN: [&'static str; 3] = ["low", "medium", "high"];

    /// `back_window`: buckets of the coarsest granularity, before the one of the last point, that points may still come
    /// for. `aggregates` are those of every archive.
    ///
    /// # Errors
    /// No archive or too many, one twice, lengths of nothing, no aggregates, one twice, or times beyond 2⁶³ ns.
    pub fn new(
        name: String,
        mut archives: Vec<Archive>,
        aggregates: Vec<Aggregate>,
        back_window: u64,
    ) -> Result<Self, StoreError> {
        let refuse = |why: String| {
            Err(StoreError::Policy {
                name: name.clone(),
                why,
            })
        };
        if archives.is_empty() || archives.len() > MOST_ARCHIVES {
            return refuse(format!(
                "has {} archives: 1 to {MOST_ARCHIVES} are expected",
                archives.len()
            ));
        }
        if aggregates.is_empty() || aggregates.len() > MOST_AGGREGATES {
            return refuse(format!(
                "has {} aggregates: 1 to {MOST_AGGREGATES} are expected",
                aggregates.len()
            ));
        }
        for archive in &archives {
            let timespan = archive.step.checked_mul(archive.buckets);
            if !matches!(timespan, Some(1..) if timespan <= Some(i64::MAX as u64)) {
                return refuse(format!(
                    "an archive of {} buckets of {} ns: a timespan of 1 ns to 292 years is expected",
                    archive.buckets, archive.step
                ));
            }
        }
        archives.sort_by_key(|archive| archive.step);
        let coarsest = archives[archives.len() - 1].step;
        if !matches!(coarsest.checked_mul(back_window), Some(window) if window <= i64::MAX as u64) {
            return refuse(format!(
                "back_window is {back_window}: so many buckets of {} are more than 292 years",
                Granularity::Fixed(coarsest)
            ));
        }
        let granularities = archives.iter().map(Archive::granularity).collect();
        if let Err(why) = Resample::new(granularities, aggregates.clone(), NanPolicy::Keep) {
            return refuse(why.to_string());
        }
        Ok(Self {
            name,
            archives,
            aggregates,
            back_window,
        })
    }

    /// Of a name in [`Policy::BUILT_IN`].
    #[must_use]
    pub fn built_in(name: &str) -> Option<Self> {
        let (archives, back_window) = match name {
            "low" => (vec![Archive::spanning(5 * MINUTE, 30 * DAY)], 12),
            "medium" => (
                vec![
                    Archive::spanning(MINUTE, 7 * DAY),
                    Archive::spanning(HOUR, 365 * DAY),
                ],
                1,
            ),
            "high" => (
                vec![
                    Archive::spanning(SECOND, HOUR),
                    Archive::spanning(MINUTE, 7 * DAY),
                    Archive::spanning(HOUR, 365 * DAY),
                ],
                1,
            ),
            _ => return None,
        };
        let methods = [
            Method::Count,
            Method::Sum,
            Method::Mean,
            Method::Min,
            Method::Max,
            Method::Last,
            Method::Std,
            Method::Percentile(95.0),
        ];
        let aggregates = methods.map(Aggregate::of).to_vec();
        Self::new(name.to_owned(), archives, aggregates, back_window).ok()
    }

    /// Its name, for people: two policies are the same if they keep the same.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// From the finest to the coarsest.
    #[must_use]
    pub fn archives(&self) -> &[Archive] {
        &self.archives
    }

    /// Of every archive, in the order given.
    #[must_use]
    pub fn aggregates(&self) -> &[Aggregate] {
        &self.aggregates
    }

    /// Buckets of the coarsest granularity before the one of the last point.
    #[must_use]
    pub fn back_window(&self) -> u64 {
        self.back_window
    }

    /// What an engine must compute for a store of this policy.
    ///
    /// # Errors
    /// None: it was tried when the policy was made.
    pub fn plan(&self) -> Result<Resample, StoreError> {
        let granularities = self.archives.iter().map(Archive::granularity).collect();
        Ok(Resample::new(
            granularities,
            self.aggregates.clone(),
            NanPolicy::Keep,
        )?)
    }

    /// Whether both keep the same, whatever their names.
    #[must_use]
    pub fn keeps_the_same(&self, other: &Self) -> bool {
        (&self.archives, &self.aggregates, self.back_window)
            == (&other.archives, &other.aggregates, other.back_window)
    }

    pub(super) fn has_rates(&self) -> bool {
        self.aggregates.iter().any(|aggregate| aggregate.rate)
    }

    /// The first moment that points may still come for, where the last point is at `last`; nanoseconds since 1970.
    #[must_use]
    pub fn window_start(&self, last: i64) -> i64 {
        let coarsest = self.archives[self.archives.len() - 1].step;
        let block = (last as u64 / coarsest).saturating_sub(self.back_window);
        (block * coarsest) as i64
    }

    /// The start of the earliest bucket that a point at `time` lies in: to compute its buckets again, points are needed
    /// from there on.
    pub(super) fn reach(&self, time: i64) -> i64 {
        let starts = self
            .archives
            .iter()
            .map(|archive| time as u64 / archive.step * archive.step);
        starts.min().unwrap_or(0) as i64
    }
}

impl fmt::Display for Policy {
    /// `medium (1m for 7d, 1h for 365d; mean, max; back window 1)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let archives: Vec<String> = self.archives.iter().map(ToString::to_string).collect();
        let aggregates: Vec<String> = self.aggregates.iter().map(ToString::to_string).collect();
        write!(
            f,
            "{} ({}; {}; back window {})",
            self.name,
            archives.join(", "),
            aggregates.join(", "),
            self.back_window
        )
    }
}

/// A policy as it is written in a file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    back_window: u64,
    aggregates: Vec<String>,
    archive: Vec<WrittenArchive>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenArchive {
    granularity: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timespan: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    points: Option<u64>,
}

impl Policy {
    /// Of a text of TOML. `file` names it in errors, `name` everywhere else.
    ///
    /// # Errors
    /// No TOML, unknown keys, or as [`Policy::new`].
    pub fn from_toml(file: &str, name: &str, text: &str) -> Result<Self, StoreError> {
        let refuse = |why: String| StoreError::Policy {
            name: file.to_owned(),
            why,
        };
        let written: Written = toml::from_str(text).map_err(|e| refuse(in_one_line(&e, text)))?;
        let archives: Result<Vec<Archive>, String> =
            written.archive.iter().map(WrittenArchive::read).collect();
        let aggregates: Result<Vec<Aggregate>, _> =
            written.aggregates.iter().map(|word| word.parse()).collect();
        let policy = Self::new(
            file.to_owned(),
            archives.map_err(refuse)?,
            aggregates.map_err(|e: super::super::SeriesError| refuse(e.to_string()))?,
            written.back_window,
        )?;
        Ok(Self {
            name: name.to_owned(),
            ..policy
        })
    }

    /// What [`Policy::from_toml`] reads.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let written = Written {
            back_window: self.back_window,
            aggregates: self.aggregates.iter().map(ToString::to_string).collect(),
            archive: self.archives.iter().map(WrittenArchive::of).collect(),
        };
        // Texts and whole numbers can always be written, numbers beyond 2⁶³ are refused before.
        toml::to_string(&written).unwrap_or_default()
    }
}

impl WrittenArchive {
    fn of(archive: &Archive) -> Self {
        Self {
            granularity: archive.granularity().to_string(),
            timespan: None,
            points: Some(archive.buckets),
        }
    }

    fn read(&self) -> Result<Archive, String> {
        let length = |what: &str, text: &str| match text.parse::<Granularity>() {
            Ok(Granularity::Fixed(nanoseconds)) => Ok(nanoseconds),
            Ok(calendar) => Err(format!(
                "{what} {calendar} is of the calendar: archives have buckets of one length, such as 60s, 5m, 1h, 1d"
            )),
            Err(_) => Err(format!(
                "{what} '{text}': a length such as 60s, 5m, 1h, 1d, 250ms is expected"
            )),
        };
        let step = length("granularity", &self.granularity)?;
        let archive = &self.granularity;
        match (&self.timespan, self.points) {
            (Some(timespan), None) => {
                let nanoseconds = length("timespan", timespan)?;
                if nanoseconds % step != 0 {
                    return Err(format!(
                        "archive {archive}: a timespan of {timespan} is no whole number of its buckets"
                    ));
                }
                Ok(Archive::spanning(step, nanoseconds))
            }
            (None, Some(0)) => Err(format!(
                "archive {archive}: points is 0: 1 or more is expected"
            )),
            (None, Some(buckets)) => Ok(Archive { step, buckets }),
            (Some(_), Some(_)) => Err(format!(
                "archive {archive}: has both timespan and points: one of them is expected"
            )),
            (None, None) => Err(format!(
                "archive {archive}: has neither timespan nor points: one of them is expected"
            )),
        }
    }
}

/// What is wrong, and in which line.
fn in_one_line(error: &toml::de::Error, text: &str) -> String {
    let line = error.span().map(|span| {
        let before = &text.as_bytes()[..span.start.min(text.len())];
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    });
    let words = error.message().split_whitespace().collect::<Vec<_>>();
    let words = words.join(" ");
    match line {
        Some(line) => format!("line {line}: {words}"),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "back_window = 2\naggregates = ['mean', 'rate:max', '95pct']\n\n[[archive]]\ngranularity = '1m'\ntimespan = '7d'\n\n[[archive]]\ngranularity = '10s'\npoints = 360\n";

    #[test]
    fn a_file_is_read_and_written() {
        let policy = Policy::from_toml("p.toml", "p", GOOD).unwrap();
        assert_eq!(
            policy.to_string(),
            "p (10s for 1h, 1m for 7d; mean, rate:max, 95pct; back window 2)"
        );
        let again = Policy::from_toml("q.toml", "q", &policy.to_toml()).unwrap();
        assert!(again.keeps_the_same(&policy));
        for name in Policy::BUILT_IN {
            let policy = Policy::built_in(name).unwrap();
            let again = Policy::from_toml("f", name, &policy.to_toml()).unwrap();
            assert_eq!(again, policy);
            assert_eq!(policy.name(), name);
        }
        assert!(Policy::built_in("lower").is_none());
    }

    #[test]
    fn what_is_wrong_is_said() {
        let change = |from: &str, to: &str| {
            assert!(GOOD.contains(from));
            let text = GOOD.replacen(from, to, 1);
            let said = Policy::from_toml("p.toml", "p", &text)
                .unwrap_err()
                .to_string();
            assert!(
                said.starts_with("policy p.toml: ") && !said.contains('\n'),
                "{said}"
            );
            said
        };
        for (from, to, words) in [
            ("back_window = 2", "back_window = -1", "line 1"),
            (
                "back_window = 2",
                "back_window = 999999999999999",
                "292 years",
            ),
            ("back_window = 2", "windows = 2", "unknown field `windows`"),
            ("back_window = 2\n", "", "missing field `back_window`"),
            ("'mean'", "'average'", "aggregate 'average': expected count"),
            ("'mean', 'rate:max', '95pct'", "", "0 aggregates"),
            ("'95pct'", "'mean'", "aggregate mean is named twice"),
            ("'1m'", "'M'", "granularity M is of the calendar"),
            ("'1m'", "'0s'", "granularity '0s'"),
            ("'1m'", "'10s'", "granularity 10s is named twice"),
            ("'7d'", "'90s'", "no whole number"),
            ("timespan = '7d'", "", "neither timespan nor points"),
            ("points = 360", "points = 360\ntimespan = '1h'", "both"),
            ("points = 360", "points = 0", "1 or more"),
            ("points = 360", "points = 9223372036854775807", "292 years"),
            ("points = 360", "points = 3.5", "line 10"),
            ("[[archive]]", "[[archives]]", "unknown field `archives`"),
            ("back_window = 2", "back_window = ", "line 1"),
        ] {
            let said = change(from, to);
            assert!(said.contains(words), "{from} → {to}: {said}");
        }
    }

    #[test]
    fn the_window_begins_at_a_coarse_bucket() {
        let policy = Policy::from_toml("p", "p", GOOD).unwrap();
        let second = SECOND as i64;
        // 10 minutes and 59 s: two minutes before that of the last point.
        assert_eq!(policy.window_start(659 * second), 480 * second);
        assert_eq!(policy.window_start(600 * second), 480 * second);
        assert_eq!(policy.window_start(30 * second), 0);
        assert_eq!(policy.reach(659 * second), 600 * second);
        // Steps that do not divide each other: 10 s and 15 s.
        let text = GOOD.replace("'1m'\ntimespan = '7d'", "'15s'\npoints = 4");
        let uneven = Policy::from_toml("p", "p", &text).unwrap();
        assert_eq!(uneven.reach(35 * second), 30 * second);
        assert_eq!(uneven.reach(47 * second), 40 * second);
        let archive = uneven.archives()[1];
        assert_eq!(
            (archive.first_kept(0), archive.first_kept(100 * second)),
            (0, 3)
        );
    }
}

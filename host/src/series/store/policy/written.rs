//! Policies as they are written in files: TOML.

use super::{Archive, Policy};
use crate::series::store::StoreError;
use crate::series::{Aggregate, Granularity, SeriesError};
use serde::{Deserialize, Serialize};

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
            aggregates.map_err(|e: SeriesError| refuse(e.to_string()))?,
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

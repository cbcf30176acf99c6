//! Policy files in TOML.

use super::{Archive, Policy};
use crate::store::StoreError;
use crate::{Aggregate, Granularity, SeriesError};
use serde::{Deserialize, Serialize};
use warpstride_core::text::TomlError;

/// A policy as written in a file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyFile {
    back_window: u64,
    aggregates: Vec<String>,
    archive: Vec<ArchiveEntry>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ArchiveEntry {
    granularity: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timespan: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    points: Option<u64>,
}

impl Policy {
    /// Parses a policy from TOML. Errors name it `file`; otherwise its name is `name`.
    ///
    /// # Errors
    /// If the text is not TOML or has unknown keys, and the errors of [`Policy::new`].
    pub fn from_toml(file: &str, name: &str, text: &str) -> Result<Self, StoreError> {
        let refuse = |why: String| StoreError::Policy {
            name: file.to_owned(),
            why,
        };
        let written: PolicyFile =
            toml::from_str(text).map_err(|e| refuse(TomlError::new(&e, Some(text)).to_string()))?;
        let archives: Result<Vec<Archive>, String> =
            written.archive.iter().map(ArchiveEntry::read).collect();
        let aggregates: Result<Vec<Aggregate>, _> =
            written.aggregates.iter().map(|name| name.parse()).collect();
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

    /// Formats the policy for [`Policy::from_toml`].
    #[must_use]
    pub fn to_toml(&self) -> String {
        let written = PolicyFile {
            back_window: self.back_window,
            aggregates: self.aggregates.iter().map(ToString::to_string).collect(),
            archive: self.archives.iter().map(ArchiveEntry::of).collect(),
        };
        // Strings and integers can always be written; numbers beyond 2⁶³ were rejected before.
        toml::to_string(&written).unwrap_or_default()
    }
}

impl ArchiveEntry {
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
                "{what}: expected a fixed length such as 60s, 5m, 1h, 1d, found the calendar unit {calendar}"
            )),
            Err(_) => Err(format!(
                "{what}: expected a length such as 60s, 5m, 1h, 1d, 250ms, found '{text}'"
            )),
        };
        let step = length("granularity", &self.granularity)?;
        let archive = &self.granularity;
        match (&self.timespan, self.points) {
            (Some(timespan), None) => {
                let nanoseconds = length("timespan", timespan)?;
                if nanoseconds % step != 0 {
                    return Err(format!(
                        "archive {archive}: timespan: expected a multiple of the granularity, found {timespan}"
                    ));
                }
                Ok(Archive::spanning(step, nanoseconds))
            }
            (None, Some(0)) => Err(format!(
                "archive {archive}: points: expected 1 or more, found 0"
            )),
            (None, Some(buckets)) => Ok(Archive { step, buckets }),
            (Some(_), Some(_)) => Err(format!(
                "archive {archive}: expected either timespan or points, found both"
            )),
            (None, None) => Err(format!(
                "archive {archive}: expected either timespan or points, found neither"
            )),
        }
    }
}

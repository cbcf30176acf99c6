//! Labels of series as columns of their own in results.

use super::series_key::labels_of;
use super::{prometheus, shorten};
use std::collections::HashSet;

/// Largest number of label columns.
const MOST: usize = 1000;
/// The other columns of results.
const TAKEN: [&str; 5] = [
    "granularity_s",
    "aggregate",
    "timestamp",
    "timestamp_ns",
    "value",
];
/// The column of names without labels.
const SERIES: &str = "series";

/// Columns that stand for `series` in results: one for each label of the series.
///
/// The labels are those in names such as `host=a,region=eu` and `up{host="a"}`. A column `series`
/// precedes them if there are names without labels, or with more than labels (`up`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelColumns {
    /// The names of the columns.
    heads: Vec<String>,
    /// Whether the first column is `series`.
    has_series: bool,
}

/// A name taken apart.
struct Parts {
    /// What is no label.
    series: Option<String>,
    labels: Vec<(String, String)>,
}

impl Parts {
    fn of(name: &str) -> Self {
        if let Some((series, labels)) = prometheus::parts(name)
            && !labels.is_empty()
        {
            return Self {
                series: Some(series),
                labels,
            };
        }
        match labels_of(name) {
            Some(labels) => Self {
                series: None,
                labels,
            },
            None => Self {
                series: Some(name.to_owned()),
                labels: Vec::new(),
            },
        }
    }
}

impl LabelColumns {
    /// The columns for series with these names, in the order of their first appearance.
    ///
    /// # Errors
    /// A message with what was expected and found if two columns would have the same name, or if
    /// there are more than 1000.
    pub fn new<'n>(names: impl IntoIterator<Item = &'n str>) -> Result<Self, String> {
        let (mut labels, mut seen) = (Vec::new(), HashSet::new());
        let mut has_series = false;
        for name in names {
            let parts = Parts::of(name);
            has_series |= parts.series.is_some();
            for (label, _) in parts.labels {
                if seen.insert(label.clone()) {
                    labels.push(label);
                }
            }
            if labels.len() > MOST {
                return Err(format!("expected at most {MOST} labels, found more"));
            }
        }
        let taken =
            |label: &&String| TAKEN.contains(&label.as_str()) || (has_series && *label == SERIES);
        if let Some(label) = labels.iter().find(taken) {
            return Err(format!(
                "expected labels with names other than those of the columns of results, found the label '{}'",
                shorten(label)
            ));
        }
        if has_series {
            labels.insert(0, SERIES.to_owned());
        }
        Ok(Self {
            heads: labels,
            has_series,
        })
    }

    /// The names of the columns.
    #[must_use]
    pub fn heads(&self) -> &[String] {
        &self.heads
    }

    /// The texts of the columns for a series; a label that it does not have is empty.
    #[must_use]
    pub fn cells(&self, name: &str) -> Vec<String> {
        let parts = Parts::of(name);
        let mut cells = vec![String::new(); self.heads.len()];
        if let (true, Some(first)) = (self.has_series, cells.first_mut()) {
            *first = parts.series.unwrap_or_default();
        }
        let own = usize::from(self.has_series);
        for (label, value) in parts.labels {
            let heads = self.heads.iter().skip(own);
            if let Some(position) = heads.into_iter().position(|head| *head == label) {
                cells[own + position] = value;
            }
        }
        cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_become_columns_and_other_names_the_column_series() {
        let columns = LabelColumns::new(["host=a,region=eu", "region=us,host=b\\,c"]).unwrap();
        assert_eq!(columns.heads(), ["host", "region"]);
        assert_eq!(columns.cells("region=us,host=b\\,c"), ["b,c", "us"]);
        let columns = LabelColumns::new(["up{host=\"a\"}", "cpu", "zone=z"]).unwrap();
        assert_eq!(columns.heads(), ["series", "host", "zone"]);
        assert_eq!(columns.cells("up{host=\"a\"}"), ["up", "a", ""]);
        assert_eq!(columns.cells("cpu"), ["cpu", "", ""]);
        assert_eq!(columns.cells("zone=z"), ["", "", "z"]);
    }

    #[test]
    fn labels_with_names_of_other_columns_are_refused() {
        for names in [
            &["value=1"][..],
            &["series=a,aggregate=mean"],
            &["cpu", "series=a"],
        ] {
            let error = LabelColumns::new(names.iter().copied()).unwrap_err();
            assert!(error.contains("label '"), "{error}");
        }
        assert!(LabelColumns::new(["series=a"]).is_ok());
        let many: Vec<String> = (0..1001).map(|n| format!("l{n}=")).collect();
        let error = LabelColumns::new(many.iter().map(String::as_str)).unwrap_err();
        assert!(error.contains("1000"), "{error}");
    }
}

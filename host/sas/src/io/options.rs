//! Options for reading.

use super::messages::shorten;
use super::units::QUnit;
use warpstride_files::IoError;

/// One dimension or two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// I(q).
    Curve,
    /// I(qx, qy).
    Image,
}

/// Options for reading.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadOptions {
    /// Data set to read: its number in the file, from 1, or its title. `None`: the first.
    pub select: Option<String>,
    /// Expected kind; columns of text are read as this kind. `None`: detected from the file.
    pub kind: Option<Kind>,
    /// Unit of q if the file gives none. `None`: 1/Å.
    pub q_unit: Option<QUnit>,
}

/// Index of the selected data set among these titles; adds a note if several exist and none was
/// selected.
pub(super) fn select(
    file: &str,
    titles: &[String],
    options: &ReadOptions,
    notes: &mut Vec<String>,
) -> Result<usize, IoError> {
    let list = || {
        let shown: Vec<String> = titles
            .iter()
            .enumerate()
            .take(8)
            .map(|(i, title)| format!("{} {}", i + 1, shorten(title)))
            .collect();
        let more = if titles.len() > 8 { ", …" } else { "" };
        format!("{}{more}", shown.join(", "))
    };
    let Some(requested) = &options.select else {
        if titles.len() > 1 {
            notes.push(format!(
                "the file holds {} data sets ({}): the first one is used",
                titles.len(),
                list()
            ));
        }
        return Ok(0);
    };
    let number = requested.trim().parse::<usize>().ok();
    number
        .filter(|n| (1..=titles.len()).contains(n))
        .map(|n| n - 1)
        .or_else(|| titles.iter().position(|title| title == requested))
        .ok_or_else(|| IoError::Option {
            file: file.to_owned(),
            option: "--select",
            reason: format!(
                "expected one of the data sets {}, found {}",
                list(),
                shorten(requested)
            ),
        })
}

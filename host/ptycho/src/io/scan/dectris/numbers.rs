//! The detector's numbers, and those in the names of the datasets of frames.

use warpstride_files::IoError;
use warpstride_files::source::Source;

/// The group of the frames.
pub(super) const DATA: &str = "/entry/data";
pub(super) const DETECTOR: &str = "/entry/instrument/detector";
pub(super) const SPECIFIC: &str = "/entry/instrument/detector/detectorSpecific";

/// Number in the name of a dataset of frames, such as 1 in `data_000001`.
pub(super) fn number_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("data_")?;
    let all_digits = digits.len() >= 6 && digits.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| digits.parse().ok()).flatten()
}

/// The first of these datasets below the detector that is a number.
pub(super) fn number(source: &Source, name: &str) -> Result<Option<(String, f64)>, IoError> {
    for group in [SPECIFIC, DETECTOR] {
        let path = format!("{group}/{name}");
        // A text or a truth value says nothing.
        match source.numbers(&path) {
            Ok(Some(numbers)) => return Ok(Some((path, numbers.common_value()?))),
            Ok(None) | Err(IoError::Type { .. }) => {}
            Err(other) => return Err(other),
        }
    }
    Ok(None)
}

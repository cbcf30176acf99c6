//! Logs (NXlog), which stand for a number or an axis: `value` over `time`, and what was computed of
//! them.
//!
//! NeXus: <https://manual.nexusformat.org/classes/base_classes/NXlog.html>.

use warpstride_files::IoError;
use warpstride_files::source::Source;

const VALUE: &str = "value";
const AVERAGE: &str = "average_value";

/// Whether the group `path` is a log, or a positioner, which has its values at the same place.
fn is_log(source: &Source, path: &str) -> Result<bool, IoError> {
    let class = match source.group(path)? {
        Some(_) => source.attribute(path, "NX_class")?,
        None => None,
    };
    Ok(class.is_some_and(|class| ["NXlog", "NXpositioner"].contains(&class.as_str())))
}

/// The dataset of a number that is the same for all frames: `path`, or the mean of a log there.
///
/// # Errors
/// A damaged file.
pub(super) fn common(source: &Source, path: &str) -> Result<String, IoError> {
    if !is_log(source, path)? {
        return Ok(path.to_owned());
    }
    let [average, value] = [AVERAGE, VALUE].map(|name| format!("{path}/{name}"));
    Ok(if source.has(&average)? {
        average
    } else {
        value
    })
}

/// The dataset that states the unit of `path`: that itself, or the values of a log of which it is
/// the mean.
///
/// # Errors
/// A damaged file.
pub(super) fn with_units(source: &Source, path: &str) -> Result<String, IoError> {
    let of_values = path.strip_suffix(AVERAGE);
    let of_values = of_values.map(|group| format!("{group}{VALUE}"));
    Ok(match of_values {
        Some(values) if !source.has_attribute(path, "units") && source.has(&values)? => values,
        _ => path.to_owned(),
    })
}

/// The dataset with the values of a log, or its means, if there is one for each of `frames` frames;
/// `None` if `path` is no log.
///
/// # Errors
/// A damaged file.
pub(super) fn of_frames(
    source: &Source,
    path: &str,
    frames: usize,
) -> Result<Option<String>, IoError> {
    if !is_log(source, path)? {
        return Ok(None);
    }
    let names = [VALUE, AVERAGE].map(|name| format!("{path}/{name}"));
    for name in &names {
        if let Some(numbers) = source.numbers(name)?
            && numbers.shape() == [frames]
        {
            return Ok(Some(name.clone()));
        }
    }
    let [value, average] = names;
    Ok(Some(if source.has(&value)? { value } else { average }))
}

//! The acquisitions of an image, and the checks of their headers.

use super::super::acquisition::Head;
use super::super::select::absent;
use super::super::{Choice, Counter, LeftOut, ReadOptions};
use warpstride_files::IoError;
use warpstride_files::records::Records;
use warpstride_files::source::Source;

/// How acquisitions without a trajectory are refused, and what to do about them.
const CARTESIAN: &str = "a trajectory, kx and ky of every sample (Cartesian data need none: Gadgetron, or BART's fft and pics, reconstruct them; for this program, write kx = (sample − center_sample)/number_of_samples and ky = (kspace_encode_step_1 − its centre)/y of encodedSpace to traj)";

/// The acquisitions of the image, or of `every` image that is selected, in the order of the file,
/// and the kinds of the others.
pub(super) fn choose(
    source: &Source,
    records: &Records<'_>,
    heads: &[Head],
    options: &ReadOptions,
    every: bool,
    notes: &mut Vec<String>,
) -> Result<(Vec<usize>, Vec<LeftOut>), IoError> {
    let mut left_out: Vec<LeftOut> = Vec::new();
    let mut leave_out = |what: &str| match left_out.iter_mut().find(|l| l.what == what) {
        Some(known) => known.acquisitions += 1,
        None => left_out.push(LeftOut {
            what: what.to_owned(),
            acquisitions: 1,
        }),
    };
    let mut chosen = Vec::new();
    for (number, head) in heads.iter().enumerate() {
        if let Some(what) = head.left_out().or_else(|| head.empty()) {
            leave_out(what);
        } else if head.encoding_space_ref != 0 {
            leave_out("acquisitions of other encodings");
        } else {
            chosen.push(number);
        }
    }
    for counter in Counter::ALL {
        let of = |number: &usize| counter.of(&heads[*number].idx);
        let (Some(low), Some(high)) = (chosen.iter().map(of).min(), chosen.iter().map(of).max())
        else {
            break;
        };
        let range = [low, high];
        let is_own = options.select.of(counter) == Some(Choice::All);
        if every && is_own {
            continue;
        }
        let image = options.image;
        let Some(value) = options.select.value(counter, range, image, notes) else {
            continue;
        };
        if !chosen.iter().any(|number| of(number) == value) {
            return Err(absent(source.name(), counter, value, range));
        }
        chosen.retain(|number| {
            let taken = of(number) == value;
            if !taken && !is_own {
                leave_out(&format!("acquisitions of another {counter}"));
            }
            taken
        });
    }
    if chosen.is_empty() {
        let found: Vec<String> = left_out.iter().map(LeftOut::to_string).collect();
        return Err(IoError::Value {
            file: source.name().to_owned(),
            dataset: records.path().to_owned(),
            expected: "imaging acquisitions".to_owned(),
            found: if found.is_empty() {
                "no acquisitions".to_owned()
            } else {
                found.join(", ")
            },
        });
    }
    Ok((chosen, left_out))
}

/// Rejects headers that cannot be read or are inconsistent.
pub(super) fn check(
    source: &Source,
    records: &Records<'_>,
    heads: &[Head],
    chosen: &[usize],
) -> Result<(), IoError> {
    let mut coils: Option<(usize, u16)> = None;
    for &number in chosen {
        let head = &heads[number];
        let wrong = |found: String, expected: &str| Err(records.wrong(number, found, expected));
        if head.compressed() {
            return wrong(
                "compressed ones".to_owned(),
                "uncompressed samples (convert the file without compression)",
            );
        }
        match head.trajectory_dimensions {
            0 => {
                return wrong("none (trajectory_dimensions is 0)".to_owned(), CARTESIAN);
            }
            1 => {
                return wrong(
                    "a trajectory of 1 dimension".to_owned(),
                    "kx, ky and, for volumes, kz",
                );
            }
            _ => {}
        }
        let (first, common) = *coils.get_or_insert((number, head.active_channels));
        if head.active_channels != common {
            return wrong(
                format!("{} coils", head.active_channels),
                &format!("{common} coils, like acquisition {first}"),
            );
        }
        let claimed = head.claimed();
        if claimed > source.length() {
            return wrong(
                format!("{claimed}, which it claims (the file is truncated or damaged)"),
                &format!("at most the {} bytes of the file", source.length()),
            );
        }
    }
    Ok(())
}

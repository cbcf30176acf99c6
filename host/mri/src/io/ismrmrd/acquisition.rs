//! One acquisition in the layout of the standard; only the members that are used, by name.

use hdf5_metno as hdf5;
use hdf5_metno::types::VarLenArray;
use warpstride_files::IoError;
use warpstride_files::records::{Member, Records};

/// Encoding counters of an acquisition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, hdf5::H5Type)]
#[repr(C)]
pub(super) struct Counters {
    pub(super) kspace_encode_step_2: u16,
    pub(super) slice: u16,
    pub(super) contrast: u16,
    pub(super) phase: u16,
    pub(super) repetition: u16,
    pub(super) set: u16,
}

/// The header of an acquisition, read before its samples.
#[derive(Debug, Clone, Copy, PartialEq, hdf5::H5Type)]
#[repr(C)]
pub(super) struct Head {
    pub(super) flags: u64,
    pub(super) number_of_samples: u16,
    pub(super) active_channels: u16,
    pub(super) discard_pre: u16,
    pub(super) discard_post: u16,
    pub(super) encoding_space_ref: u16,
    pub(super) trajectory_dimensions: u16,
    pub(super) sample_time_us: f32,
    pub(super) idx: Counters,
}

#[derive(hdf5::H5Type)]
#[repr(C)]
struct HeadRecord {
    head: Head,
}

/// Positions in k-space, (sample, axis), and samples, (coil, sample, (real, imaginary)).
#[derive(hdf5::H5Type)]
#[repr(C)]
pub(super) struct Arrays {
    pub(super) traj: VarLenArray<f32>,
    pub(super) data: VarLenArray<f32>,
}

const NUMBERS: [&str; 14] = [
    "head.flags",
    "head.number_of_samples",
    "head.active_channels",
    "head.discard_pre",
    "head.discard_post",
    "head.encoding_space_ref",
    "head.trajectory_dimensions",
    "head.sample_time_us",
    "head.idx.kspace_encode_step_2",
    "head.idx.slice",
    "head.idx.contrast",
    "head.idx.phase",
    "head.idx.repetition",
    "head.idx.set",
];

/// Number of headers that are read at a time.
const BATCH: usize = 4096;

/// Kinds of acquisitions that are not part of the image, by the standard's flags (bits are numbered
/// from 1).
const NOT_IMAGING: [(u32, &str); 10] = [
    (19, "noise scans"),
    (20, "calibration scans"),
    (23, "navigator scans"),
    (24, "phase-correction scans"),
    (26, "feedback scans"),
    (27, "dummy scans"),
    (28, "feedback scans"),
    (29, "surface-coil correction scans"),
    (30, "phase-stabilisation scans"),
    (31, "phase-stabilisation scans"),
];

/// Flags of compressed samples (bits are numbered from 1).
const COMPRESSED: std::ops::RangeInclusive<u32> = 53..=56;

fn flagged(flags: u64, bit: u32) -> bool {
    flags >> (bit - 1) & 1 == 1
}

impl Head {
    /// Reads all headers, after checking that the records have their members.
    pub(super) fn read_all(records: &Records<'_>) -> Result<Vec<Self>, IoError> {
        for name in NUMBERS {
            records.require(name, Member::Number)?;
        }
        for name in ["traj", "data"] {
            records.require(name, Member::Singles)?;
        }
        let count = records.count();
        records.allow(count, size_of::<Self>())?;
        let mut heads = Vec::new();
        let (mut claimed, length) = (0_u64, records.file_length());
        for start in (0..count).step_by(BATCH) {
            let end = count.min(start + BATCH);
            let part: Vec<HeadRecord> = records.read(start..end)?;
            heads.extend(part.iter().map(|record| record.head));
            // A file may claim any number of records that it does not hold: these read as 0.
            if end - start == BATCH && heads[start..].iter().all(Self::is_unwritten) {
                return Err(records.wrong(
                    start,
                    "0 samples of 0 coils".to_owned(),
                    "at least one sample of one coil",
                ));
            }
            // Each acquisition has samples of its own, which the file does not compress.
            for (number, head) in heads.iter().enumerate().skip(start) {
                if head.left_out().is_none() && !head.compressed() && head.claimed() <= length {
                    claimed = claimed.saturating_add(head.claimed());
                }
                if claimed > length {
                    return Err(records.wrong(
                        number,
                        format!("{claimed} up to this one, which the headers claim (the file is damaged)"),
                        &format!("samples of at most the {length} bytes of the file"),
                    ));
                }
            }
        }
        Ok(heads)
    }

    /// Bytes that its samples must have.
    pub(super) fn claimed(&self) -> u64 {
        8 * u64::from(self.number_of_samples) * u64::from(self.active_channels)
    }

    fn is_unwritten(&self) -> bool {
        self.number_of_samples == 0 && self.active_channels == 0 && self.flags == 0
    }

    /// The kind of acquisition, if it is not used for images.
    pub(super) fn left_out(&self) -> Option<&'static str> {
        NOT_IMAGING
            .iter()
            .find(|(bit, _)| flagged(self.flags, *bit))
            .map(|(_, what)| *what)
    }

    /// What it lacks, if it has no samples of an image.
    pub(super) fn empty(&self) -> Option<&'static str> {
        if self.number_of_samples == 0 || self.active_channels == 0 {
            Some("acquisitions without samples")
        } else if self.used_samples() == 0 {
            Some("acquisitions all of whose samples are discarded")
        } else {
            None
        }
    }

    /// Whether its samples are compressed, which is not supported.
    pub(super) fn compressed(&self) -> bool {
        COMPRESSED.into_iter().any(|bit| flagged(self.flags, bit))
    }

    /// Number of samples that are not discarded.
    pub(super) fn used_samples(&self) -> usize {
        let discarded = usize::from(self.discard_pre) + usize::from(self.discard_post);
        usize::from(self.number_of_samples).saturating_sub(discarded)
    }
}

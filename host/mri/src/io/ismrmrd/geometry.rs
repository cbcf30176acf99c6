//! Position and orientation of an image, from the headers of its acquisitions.

use crate::data::Placement;
use hdf5_metno as hdf5;
use warpstride_files::IoError;
use warpstride_files::records::Records;

/// The members of an acquisition's header that place it.
#[derive(Clone, Copy, hdf5::H5Type)]
#[repr(C)]
struct Geometry {
    position: [f32; 3],
    read_dir: [f32; 3],
    phase_dir: [f32; 3],
    slice_dir: [f32; 3],
}

#[derive(Clone, Copy, hdf5::H5Type)]
#[repr(C)]
struct GeometryRecord {
    head: Geometry,
}

const MEMBERS: [&str; 4] = [
    "head.position",
    "head.read_dir",
    "head.phase_dir",
    "head.slice_dir",
];

/// Number of headers that are read at a time.
const BATCH: usize = 4096;
/// Distance between acquisitions of one image that is rounding, m.
const NEAR: f64 = 1e-5;

impl Geometry {
    /// The position is in mm.
    fn placement(&self) -> Option<Placement> {
        let directions = [self.read_dir, self.phase_dir, self.slice_dir];
        Placement::new(
            self.position.map(|v| f64::from(v) / 1e3),
            directions.map(|of| of.map(f64::from)),
        )
    }
}

/// The placement that all acquisitions `chosen` have; `None` if the file does not state one. A note
/// says so if they differ.
pub(super) fn placement(
    records: &Records<'_>,
    chosen: &[usize],
    notes: &mut Vec<String>,
) -> Result<Option<Placement>, IoError> {
    if !MEMBERS.iter().all(|name| records.has_vector(name)) {
        return Ok(None);
    }
    let mut first: Option<Placement> = None;
    for part in chosen.chunks(BATCH) {
        // Acquisitions that are adjacent in the file are read at once.
        for run in part.chunk_by(|a, b| a + 1 == *b) {
            let read: Vec<GeometryRecord> = records.read(run[0]..run[run.len() - 1] + 1)?;
            for record in read {
                let Some(placement) = record.head.placement() else {
                    return Ok(None);
                };
                let common = *first.get_or_insert(placement);
                if !common.is_near(&placement, NEAR) {
                    notes.push(
                        "the acquisitions of the image differ in position or direction: the image has none"
                            .to_owned(),
                    );
                    return Ok(None);
                }
            }
        }
    }
    Ok(first)
}

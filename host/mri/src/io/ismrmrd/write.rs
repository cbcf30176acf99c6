//! ISMRMRD files: records in the layout of the standard, so that other programs can read them.

use super::DEFAULT_GROUP;
use crate::data::{KSpace, Truth};
use hdf5_metno as hdf5;
use hdf5_metno::types::{VarLenArray, VarLenUnicode};
use ndarray::Array1;
use std::path::Path;
use std::str::FromStr;
use warpstride_core::system::WriteError;
use warpstride_files::IoError;
use warpstride_files::output;

/// The group of simulated files that holds the phantom and the coil maps.
pub(super) const TRUTH: &str = "/truth";

/// Samples and their description in the file.
#[derive(Debug, Clone, Copy)]
pub struct Recording<'a> {
    /// The samples.
    pub kspace: &'a KSpace,
    /// `radial`, `goldenangle`, `spiral` or `other`.
    pub trajectory: &'a str,
    /// Two encoding steps of each readout.
    pub steps: &'a [[usize; 2]],
    /// The image and coil maps of a simulation.
    pub truth: Option<&'a Truth>,
}

/// Encoding counters of an acquisition.
#[derive(Clone, Copy, Default, hdf5::H5Type)]
#[repr(C)]
struct EncodingCounters {
    kspace_encode_step_1: u16,
    kspace_encode_step_2: u16,
    average: u16,
    slice: u16,
    contrast: u16,
    phase: u16,
    repetition: u16,
    set: u16,
    segment: u16,
    user: [u16; 8],
}

/// Version 1 of the standard's acquisition header.
#[derive(Clone, Copy, Default, hdf5::H5Type)]
#[repr(C)]
struct AcquisitionHeader {
    version: u16,
    flags: u64,
    measurement_uid: u32,
    scan_counter: u32,
    acquisition_time_stamp: u32,
    physiology_time_stamp: [u32; 3],
    number_of_samples: u16,
    available_channels: u16,
    active_channels: u16,
    channel_mask: [u64; 16],
    discard_pre: u16,
    discard_post: u16,
    center_sample: u16,
    encoding_space_ref: u16,
    trajectory_dimensions: u16,
    sample_time_us: f32,
    position: [f32; 3],
    read_dir: [f32; 3],
    phase_dir: [f32; 3],
    slice_dir: [f32; 3],
    patient_table_position: [f32; 3],
    idx: EncodingCounters,
    user_int: [i32; 8],
    user_float: [f32; 8],
}

#[derive(hdf5::H5Type)]
#[repr(C)]
struct Acquisition {
    head: AcquisitionHeader,
    traj: VarLenArray<f32>,
    data: VarLenArray<f32>,
}

/// The flag of the last acquisition, bit 25.
const LAST_IN_MEASUREMENT: u64 = 1 << 24;

/// Writes `of` to `path` under the group `dataset`, atomically. Discarded samples of a readout are
/// not written.
///
/// # Errors
/// [`IoError::Write`], also for more readouts' samples or coils than the 16 bits of the file format
/// can count.
pub fn write(path: &Path, of: &Recording<'_>) -> Result<(), IoError> {
    let longest = of.kspace.readouts().iter().map(|r| r.samples.len()).max();
    if longest.unwrap_or(0).max(of.kspace.coils()) > usize::from(u16::MAX) {
        return Err(IoError::Write(WriteError {
            file: path.display().to_string(),
            reason: "expected at most 65535 samples and coils per acquisition".to_owned(),
        }));
    }
    output::write(path, |file| {
        let group = file.create_group(DEFAULT_GROUP)?;
        let header = VarLenUnicode::from_str(&xml(of)).map_err(|e| {
            hdf5::Error::from(format!("the header cannot be stored as text: {e:?}"))
        })?;
        output::array(&group, "xml", &Array1::from_elem(1, header))?;
        let records: Array1<Acquisition> = (0..of.kspace.readouts().len())
            .map(|readout| acquisition(of, readout))
            .collect();
        group
            .new_dataset_builder()
            .packed(true)
            .with_data(records.view())
            .create("data")?;
        match of.truth {
            None => Ok(()),
            Some(truth) => {
                let group = file.create_group(TRUTH)?;
                output::array(&group, "image", &truth.image)?;
                output::array(&group, "coil_maps", &truth.coil_maps)
            }
        }
    })
}

fn acquisition(of: &Recording<'_>, readout: usize) -> Acquisition {
    let kspace = of.kspace;
    let samples = kspace.readouts()[readout].samples.clone();
    let [first, second] = of.steps.get(readout).copied().unwrap_or([readout, 0]);
    let positions: Vec<f32> = samples
        .clone()
        .flat_map(|sample| kspace.trajectory().row(sample).to_vec())
        .map(|k| k as f32)
        .collect();
    let signal: Vec<f32> = kspace
        .samples()
        .outer_iter()
        .flat_map(|coil| {
            let values = samples.clone().map(move |sample| coil[sample]);
            values
                .flat_map(|v| [v.re as f32, v.im as f32])
                .collect::<Vec<_>>()
        })
        .collect();
    // The sample nearest to the origin.
    let centre = samples.clone().min_by(|a, b| {
        let distance = |s: &usize| -> f64 {
            let row = kspace.trajectory().row(*s);
            row.iter().map(|k| k * k).sum()
        };
        distance(a).total_cmp(&distance(b))
    });
    let coils = kspace.coils();
    let mut channel_mask = [0_u64; 16];
    for coil in 0..coils.min(16 * 64) {
        channel_mask[coil / 64] |= 1 << (coil % 64);
    }
    let short = |n: usize| (n % (usize::from(u16::MAX) + 1)) as u16;
    let last = readout + 1 == kspace.readouts().len();
    let head = AcquisitionHeader {
        version: 1,
        flags: if last { LAST_IN_MEASUREMENT } else { 0 },
        scan_counter: readout as u32,
        number_of_samples: short(samples.len()),
        available_channels: short(coils),
        active_channels: short(coils),
        channel_mask,
        center_sample: short(centre.unwrap_or(samples.start) - samples.start),
        trajectory_dimensions: short(kspace.extent().axes),
        sample_time_us: (kspace.readouts()[readout].interval * 1e6) as f32,
        read_dir: [1.0, 0.0, 0.0],
        phase_dir: [0.0, 1.0, 0.0],
        slice_dir: [0.0, 0.0, 1.0],
        idx: EncodingCounters {
            kspace_encode_step_1: short(first),
            kspace_encode_step_2: short(second),
            ..EncodingCounters::default()
        },
        ..AcquisitionHeader::default()
    };
    Acquisition {
        head,
        traj: VarLenArray::from_slice(&positions),
        data: VarLenArray::from_slice(&signal),
    }
}

/// Proton frequency of a 3 T scanner, Hz, which the standard requires.
const PROTON_FREQUENCY: u64 = 127_740_000;

/// The header; an unknown field of view is written as one millimetre per voxel.
fn xml(of: &Recording<'_>) -> String {
    let extent = of.kspace.extent();
    let [slices, rows, columns] = extent.matrix;
    let view = extent
        .field_of_view
        .unwrap_or(extent.matrix.map(|n| n as f64 / 1e3));
    let [z, y, x] = view.map(|m| m * 1e3);
    let space = |name: &str| {
        format!(
            "<{name}><matrixSize><x>{columns}</x><y>{rows}</y><z>{slices}</z></matrixSize>\
             <fieldOfView_mm><x>{x}</x><y>{y}</y><z>{z}</z></fieldOfView_mm></{name}>"
        )
    };
    let highest = |axis: usize| of.steps.iter().map(|s| s[axis]).max().unwrap_or(0);
    let limit = |name: &str, most: usize, centre: usize| {
        let most = most.min(usize::from(u16::MAX));
        format!(
            "<{name}><minimum>0</minimum><maximum>{most}</maximum><center>{centre}</center></{name}>"
        )
    };
    let trajectory = match of.trajectory {
        known @ ("radial" | "goldenangle" | "spiral") => known,
        _ => "other",
    };
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <ismrmrdHeader xmlns=\"http://www.ismrm.org/ISMRMRD\">\
         <acquisitionSystemInformation><receiverChannels>{coils}</receiverChannels></acquisitionSystemInformation>\
         <experimentalConditions><H1resonanceFrequency_Hz>{PROTON_FREQUENCY}</H1resonanceFrequency_Hz></experimentalConditions>\
         <encoding>{encoded}{recon}<encodingLimits>{one}{two}</encodingLimits>\
         <trajectory>{trajectory}</trajectory></encoding></ismrmrdHeader>",
        coils = of.kspace.coils(),
        encoded = space("encodedSpace"),
        recon = space("reconSpace"),
        one = limit("kspace_encoding_step_1", highest(0), 0),
        two = limit("kspace_encoding_step_2", highest(1), highest(1).div_ceil(2)),
    )
}

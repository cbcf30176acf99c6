//! ISMRMRD files made by the tests, valid ones and others.

use super::support::{Output, STARTING, TestFolder};
use hdf5_metno as hdf5;
use hdf5_metno::types::{VarLenArray, VarLenUnicode};
use ndarray::Array1;
use std::str::FromStr;
use std::sync::PoisonError;

#[derive(Clone, Copy, Default, hdf5::H5Type)]
#[repr(C)]
pub(crate) struct Counters {
    pub(crate) kspace_encode_step_2: u16,
    pub(crate) slice: u16,
    pub(crate) contrast: u16,
    pub(crate) phase: u16,
    pub(crate) repetition: u16,
    pub(crate) set: u16,
}

#[derive(Clone, Copy, Default, hdf5::H5Type)]
#[repr(C)]
pub(crate) struct Head {
    pub(crate) flags: u64,
    pub(crate) number_of_samples: u16,
    pub(crate) active_channels: u16,
    pub(crate) discard_pre: u16,
    pub(crate) discard_post: u16,
    pub(crate) encoding_space_ref: u16,
    pub(crate) trajectory_dimensions: u16,
    pub(crate) sample_time_us: f32,
    pub(crate) idx: Counters,
}

#[derive(Clone, hdf5::H5Type)]
#[repr(C)]
pub(crate) struct Acquisition {
    pub(crate) head: Head,
    pub(crate) traj: VarLenArray<f32>,
    pub(crate) data: VarLenArray<f32>,
}

impl Acquisition {
    /// A spoke of `samples` samples: the signal of a point in the centre, 1 in every coil.
    pub(crate) fn spoke(number: usize, of: usize, samples: usize, coils: usize) -> Self {
        let angle = std::f32::consts::PI * number as f32 / of as f32;
        let mut traj = Vec::new();
        for j in 0..samples {
            let k = j as f32 / samples as f32 - 0.5;
            traj.extend([k * angle.cos(), k * angle.sin()]);
        }
        let data: Vec<f32> = (0..2 * samples * coils)
            .map(|at| if at % 2 == 0 { 1.0 } else { 0.0 })
            .collect();
        Self {
            head: Head {
                number_of_samples: samples as u16,
                active_channels: coils as u16,
                trajectory_dimensions: 2,
                sample_time_us: 4.0,
                ..Head::default()
            },
            traj: VarLenArray::from_slice(&traj),
            data: VarLenArray::from_slice(&data),
        }
    }

    /// Edits the trajectory.
    pub(crate) fn edit_trajectory(&mut self, change: impl FnOnce(&mut Vec<f32>)) {
        let mut values = self.traj.as_slice().to_vec();
        change(&mut values);
        self.traj = VarLenArray::from_slice(&values);
    }

    /// Edits the signal.
    pub(crate) fn edit_data(&mut self, change: impl FnOnce(&mut Vec<f32>)) {
        let mut values = self.data.as_slice().to_vec();
        change(&mut values);
        self.data = VarLenArray::from_slice(&values);
    }
}

/// The contents of a file.
#[derive(Clone)]
pub(crate) struct RawFile {
    pub(crate) xml: Option<String>,
    pub(crate) acquisitions: Vec<Acquisition>,
}

/// A header with this matrix in both spaces.
pub(crate) fn header(x: &str, y: &str, z: &str) -> String {
    let size = format!("<matrixSize><x>{x}</x><y>{y}</y><z>{z}</z></matrixSize>");
    let view = "<fieldOfView_mm><x>200</x><y>200</y><z>5</z></fieldOfView_mm>";
    format!(
        "<?xml version=\"1.0\"?><ismrmrdHeader xmlns=\"http://www.ismrm.org/ISMRMRD\"><encoding><encodedSpace>{size}{view}</encodedSpace><reconSpace>{size}{view}</reconSpace><trajectory>radial</trajectory></encoding></ismrmrdHeader>"
    )
}

/// Reconstructs `file` on the CPU into `out.h5`.
pub(crate) fn reconstruct(folder: &TestFolder, file: &str, options: &[&str]) -> Output {
    let fixed = [
        "mri",
        "reconstruct",
        file,
        "-o",
        "out.h5",
        "--backend",
        "cpu",
    ];
    folder.run(&[&fixed, options].concat())
}

impl RawFile {
    /// Twelve spokes of 16 samples for 8 × 8 voxels, two coils.
    pub(crate) fn valid() -> Self {
        Self {
            xml: Some(header("8", "8", "1")),
            acquisitions: (0..12).map(|n| Acquisition::spoke(n, 12, 16, 2)).collect(),
        }
    }

    /// Reads a file that the program has written.
    pub(crate) fn read(folder: &TestFolder, name: &str) -> Self {
        let _guard = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let file = hdf5::File::open(folder.path(name)).unwrap();
        let text = file.dataset("dataset/xml").unwrap();
        let text = text.read_raw::<VarLenUnicode>().unwrap();
        Self {
            xml: Some(text[0].to_string()),
            acquisitions: file.dataset("dataset/data").unwrap().read_raw().unwrap(),
        }
    }

    /// Writes `raw.h5`.
    pub(crate) fn write(&self, folder: &TestFolder) {
        self.write_with(folder, |builder| builder);
    }

    /// Writes `raw.h5`, the records with these properties.
    pub(crate) fn write_with(
        &self,
        folder: &TestFolder,
        properties: impl FnOnce(hdf5::DatasetBuilder) -> hdf5::DatasetBuilder,
    ) {
        let _guard = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let file = hdf5::File::create(folder.path("raw.h5")).unwrap();
        let group = file.create_group("dataset").unwrap();
        if let Some(xml) = &self.xml {
            let text = Array1::from_elem(1, VarLenUnicode::from_str(xml).unwrap());
            let builder = group.new_dataset_builder();
            builder.with_data(text.view()).create("xml").unwrap();
        }
        let records = Array1::from_vec(self.acquisitions.clone());
        let builder = properties(group.new_dataset_builder());
        builder.with_data(records.view()).create("data").unwrap();
        file.close().unwrap();
    }
}

/// Opens `raw.h5` to corrupt it.
pub(crate) fn corrupt(folder: &TestFolder, change: impl FnOnce(&hdf5::File) -> hdf5::Result<()>) {
    let _guard = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    let file = hdf5::File::open_rw(folder.path("raw.h5")).unwrap();
    change(&file).unwrap();
}

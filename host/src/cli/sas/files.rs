//! Files of scattering that are written and read.

use crate::cli::args::QUnitWord;
use crate::cli::failure::Failure;
use serde::Serialize;
use std::path::Path;
use warpstride::data::Scattering;
use warpstride::io::sas::{self, Computed, QUnit, ReadOptions};
use warpstride::sas::{Points, Setup};

/// Whether the name is that of an HDF5 file.
fn is_hdf5(path: &Path) -> Option<bool> {
    match path.extension()?.to_str()?.to_lowercase().as_str() {
        "h5" | "hdf5" | "nxs" => Some(true),
        "csv" | "txt" | "dat" => Some(false),
        _ => None,
    }
}

/// Refuses names from which it cannot be seen what shall be written.
pub(super) fn check_kind(path: &Path) -> Result<(), Failure> {
    is_hdf5(path).map(drop).ok_or_else(|| {
        Failure::usage(format!(
            "-o {}: a name that ends in .csv, .txt or .dat (text), or in .h5, .hdf5 or .nxs (NXcanSAS) is expected",
            path.display()
        ))
    })
}

/// Writes text or HDF5 by the name.
pub(super) fn write(
    path: &Path,
    scattering: &Scattering,
    process: &[(&str, String)],
) -> Result<(), Failure> {
    let process: Vec<(String, String)> = process
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect();
    let computed = Computed {
        scattering,
        process: &process,
    };
    if is_hdf5(path) == Some(true) {
        sas::write_hdf5(path, &computed)?;
    } else {
        sas::write_csv(path, &computed)?;
    }
    Ok(())
}

/// `--select` and `--q-unit`.
pub(super) fn read_options(
    select: Option<String>,
    unit: Option<QUnitWord>,
) -> Result<ReadOptions, Failure> {
    if select.as_deref().is_some_and(|s| s.trim().is_empty()) {
        return Err(Failure::usage(
            "--select: the number of a data set, from 1, or its title is expected",
        ));
    }
    Ok(ReadOptions {
        select,
        kind: None,
        q_unit: unit.map(|unit| match unit {
            QUnitWord::InverseAngstrom => QUnit::InverseAngstrom,
            QUnitWord::InverseNanometre => QUnit::InverseNanometre,
        }),
    })
}

/// Where intensities are, for JSON.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Coordinates<'a> {
    Curve { q: &'a [f64] },
    Pixels { qx: &'a [f64], qy: &'a [f64] },
}

impl<'a> Coordinates<'a> {
    pub(super) fn of(points: &'a Points) -> Self {
        match points {
            Points::Curve(q) => Self::Curve { q },
            Points::Pixels { qx, qy } => Self::Pixels { qx, qy },
        }
    }
}

/// `cuda (NVIDIA H200), f64`.
pub(super) fn machine_words(setup: &Setup) -> String {
    match &setup.device {
        Some(device) => format!("{} ({device}), {}", setup.backend, setup.precision),
        None => format!("{}, {}", setup.backend, setup.precision),
    }
}

//! Input and output files of scattering commands.

use crate::args::QUnitArg;
use crate::failure::Failure;
use crate::paths::{self, Format};
use serde::Serialize;
use std::path::Path;
use warpstride::sas::Points;
use warpstride::sas::data::Scattering;
use warpstride::sas::io::{Computed, QUnit, ReadOptions};

/// The formats of intensities.
pub(super) const FORMATS: &[Format] = &[paths::CSV, paths::NXCANSAS];

/// Whether the extension means HDF5 (`true`) or text (`false`); `None` if it is unknown.
fn is_hdf5(path: &Path) -> Option<bool> {
    match path.extension()?.to_str()?.to_lowercase().as_str() {
        "h5" | "hdf5" | "nxs" => Some(true),
        "csv" | "txt" | "dat" => Some(false),
        _ => None,
    }
}

/// Writes text or HDF5, as the extension of the name says.
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
        #[cfg(feature = "hdf5")]
        warpstride::sas::io::write_hdf5(path, &computed)?;
        #[cfg(not(feature = "hdf5"))]
        return Err(Failure::failed(format!(
            "{}: this program was built without HDF5 (cargo feature hdf5)",
            path.display()
        )));
    } else {
        warpstride::sas::io::write_csv(path, &computed)?;
    }
    Ok(())
}

/// The reading options that `--select` and `--q-unit` give.
pub(super) fn read_options(
    select: Option<String>,
    unit: Option<QUnitArg>,
) -> Result<ReadOptions, Failure> {
    if select.as_deref().is_some_and(|s| s.trim().is_empty()) {
        return Err(Failure::usage(
            "--select: expected the number of a data set, from 1, or its title, found an empty one",
        ));
    }
    Ok(ReadOptions {
        select,
        kind: None,
        q_unit: unit.map(|unit| match unit {
            QUnitArg::InverseAngstrom => QUnit::InverseAngstrom,
            QUnitArg::InverseNanometre => QUnit::InverseNanometre,
        }),
    })
}

/// Coordinates of the intensities, for JSON.
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

//! Generator of well-formed HDF5 files that are invalid scans: wrong types, wrong shapes, missing
//! datasets, broken links, and sizes far beyond the stored data.
//!
//! A byte string determines the whole file, so that a fuzzer and a property test can both drive the
//! generator; zeros choose the contents of a valid scan.

use hdf5_metno as hdf5;
use hdf5_metno::types::{VarLenArray, VarLenUnicode};
use ndarray::{ArrayD, IxDyn};
use num_complex::Complex;
use std::path::Path;
use std::str::FromStr;

/// A byte string of choices, followed by unlimited zeros.
struct Choices<'c>(&'c [u8]);

impl Choices<'_> {
    fn next(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    /// A choice below `count`; 0 for a valid file.
    fn of(&mut self, count: u8) -> u8 {
        self.next() % count
    }

    /// A number, often an unusual one.
    fn number(&mut self) -> f64 {
        match self.next() {
            0 => 1.0,
            1 => -1.0,
            2 => f64::NAN,
            3 => f64::INFINITY,
            4 => 1e-300,
            5 => 1e300,
            6 => 0.0,
            7 => 9.3e18,
            8 => 1e-10,
            9 => 55e-6,
            10 => 8.0,
            11 => 1.6e-15,
            n => f64::from(n),
        }
    }
}

/// Datasets of a scan with their valid shapes.
const DATASETS: [(&str, &[usize]); 27] = [
    ("/entry_1/instrument_1/detector_1/data", &[3, 5, 4]),
    ("/entry_1/instrument_1/detector_1/mask", &[5, 4]),
    ("/entry_1/sample_1/geometry_1/translation", &[3, 3]),
    ("/entry_1/instrument_1/detector_1/distance", &[]),
    ("/entry_1/instrument_1/detector_1/x_pixel_size", &[]),
    ("/entry_1/instrument_1/detector_1/y_pixel_size", &[]),
    ("/entry_1/instrument_1/detector_1/basis_vectors", &[3, 2]),
    ("/entry_1/instrument_1/source_1/wavelength", &[]),
    ("/entry_1/instrument_1/source_1/energy", &[]),
    ("/entry_1/instrument_1/source_1/illumination", &[2, 5, 4]),
    ("/simulation/object", &[9, 8]),
    ("/simulation/probe", &[1, 5, 4]),
    ("/simulation/positions", &[3, 2]),
    ("/simulation/origin", &[2]),
    ("/simulation/seed", &[]),
    ("/chunks/0/data", &[2, 5, 4]),
    ("/chunks/0/indices", &[2]),
    ("/chunks/0/positions", &[2, 2]),
    ("/chunks/0/weights", &[5, 4]),
    ("/chunks/2/data", &[1, 5, 4]),
    ("/chunks/2/indices", &[1]),
    ("/chunks/2/positions", &[1, 2]),
    ("/chunks/2/weights", &[1, 5, 4]),
    ("/meta/energy", &[]),
    ("/meta/distance", &[]),
    ("/meta/psize", &[2]),
    ("/meta/center", &[2]),
];

/// Writes a file to `path`, as chosen by `bytes`.
///
/// # Errors
/// HDF5 refuses the chosen contents.
pub fn build(path: &Path, bytes: &[u8]) -> hdf5::Result<()> {
    let mut choices = Choices(bytes);
    let file = hdf5::File::with_options()
        .with_fapl(|p| p.core_options(1 << 16, true))
        .create(path)?;
    // One of the two layouts, so that it is recognised, or both.
    let kind = choices.of(4);
    for (name, shape) in DATASETS {
        let ptyd = name.starts_with("/chunks") || name.starts_with("/meta");
        if (kind == 1 && !ptyd) || (kind < 1 && ptyd) {
            continue;
        }
        // HDF5 may refuse a dataset, for example because its path exists: it is omitted.
        let _ = add_dataset(&file, name, shape, &mut choices);
    }
    file.close()
}

fn add_dataset(
    file: &hdf5::File,
    name: &str,
    shape: &[usize],
    choices: &mut Choices<'_>,
) -> hdf5::Result<()> {
    match choices.of(24) {
        1 => return Ok(()),
        2 => return file.create_group(name).map(drop),
        3 => return file.link_soft(name, name),
        4 => return file.link_soft("/nowhere/at/all", name),
        5 => {
            let (other, _) = DATASETS[usize::from(choices.of(DATASETS.len() as u8))];
            return file.link_soft(other, name);
        }
        6 => {
            create_parents(file, name)?;
            return file.link_external("elsewhere.h5", "/entry_1", name);
        }
        7 => {
            let (parent, _) = name.rsplit_once('/').unwrap_or(("", ""));
            return file.new_dataset::<u8>().create(parent).map(drop);
        }
        8 => {
            let (parent, _) = name.rsplit_once('/').unwrap_or(("", ""));
            return file.link_soft("/", parent);
        }
        _ => {}
    }
    let shape = shape_like(shape, choices);
    match choices.of(20) {
        1 => return huge(file, name, &shape, choices),
        2 => {
            return file
                .new_dataset::<f32>()
                .shape(shape.as_slice())
                .create(name)
                .map(drop);
        }
        3 => {
            let bytes = shape.iter().product::<usize>() * 4;
            return file
                .new_dataset_builder()
                .empty::<f32>()
                .with_dcpl(|p| p.external("elsewhere.raw", 0, bytes.max(1)))
                .shape(shape.as_slice())
                .create(name)
                .map(drop);
        }
        4 => {
            let whole = hdf5::Hyperslab::try_new(..)?;
            return file
                .new_dataset_builder()
                .empty::<f32>()
                .with_dcpl(|p| {
                    p.virtual_map(
                        "elsewhere.h5",
                        "/data",
                        shape.as_slice(),
                        whole.clone(),
                        shape.as_slice(),
                        whole.clone(),
                    )
                })
                .shape(shape.as_slice())
                .create(name)
                .map(drop);
        }
        _ => {}
    }
    typed_dataset(file, name, &shape, choices)
}

/// Creates the groups above `name`, which an external link does not create.
fn create_parents(file: &hdf5::File, name: &str) -> hdf5::Result<()> {
    match name.rsplit_once('/') {
        Some((parent, _)) if !parent.is_empty() && !file.link_exists(parent) => {
            file.create_group(parent).map(drop)
        }
        _ => Ok(()),
    }
}

fn shape_like(shape: &[usize], choices: &mut Choices<'_>) -> Vec<usize> {
    let mut shape = shape.to_vec();
    match choices.of(16) {
        1 => drop(shape.pop()),
        2 => shape.push(usize::from(choices.of(4))),
        3 => shape.insert(0, usize::from(choices.of(4))),
        4 if !shape.is_empty() => {
            let axis = usize::from(choices.next()) % shape.len();
            shape[axis] = usize::from(choices.of(8));
        }
        5 => shape = vec![1; usize::from(choices.of(33))],
        6 => shape.reverse(),
        _ => {}
    }
    shape
}

/// A large dataset of chunks that have no data.
fn huge(
    file: &hdf5::File,
    name: &str,
    shape: &[usize],
    choices: &mut Choices<'_>,
) -> hdf5::Result<()> {
    let mut shape = shape.to_vec();
    // hdf5-metno multiplies the dimensions; beyond 2^63 elements it would panic while writing.
    let mut bits = 55_u8;
    for dimension in &mut shape {
        let shift = choices.next() % 50;
        *dimension = (*dimension).clamp(1, 8) << shift.min(bits);
        bits = bits.saturating_sub(shift + 3);
    }
    let chunk: Vec<usize> = shape
        .iter()
        .map(|d| (*d).min(1 << (choices.next() % 12)))
        .collect();
    let deflate = choices.of(2) == 1;
    file.new_dataset_builder()
        .chunk(chunk)
        .with_dcpl(|p| if deflate { p.deflate(1) } else { p })
        .empty::<u16>()
        .shape(shape)
        .create(name)
        .map(drop)
}

fn typed_dataset(
    file: &hdf5::File,
    name: &str,
    shape: &[usize],
    choices: &mut Choices<'_>,
) -> hdf5::Result<()> {
    let kind = choices.of(18);
    let base = choices.number();
    let odd = choices.number();
    let odd_at = usize::from(choices.next());
    let value = move |i: usize| {
        if i == odd_at {
            odd
        } else {
            base * (1.0 + i as f64 * 1e-3)
        }
    };
    let chunked = choices.of(6);
    macro_rules! store {
        ($type:ty, $make:expr) => {{
            let make = $make;
            let length = shape.iter().product();
            let values: Vec<$type> = (0..length).map(|i| make(value(i))).collect();
            let Ok(array) = ArrayD::from_shape_vec(IxDyn(shape), values) else {
                return Ok(());
            };
            let mut builder = file.new_dataset_builder();
            if chunked > 2 && !shape.is_empty() && !shape.contains(&0) {
                builder = builder.chunk(shape.iter().map(|d| d.div_ceil(2)).collect::<Vec<_>>());
                builder = match chunked {
                    3 => builder.deflate(3),
                    4 => builder.shuffle().deflate(1),
                    _ => builder.fletcher32(),
                };
            }
            builder.with_data(array.view()).create(name).map(drop)
        }};
    }
    match kind {
        0 | 1 => store!(f64, |v: f64| v),
        2 => store!(f32, |v: f64| v as f32),
        3 => store!(u8, |v: f64| v as u8),
        4 => store!(i8, |v: f64| v as i8),
        5 => store!(u16, |v: f64| v as u16),
        6 => store!(i16, |v: f64| v as i16),
        7 => store!(u32, |v: f64| v as u32),
        8 => store!(i32, |v: f64| v as i32),
        9 => store!(u64, |v: f64| v as u64),
        10 => store!(i64, |v: f64| v as i64),
        11 => store!(bool, |v: f64| v > 1.0),
        12 => store!(Complex<f32>, |v: f64| Complex::new(v as f32, 1.0)),
        13 => store!(Complex<f64>, |v: f64| Complex::new(1.0, v)),
        14 => store!([f32; 3], |v: f64| [v as f32; 3]),
        15 => store!(VarLenUnicode, |v: f64| VarLenUnicode::from_str(
            &v.to_string()
        )
        .unwrap_or_default()),
        16 => store!(VarLenArray<f32>, |v: f64| VarLenArray::from_slice(
            &[v as f32; 2]
        )),
        _ => store!(hdf5::types::FixedAscii<6>, |_: f64| Default::default()),
    }
}

//! Generator of well-formed ISMRMRD files with invalid contents.
//!
//! A byte string determines the whole file, so that a fuzzer and a property test can both drive the
//! generator; zeros choose the contents of a valid file.

use hdf5_metno as hdf5;
use hdf5_metno::types::{VarLenArray, VarLenUnicode};
use ndarray::{Array1, Array2};
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

    /// `usual` or another value.
    fn count(&mut self, usual: u16) -> u16 {
        match self.of(24) {
            1 => 0,
            2 => 1,
            3 => u16::MAX,
            4 => usual.wrapping_add(1),
            5 => usual.wrapping_sub(1),
            6 => u16::from(self.next()),
            _ => usual,
        }
    }

    fn odd(&mut self) -> f32 {
        match self.of(8) {
            0 => f32::NAN,
            1 => f32::INFINITY,
            2 => 0.6,
            3 => -3e38,
            4 => 1e-40,
            5 => 0.5,
            6 => 100.0,
            _ => -0.0,
        }
    }
}

#[derive(Clone, Copy, hdf5::H5Type)]
#[repr(C)]
struct Counters {
    kspace_encode_step_2: u16,
    slice: u16,
    contrast: u16,
    phase: u16,
    repetition: u16,
    set: u16,
}

#[derive(Clone, Copy, hdf5::H5Type)]
#[repr(C)]
struct Head {
    flags: u64,
    number_of_samples: u16,
    active_channels: u16,
    discard_pre: u16,
    discard_post: u16,
    encoding_space_ref: u16,
    trajectory_dimensions: u16,
    sample_time_us: f32,
    idx: Counters,
}

#[derive(Clone, hdf5::H5Type)]
#[repr(C)]
struct Acquisition {
    head: Head,
    traj: VarLenArray<f32>,
    data: VarLenArray<f32>,
}

/// A record with numbers of other widths, members in another order, and one more member.
#[derive(Clone, hdf5::H5Type)]
#[repr(C)]
struct Wide {
    data: VarLenArray<f32>,
    head: WideHead,
    more: f64,
    traj: VarLenArray<f32>,
}

#[derive(Clone, Copy, hdf5::H5Type)]
#[repr(C)]
struct WideHead {
    idx: Counters,
    number_of_samples: i64,
    active_channels: f64,
    flags: i32,
    discard_pre: u8,
    discard_post: i8,
    encoding_space_ref: u64,
    trajectory_dimensions: i16,
    sample_time_us: f64,
}

/// A record with a missing member.
#[derive(Clone, hdf5::H5Type)]
#[repr(C)]
struct Fewer {
    head: Head,
    data: VarLenArray<f32>,
}

/// A record with sequences of another type.
#[derive(Clone, hdf5::H5Type)]
#[repr(C)]
struct Double {
    head: Head,
    traj: VarLenArray<f64>,
    data: VarLenArray<i16>,
}

/// Writes a file to `path`, as chosen by `bytes`.
///
/// # Errors
/// HDF5 refuses the chosen contents.
pub fn build(path: &Path, bytes: &[u8]) -> hdf5::Result<()> {
    let mut choices = Choices(bytes);
    let file = hdf5::File::with_options()
        .with_fapl(|p| p.core_options(1 << 16, true))
        .create(path)?;
    let name = match choices.of(12) {
        1 => "other",
        _ => "dataset",
    };
    let group = file.create_group(name)?;
    header(&group, &mut choices)?;
    let all: Vec<Acquisition> = match choices.of(16) {
        1 => Vec::new(),
        2 => (0..40).map(|_| acquisition(&mut choices)).collect(),
        _ => (0..4).map(|_| acquisition(&mut choices)).collect(),
    };
    records(&group, all, &mut choices)?;
    file.close()
}

/// Writes a valid file to `path` whose header is `text`.
///
/// # Errors
/// HDF5 refuses the contents.
pub fn build_with_header(path: &Path, text: &str) -> hdf5::Result<()> {
    let mut choices = Choices(&[]);
    let file = hdf5::File::with_options()
        .with_fapl(|p| p.core_options(1 << 16, true))
        .create(path)?;
    let group = file.create_group("dataset")?;
    store_header(&group, text, 0)?;
    let all = (0..4).map(|_| acquisition(&mut choices)).collect();
    records(&group, all, &mut choices)?;
    file.close()
}

/// Writes a valid file to `path`, whose sequences of variable length are then changed in the file:
/// their lengths, addresses and indices in the records, and the heaps that hold them.
///
/// # Errors
/// HDF5 refuses the contents, or the file cannot be written.
pub fn build_with_changed_sequences(path: &Path, bytes: &[u8]) -> hdf5::Result<()> {
    let mut choices = Choices(bytes);
    // The choices of a valid file, but for the layout of the records: contiguous or chunked.
    let layout = choices.of(6);
    let file = hdf5::File::with_options()
        .with_fapl(|p| p.core_options(1 << 16, true))
        .create(path)?;
    let group = file.create_group("dataset")?;
    header(&group, &mut Choices(&[]))?;
    let count = 1 + usize::from(choices.of(8));
    let all = (0..count).map(|_| acquisition(&mut Choices(&[]))).collect();
    records(&group, all, &mut Choices(&[0, layout]))?;
    let places = places(&group.dataset("data")?)?;
    file.close()?;
    let unchanged = |e: std::io::Error| hdf5::Error::from(e.to_string());
    let mut image = std::fs::read(path).map_err(unchanged)?;
    for _ in 0..1 + choices.of(4) {
        change(&mut image, &places, &mut choices);
    }
    std::fs::write(path, image).map_err(unchanged)
}

/// Where the sequences of the records are stored: for each its length (4 bytes), the address of its
/// heap (8) and its index there (4).
fn places(dataset: &hdf5::Dataset) -> hdf5::Result<Vec<usize>> {
    const SEQUENCE: usize = 16;
    let parts = match dataset.offset() {
        Some(address) => vec![(address, dataset.storage_size())],
        None => (0..dataset.num_chunks().unwrap_or(0))
            .filter_map(|number| dataset.chunk_info(number))
            .map(|chunk| (chunk.addr, chunk.size))
            .collect(),
    };
    let size = dataset.dtype()?.size();
    let mut places = Vec::new();
    for (address, bytes) in parts {
        for record in 0..bytes as usize / size {
            // Both sequences are at the end of the record.
            let end = address as usize + (record + 1) * size;
            places.extend([end - 2 * SEQUENCE, end - SEQUENCE]);
        }
    }
    Ok(places)
}

/// Overwrites a number of a sequence, or of a heap.
fn change(image: &mut [u8], places: &[usize], choices: &mut Choices<'_>) {
    let heaps: Vec<usize> = (0..image.len().saturating_sub(4))
        .filter(|at| image[*at..].starts_with(b"GCOL"))
        .collect();
    let length = image.len() as u64;
    let chosen = usize::from(choices.next());
    let sequence = (!places.is_empty()).then(|| places[chosen % places.len()]);
    let heap = (!heaps.is_empty()).then(|| heaps[chosen % heaps.len()]);
    let other = places.get(usize::from(choices.next())).copied();
    // Place and bytes of the number.
    let (place, width) = match choices.of(9) {
        0 => (sequence, 4),
        1 => (sequence.map(|at| at + 4), 8),
        2 => (sequence.map(|at| at + 12), 4),
        // The size of a heap.
        3 => (heap.map(|at| at + 8), 8),
        // The first object of a heap: index, references, size.
        4 => (heap.map(|at| at + 16), 2),
        5 => (heap.map(|at| at + 18), 2),
        6 => (heap.map(|at| at + 24), 8),
        // Its contents, of which a later object may begin there.
        7 => (heap.map(|at| at + 32 + chosen), 8),
        // Another sequence.
        _ => {
            if let (Some(to), Some(from)) = (sequence, other)
                && from + 16 <= image.len()
                && to + 16 <= image.len()
            {
                image.copy_within(from..from + 16, to);
            }
            return;
        }
    };
    let Some(place) = place.filter(|place| place + width <= image.len()) else {
        return;
    };
    let mut stored = [0; 8];
    stored[..width].copy_from_slice(&image[place..place + width]);
    let stored = u64::from_le_bytes(stored);
    let value = match choices.of(14) {
        0 => stored.wrapping_add(1),
        1 => stored.wrapping_sub(1),
        2 => 0,
        3 => 1,
        4 => u64::MAX,
        5 => i32::MAX as u64,
        6 => u64::from(u32::MAX / 4),
        7 => stored.wrapping_mul(2),
        8 => length,
        9 => length - 1,
        10 => heap.unwrap_or(0) as u64,
        11 => 1 << (choices.next() % 64),
        12 => u64::from(choices.next()),
        _ => stored ^ (1 << (choices.next() % 64)),
    };
    image[place..place + width].copy_from_slice(&value.to_le_bytes()[..width]);
}

fn header(group: &hdf5::Group, choices: &mut Choices<'_>) -> hdf5::Result<()> {
    let side = |choices: &mut Choices<'_>, usual: &str| match choices.of(20) {
        1 => "0".to_owned(),
        2 => "1000000000".to_owned(),
        3 => "1048576".to_owned(),
        4 => "-4".to_owned(),
        5 => "NaN".to_owned(),
        6 => String::new(),
        7 => "4".to_owned(),
        8 => "5".to_owned(),
        _ => usual.to_owned(),
    };
    let space = |choices: &mut Choices<'_>, name: &str| {
        let (x, y, z) = (side(choices, "8"), side(choices, "8"), side(choices, "1"));
        let view = side(choices, "200");
        match choices.of(20) {
            1 => String::new(),
            2 => format!("<{name}/>"),
            _ => format!(
                "<{name}><matrixSize><x>{x}</x><y>{y}</y><z>{z}</z></matrixSize><fieldOfView_mm><x>{view}</x><y>200</y><z>5</z></fieldOfView_mm></{name}>"
            ),
        }
    };
    let (encoded, recon) = (space(choices, "encodedSpace"), space(choices, "reconSpace"));
    let centre = side(choices, "0");
    let mut text = format!(
        "<?xml version=\"1.0\"?><ismrmrdHeader xmlns=\"http://www.ismrm.org/ISMRMRD\"><encoding>{encoded}{recon}<encodingLimits><kspace_encoding_step_2><center>{centre}</center></kspace_encoding_step_2></encodingLimits><trajectory>radial</trajectory></encoding></ismrmrdHeader>"
    );
    match choices.of(24) {
        1 => return Ok(()),
        2 => text.truncate(text.len() / 2),
        3 => text = text.replace("encoding>", "coding>"),
        4 => text = "<a>".repeat(2000),
        5 => text.push_str("<more/>"),
        6 => text.clear(),
        _ => {}
    }
    store_header(group, &text, choices.of(12))
}

/// Stores the text of a header; `form` 0 is the usual one.
fn store_header(group: &hdf5::Group, text: &str, form: u8) -> hdf5::Result<()> {
    let value = VarLenUnicode::from_str(text).unwrap_or_default();
    match form {
        1 => group
            .new_dataset::<VarLenUnicode>()
            .create("xml")?
            .write_scalar(&value),
        2 => {
            let values = Array2::from_elem((2, 2), value);
            let builder = group.new_dataset_builder();
            builder.with_data(values.view()).create("xml").map(drop)
        }
        3 => {
            let numbers = Array1::<u8>::zeros(8);
            let builder = group.new_dataset_builder();
            builder.with_data(numbers.view()).create("xml").map(drop)
        }
        4 => group.link_soft("data", "xml"),
        _ => {
            let values = Array1::from_elem(1, value);
            let builder = group.new_dataset_builder();
            builder.with_data(values.view()).create("xml").map(drop)
        }
    }
}

fn acquisition(choices: &mut Choices<'_>) -> Acquisition {
    let (samples, coils) = (6_u16, 2_u16);
    let dimensions = if choices.of(12) == 1 { 3 } else { 2 };
    let mut traj: Vec<f32> = (0..samples * dimensions)
        .map(|at| f32::from(at) / 40.0 - 0.2)
        .collect();
    let mut data: Vec<f32> = (0..2 * samples * coils).map(f32::from).collect();
    for values in [&mut traj, &mut data] {
        match choices.of(24) {
            1 => values.clear(),
            2 => drop(values.pop()),
            3 => values.push(1.0),
            4 => {
                let at = usize::from(choices.next()) % values.len();
                values[at] = choices.odd();
            }
            5 => values.resize(5000, 0.1),
            _ => {}
        }
    }
    let flags = match choices.of(12) {
        1 => 1 << (choices.next() % 64),
        2 => u64::MAX,
        _ => 0,
    };
    let mut counter = || u16::from(choices.of(48) == 1);
    let idx = Counters {
        kspace_encode_step_2: counter(),
        slice: counter(),
        contrast: counter(),
        phase: counter(),
        repetition: counter(),
        set: counter(),
    };
    Acquisition {
        head: Head {
            flags,
            number_of_samples: choices.count(samples),
            active_channels: choices.count(coils),
            discard_pre: choices.count(0),
            discard_post: choices.count(0),
            encoding_space_ref: choices.count(0),
            trajectory_dimensions: choices.count(dimensions),
            sample_time_us: if choices.of(8) == 1 {
                choices.odd()
            } else {
                4.0
            },
            idx,
        },
        traj: VarLenArray::from_slice(&traj),
        data: VarLenArray::from_slice(&data),
    }
}

fn records(
    group: &hdf5::Group,
    all: Vec<Acquisition>,
    choices: &mut Choices<'_>,
) -> hdf5::Result<()> {
    let kind = choices.of(20);
    let chunked = choices.of(6);
    macro_rules! store {
        ($make:expr) => {{
            let values: Array1<_> = all.into_iter().map($make).collect();
            let mut builder = group.new_dataset_builder();
            if chunked > 3 && !values.is_empty() {
                builder = builder.chunk(vec![1 + usize::from(chunked) % values.len()]);
                if chunked == 5 {
                    builder = builder.deflate(2);
                }
            }
            builder.with_data(values.view()).create("data").map(drop)
        }};
    }
    match kind {
        1 => store!(|a: Acquisition| Wide {
            data: a.data,
            head: WideHead {
                idx: a.head.idx,
                number_of_samples: i64::from(a.head.number_of_samples),
                active_channels: f64::from(a.head.active_channels),
                flags: a.head.flags as i32,
                discard_pre: a.head.discard_pre as u8,
                discard_post: a.head.discard_post as i8,
                encoding_space_ref: u64::from(a.head.encoding_space_ref),
                trajectory_dimensions: a.head.trajectory_dimensions as i16,
                sample_time_us: f64::from(a.head.sample_time_us),
            },
            more: 1.0,
            traj: a.traj,
        }),
        2 => store!(|a: Acquisition| Fewer {
            head: a.head,
            data: a.data,
        }),
        3 => store!(|a: Acquisition| Double {
            head: a.head,
            traj: VarLenArray::from_slice(&[0.5]),
            data: VarLenArray::from_slice(&[1]),
        }),
        4 => {
            let shift = choices.of(45);
            group
                .new_dataset::<Acquisition>()
                .chunk(1 << (choices.of(20)).min(shift))
                .shape(1_usize << shift)
                .create("data")
                .map(drop)
        }
        5 => group.create_group("data").map(drop),
        6 => group.link_soft("data", "data"),
        7 => group.link_external("elsewhere.h5", "/dataset/data", "data"),
        8 => store!(|a: Acquisition| a.head),
        9 => store!(|a: Acquisition| a.data),
        _ => store!(|a: Acquisition| a),
    }
}

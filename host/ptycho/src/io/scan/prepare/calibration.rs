//! Arrays of other measurements with the detector: dark, flat and mask, and the brightness of the
//! beam in each frame.

use super::super::frame_stack::FrameStack;
use super::super::roll::roll;
use super::super::window::Window;
use crate::data::each_frame;
use ndarray::{Array2, ArrayD, Ix2, Ix3, s};
use std::path::Path;
use warpstride_files::source::{Follow, Numbers, Source};
use warpstride_files::{InputFile, IoError, npy};
use warpstride_formats::FrameFile;
use warpstride_formats::numpy::NumpyFile;

/// Most pixels that are read at once: 64 MiB.
const PART_PIXELS: usize = 1 << 24;

/// Endings of files of frames other than HDF5.
const FRAME_FILES: [&str; 7] = ["mib", "raw", "xml", "tif", "tiff", "npy", "npz"];

/// Mean of the frames of a measurement (row, column), in the window that is read of the scan's
/// frames.
pub(super) struct Plane {
    /// File and dataset, for notes.
    pub(super) name: String,
    pub(super) values: Array2<f64>,
    /// Number of frames.
    pub(super) frames: usize,
}

/// `/DATASET` of the file of the scan, `FILE:/DATASET` or `FILE`.
pub(super) fn file_and_dataset<'n>(
    name: &'n str,
    input: &'n InputFile,
) -> (&'n str, Option<&'n str>) {
    match name.rsplit_once(':') {
        Some((file, dataset)) if dataset.starts_with('/') && !file.is_empty() => {
            (file, Some(dataset))
        }
        _ if name.starts_with('/') && !Path::new(name).is_file() => (input.name(), Some(name)),
        _ => (name, None),
    }
}

/// Where an option says that an array is.
struct ArrayFile<'n> {
    option: &'static str,
    /// The text of the option.
    name: &'n str,
    file: &'n str,
    dataset: Option<&'n str>,
    follow: Follow,
}

impl<'n> ArrayFile<'n> {
    fn new(option: &'static str, name: &'n str, (input, follow): (&'n InputFile, Follow)) -> Self {
        let (file, dataset) = file_and_dataset(name, input);
        Self {
            option,
            name,
            file,
            dataset,
            follow,
        }
    }

    /// Ending of a file of frames that is no HDF5.
    fn frame_file(&self) -> Option<String> {
        let end = Path::new(self.file).extension()?;
        let end = end.to_string_lossy().to_ascii_lowercase();
        let alone = self.dataset.is_none() || end == "npz";
        (alone && FRAME_FILES.contains(&end.as_str())).then_some(end)
    }

    fn source(&self, input: &InputFile) -> Result<(Source, &'n str), IoError> {
        let Some(dataset) = self.dataset else {
            return Err(IoError::Option {
                file: input.name().to_owned(),
                option: self.option,
                reason: format!(
                    "expected /DATASET of the scan, FILE:/DATASET of another HDF5 file, or a file of frames (.npy, .npz, .tif, .mib, .raw), found {}",
                    self.name
                ),
            });
        };
        let source = Source::open_with_links(Path::new(self.file), input.memory(), self.follow)?;
        Ok((source, dataset))
    }

    fn numbers<'s>(&self, source: &'s Source, dataset: &str) -> Result<Numbers<'s>, IoError> {
        source.require(self.option, &[dataset])
    }

    /// A NumPy array of real numbers; `None` for other files and arrays, and for one that does not
    /// fit into memory as a whole.
    fn array(&self, input: &InputFile) -> Option<ArrayD<f64>> {
        let npy = self.frame_file().is_some_and(|end| end == "npy");
        npy.then(|| npy::complex::reals_within(Path::new(self.file), input.memory()))?
            .ok()
    }

    /// A file of frames that is no HDF5. An array (row, column) of a NumPy file is one frame.
    fn open(&self, ending: &str) -> Result<FrameStack<'static>, IoError> {
        let path = Path::new(self.file);
        let file: Box<dyn FrameFile> = match ending {
            "npy" | "npz" => match self.dataset {
                Some(name) => Box::new(NumpyFile::open_array_or_one(
                    path,
                    name.trim_start_matches('/'),
                )?),
                None => Box::new(NumpyFile::open_frames_or_one(path)?),
            },
            _ => warpstride_formats::open(path)?,
        };
        Ok(FrameStack::of_file(self.file, file))
    }
}

/// The mean of the frames that the option `option` names, (row, column) or (frame, row, column)
/// with the rows and columns of the scan's frames as stored.
///
/// # Errors
/// The file or dataset cannot be read, or has another shape.
pub(super) fn plane(
    option: &'static str,
    name: &str,
    (input, follow): (&InputFile, Follow),
    window: &Window,
) -> Result<Plane, IoError> {
    let place = ArrayFile::new(option, name, (input, follow));
    let [_, rows, columns] = window.stored;
    let wrong = |found: &[usize]| IoError::Shape {
        file: place.file.to_owned(),
        dataset: place.dataset.unwrap_or("the array").to_owned(),
        found: found.to_vec(),
        expected: format!(
            "shape ({rows}, {columns}) or (frame, {rows}, {columns}), as for the frames ({option})"
        ),
    };
    // Frames that are read at once.
    let pixels = rows.saturating_mul(columns).max(1);
    let most = usize::try_from(input.memory().limit() / 64).unwrap_or(usize::MAX);
    let most = (PART_PIXELS.min(most) / pixels).max(1);
    // Sums, and a part as it was read.
    let bytes = (pixels as u128).saturating_mul(16 + 4 * most as u128);
    InputFile::new(Path::new(place.file), input.memory())
        .allow(place.dataset.unwrap_or("the array"), bytes)?;
    let (sum, frames) = if let Some(array) = place.array(input) {
        let shape = array.shape().to_vec();
        match shape[..] {
            [r, c] if [r, c] == [rows, columns] => {
                let plane = array.into_dimensionality::<Ix2>();
                (plane.map_err(|_| wrong(&shape))?, 1)
            }
            [n, r, c] if n > 0 && [r, c] == [rows, columns] => {
                let stack = array.into_dimensionality::<Ix3>();
                let stack = stack.map_err(|_| wrong(&shape))?;
                (stack.sum_axis(ndarray::Axis(0)), n)
            }
            _ => return Err(wrong(&shape)),
        }
    } else if let Some(ending) = place.frame_file() {
        summed(&place.open(&ending)?, [rows, columns], most, &wrong)?
    } else {
        let (source, dataset) = place.source(input)?;
        let numbers = place.numbers(&source, dataset)?;
        let read = if let [r, c] = *numbers.shape() {
            if [r, c] != [rows, columns] {
                return Err(wrong(&[r, c]));
            }
            let plane = numbers.part(&[0..rows, 0..columns])?;
            let plane = plane.into_dimensionality::<Ix2>();
            let plane = plane.map_err(|_| wrong(&[r, c]))?;
            (plane.mapv(f64::from), 1)
        } else {
            let stack = FrameStack::of_dataset(numbers)?;
            summed(&stack, [rows, columns], most, &wrong)?
        };
        source.closed()?;
        read
    };
    let mut mean = sum / frames as f64;
    roll(mean.view_mut(), window.roll);
    Ok(Plane {
        name: name.to_owned(),
        values: mean
            .slice(s![window.rows.clone(), window.columns.clone()])
            .to_owned(),
        frames,
    })
}

/// The sum of the frames (row, column) of a stack, of which `most` are read at once, and their
/// number.
fn summed(
    stack: &FrameStack<'_>,
    [rows, columns]: [usize; 2],
    most: usize,
    wrong: &dyn Fn(&[usize]) -> IoError,
) -> Result<(Array2<f64>, usize), IoError> {
    let [frames, r, c] = stack.shape();
    if [r, c] != [rows, columns] {
        return Err(wrong(&[frames, r, c]));
    }
    stack.check_stored(0..frames, [&(0..rows), &(0..columns)], false)?;
    let mut sum = Array2::zeros((rows, columns));
    for first in (0..frames).step_by(most) {
        let range = first..frames.min(first + most);
        let counts = stack.counts(range, &(0..rows), &(0..columns))?;
        for frame in counts.outer_iter() {
            sum.zip_mut_with(&frame, |sum: &mut f64, counts| *sum += f64::from(*counts));
        }
    }
    Ok((sum, frames))
}

/// The error of the values that the option `option` names as `name`: of their file and dataset, not
/// of the scan.
pub(super) fn refused(
    option: &'static str,
    name: &str,
    input: &InputFile,
    (expected, found): (&str, String),
) -> IoError {
    let (file, dataset) = file_and_dataset(name, input);
    IoError::Value {
        file: file.to_owned(),
        dataset: dataset.unwrap_or("the array").to_owned(),
        expected: format!("{expected} ({option})"),
        found,
    }
}

/// The numbers, one for each of the `count` frames of the file, that the option `option` names.
///
/// # Errors
/// The file or dataset cannot be read, or has another number of them.
pub(super) fn of_frames(
    option: &'static str,
    name: &str,
    (input, follow): (&InputFile, Follow),
    count: usize,
) -> Result<Vec<f64>, IoError> {
    let place = ArrayFile::new(option, name, (input, follow));
    let wrong = |found: &[usize]| IoError::Shape {
        file: place.file.to_owned(),
        dataset: place.dataset.unwrap_or("the array").to_owned(),
        found: found.to_vec(),
        expected: format!("one number for {} ({option})", each_frame(count)),
    };
    if let Some(array) = place.array(input) {
        if array.len() != count {
            return Err(wrong(array.shape()));
        }
        return Ok(array.into_iter().collect());
    }
    let (source, dataset) = place.source(input)?;
    let numbers = place.numbers(&source, dataset)?;
    let values: usize = numbers.shape().iter().product();
    if values != count {
        return Err(wrong(numbers.shape()));
    }
    let read = numbers.reals()?;
    source.closed()?;
    Ok(read.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::scan::ReadOptions;
    use warpstride_core::system::Memory;

    /// Arrays that NumPy wrote: element n is v = (7 n + ⌊n/5⌋) mod 251, or whether that is above 100.
    #[test]
    fn numpy_arrays_of_integers_and_truth_values_are_planes() {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
            .join("formats/tests/vectors/numpy");
        let input = InputFile::new(Path::new("scan"), Memory::available());
        let window = Window::new("scan", [2, 4, 5], &ReadOptions::default()).unwrap();
        let value = |n: usize| ((n * 7 + n / 5) % 251) as f64;
        let truth = |n: usize| f64::from(u8::from(value(n) > 100.0));
        let of = |name: &str| {
            let path = folder.join(name).display().to_string();
            plane("data.mask", &path, (&input, Follow::Inside), &window)
        };
        let expected = |value: &dyn Fn(usize) -> f64| {
            Array2::from_shape_fn((4, 5), |(row, column)| value(row * 5 + column))
        };
        // Rows and columns alone: integers, and the only such array of a file with several.
        let found = of("rank-2.npy").unwrap();
        assert_eq!((found.values, found.frames), (expected(&value), 1));
        let found = of("plane.npz").unwrap();
        assert_eq!((found.values, found.frames), (expected(&truth), 1));
        // The mean of frames.
        let found = of("bool.npy").unwrap();
        let mean = |n: usize| (truth(n) + truth(20 + n) + truth(40 + n)) / 3.0;
        assert_eq!((found.values, found.frames), (expected(&mean), 3));
        let complex = of("complex.npy").err().unwrap().to_string();
        assert!(
            complex.contains("complex.npy") && complex.contains("<c8"),
            "{complex}"
        );
    }
}

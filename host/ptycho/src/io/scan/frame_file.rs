//! Reader of files that have frames alone: Merlin's `.mib`, EMPAD's `.raw`, TIFF stacks, `.npy` and
//! `.npz`.

use super::file_state::FileState;
use super::frame_stack::FrameStack;
use super::geometry::{ExpectedPaths, FileGeometry, resolve};
use super::pairing::{StoredFrames, pair};
use super::parts::{Parts, ScanFile};
use super::several_files::with_frame_files;
use super::window::Window;
use super::{MaskPolarity, ReadOptions, positions};
use std::path::Path;
use warpstride_core::system::Memory;
use warpstride_files::{InputFile, IoError};
use warpstride_formats::FrameFile;
use warpstride_formats::numpy::{Header, NumpyFile, npz_arrays};

/// Endings of names of such files.
const ENDINGS: [&str; 7] = ["mib", "raw", "xml", "tif", "tiff", "npy", "npz"];

/// Whether the name is that of a file of frames.
pub(super) fn is_one(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ENDINGS.iter().any(|one| ending.eq_ignore_ascii_case(one)))
}

/// Reads the frames; positions and geometry are those of the options.
pub(super) fn read(
    path: &Path,
    options: &ReadOptions,
    memory: Memory,
    scratch: Option<&Path>,
) -> Result<ScanFile, IoError> {
    let input = InputFile::new(path, memory);
    let before = FileState::of(path)?;
    let file = open(path, input.name(), options)?;
    let (element, incomplete) = (file.element(), file.incomplete_bytes());
    let first = FrameStack::of_file(input.name(), file);
    let [count, rows, columns] = first.shape();
    let mut notes = vec![format!(
        "the file has {} of {rows} x {columns} pixels ({element}){}, and no mask",
        warpstride_core::text::count(count, ["frame", "frames"]),
        (first.scan_shape()).map_or_else(String::new, |[slow, fast]| format!(
            " as a raster of {slow} x {fast} points"
        ))
    )];
    if incomplete > 0 {
        notes.push(format!(
            "the file ends within a frame: its last {incomplete} bytes, of an interrupted measurement or a copy that was cut, are not used"
        ));
    }
    let frames = with_frame_files((&input, path), first, options, is_one, &mut notes)?;
    let mut window =
        Window::new(input.name(), frames.shape(), options)?.with_raster(frames.scan_shape());
    let scratch = window.in_scratch(&input, &frames, false, scratch)?;
    let of_frames = (frames.shape()[0], frames.scan_shape());
    let found = positions::given(&input, options, of_frames, &mut notes)?.ok_or_else(|| {
        match frames.scan_shape() {
            Some([slow, fast]) => {
                let how = format!(
                    "--step 31.25A for the raster of {slow} x {fast} points that the file has"
                );
                positions::missing(&input, &[&how])
            }
            None => positions::missing(&input, &[]),
        }
    })?;
    let (positions_name, all) = pair(
        found,
        &StoredFrames::of_files(&frames),
        &mut window,
        options,
        &mut notes,
    )?;
    let expected = ExpectedPaths {
        wavelength: &[],
        distance: &[],
        pixel_size: &[],
    };
    let geometry = resolve(
        &input,
        &FileGeometry::default(),
        options,
        &expected,
        &mut notes,
    )?;
    let counts = window.frames(&input, &frames, (None, scratch))?;
    let read = Parts {
        frames: (frames.path().to_owned(), counts),
        mask: None,
        mask_marks: MaskPolarity::default(),
        mask_light: None,
        positions: (positions_name, window.select(&all)),
        geometry,
        probe: None,
        unusable_probe: None,
        simulation: None,
        window,
        cutoff: None,
        measures: Vec::new(),
        notes,
    }
    .into_scan(&input, options);
    // What was read of a file that has changed means nothing, and neither do its errors.
    before.unchanged()?;
    frames.unchanged()?;
    read
}

/// Opens the file; of an `.npz` file the array that the options name, or the only one with the rank
/// of frames.
fn open(path: &Path, name: &str, options: &ReadOptions) -> Result<Box<dyn FrameFile>, IoError> {
    let is_npz = path
        .extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("npz"));
    let refuse = |reason: String| IoError::Option {
        file: name.to_owned(),
        option: "data.dataset",
        reason,
    };
    if !is_npz {
        return match &options.dataset {
            None => Ok(warpstride_formats::open(path)?),
            Some(_) => Err(refuse(
                "expected a file with several arrays or datasets, found one of frames alone"
                    .to_owned(),
            )),
        };
    }
    let arrays = npz_arrays(path)?;
    let described = |(array, header): &(String, Header)| {
        let shape: Vec<String> = header.shape.iter().map(ToString::to_string).collect();
        format!("{array} ({})", shape.join(" x "))
    };
    let all: Vec<String> = arrays.iter().map(described).collect();
    let array = match &options.dataset {
        Some(array) => {
            let known = arrays.iter().any(|(known, _)| known == array);
            if !known {
                let all = all.join(", ");
                return Err(refuse(format!(
                    "expected the name of an array of the file, {all}, found {array}"
                )));
            }
            array
        }
        None => {
            let mut stacks = arrays
                .iter()
                .filter(|(_, header)| matches!(header.shape.len(), 3 | 4));
            match (stacks.next(), stacks.next()) {
                (Some((array, _)), None) => array,
                (Some((array, _)), Some(_)) => {
                    return Err(refuse(format!(
                        "expected the name of the array with the frames (such as --dataset {array}), as several have 3 or 4 axes, found {}",
                        all.join(", ")
                    )));
                }
                // The error says what was expected.
                _ => return Ok(warpstride_formats::open(path)?),
            }
        }
    };
    Ok(Box::new(NumpyFile::open_array(path, array)?))
}

/// A `.npy` array of version 1.0 with unsigned integers of 32 bits.
#[cfg(test)]
pub(super) fn npy(shape: &[usize], values: impl Iterator<Item = u32>) -> Vec<u8> {
    let shape: Vec<String> = shape.iter().map(ToString::to_string).collect();
    let mut header = format!(
        "{{'descr': '<u4', 'fortran_order': False, 'shape': ({}), }}",
        shape.join(", ")
    );
    header.push_str(&" ".repeat(64 - (header.len() + 11) % 64));
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.bytes());
    bytes.extend(values.flat_map(u32::to_le_bytes));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::scan::Constants;
    use crate::{Degrees, PositionFile, Raster, RasterStep, ShortLength};
    use ndarray::{Array3, Array4, arr2, s};

    fn options() -> ReadOptions {
        ReadOptions {
            constants: Constants {
                wavelength: Some(1e-10),
                distance: Some(2.0),
                pixel_size: Some([75e-6; 2]),
                ..Constants::default()
            },
            ..ReadOptions::default()
        }
    }

    #[test]
    fn frames_and_positions_of_two_files_are_a_scan() {
        let folder = tempfile::tempdir().unwrap();
        let frames = folder.path().join("frames.npy");
        let counts = Array3::from_shape_fn((4, 3, 5), |(f, r, c)| (f * 15 + r * 5 + c) as u32);
        let mut marked = counts.clone();
        marked.slice_mut(s![.., 1, 2]).fill(u32::MAX);
        std::fs::write(&frames, npy(&[4, 3, 5], marked.iter().copied())).unwrap();
        let table = folder.path().join("positions.csv");
        std::fs::write(&table, "x_um,y_um\n0,0\n0.5,0\n0,0.25\n0.5,0.25\n").unwrap();
        let mut options = options();
        let missing = read(&frames, &options, Memory::available(), None).unwrap_err();
        assert!(
            missing.to_string().contains("--positions FILE"),
            "{missing}"
        );
        options.positions = Some(PositionFile {
            file: table.display().to_string(),
            columns: None,
            unit: None,
        });
        options.frames = Some([1, 3]);
        let found = read(&frames, &options, Memory::available(), None).unwrap();
        assert_eq!(
            found.scan.positions(),
            arr2(&[[0.0, 0.5e-6], [0.25e-6, 0.0]])
        );
        // Pixels without data are masked, as in HDF5 files.
        let mut expected = counts.slice(s![1..3, .., ..]).mapv(|v| v as f32);
        expected.slice_mut(s![.., 1, 2]).fill(0.0);
        assert_eq!(*found.scan.frames().unwrap(), expected);
        assert_eq!(found.scan.mask().valid_in(0), 14);
        std::fs::write(&table, "x_um,y_um\n0,0\n").unwrap();
        let few = read(&frames, &options, Memory::available(), None).unwrap_err();
        assert!(few.to_string().contains("positions.csv"), "{few}");
    }

    #[test]
    fn a_raster_of_the_file_needs_a_step_only() {
        let folder = tempfile::tempdir().unwrap();
        let frames = folder.path().join("raster.npy");
        let counts = Array4::from_shape_fn((2, 3, 4, 4), |(a, b, r, c)| (a + b + r + c) as u32 + 1);
        std::fs::write(&frames, npy(&[2, 3, 4, 4], counts.iter().copied())).unwrap();
        let raster = Raster {
            points: None,
            step: RasterStep::Each([ShortLength(2e-9), ShortLength(1e-9)]),
            rotation: Degrees(0.0),
            snake: false,
        };
        let mut options = ReadOptions {
            raster: Some(raster),
            ..options()
        };
        let found = read(&frames, &options, Memory::available(), None).unwrap();
        assert_eq!(found.scan.positions().row(5), ndarray::arr1(&[2e-9, 2e-9]));
        options.raster = Some(Raster {
            points: Some([7, 1]),
            ..raster
        });
        let wrong = read(&frames, &options, Memory::available(), None).unwrap_err();
        let wrong = wrong.to_string();
        assert!(
            wrong.contains("6 frames, found 7 (a raster of 7 x 1 points)"),
            "{wrong}"
        );
    }
}

//! √counts of the frames as engines use them: in memory, in a temporary file if the scan is in one,
//! or in the memory of a device.

use crate::CountCodes;
use crate::data::Scan;
use crate::quality::free_pixels::{FREE, FreePixels, free_magnitude};
use crate::session::recipe::Recipe;
use ndarray::{ArcArray, Array3, ArrayView2, ArrayView3, Axis, Ix3};
use rayon::prelude::*;
use std::path::Path;
use std::sync::Arc;
use warpstride_core::system::{ScratchError, ScratchFile};
use warpstride_core::text::shortest;

/// Pixels that are read together: 16 MiB in single precision.
const BLOCK_PIXELS: usize = 1 << 22;

/// √counts (frame, row, column), zero frequency at (0, 0); −1 where the pixel is masked, −2 −
/// √counts where it is free. Copies share them.
#[derive(Debug, Clone)]
pub enum Magnitudes {
    /// In memory.
    Memory(ArcArray<f32, Ix3>),
    /// In a temporary file.
    Scratch(Arc<StoredMagnitudes>),
    /// In the memory of the device that computes
    /// ([`GpuEngine::with_magnitudes`](crate::engines::cuda::GpuEngine::with_magnitudes)).
    Device(Arc<DeviceMagnitudes>),
}

/// What the host knows of √counts in the memory of a device.
#[derive(Debug)]
pub struct DeviceMagnitudes {
    shape: [usize; 3],
    /// Valid pixels of each frame.
    valid: Vec<usize>,
    /// Counts of the brightest frame.
    brightest: f64,
}

/// √counts in a temporary file.
#[derive(Debug)]
pub struct StoredMagnitudes {
    shape: [usize; 3],
    kept: Kept,
}

#[derive(Debug)]
enum Kept {
    /// Counts in 16 bits.
    Codes(ScratchFile<u16>, CountCodes),
    Single(ScratchFile<f32>),
}

impl Magnitudes {
    /// Those of `scan` with the free pixels of `recipe`, where the scan itself is; and Σ I over the
    /// free pixels.
    pub(crate) fn new(scan: &Scan, recipe: &Recipe) -> Result<(Self, f64), ScratchError> {
        if scan.is_elsewhere() {
            if recipe.free_pixels > 0.0 {
                return Err(ScratchError::unread(format!(
                    "free_pixels: expected 0 for frames in the memory of a GPU, found {}",
                    shortest(recipe.free_pixels)
                )));
            }
            let shape = scan.shape();
            let valid = (0..shape[0]).map(|frame| scan.mask().valid_in(frame));
            let known = DeviceMagnitudes {
                shape,
                valid: valid.collect(),
                brightest: scan.brightest_frame(),
            };
            return Ok((Self::Device(Arc::new(known)), 0.0));
        }
        match scan.scratch_folder() {
            None => {
                let all = scan.frames()?;
                let magnitudes = of_frames(scan, recipe, (0, all.view()));
                let free = free_counts(&magnitudes);
                Ok((Self::Memory(magnitudes.into_shared()), free.iter().sum()))
            }
            Some(folder) => {
                let (stored, free) = StoredMagnitudes::write(folder, scan, recipe)?;
                Ok((Self::Scratch(Arc::new(stored)), free))
            }
        }
    }

    /// Numbers of frames, rows and columns.
    #[must_use]
    pub fn shape(&self) -> [usize; 3] {
        match self {
            Self::Memory(all) => {
                let (frames, rows, columns) = all.dim();
                [frames, rows, columns]
            }
            Self::Scratch(stored) => stored.shape,
            Self::Device(known) => known.shape,
        }
    }

    /// The values, if they are in memory.
    #[must_use]
    pub fn in_memory(&self) -> Option<&ArcArray<f32, Ix3>> {
        match self {
            Self::Memory(all) => Some(all),
            Self::Scratch(_) | Self::Device(_) => None,
        }
    }

    /// The values, if they are in memory; copies of a problem do not share what is changed.
    #[must_use]
    pub fn in_memory_mut(&mut self) -> Option<&mut ArcArray<f32, Ix3>> {
        match self {
            Self::Memory(all) => Some(all),
            Self::Scratch(_) | Self::Device(_) => None,
        }
    }

    /// The codes in which counts are written in 16 bits; `None` if not every pixel has one.
    #[must_use]
    pub fn codes(&self) -> Option<CountCodes> {
        match self {
            Self::Memory(all) => CountCodes::of(all),
            Self::Scratch(stored) => match &stored.kept {
                Kept::Codes(_, codes) => Some(*codes),
                Kept::Single(_) => None,
            },
            Self::Device(_) => None,
        }
    }

    /// Valid pixels of each frame, without free ones, and the largest sum of a frame's counts over
    /// them.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    pub(crate) fn valid_pixels(&self) -> Result<(Vec<usize>, f64), ScratchError> {
        if let Self::Device(known) = self {
            return Ok((known.valid.clone(), known.brightest));
        }
        let (mut valid, mut brightest) = (Vec::with_capacity(self.shape()[0]), 0.0_f64);
        self.blocks(|_, block| {
            for frame in block.outer_iter() {
                let (mut count, mut counts) = (0_usize, 0.0_f64);
                for magnitude in frame {
                    if *magnitude >= 0.0 {
                        count += 1;
                        counts += f64::from(*magnitude).powi(2);
                    }
                }
                brightest = brightest.max(counts);
                valid.push(count);
            }
            Ok::<(), ScratchError>(())
        })?;
        Ok((valid, brightest))
    }

    /// Values of some frames in the order of `numbers`, which must be those of frames.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    pub fn select(&self, numbers: &[usize]) -> Result<Array3<f32>, ScratchError> {
        let [_, rows, columns] = self.shape();
        match self {
            Self::Memory(all) => Ok(all.select(Axis(0), numbers)),
            Self::Scratch(stored) => {
                let mut to = Array3::zeros((numbers.len(), rows, columns));
                let pixels = rows * columns;
                if let Some(to) = to.as_slice_mut() {
                    (to.par_chunks_mut(pixels.max(1)).zip(numbers))
                        .try_for_each(|(to, number)| stored.read(*number, to))?;
                }
                Ok(to)
            }
            Self::Device(_) => Err(ScratchError::unread(
                "frames in the memory of a GPU: expected a recipe that needs no counts on the host, found another, such as \
                 one with a detector's background"
                    .to_owned(),
            )),
        }
    }

    /// Calls `visit` with the number of a first frame and the values of some frames from there on,
    /// until it has had all frames in their order.
    ///
    /// # Errors
    /// The temporary file cannot be read, or an error of `visit`.
    pub fn blocks<E: From<ScratchError>>(
        &self,
        mut visit: impl FnMut(usize, ArrayView3<'_, f32>) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Self::Memory(all) = self {
            return visit(0, all.view());
        }
        let [count, rows, columns] = self.shape();
        let most = (BLOCK_PIXELS / (rows * columns).max(1)).max(1);
        for first in (0..count).step_by(most) {
            let numbers: Vec<usize> = (first..count.min(first + most)).collect();
            visit(first, self.select(&numbers)?.view())?;
        }
        Ok(())
    }
}

impl StoredMagnitudes {
    fn write(folder: &Path, scan: &Scan, recipe: &Recipe) -> Result<(Self, f64), ScratchError> {
        let shape = scan.shape();
        let pixels = shape[1] as u64 * shape[2] as u64;
        let values = shape[0] as u64 * pixels;
        let kept = match CountCodes::of_scan(scan, recipe.free_pixels > 0.0) {
            Some(codes) => Kept::Codes(ScratchFile::new(folder, values)?, codes),
            None => Kept::Single(ScratchFile::new(folder, values)?),
        };
        let mut free = 0.0;
        scan.blocks(|first, block| {
            let magnitudes = of_frames(scan, recipe, (first, block));
            for of_frame in free_counts(&magnitudes) {
                free += of_frame;
            }
            let magnitudes = magnitudes.as_slice().unwrap_or_default();
            let at = first as u64 * pixels;
            match &kept {
                Kept::Codes(file, codes) => {
                    let mut written = vec![0; magnitudes.len()];
                    codes.encode(magnitudes, &mut written);
                    file.write(at, &written)
                }
                Kept::Single(file) => file.write(at, magnitudes),
            }
        })?;
        Ok((Self { shape, kept }, free))
    }

    /// Reads a frame as √counts.
    pub(crate) fn read(&self, frame: usize, to: &mut [f32]) -> Result<(), ScratchError> {
        let at = frame as u64 * to.len() as u64;
        match &self.kept {
            Kept::Codes(file, codes) => {
                let mut read = vec![0; to.len()];
                file.read(at, &mut read)?;
                codes.decode(&read, to);
                Ok(())
            }
            Kept::Single(file) => file.read(at, to),
        }
    }

    /// Reads a frame as counts in 16 bits.
    pub(crate) fn read_codes(
        &self,
        frame: usize,
        codes: CountCodes,
        to: &mut [u16],
    ) -> Result<(), ScratchError> {
        match &self.kept {
            Kept::Codes(file, own) if *own == codes => {
                file.read(frame as u64 * to.len() as u64, to)
            }
            _ => {
                let mut magnitudes = vec![0.0; to.len()];
                self.read(frame, &mut magnitudes)?;
                codes.encode(&magnitudes, to);
                Ok(())
            }
        }
    }
}

/// Σ I over the free pixels of each frame.
fn free_counts(magnitudes: &Array3<f32>) -> Vec<f64> {
    let of_frame = |frame: ArrayView2<'_, f32>| -> f64 {
        let roots = frame.iter().filter_map(|m| free_magnitude(*m));
        roots.map(|m| f64::from(m).powi(2)).sum()
    };
    let frames = magnitudes.axis_iter(Axis(0)).into_par_iter();
    frames.map(of_frame).collect()
}

/// √counts of frames from `first` on with the zero frequency moved from (rows/2, columns/2) to (0,
/// 0); −1 where masked, −2 − √counts where free.
fn of_frames(
    scan: &Scan,
    recipe: &Recipe,
    (first, frames): (usize, ArrayView3<'_, f32>),
) -> Array3<f32> {
    let (_, rows, columns) = frames.dim();
    let mut out = Array3::zeros(frames.dim());
    out.axis_iter_mut(Axis(0))
        .into_par_iter()
        .zip(frames.axis_iter(Axis(0)))
        .enumerate()
        .for_each(|(f, (mut frame, counts))| {
            let valid = scan.mask().of_frame(first + f);
            let mut free = FreePixels::new(
                recipe.free_pixels,
                recipe.seed,
                scan.frame_number(first + f),
            );
            for ((row, column), value) in frame.indexed_iter_mut() {
                let source = [(row + rows / 2) % rows, (column + columns / 2) % columns];
                let root = counts[source].sqrt();
                *value = match (valid[source], free.next()) {
                    (false, _) => -1.0,
                    (true, false) => root,
                    (true, true) => FREE - root,
                };
            }
        });
    out
}

//! A ptychographic scan as plain, validated data.

mod error;
mod masked_counts;

pub use error::ScanError;
pub(crate) use error::each_frame;

use super::mask::Mask;
use super::{CountSums, FrameWriter, Frames, Geometry, SliceStack, StoredPixels, counts_of_photon};
use masked_counts::{masked_blocks, sums};
use ndarray::{Array2, Array3, ArrayView3, ArrayViewMut2, Axis, CowArray, Ix3};
use num_complex::Complex;
use warpstride_core::system::ScratchError;

/// Ground truth of a simulated scan.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulation {
    /// Complex transmission of the object (row, column), of its first state if it has several.
    pub object: Array2<Complex<f64>>,
    /// Probe modes (mode, row, column), √photons.
    pub probe: Array3<Complex<f64>>,
    /// True positions (frame, (row, column)), m.
    pub positions: Array2<f64>,
    /// Position (row, column), m, of a window that starts at object pixel (0, 0).
    pub origin: [f64; 2],
    /// Seed of the random generators.
    pub seed: u64,
    /// The slices of a thick specimen, whose product is `object`.
    pub slices: Option<SliceStack>,
}

/// The unit of positions in their file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PositionUnitOrigin {
    /// Metres of a number in the file, if it has all in one unit.
    pub metres: Option<f64>,
    /// The option of a recipe that states the unit.
    pub option: &'static str,
}

/// The unit in the file of a scan, which makes no difference between scans with the same positions
/// in metres.
#[derive(Debug, Clone, Copy)]
struct OfFile(Option<PositionUnitOrigin>);

impl PartialEq for OfFile {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A scan with at least one frame, finite non-negative counts, at least one valid pixel, one
/// finite position per frame, and a probe (if any) of the frames' shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Scan {
    /// In memory masked pixels are 0, in a temporary file they may have any value.
    frames: Frames,
    sums: CountSums,
    mask: Mask,
    positions: Array2<f64>,
    geometry: Geometry,
    /// Voltage that has accelerated the electrons, V.
    voltage: Option<f64>,
    probe: Option<Array3<Complex<f64>>>,
    simulation: Option<Simulation>,
    /// Numbers of the frames in the scan that this is a part of.
    numbers: Option<Vec<usize>>,
    /// Steps along the direction of travel (row, column), m, of a part of another scan.
    travel: Option<Vec<[f64; 2]>>,
    /// Where the pixels are in the file, if they have other rows and columns there.
    stored: Option<StoredPixels>,
    /// What its reader found doubtful, one sentence each.
    doubts: Vec<String>,
    /// How its positions were converted to metres.
    position_unit: OfFile,
    /// Why the illumination in the file is not the start probe.
    unusable_probe: Option<String>,
    /// Numbers of the frames in the file, if they have others there.
    in_file: Option<Vec<usize>>,
    /// Frames that were masked as a whole, as they have no counts.
    masked_frames: Vec<usize>,
}

impl Scan {
    /// Validates the parts. `frames` is (frame, row, column), counts, with the zero frequency at
    /// (rows/2, columns/2); masked pixels may hold any value and are set to 0. `positions` is
    /// (frame, (row, column)), m; `probe` is (mode, row, column).
    ///
    /// # Errors
    /// Returns the first [`ScanError`] found.
    pub fn new(
        frames: Array3<f32>,
        mask: Option<Mask>,
        positions: Array2<f64>,
        geometry: Geometry,
        probe: Option<Array3<Complex<f64>>>,
    ) -> Result<Self, ScanError> {
        Self::of_frames(frames.into(), mask, positions, geometry, probe)
    }

    /// Like [`Scan::new`] for frames that may be in a temporary file.
    ///
    /// # Errors
    /// Returns the first [`ScanError`] found.
    pub fn of_frames(
        mut frames: Frames,
        mask: Option<Mask>,
        positions: Array2<f64>,
        geometry: Geometry,
        probe: Option<Array3<Complex<f64>>>,
    ) -> Result<Self, ScanError> {
        let [count, rows, columns] = frames.shape();
        if [count, rows, columns].contains(&0) {
            return Err(ScanError::Empty(count, rows, columns));
        }
        for (name, found) in [
            ("the wavelength", geometry.wavelength),
            ("the distance", geometry.distance),
            ("the detector pixel (rows)", geometry.pixel_size[0]),
            ("the detector pixel (columns)", geometry.pixel_size[1]),
            (
                "the distance from the focus to the specimen",
                geometry.focus_to_sample().unwrap_or(1.0),
            ),
        ] {
            if !(found.is_finite() && found > 0.0) {
                return Err(ScanError::Length { name, found });
            }
        }
        if positions.dim() != (count, 2) {
            return Err(ScanError::PositionCount {
                frames: count,
                positions: positions.nrows(),
            });
        }
        for (frame, p) in positions.rows().into_iter().enumerate() {
            if !(p[0].is_finite() && p[1].is_finite()) {
                return Err(ScanError::Position {
                    frame,
                    row: p[0],
                    column: p[1],
                });
            }
        }
        let mask = mask.unwrap_or_else(|| Mask::Shared(Array2::from_elem((rows, columns), true)));
        let found = match &mask {
            Mask::Shared(m) if m.dim() == (rows, columns) => None,
            Mask::PerFrame(m) if m.dim() == (count, rows, columns) => None,
            Mask::Shared(m) => Some(m.shape().to_vec()),
            Mask::PerFrame(m) => Some(m.shape().to_vec()),
        };
        if let Some(found) = found {
            return Err(ScanError::MaskShape {
                found,
                frames: [count, rows, columns],
            });
        }
        if (0..count).all(|frame| mask.valid_in(frame) == 0) {
            return Err(ScanError::AllMasked);
        }
        let sums = sums(&mut frames, &mask)?;
        if sums.largest <= 0.0 {
            return Err(ScanError::Dark { frames: count });
        }
        if let Some(p) = &probe {
            let (modes, r, c) = p.dim();
            if modes == 0 || (r, c) != (rows, columns) {
                return Err(ScanError::ProbeShape {
                    found: p.shape().to_vec(),
                    rows,
                    columns,
                });
            }
            let power: f64 = p.iter().map(Complex::norm_sqr).sum();
            if !(power.is_finite() && power > 0.0) {
                return Err(ScanError::Probe);
            }
        }
        Ok(Self {
            frames,
            sums,
            mask,
            positions,
            geometry,
            voltage: None,
            probe,
            simulation: None,
            numbers: None,
            travel: None,
            stored: None,
            doubts: Vec::new(),
            position_unit: OfFile(None),
            unusable_probe: None,
            in_file: None,
            masked_frames: Vec::new(),
        })
    }

    /// Masks all pixels of the frames with these numbers, from 0, at least one frame without them
    /// having a valid pixel; the frames must have no counts, as sums over the counts are kept.
    #[must_use]
    pub fn with_masked_frames(mut self, numbers: &[usize]) -> Self {
        let [frames, rows, columns] = self.shape();
        let mut each = match self.mask {
            Mask::Shared(all) => {
                Array3::from_shape_fn((frames, rows, columns), |(_, row, column)| {
                    all[[row, column]]
                })
            }
            Mask::PerFrame(each) => each,
        };
        for number in numbers {
            each.index_axis_mut(Axis(0), *number).fill(false);
        }
        self.mask = Mask::PerFrame(each);
        self.masked_frames.extend(numbers);
        self
    }

    /// Frames that [`Scan::with_masked_frames`] has masked.
    #[must_use]
    pub fn masked_frames(&self) -> &[usize] {
        &self.masked_frames
    }

    /// Masks pixels (row, column) in all frames.
    ///
    /// # Errors
    /// The pixels that are left are no scan ([`ScanError::AllMasked`], [`ScanError::Dark`]), or a
    /// temporary file cannot be read.
    pub fn with_masked_pixels(mut self, bad: &Array2<bool>) -> Result<Self, ScanError> {
        let mask = |mut valid: ArrayViewMut2<'_, bool>| {
            valid.zip_mut_with(bad, |valid, bad| *valid &= !bad);
        };
        match &mut self.mask {
            Mask::Shared(plane) => mask(plane.view_mut()),
            Mask::PerFrame(each) => each.outer_iter_mut().for_each(mask),
        }
        let counts = bad.iter().zip(&self.sums.of_pixels);
        if counts.filter(|(bad, _)| **bad).any(|(_, sum)| *sum > 0.0) {
            let (mask, positions) = (Some(self.mask), self.positions);
            let of = Self::of_frames(self.frames, mask, positions, self.geometry, self.probe)?;
            let Self {
                frames,
                sums,
                mask,
                positions,
                probe,
                ..
            } = of;
            return Ok(Self {
                frames,
                sums,
                mask,
                positions,
                probe,
                ..self
            });
        }
        Ok(self)
    }

    /// Says of which frames of another scan this one is a part, from 0, so that their free pixels
    /// are the same. Others than one for each frame are not taken.
    #[must_use]
    pub fn with_frame_numbers(mut self, numbers: Vec<usize>) -> Self {
        self.numbers = (numbers.len() == self.shape()[0]).then_some(numbers);
        self
    }

    /// The number of a frame in the scan that this is a part of; otherwise its own.
    #[must_use]
    pub fn frame_number(&self, frame: usize) -> usize {
        let numbers = self.numbers.as_ref();
        numbers
            .and_then(|of| of.get(frame).copied())
            .unwrap_or(frame)
    }

    /// Says in which direction the scan that this is a part of went on from each frame:
    /// [`Scan::travel`] of these frames. Others than one for each frame are not taken.
    #[must_use]
    pub fn with_travel(mut self, travel: Vec<[f64; 2]>) -> Self {
        self.travel = (travel.len() == self.shape()[0]).then_some(travel);
        self
    }

    /// The step (row, column), m, from each frame along the scan's direction of travel: to the next
    /// frame or, at the end of a line, that of the frame before.
    #[must_use]
    pub fn travel(&self) -> Vec<[f64; 2]> {
        match &self.travel {
            Some(travel) => travel.clone(),
            None => super::travel::travel(&self.positions),
        }
    }

    /// Says where the pixels are in the file, or, with `None`, that this is not known.
    #[must_use]
    pub fn with_stored_pixels(mut self, stored: Option<StoredPixels>) -> Self {
        self.stored = stored.filter(|stored| !stored.is_identity());
        self
    }

    /// Says which numbers the frames have in the file. Others than one for each frame are not
    /// taken.
    #[must_use]
    pub fn with_stored_frames(mut self, numbers: Vec<usize>) -> Self {
        let other =
            numbers.len() == self.shape()[0] && numbers.iter().enumerate().any(|(n, of)| n != *of);
        self.in_file = other.then_some(numbers);
        self
    }

    /// The numbers that some frames have in the file, if that is known; otherwise their own.
    #[must_use]
    pub fn stored_frames(&self, frames: &[usize]) -> Vec<usize> {
        let of = |frame: &usize| self.in_file.as_ref().and_then(|of| of.get(*frame).copied());
        frames
            .iter()
            .map(|frame| of(frame).unwrap_or(*frame))
            .collect()
    }

    /// The scan by itself: of which other scan it is a part, where its pixels are in a file, and
    /// what its reader said of it and did to it, is no longer known.
    #[must_use]
    pub fn by_itself(self) -> Self {
        Self {
            numbers: None,
            travel: None,
            stored: None,
            in_file: None,
            doubts: Vec::new(),
            position_unit: OfFile(None),
            unusable_probe: None,
            masked_frames: Vec::new(),
            ..self
        }
    }

    /// Where the pixels are in the file, if they have other rows and columns there.
    #[must_use]
    pub fn stored_pixels(&self) -> Option<&StoredPixels> {
        self.stored.as_ref()
    }

    /// Says what its reader found doubtful, one sentence each.
    #[must_use]
    pub fn with_doubts(mut self, doubts: Vec<String>) -> Self {
        self.doubts = doubts;
        self
    }

    /// What its reader found doubtful, one sentence each.
    #[must_use]
    pub fn doubts(&self) -> &[String] {
        &self.doubts
    }

    /// Says how its positions were converted to metres.
    #[must_use]
    pub fn with_position_unit(mut self, unit: Option<PositionUnitOrigin>) -> Self {
        self.position_unit = OfFile(unit);
        self
    }

    /// How its positions were converted to metres, if they were read from a file.
    #[must_use]
    pub fn position_unit(&self) -> Option<PositionUnitOrigin> {
        self.position_unit.0
    }

    /// Says why the illumination in its file is not its start probe, if the file has one.
    #[must_use]
    pub fn with_unusable_probe(mut self, reason: Option<String>) -> Self {
        self.unusable_probe = reason;
        self
    }

    /// Why the illumination in the file is not the start probe; `None` if it is, or if the file has
    /// none.
    #[must_use]
    pub fn unusable_probe(&self) -> Option<&str> {
        self.unusable_probe.as_deref()
    }

    /// Adds the ground truth of a simulated scan.
    #[must_use]
    pub fn with_simulation(mut self, simulation: Simulation) -> Self {
        self.simulation = Some(simulation);
        self
    }

    /// The scan of some of its frames in the order of `numbers`, which must be those of frames.
    /// Counts in a temporary file are copied to another one.
    ///
    /// # Errors
    /// Those frames are no scan ([`ScanError::Empty`], [`ScanError::AllMasked`],
    /// [`ScanError::Dark`]), or a temporary file cannot be read or written.
    pub fn of_some(self, numbers: &[usize]) -> Result<Self, ScanError> {
        let [_, rows, columns] = self.shape();
        let travel = self.travel();
        let travel = numbers.iter().map(|number| travel[*number]).collect();
        let in_file = self.stored_frames(numbers);
        let masked = |place: &usize| self.masked_frames.contains(&numbers[*place]);
        let masked_frames = (0..numbers.len()).filter(masked).collect();
        let frames = match self.frames.scratch_folder() {
            None => self.frames.select(numbers)?.into(),
            Some(folder) => {
                let mut writer = FrameWriter::in_scratch(folder, [numbers.len(), rows, columns])?;
                for (to, number) in numbers.iter().enumerate() {
                    writer.put(to, self.frames.select(&[*number])?.view())?;
                }
                writer.finish()
            }
        };
        let mask = match self.mask {
            Mask::PerFrame(each) => Mask::PerFrame(each.select(Axis(0), numbers)),
            shared @ Mask::Shared(_) => shared,
        };
        let positions = self.positions.select(Axis(0), numbers);
        let mut scan = Self::of_frames(frames, Some(mask), positions, self.geometry, self.probe)?
            .with_travel(travel)
            .with_voltage(self.voltage)
            .with_stored_pixels(self.stored)
            .with_doubts(self.doubts)
            .with_position_unit(self.position_unit.0)
            .with_unusable_probe(self.unusable_probe)
            .with_stored_frames(in_file);
        scan.masked_frames = masked_frames;
        Ok(match self.simulation {
            Some(truth) => scan.with_simulation(Simulation {
                positions: truth.positions.select(Axis(0), numbers),
                ..truth
            }),
            None => scan,
        })
    }

    /// Counts (frame, row, column); zero frequency at (rows/2, columns/2), masked pixels 0. Those
    /// of a temporary file are read into memory.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    pub fn frames(&self) -> Result<CowArray<'_, f32, Ix3>, ScratchError> {
        if let Some(frames) = self.frames.in_memory() {
            return Ok(frames.into());
        }
        let all: Vec<usize> = (0..self.shape()[0]).collect();
        Ok(self.some_frames(&all)?.into())
    }

    /// Counts of some frames in the order of `numbers`, as [`Scan::frames`] has them.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    pub fn some_frames(&self, numbers: &[usize]) -> Result<Array3<f32>, ScratchError> {
        let mut found = self.frames.select(numbers)?;
        if self.frames.in_memory().is_none() {
            for (counts, number) in found.outer_iter_mut().zip(numbers) {
                self.mask.clear(*number, counts);
            }
        }
        Ok(found)
    }

    /// Calls `visit` with the number of a first frame and the counts of some frames from there on,
    /// as [`Scan::frames`] has them, until it has had all frames in their order.
    ///
    /// # Errors
    /// The temporary file cannot be read, or an error of `visit`.
    pub fn blocks<E: From<ScratchError>>(
        &self,
        visit: impl FnMut(usize, ArrayView3<'_, f32>) -> Result<(), E>,
    ) -> Result<(), E> {
        masked_blocks(&self.frames, &self.mask, visit)
    }

    /// Whether the counts are in a temporary file, and in which folder.
    #[must_use]
    pub fn scratch_folder(&self) -> Option<&std::path::Path> {
        self.frames.scratch_folder()
    }

    /// Whether the counts are neither in memory nor in a temporary file.
    #[must_use]
    pub fn is_elsewhere(&self) -> bool {
        self.frames.are_elsewhere()
    }

    /// Sums over the counts.
    #[must_use]
    pub fn sums(&self) -> &CountSums {
        &self.sums
    }

    /// Mask of valid pixels.
    #[must_use]
    pub fn mask(&self) -> &Mask {
        &self.mask
    }

    /// Positions (frame, (row, column)), m.
    #[must_use]
    pub fn positions(&self) -> &Array2<f64> {
        &self.positions
    }

    /// Wavelength, distance and detector pixel size.
    #[must_use]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Says that the waves are electrons, and which voltage, V, has accelerated them; the
    /// wavelength stays that of the geometry.
    #[must_use]
    pub fn with_voltage(mut self, volts: Option<f64>) -> Self {
        self.voltage = volts;
        self
    }

    /// Voltage that has accelerated the electrons, V; `None` if the waves are photons, or not known
    /// to be electrons.
    #[must_use]
    pub fn voltage(&self) -> Option<f64> {
        self.voltage
    }

    /// Start probe (mode, row, column), if the source has one.
    #[must_use]
    pub fn probe(&self) -> Option<&Array3<Complex<f64>>> {
        self.probe.as_ref()
    }

    /// Ground truth, if the scan was simulated.
    #[must_use]
    pub fn simulation(&self) -> Option<&Simulation> {
        self.simulation.as_ref()
    }

    /// Numbers of frames, rows and columns.
    #[must_use]
    pub fn shape(&self) -> [usize; 3] {
        self.frames.shape()
    }

    /// Object pixel (row, column), m.
    #[must_use]
    pub fn object_pixel(&self) -> [f64; 2] {
        self.geometry.object_pixel(self.shape()[1], self.shape()[2])
    }

    /// Mean of the frames (row, column), accumulated in double precision.
    #[must_use]
    pub fn mean_frame(&self) -> Array2<f64> {
        let frames = self.shape()[0] as f64;
        self.sums.of_pixels.mapv(|sum| sum / frames)
    }

    /// Counts of one photon, as far as the counts show it.
    ///
    /// # Errors
    /// The counts are in a temporary file that cannot be read.
    pub(crate) fn counts_of_photon(&self) -> Result<f64, ScratchError> {
        let frame = |n| Ok(self.some_frames(&[n])?.index_axis_move(Axis(0), 0));
        counts_of_photon(&self.sums.of_pixels, self.shape()[0], frame)
    }

    /// Photons in the brightest frame: maximum over frames of the sum over valid pixels.
    #[must_use]
    pub fn brightest_frame(&self) -> f64 {
        self.sums.brightest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Propagation;

    #[test]
    fn negative_zeros_are_zeros() {
        let frames = Array3::<f32>::from_shape_vec((1, 1, 3), vec![-0.0, 2.0, 0.0]).unwrap();
        let geometry = Geometry {
            wavelength: 1e-10,
            distance: 1.0,
            pixel_size: [1e-4; 2],
            propagation: Propagation::FarField,
        };
        let scan = Scan::new(frames, None, Array2::zeros((1, 2)), geometry, None).unwrap();
        let bits: Vec<u32> = scan.frames().unwrap().iter().map(|v| v.to_bits()).collect();
        assert_eq!(bits, [0.0_f32, 2.0, 0.0].map(f32::to_bits));
    }

    #[test]
    fn the_mean_frame_is_accumulated_in_double_precision() {
        let mut frames = Array3::<f32>::from_elem((3, 2, 3), 1.0);
        frames[[0, 1, 2]] = 16_777_216.0;
        let geometry = Geometry {
            wavelength: 1e-10,
            distance: 1.0,
            pixel_size: [1e-4; 2],
            propagation: Propagation::FarField,
        };
        let scan = Scan::new(frames, None, Array2::zeros((3, 2)), geometry, None).unwrap();
        let mean = scan.mean_frame();
        assert_eq!((mean[[0, 0]], mean[[1, 2]]), (1.0, 16_777_218.0 / 3.0));
    }
}

//! A look at counts while they are read, each time at a few that are still in the processor's
//! cache.
//!
//! Almost all detectors store small whole numbers. Their sums are exact, so that the order in which
//! threads add them does not matter. Of other counts an inspection finds nothing; they are looked
//! at when all have been read.

use super::Mask;
use super::count_sums::{CountHash, CountSums, SMALL, SMALL_PIXELS};
use ndarray::Array2;
use pulp::NullaryFnOnce;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// More than the pixels of a frame, and the frames, of which sums in double precision are exact:
/// 2⁵³ of the largest, 2²³.
const MOST: usize = 1 << 30;

/// What is found of frames in memory, as masked by one mask.
#[derive(Debug, Clone)]
pub(crate) struct Inspected {
    /// Valid pixels (row, column); `None` if all are.
    mask: Option<Array2<bool>>,
    /// Sums over counts that are all small whole numbers.
    sums: CountSums,
}

impl Inspected {
    /// Whether it is of frames with this mask.
    fn is_of(&self, mask: Option<&Mask>) -> bool {
        match (&self.mask, mask) {
            (None, None) => true,
            (Some(valid), None) => valid.iter().all(|valid| *valid),
            (None, Some(Mask::Shared(valid))) => valid.iter().all(|valid| *valid),
            (Some(one), Some(Mask::Shared(other))) => one == other,
            (_, Some(Mask::PerFrame(_))) => false,
        }
    }

    /// The largest count of the pixels that `mask` leaves, if it is the mask of this; all are
    /// finite and not negative.
    pub(crate) fn largest(&self, mask: Option<&Mask>) -> Option<f32> {
        self.is_of(mask).then_some(self.sums.largest)
    }

    /// Sums over the counts, if `mask` is the mask of this.
    pub(super) fn into_sums(self, mask: &Mask) -> Option<CountSums> {
        self.is_of(Some(mask)).then_some(self.sums)
    }
}

/// Looks at counts of frames that are being read, by several threads.
pub(crate) struct Inspection<'m> {
    /// Frames, rows, columns.
    shape: [usize; 3],
    mask: Option<&'m Array2<bool>>,
    /// Whether nothing is found: there are counts that are no small whole numbers.
    others: AtomicBool,
    frames: Mutex<Vec<Option<OfFrame>>>,
    /// Memory that no thread uses at the moment, and what was added up in it.
    spare: Mutex<Vec<PixelSums>>,
    /// Sums over frames of each pixel.
    of_pixels: Mutex<Vec<f64>>,
}

#[derive(Clone)]
struct OfFrame {
    sum: u64,
    largest: f32,
    hash: u64,
}

/// Sums over some frames of each pixel.
#[derive(Default)]
struct PixelSums {
    sums: Vec<u32>,
    /// None is larger.
    most: u32,
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'m> Inspection<'m> {
    /// An inspection of frames (frame, row, column), of which the pixels with `false` in the `mask`
    /// (row, column) are set to 0. `None` if it would find nothing: the mask has another shape, or
    /// there are too many frames or pixels.
    pub(crate) fn new(shape: [usize; 3], mask: Option<&'m Array2<bool>>) -> Option<Self> {
        let [frames, rows, columns] = shape;
        let pixels = rows.checked_mul(columns)?;
        let fits =
            mask.is_none_or(|mask| mask.dim() == (rows, columns) && mask.is_standard_layout());
        (fits && pixels > 0 && pixels.max(frames) < MOST).then(|| Self {
            shape,
            mask,
            others: AtomicBool::new(false),
            frames: Mutex::new(vec![None; frames]),
            spare: Mutex::default(),
            of_pixels: Mutex::new(vec![0.0; pixels]),
        })
    }

    /// Bytes that an inspection by `threads` takes.
    pub(crate) fn bytes([frames, rows, columns]: [usize; 3], threads: usize) -> u128 {
        let of_pixel = 4_u128.saturating_mul(threads as u128).saturating_add(8);
        let pixels = (rows as u128).saturating_mul(columns as u128);
        let of_frames = (size_of::<Option<OfFrame>>() as u128).saturating_mul(frames as u128);
        pixels.saturating_mul(of_pixel).saturating_add(of_frames)
    }

    /// Looks at the counts from pixel number `first` of all frames on.
    pub(crate) fn visit(&self, first: usize) -> Visit<'_, 'm> {
        let [_, rows, columns] = self.shape;
        let pixels = rows * columns;
        if !first.is_multiple_of(pixels) {
            self.others.store(true, Ordering::Relaxed);
        }
        let mut sums = locked(&self.spare).pop().unwrap_or_default();
        sums.sums.resize(pixels, 0);
        Visit {
            of: self,
            frame: first / pixels,
            row: 0,
            sum: 0,
            largest: 0.0,
            hash: CountHash::new(),
            sums,
        }
    }

    /// Adds the sums of some frames to those of all.
    fn collect(&self, some: &mut PixelSums) {
        let mut all = locked(&self.of_pixels);
        for (all, sum) in all.iter_mut().zip(&mut some.sums) {
            *all += f64::from(*sum);
            *sum = 0;
        }
        some.most = 0;
    }

    /// What was found; `None` if some counts were not looked at, or are no small whole numbers.
    pub(crate) fn finish(self) -> Option<Inspected> {
        if self.others.load(Ordering::Relaxed) {
            return None;
        }
        let spare: Vec<PixelSums> = std::mem::take(&mut *locked(&self.spare));
        for mut some in spare {
            self.collect(&mut some);
        }
        let [_, rows, columns] = self.shape;
        let mut sums = CountSums::new(rows, columns);
        for of in &*locked(&self.frames) {
            let of = of.as_ref()?;
            sums.of_frames.push(of.sum as f64);
            sums.hashes.push(of.hash);
            sums.largest = sums.largest.max(of.largest);
        }
        let of_pixels = std::mem::take(&mut *locked(&self.of_pixels));
        sums.of_pixels = Array2::from_shape_vec((rows, columns), of_pixels).ok()?;
        Some(Inspected {
            mask: self.mask.cloned(),
            sums,
        })
    }
}

/// One thread's look at frames that follow one another.
pub(crate) struct Visit<'i, 'm> {
    of: &'i Inspection<'m>,
    frame: usize,
    row: usize,
    sum: u64,
    largest: f32,
    hash: CountHash,
    sums: PixelSums,
}

impl Visit<'_, '_> {
    /// Looks at whole rows that follow, and sets their masked pixels to 0.
    pub(crate) fn add(&mut self, counts: &mut [f32]) {
        let [_, rows, columns] = self.of.shape;
        if !counts.len().is_multiple_of(columns) {
            self.of.others.store(true, Ordering::Relaxed);
        }
        let mut left = counts;
        while !left.is_empty() && !self.of.others.load(Ordering::Relaxed) {
            let length = left.len().min((rows - self.row) * columns);
            let (of_frame, rest) = left.split_at_mut(length);
            left = rest;
            self.add_rows(of_frame);
        }
    }

    /// Adds rows of one frame.
    fn add_rows(&mut self, counts: &mut [f32]) {
        let [_, rows, columns] = self.of.shape;
        if self.row == 0 && self.sums.most > u32::MAX - SMALL as u32 {
            self.of.collect(&mut self.sums);
        }
        let here = self.row * columns..self.row * columns + counts.len();
        let valid = self.of.mask.and_then(|mask| mask.as_slice());
        let found = pulp::Arch::new().dispatch(Rows {
            counts,
            valid: valid.map(|valid| &valid[here.clone()]),
            sums: &mut self.sums.sums[here],
        });
        let Some((sum, largest)) = found else {
            self.of.others.store(true, Ordering::Relaxed);
            return;
        };
        for row in counts.chunks_exact(columns) {
            self.hash.add(row);
        }
        self.sum += sum;
        self.largest = self.largest.max(largest);
        self.row += counts.len() / columns;
        if self.row == rows {
            let hash = std::mem::replace(&mut self.hash, CountHash::new());
            let found = OfFrame {
                sum: self.sum,
                largest: self.largest,
                hash: hash.finish(),
            };
            self.sums.most = self.sums.most.saturating_add(self.largest as u32);
            if let Some(of) = locked(&self.of.frames).get_mut(self.frame) {
                *of = Some(found);
            }
            (self.frame, self.row, self.sum, self.largest) = (self.frame + 1, 0, 0, 0.0);
        }
    }
}

impl Drop for Visit<'_, '_> {
    fn drop(&mut self) {
        let mine = std::mem::take(&mut self.sums);
        locked(&self.of.spare).push(mine);
    }
}

/// Rows of a frame, which of their pixels are valid, and the sums over frames of these.
struct Rows<'a> {
    counts: &'a mut [f32],
    valid: Option<&'a [bool]>,
    sums: &'a mut [u32],
}

impl NullaryFnOnce for Rows<'_> {
    /// The sum and the largest of whole numbers from 0 to 2²³ − 1; `None` of others.
    type Output = Option<(u64, f32)>;

    #[inline(always)]
    fn call(self) -> Self::Output {
        let (mut sum, mut largest) = (0, 0_i32);
        let counts = self.counts.chunks_mut(SMALL_PIXELS);
        let mut valid = self.valid.map(|valid| valid.chunks(SMALL_PIXELS));
        for (counts, sums) in counts.zip(self.sums.chunks_mut(SMALL_PIXELS)) {
            if let Some(valid) = valid.as_mut().and_then(Iterator::next) {
                for (count, valid) in counts.iter_mut().zip(valid) {
                    let kept = u32::from(*valid).wrapping_neg();
                    *count = f32::from_bits(count.to_bits() & kept);
                }
            }
            let (some, most) = added(counts, sums)?;
            sum += u64::from(some);
            largest = largest.max(most);
        }
        Some((sum, f32::from_bits(largest.cast_unsigned())))
    }
}

/// The sum of at most [`SMALL_PIXELS`] counts and the bits of the largest; each is added to the sum
/// of its pixel. −0 becomes 0.
#[inline(always)]
fn added(counts: &mut [f32], sums: &mut [u32]) -> Option<(u32, i32)> {
    let (mut sum, mut largest, mut others) = (0_u32, 0_i32, 0_u32);
    for (count, of_pixel) in counts.iter_mut().zip(sums) {
        *count += 0.0;
        let shifted = *count + SMALL;
        // No branches, and integers, so that several are computed at once: bits of numbers from 0
        // on have the order of the numbers.
        others |= u32::from(!((shifted - SMALL == *count) & (*count >= 0.0)));
        let whole = shifted.to_bits() & 0x007f_ffff;
        sum = sum.wrapping_add(whole);
        *of_pixel = of_pixel.wrapping_add(whole);
        largest = largest.max(count.to_bits().cast_signed());
    }
    let small = others == 0 && f32::from_bits(largest.cast_unsigned()) < SMALL;
    small.then_some((sum, largest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array3;

    /// Looks at frames in their order, a few rows at a time.
    fn inspected(counts: &Array3<f32>, together: usize) -> Option<Inspected> {
        let (frames, rows, columns) = counts.dim();
        let inspection = Inspection::new([frames, rows, columns], None).unwrap();
        {
            let mut visit = inspection.visit(0);
            let mut counts = counts.clone();
            let all = counts.as_slice_mut().unwrap();
            all.chunks_mut(together * columns)
                .for_each(|some| visit.add(some));
        }
        inspection.finish()
    }

    /// More than 32 bits hold.
    #[test]
    fn sums_of_many_large_counts_are_exact() {
        let value = |n: usize| 8_388_607 - n as u32 % 5;
        let counts = Array3::from_shape_fn((1203, 2, 3), |(f, r, c)| value(f + 2 * r + c) as f32);
        for together in [1, 2, 5] {
            let sums = inspected(&counts, together).unwrap().sums;
            for ((row, column), sum) in sums.of_pixels.indexed_iter() {
                let all = (0..1203).map(|f| u64::from(value(f + 2 * row + column)));
                assert_eq!(*sum, all.sum::<u64>() as f64);
            }
            assert_eq!(sums.largest, 8_388_607.0);
            assert_eq!(sums.of_frames.len(), 1203);
        }
    }

    #[test]
    fn nothing_is_known_of_frames_of_which_a_part_was_not_looked_at() {
        let counts = Array3::from_elem((4, 2, 3), 1.0_f32);
        assert!(inspected(&counts, 1).is_some());
        let inspection = Inspection::new([4, 2, 3], None).unwrap();
        for first in [0, 6, 18] {
            inspection.visit(first).add(&mut [1.0; 6]);
        }
        inspection.visit(12).add(&mut [1.0; 3]);
        assert!(inspection.finish().is_none());
        // Not from the first pixel of a frame on.
        let inspection = Inspection::new([4, 2, 3], None).unwrap();
        inspection.visit(0).add(&mut [1.0; 24]);
        inspection.visit(3).add(&mut []);
        assert!(inspection.finish().is_none());
        let other = Array2::from_elem((2, 2), true);
        assert!(Inspection::new([4, 2, 3], Some(&other)).is_none());
    }
}

//! How pixels of the stored frames become pixels of a scan: turned, cut around the zero frequency,
//! padded, binned.

use crate::data::StoredPixels;
use crate::{Orientation, ReadOptions};
use ndarray::{Array2, ArrayView2, Axis, s};
use std::ops::Range;
use warpstride_files::IoError;

/// An option that does not fit the frames, and what was expected and found.
pub(in crate::io::scan) type Misfit = (&'static str, String);

/// The error of an option that does not fit the frames of `file`.
pub(in crate::io::scan) fn misfit(file: &str, (option, reason): Misfit) -> IoError {
    IoError::Option {
        file: file.to_owned(),
        option,
        reason,
    }
}

/// The pixels of a scan's frames among those that are stored. Turned frames have the axes of
/// [`Self::turned`].
#[derive(Debug, Clone, PartialEq)]
pub(in crate::io::scan) struct Layout {
    orientation: Orientation,
    /// Rows and columns as stored.
    stored: [usize; 2],
    /// Rows and columns of the scan's frames.
    shape: [usize; 2],
    /// Rows, and columns, of the detector in one pixel.
    bin: usize,
    /// Row and column of the turned frames at which the first pixel begins, which may be beyond the
    /// detector.
    first: [i64; 2],
    /// Rows and columns from there on that are not padded.
    kept: [Range<i64>; 2],
    /// Rows and columns of the scan's pixels from the pixel (rows/2, columns/2) to the zero
    /// frequency.
    offset: [f64; 2],
    /// Rows and columns of the turned frames that would fill a part of a pixel.
    left_out: [usize; 2],
}

impl Layout {
    /// The pixels that `options` keep of frames with so many rows and columns as they are stored.
    /// `centre` is the zero frequency in the turned frames, if it is given.
    ///
    /// # Errors
    /// An option that does not fit the frames.
    pub(in crate::io::scan) fn new(
        stored: [usize; 2],
        options: &ReadOptions,
        centre: Option<[f64; 2]>,
    ) -> Result<Self, Misfit> {
        let orientation = options.frame_orientation();
        let turned = if orientation.swap_axes {
            [stored[1], stored[0]]
        } else {
            stored
        };
        let [rows, columns] = turned;
        let [keep_rows, keep_columns] = options.crop.unwrap_or(turned);
        if !((1..=rows).contains(&keep_rows) && (1..=columns).contains(&keep_columns)) {
            return Err((
                "data.crop",
                format!(
                    "expected at most [{rows}, {columns}] and at least [1, 1], found [{keep_rows}, {keep_columns}]"
                ),
            ));
        }
        let padded = options.pad.unwrap_or([keep_rows, keep_columns]);
        if padded[0] < keep_rows || padded[1] < keep_columns {
            return Err((
                "data.pad",
                format!(
                    "expected at least [{keep_rows}, {keep_columns}], the rows and columns before, found [{}, {}]",
                    padded[0], padded[1]
                ),
            ));
        }
        let bin = options.bin.unwrap_or(1).max(1);
        let too_large = |option, [rows, columns]: [usize; 2], factor| {
            Err((
                option,
                format!(
                    "expected at most {}, so that frames of {rows} x {columns} keep a pixel, found {factor}",
                    rows.min(columns)
                ),
            ))
        };
        let binned = padded.map(|side| side / bin);
        if binned.contains(&0) {
            return too_large("data.bin", padded, bin);
        }
        let coarse = options.coarse.unwrap_or(1).max(1);
        let shape = binned.map(|side| side / coarse);
        if shape.contains(&0) {
            return too_large("data.coarse", binned, coarse);
        }
        let last = turned.map(|side| (side - 1) as f64);
        if let Some(centre) = centre
            && !(centre.iter().zip(last)).all(|(at, last)| (0.0..=last).contains(at))
        {
            return Err((
                "data.centre",
                format!(
                    "expected at most [{}, {}], the last pixel of the frames, found [{}, {}]",
                    last[0], last[1], centre[0], centre[1]
                ),
            ));
        }
        let middle = turned.map(|side| (side / 2) as f64);
        // Where the zero frequency of the stored frames, in the middle, has been turned to.
        let flips = [orientation.flip_rows, orientation.flip_columns];
        let turned_middle = [0, 1].map(|axis| match flips[axis] {
            true => last[axis] - middle[axis],
            false => middle[axis],
        });
        let zero = centre.unwrap_or(turned_middle);
        let aim = centre.unwrap_or(middle);
        // From the first to the middle row of those of a pixel.
        let half = (bin - 1) as f64 / 2.0;
        // Whole pixels of the scan that have counts, if those beyond are padded.
        let kept = [keep_rows, keep_columns].map(|side| side / bin);
        if kept.contains(&0) {
            return too_large("data.bin", [keep_rows, keep_columns], bin);
        }
        let kept_first = [0, 1].map(|axis| {
            let central = (aim[axis] - half).round() as i64;
            let at = central - (kept[axis] / 2 * bin) as i64;
            match (turned[axis].checked_sub(kept[axis] * bin), centre) {
                // Without a given centre, no pixel of the detector gives way to one beyond it.
                (Some(last), None) => at.clamp(0, last as i64),
                // Of two rows that are equally far, one for which no pixel is beyond the detector.
                (Some(last), Some(_))
                    if at == last as i64 + 1 && (aim[axis] - half).fract() == 0.5 =>
                {
                    at - 1
                }
                _ => at,
            }
        });
        let middle_of = |sides: [usize; 2], axis: usize| (sides[axis] / 2 * bin) as i64;
        let first =
            [0, 1].map(|axis| kept_first[axis] + middle_of(kept, axis) - middle_of(shape, axis));
        let offset = [0, 1].map(|axis| {
            let middle = (first[axis] + middle_of(shape, axis)) as f64 + half;
            (zero[axis] - middle) / bin as f64
        });
        Ok(Self {
            orientation,
            stored,
            shape,
            bin,
            first,
            kept: [0, 1].map(|axis| {
                let first = kept_first[axis] - first[axis];
                first..first + (kept[axis] * bin) as i64
            }),
            offset,
            left_out: padded.map(|side| side % bin),
        })
    }

    /// Rows and columns of the scan's frames.
    pub(in crate::io::scan) fn shape(&self) -> [usize; 2] {
        self.shape
    }

    /// Rows and columns of the turned frames.
    pub(super) fn turned(&self) -> [usize; 2] {
        match self.orientation.swap_axes {
            true => [self.stored[1], self.stored[0]],
            false => self.stored,
        }
    }

    /// How the frames' axes are exchanged and inverted.
    pub(super) fn orientation(&self) -> Orientation {
        self.orientation
    }

    /// Where the scan's pixels are in the stored frames, which have been shifted cyclically by
    /// `roll`.
    pub(super) fn in_file(&self, roll: [isize; 2]) -> StoredPixels {
        StoredPixels {
            roll,
            turned: self.turned(),
            swapped: self.orientation.swap_axes,
            inverted: [self.orientation.flip_rows, self.orientation.flip_columns],
            first: self.first,
            bin: self.bin,
        }
    }

    /// Rows and columns of the turned frames, with those beyond them, in the scan's frames.
    pub(super) fn covered(&self) -> [usize; 2] {
        self.shape.map(|side| side * self.bin)
    }

    /// Rows and columns of the scan's pixels from the pixel (rows/2, columns/2) to the zero
    /// frequency.
    pub(super) fn offset(&self) -> [f64; 2] {
        self.offset
    }

    /// Rows and columns of the turned frames that would fill a part of a pixel.
    pub(super) fn left_out(&self) -> [usize; 2] {
        self.left_out
    }

    /// Whether some of the scan's pixels are padded, or beyond the detector.
    pub(super) fn leaves_detector(&self) -> bool {
        self.inside() != self.covered().map(|side| 0..side)
    }

    /// Rows and columns of the turned frames that are kept and exist, from the first pixel on.
    fn inside(&self) -> [Range<usize>; 2] {
        let (turned, covered) = (self.turned(), self.covered());
        [0, 1].map(|axis| {
            let within = |at: i64| usize::try_from(at).unwrap_or(0).min(covered[axis]);
            let end = turned[axis] as i64 - self.first[axis];
            let kept = &self.kept[axis];
            within(kept.start.max(-self.first[axis]))..within(kept.end.min(end))
        })
    }

    /// Rows and columns of the stored frames that are needed.
    pub(in crate::io::scan) fn window(&self) -> [Range<usize>; 2] {
        let (turned, inside) = (self.turned(), self.inside());
        let flips = [self.orientation.flip_rows, self.orientation.flip_columns];
        let of_turned = [0, 1].map(|axis| {
            let at = |n: usize| usize::try_from(n as i64 + self.first[axis]).unwrap_or(0);
            let range = at(inside[axis].start)..at(inside[axis].end);
            match flips[axis] {
                true => turned[axis] - range.end..turned[axis] - range.start,
                false => range,
            }
        });
        let [rows, columns] = of_turned;
        match self.orientation.swap_axes {
            true => [columns, rows],
            false => [rows, columns],
        }
    }

    /// The scan's counts (row, column) of those of a frame in [`Self::window`]; 0 beyond the
    /// detector.
    pub(super) fn counts(&self, stored: ArrayView2<'_, f32>) -> Array2<f32> {
        let [rows, columns] = self.inside();
        let turned = turned(stored, self.orientation);
        if self.bin == 1 {
            let mut to = Array2::zeros(self.shape);
            to.slice_mut(s![rows, columns]).assign(&turned);
            return to;
        }
        let mut sums = Array2::<f64>::zeros(self.shape);
        for (row, from) in rows.zip(turned.outer_iter()) {
            for (column, counts) in columns.clone().zip(from) {
                sums[[row / self.bin, column / self.bin]] += f64::from(*counts);
            }
        }
        sums.mapv(|sum| sum as f32)
    }

    /// The valid pixels (row, column) of the scan, of those of a frame in [`Self::window`]: pixels
    /// all of whose parts are valid.
    pub(super) fn mask(&self, stored: ArrayView2<'_, bool>) -> Array2<bool> {
        let [rows, columns] = self.inside();
        let turned = turned(stored, self.orientation);
        let mut parts = Array2::<usize>::zeros(self.shape);
        for (row, from) in rows.zip(turned.outer_iter()) {
            for (column, valid) in columns.clone().zip(from) {
                parts[[row / self.bin, column / self.bin]] += usize::from(*valid);
            }
        }
        parts.mapv(|parts| parts == self.bin * self.bin)
    }
}

/// An array (row, column) with its axes exchanged and then inverted.
pub(super) fn turned<T>(stored: ArrayView2<'_, T>, orientation: Orientation) -> ArrayView2<'_, T> {
    let mut turned = stored;
    if orientation.swap_axes {
        turned.swap_axes(0, 1);
    }
    if orientation.flip_rows {
        turned.invert_axis(Axis(0));
    }
    if orientation.flip_columns {
        turned.invert_axis(Axis(1));
    }
    turned
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameTransform;

    /// Frames whose counts are 100 row + column, beginning at a window.
    fn stored([rows, columns]: [Range<usize>; 2]) -> Array2<f32> {
        Array2::from_shape_fn((rows.len(), columns.len()), |(r, c)| {
            (100 * (r + rows.start) + c + columns.start) as f32
        })
    }

    fn layout(shape: [usize; 2], options: &ReadOptions) -> Layout {
        Layout::new(shape, options, None).unwrap()
    }

    /// Without any option but `crop`, the zero frequency stays in the middle.
    #[test]
    fn a_crop_keeps_the_zero_frequency_in_the_middle() {
        for all in 1..9 {
            for kept in 1..=all {
                let options = ReadOptions {
                    crop: Some([kept, all]),
                    ..ReadOptions::default()
                };
                let of = layout([all, all], &options);
                let [rows, columns] = of.window();
                assert_eq!((rows.start + kept / 2, columns), (all / 2, 0..all));
                assert_eq!((of.offset(), of.leaves_detector()), ([0.0; 2], false));
            }
        }
    }

    /// Every size, bin, crop and coarse factor: the zero frequency is where `offset` says, and no
    /// pixel is beyond the detector.
    #[test]
    fn bins_are_around_the_zero_frequency_and_within_the_detector() {
        for all in 1..30_usize {
            for bin in 1..=all.min(6) {
                for coarse in 1..=(all / bin).min(3) {
                    let options = ReadOptions {
                        bin: Some(bin),
                        coarse: Some(coarse),
                        ..ReadOptions::default()
                    };
                    let of = layout([all, 7 * bin * coarse], &options);
                    let kept = all / bin / coarse;
                    assert_eq!(of.shape(), [kept, 7]);
                    assert!(!of.leaves_detector(), "{all} {bin} {coarse}");
                    let [rows, _] = of.window();
                    assert_eq!(rows.len(), kept * bin);
                    // The middle of the central pixel, in rows of the detector.
                    let central = (rows.start + kept / 2 * bin) as f64 + (bin - 1) as f64 / 2.0;
                    let zero = central + of.offset()[0] * bin as f64;
                    assert_eq!(zero, (all / 2) as f64, "{all} {bin} {coarse}");
                    assert!(of.offset()[0].abs() <= 0.5);
                }
            }
        }
    }

    #[test]
    fn turned_frames_have_their_pixels_at_their_places() {
        // [[0, 1, 2], [100, 101, 102]], turned counterclockwise by 90°.
        let of = |maps: &[FrameTransform]| {
            let options = ReadOptions {
                transform_frames: maps.to_vec(),
                ..ReadOptions::default()
            };
            let of = layout([2, 3], &options);
            (of.counts(stored(of.window()).view()), of)
        };
        let (counts, turned) = of(&[FrameTransform::Rotate90]);
        let expected = ndarray::arr2(&[[2.0, 102.0], [1.0, 101.0], [0.0, 100.0]]);
        assert_eq!(counts, expected);
        // The zero frequency, (1, 1) of the stored frames, is now at (1, 1), the middle.
        assert_eq!(turned.offset(), [0.0, 0.0]);
        let (counts, turned) = of(&[FrameTransform::FlipRows]);
        assert_eq!(
            counts,
            ndarray::arr2(&[[100.0, 101.0, 102.0], [0.0, 1.0, 2.0]])
        );
        assert_eq!(turned.offset(), [-1.0, 0.0], "at row 0 and not 1");
    }

    /// Cutting after turning is turning the window that is read.
    #[test]
    fn windows_of_turned_frames_are_those_of_the_whole_frames() {
        for maps in [
            vec![],
            vec![FrameTransform::Transpose],
            vec![FrameTransform::Rotate90],
            vec![FrameTransform::Rotate180],
            vec![FrameTransform::Rotate270, FrameTransform::FlipColumns],
        ] {
            for (centre, crop, bin) in [
                ([4.0, 2.0], [5, 3], 1),
                ([1.2, 5.6], [6, 6], 2),
                ([0.0, 0.0], [7, 2], 1),
                ([6.0, 4.5], [6, 6], 3),
            ] {
                let options = ReadOptions {
                    transform_frames: maps.clone(),
                    crop: Some(crop),
                    bin: Some(bin),
                    ..ReadOptions::default()
                };
                let shape = [7, 7];
                let of = Layout::new(shape, &options, Some(centre)).unwrap();
                let whole = stored([0..7, 0..7]);
                let all = turned(whole.view(), of.orientation());
                let found = of.counts(stored(of.window()).view());
                let [rows, columns] = of.window();
                let valid = of.mask(Array2::from_elem((rows.len(), columns.len()), true).view());
                for ((row, column), counts) in found.indexed_iter() {
                    let (mut sum, mut parts) = (0.0, 0);
                    for (r, c) in (0..bin).flat_map(|r| (0..bin).map(move |c| (r, c))) {
                        let at =
                            |n: usize, axis: usize| usize::try_from(of.first[axis] + n as i64).ok();
                        let place = at(row * bin + r, 0).zip(at(column * bin + c, 1));
                        if let Some(counts) = place.and_then(|place| all.get(place)) {
                            sum += counts;
                            parts += 1;
                        }
                    }
                    assert_eq!(*counts, sum);
                    assert_eq!(valid[[row, column]], parts == bin * bin);
                }
            }
        }
    }

    #[test]
    fn a_centre_between_two_rows_is_in_the_middle_of_a_pixel_of_two() {
        let options = ReadOptions {
            bin: Some(2),
            crop: Some([8, 8]),
            ..ReadOptions::default()
        };
        let of = Layout::new([20, 20], &options, Some([9.5, 10.25])).unwrap();
        assert_eq!(of.window(), [5..13, 6..14]);
        assert_eq!(of.offset(), [0.0, -0.125]);
    }

    #[test]
    fn padded_pixels_are_masked() {
        let options = ReadOptions {
            pad: Some([6, 3]),
            ..ReadOptions::default()
        };
        let of = layout([3, 3], &options);
        assert!(of.leaves_detector());
        let mask = of.mask(Array2::from_elem((3, 3), true).view());
        let rows: Vec<bool> = mask.column(1).to_vec();
        assert_eq!(rows, [false, false, true, true, true, false]);
        assert_eq!(of.counts(stored([0..3, 0..3]).view())[[3, 1]], 101.0);
        assert_eq!(of.offset(), [0.0, 0.0]);
        // Those of a part of the detector too, though there are counts beyond it.
        let options = ReadOptions {
            crop: Some([2, 4]),
            pad: Some([8, 4]),
            bin: Some(2),
            ..ReadOptions::default()
        };
        let of = layout([6, 6], &options);
        assert_eq!(of.window(), [3..5, 1..5]);
        assert_eq!(of.shape(), [4, 2]);
        let mask = of.mask(Array2::from_elem((2, 4), true).view());
        let rows: Vec<bool> = mask.column(1).to_vec();
        assert_eq!(rows, [false, false, true, false]);
        let counts = of.counts(stored(of.window()).view());
        assert_eq!(counts[[2, 0]], 301.0 + 302.0 + 401.0 + 402.0);
    }

    #[test]
    fn options_that_do_not_fit_are_refused() {
        let refused = |options: ReadOptions, centre| {
            let refused = Layout::new([8, 6], &options, centre).unwrap_err();
            format!("{}: {}", refused.0, refused.1)
        };
        let default = ReadOptions::default;
        for (options, centre, expected) in [
            (
                ReadOptions {
                    crop: Some([9, 6]),
                    ..default()
                },
                None,
                "data.crop: expected at most [8, 6] and at least [1, 1], found [9, 6]",
            ),
            (
                ReadOptions {
                    pad: Some([8, 5]),
                    ..default()
                },
                None,
                "data.pad: expected at least [8, 6]",
            ),
            (
                ReadOptions {
                    bin: Some(7),
                    ..default()
                },
                None,
                "data.bin: expected at most 6, so that frames of 8 x 6 keep a pixel, found 7",
            ),
            (
                ReadOptions {
                    bin: Some(3),
                    coarse: Some(3),
                    ..default()
                },
                None,
                "data.coarse: expected at most 2, so that frames of 2 x 2",
            ),
            (
                default(),
                Some([7.5, 2.0]),
                "data.centre: expected at most [7, 5]",
            ),
        ] {
            let found = refused(options, centre);
            assert!(found.starts_with(expected), "{found}");
        }
    }
}

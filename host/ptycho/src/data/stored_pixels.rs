//! Where the pixels of a scan are in the frames of its file.

/// Where the pixels of a scan's frames are in the frames as they are stored, if frames are turned,
/// cut or binned: a stored frame is shifted cyclically, its axes are exchanged, then inverted, and
/// then a pixel of the scan is `bin` × `bin` of its pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredPixels {
    /// Rows and columns by which stored frames are shifted cyclically.
    pub roll: [isize; 2],
    /// Rows and columns of the turned frames.
    pub turned: [usize; 2],
    /// Whether rows and columns are exchanged.
    pub swapped: bool,
    /// Whether the turned rows, and the turned columns, are inverted after that.
    pub inverted: [bool; 2],
    /// Row and column of the turned frames at which the scan's first pixel begins, which may be
    /// beyond the detector.
    pub first: [i64; 2],
    /// Rows, and columns, of a stored frame in one pixel.
    pub bin: usize,
}

impl StoredPixels {
    /// Whether each pixel has its own row and column in the file.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        self.roll == [0; 2]
            && !self.swapped
            && self.inverted == [false; 2]
            && self.first == [0; 2]
            && self.bin == 1
    }

    /// Row and column in the file of the pixel (row, column) of the scan, or of the first of those
    /// that it is made of; `None` beyond the detector.
    #[must_use]
    pub fn of(&self, pixel: [usize; 2]) -> Option<[usize; 2]> {
        let mut at = [0; 2];
        for axis in [0, 1] {
            let turned = self.turned[axis];
            let begin = i64::try_from(pixel[axis].checked_mul(self.bin)?).ok()? + self.first[axis];
            let begin = usize::try_from(begin)
                .ok()
                .filter(|begin| *begin < turned)?;
            at[axis] = match self.inverted[axis] {
                true => (turned - 1 - begin).saturating_sub(self.bin - 1),
                false => begin,
            };
        }
        let (at, sides) = match self.swapped {
            true => ([at[1], at[0]], [self.turned[1], self.turned[0]]),
            false => (at, self.turned),
        };
        let mut stored = [0; 2];
        for axis in [0, 1] {
            let side = isize::try_from(sides[axis]).ok()?;
            let shifted = isize::try_from(at[axis]).ok()? - self.roll[axis];
            stored[axis] = usize::try_from(shifted.rem_euclid(side)).ok()?;
        }
        Some(stored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_are_where_the_file_has_them() {
        let cut = StoredPixels {
            roll: [0; 2],
            turned: [10, 8],
            swapped: false,
            inverted: [false; 2],
            first: [3, -1],
            bin: 1,
        };
        assert!(!cut.is_identity());
        assert_eq!(cut.of([0, 1]), Some([3, 0]));
        assert_eq!(cut.of([0, 0]), None);
        assert_eq!(cut.of([7, 1]), None);
        let rolled = StoredPixels {
            roll: [4, 0],
            ..cut
        };
        assert_eq!(rolled.of([0, 1]), Some([9, 0]));
        // The stored frames have 8 rows and 10 columns.
        let turned = StoredPixels {
            swapped: true,
            inverted: [true, false],
            first: [0; 2],
            bin: 2,
            ..cut
        };
        assert_eq!(turned.of([0, 0]), Some([0, 8]));
        assert_eq!(turned.of([1, 3]), Some([6, 6]));
    }
}

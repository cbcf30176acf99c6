//! Pixels as the chips deliver them: in big-endian words of 64 bits, the first pixel in the lowest bits.
//!
//! A pixel has 1 bit for a counter of 1 bit, 8 bits for one of 6, 16 bits for one of 12. Counters of 24 bits are stored
//! as two images of 16-bit pixels, the upper 12 bits of all pixels first. A row of four chips has the pixels of all of
//! them; two of the chips are upside down.

use super::header::{FrameHeader, Layout};
use crate::file_error::FileError;

/// Columns and rows of a chip.
const CHIP: usize = 256;

/// Chips of a quad.
const QUAD: usize = 4;

/// Depth of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counter {
    One,
    Six,
    Twelve,
    TwentyFour,
}

/// Where raw pixels are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Raw {
    pub(super) counter: Counter,
    /// Pixels in a stored row.
    stored_columns: usize,
    /// Stored rows.
    stored_rows: usize,
    quad: bool,
}

impl Raw {
    pub(super) fn new(
        file: &str,
        header: &FrameHeader,
        counter_depth: Option<u32>,
    ) -> Result<Self, FileError> {
        let counter = match counter_depth {
            Some(1) => Counter::One,
            Some(6) => Counter::Six,
            Some(12) => Counter::Twelve,
            Some(24) => Counter::TwentyFour,
            other => {
                let found = other.map_or(
                    "no depth in the frame's header and no .hdr file with it".to_owned(),
                    |depth| format!("{depth} bits"),
                );
                return Err(FileError::format(
                    file,
                    "raw counters of 1, 6, 12 or 24 bits",
                    found,
                ));
            }
        };
        let quad = match header.layout {
            Layout::Single => false,
            Layout::Quad => true,
            Layout::Row => {
                return Err(FileError::format(
                    file,
                    "raw frames of one chip or of 2x2 chips",
                    "chips side by side",
                ));
            }
        };
        let width = if quad { QUAD * CHIP } else { CHIP };
        // The header counts the columns of both images of a 24-bit counter.
        let doubled = counter == Counter::TwentyFour && header.columns == 2 * width;
        let fits = (header.columns == width || doubled)
            && (1..=CHIP).contains(&header.rows)
            && (!quad || header.rows == CHIP);
        if !fits {
            return Err(FileError::format(
                file,
                format!(
                    "raw frames of {width} columns and {}{CHIP} rows",
                    if quad { "" } else { "at most " }
                ),
                format!("{} columns and {} rows", header.columns, header.rows),
            ));
        }
        Ok(Self {
            counter,
            stored_columns: width,
            stored_rows: header.rows,
            quad,
        })
    }

    /// Rows and columns of a frame.
    pub(super) fn shape(self) -> [usize; 2] {
        if self.quad {
            [2 * CHIP, 2 * CHIP]
        } else {
            [self.stored_rows, self.stored_columns]
        }
    }

    fn pixels(self) -> usize {
        self.stored_rows * self.stored_columns
    }

    /// Bytes of a frame without its header.
    pub(super) fn bytes(self) -> usize {
        match self.counter {
            Counter::One => self.pixels() / 8,
            Counter::Six => self.pixels(),
            Counter::Twelve => 2 * self.pixels(),
            Counter::TwentyFour => 4 * self.pixels(),
        }
    }

    /// Bits of the values.
    pub(super) fn bits(self) -> u8 {
        match self.counter {
            Counter::One | Counter::Six => 8,
            Counter::Twelve => 16,
            Counter::TwentyFour => 32,
        }
    }

    /// The pixels of a frame in the order of its rows, from its bytes.
    pub(super) fn decode(self, bytes: &[u8], pixels: &mut [u32]) {
        let (words, _) = bytes.as_chunks::<8>();
        let mut put = |n: usize, value: u32| pixels[self.place(n)] = value;
        match self.counter {
            Counter::One => unpack::<1>(words, put),
            Counter::Six => unpack::<8>(words, put),
            Counter::Twelve => unpack::<16>(words, put),
            Counter::TwentyFour => {
                let (upper, lower) = words.split_at(words.len() / 2);
                unpack::<16>(upper, |n, value| put(n, value << 12));
                unpack::<16>(lower, |n, value| pixels[self.place(n)] |= value);
            }
        }
    }

    /// Where stored pixel `n` is in a frame.
    fn place(self, n: usize) -> usize {
        if !self.quad {
            return n;
        }
        let (row, column) = (n / self.stored_columns, n % self.stored_columns);
        let (chip, column) = (column / CHIP, column % CHIP);
        // The first two chips are upside down in the second row of chips, from the right to the left; the others are in the
        // first row, from the right to the left.
        let (row, column) = match chip {
            0 => (2 * CHIP - 1 - row, 2 * CHIP - 1 - column),
            1 => (2 * CHIP - 1 - row, CHIP - 1 - column),
            2 => (row, CHIP + column),
            _ => (row, column),
        };
        row * 2 * CHIP + column
    }
}

/// Calls `put` with the number and the value of each pixel.
#[inline]
fn unpack<const BITS: usize>(words: &[[u8; 8]], mut put: impl FnMut(usize, u32)) {
    let count = 64 / BITS;
    for (n, word) in words.iter().enumerate() {
        let word = u64::from_be_bytes(*word);
        for pixel in 0..count {
            put(
                n * count + pixel,
                (word >> (pixel * BITS) & (u64::MAX >> (64 - BITS))) as u32,
            );
        }
    }
}

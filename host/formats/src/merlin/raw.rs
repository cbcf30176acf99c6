//! Pixels as the chips deliver them: in big-endian words of 64 bits, the first pixel in the lowest
//! bits.
//!
//! A pixel has 1 bit for a counter of 1 bit, 8 bits for one of 6, 16 bits for one of 12. Counters
//! of 24 bits are stored as two images of 16-bit pixels, the upper 12 bits of all pixels first. A
//! row of four chips has the pixels of all of them; two of the chips are upside down.

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
        match self.counter {
            Counter::One => self.unpack::<1>(words, pixels, |to, value| *to = value),
            Counter::Six => self.unpack::<8>(words, pixels, |to, value| *to = value),
            Counter::Twelve => self.unpack::<16>(words, pixels, |to, value| *to = value),
            Counter::TwentyFour => {
                let (upper, lower) = words.split_at(words.len() / 2);
                self.unpack::<16>(upper, pixels, |to, value| *to = value << 12);
                self.unpack::<16>(lower, pixels, |to, value| *to |= value);
            }
        }
    }

    /// Calls `put` with the place and the value of each pixel.
    #[inline]
    fn unpack<const BITS: usize>(
        self,
        words: &[[u8; 8]],
        pixels: &mut [u32],
        put: impl Fn(&mut u32, u32),
    ) {
        for (n, words) in words.chunks_exact(CHIP * BITS / 64).enumerate() {
            let mut row = [0; CHIP];
            for (word, values) in words.iter().zip(row.chunks_exact_mut(64 / BITS)) {
                let word = u64::from_be_bytes(*word);
                for (pixel, value) in values.iter_mut().enumerate() {
                    *value = (word >> (pixel * BITS) & (u64::MAX >> (64 - BITS))) as u32;
                }
            }
            let (start, reversed) = self.place(n);
            if reversed {
                row.reverse();
            }
            for (to, value) in pixels[start..start + CHIP].iter_mut().zip(row) {
                put(to, value);
            }
        }
    }

    /// Where stored row `n` of a chip is in a frame, and whether its pixels are in reverse order.
    fn place(self, n: usize) -> (usize, bool) {
        if !self.quad {
            return (n * CHIP, false);
        }
        let row = n / QUAD;
        let upside_down = 2 * CHIP - 1 - row;
        // The first two chips are upside down in the second row of chips, the others in the first
        // row, both from the right to the left.
        match n % QUAD {
            0 => (upside_down * 2 * CHIP + CHIP, true),
            1 => (upside_down * 2 * CHIP, true),
            2 => (row * 2 * CHIP + CHIP, false),
            _ => (row * 2 * CHIP, false),
        }
    }
}

//! Frames of an array in Fortran order: the numbers of the frame are the fastest axes, so that each
//! frame is spread over the whole array, and the values of one pixel in all frames follow one
//! another.

use super::header::Header;
use crate::pixel::Pixel;
use std::io;
use std::ops::Range;

/// Bytes that are read at once: the values of many pixels in all frames.
const PART_BYTES: usize = 1 << 22;

/// An array (frame, row, column) or (slow, fast, row, column) in Fortran order.
pub(super) struct FortranArray {
    /// Rows and columns.
    pub(super) pixels: [usize; 2],
    /// Points of the raster (slow, fast), of which the first one is the faster in the array;
    /// `[frames, 1]` without a raster.
    pub(super) raster: [usize; 2],
    /// Bytes of an element.
    pub(super) bytes: usize,
}

/// Frame, row and column of an integer that is not represented exactly, and the integer.
pub(super) type Wrong = ([usize; 3], String);

impl FortranArray {
    /// Reads frames (frame, row, column) into `out`, which has their size; `read` reads bytes of
    /// the array from a position on. Returns an integer that `T` does not represent if `exact`.
    pub(super) fn read<T: Pixel>(
        &self,
        frames: Range<usize>,
        out: &mut [T],
        (header, exact): (&Header, bool),
        read: impl Fn(u64, &mut [u8]) -> io::Result<()>,
    ) -> io::Result<Option<Wrong>> {
        let [rows, columns] = self.pixels;
        let [slow, fast] = self.raster;
        let all = slow * fast;
        let pixels = rows * columns;
        // Values of a few frames are read alone for each pixel, those of many with all between
        // them.
        let alone = fast == 1 && frames.len() * 4 < all;
        let run = if alone {
            frames.start..frames.end
        } else {
            0..all
        };
        let together = if alone {
            1
        } else {
            (PART_BYTES / (all * self.bytes)).clamp(1, pixels)
        };
        let mut bytes = vec![0; together * run.len() * self.bytes];
        let mut values = vec![T::default(); together * run.len()];
        for first in (0..pixels).step_by(together) {
            let some = together.min(pixels - first);
            let bytes = &mut bytes[..some * run.len() * self.bytes];
            let values = &mut values[..some * run.len()];
            let at = (first * all + run.start) * self.bytes;
            read(at as u64, bytes)?;
            header.convert(bytes, values);
            if exact && let Some((n, found)) = header.inexact(bytes, values) {
                let (pixel, stored) = (first + n / run.len(), run.start + n % run.len());
                let frame = stored % slow * fast + stored / slow;
                if frames.contains(&frame) {
                    let place = [frame, pixel % rows, pixel / rows];
                    return Ok(Some((place, found.to_string())));
                }
            }
            for (pixel, values) in (first..).zip(values.chunks_exact(run.len())) {
                let to = pixel % rows * columns + pixel / rows;
                for (number, frame) in frames.clone().enumerate() {
                    let stored = frame / fast + slow * (frame % fast);
                    out[number * pixels + to] = values[stored - run.start];
                }
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// Bytes of 16 bits of an array (slow, fast, row, column) whose elements count in C order, in
    /// Fortran order, with its header.
    fn stored([slow, fast, rows, columns]: [usize; 4]) -> (Header, Vec<u8>) {
        let text = format!(
            "{{'descr': '<u2', 'fortran_order': True, 'shape': ({slow}, {fast}, {rows}, {columns})}}"
        );
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.bytes());
        let header = Header::read(&mut bytes.as_slice().take(u64::MAX)).unwrap();
        let mut data = Vec::new();
        for (c, r) in (0..columns).flat_map(|c| (0..rows).map(move |r| (c, r))) {
            for (f, s) in (0..fast).flat_map(|f| (0..slow).map(move |s| (f, s))) {
                let value = ((s * fast + f) * rows + r) * columns + c;
                data.extend((value as u16).to_le_bytes());
            }
        }
        (header, data)
    }

    #[test]
    fn any_range_of_frames_is_that_of_c_order() {
        for (raster, slow) in [([5, 3], 5), ([15, 1], 15)] {
            let (header, data) = stored([slow, 15 / slow, 4, 3]);
            let array = FortranArray {
                pixels: [4, 3],
                raster,
                bytes: 2,
            };
            let read = |at: u64, bytes: &mut [u8]| {
                let at = at as usize;
                bytes.copy_from_slice(&data[at..at + bytes.len()]);
                Ok(())
            };
            for range in [0..15, 2..3, 7..15, 14..15] {
                let mut out = vec![0.0_f32; range.len() * 12];
                let wrong = array.read(range.clone(), &mut out, (&header, true), read);
                assert_eq!(wrong.unwrap(), None);
                let expected: Vec<f32> = (range.start * 12..range.end * 12)
                    .map(|n| n as f32)
                    .collect();
                assert_eq!(out, expected, "{raster:?} {range:?}");
            }
        }
    }
}

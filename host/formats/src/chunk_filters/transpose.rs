//! Transposition of bits and bytes, compiled for the vector instructions of the CPU in use.
//!
//! A matrix of 8 × 8 bits or bytes is transposed by three exchanges of its quarters, of the
//! quarters of those, and so on (H. S. Warren, Hacker's Delight, 2nd edition, section 7-3). Here
//! the rows of a matrix of bits are in eight words, each with the rows of eight matrices; eight
//! words are also the rows of a matrix of bytes.

use pulp::NullaryFnOnce;

/// Words that are exchanged at once: a vector of AVX2.
const LANES: usize = 4;

/// The largest element, in bytes, with a fast path.
const WIDEST: usize = 16;

/// Runs loops, compiled for the CPU in use.
#[inline]
pub(super) fn vectorised<L: NullaryFnOnce>(work: L) -> L::Output {
    pulp::Arch::new().dispatch(work)
}

/// Puts the bits of elements of `size` bytes together.
///
/// Row `8 * byte + bit` of `input` has that bit of all elements, the first element in the lowest
/// bit. Both slices have the same length, a multiple of 8 elements.
#[inline]
pub(super) fn unshuffle_bits(input: &[u8], output: &mut [u8], size: usize) {
    if !input.is_empty() {
        vectorised(Bits {
            input,
            output,
            size,
        });
    }
}

/// Exchanges bits `SHIFT` higher in rows `n` with those of rows `n + distance`.
#[inline(always)]
fn exchange<const L: usize>(rows: &mut [[u64; L]; 8], distance: usize, shift: u32, mask: u64) {
    let mut row = 0;
    while row < 8 {
        if row & distance == 0 {
            let (upper, lower) = rows.split_at_mut(row + distance);
            for (high, low) in upper[row].iter_mut().zip(&mut lower[0]) {
                let change = ((*high >> shift) ^ *low) & mask;
                *low ^= change;
                *high ^= change << shift;
            }
        }
        row += 1;
    }
}

/// Bit j of each byte in row k goes to bit k of that byte in row j.
#[inline(always)]
fn transpose_bits<const L: usize>(rows: &mut [[u64; L]; 8]) {
    exchange(rows, 4, 4, 0x0f0f_0f0f_0f0f_0f0f);
    exchange(rows, 2, 2, 0x3333_3333_3333_3333);
    exchange(rows, 1, 1, 0x5555_5555_5555_5555);
}

/// Byte j of row k goes to byte k of row j.
#[inline(always)]
fn transpose_bytes<const L: usize>(rows: &mut [[u64; L]; 8]) {
    exchange(rows, 4, 32, 0x0000_0000_ffff_ffff);
    exchange(rows, 2, 16, 0x0000_ffff_0000_ffff);
    exchange(rows, 1, 8, 0x00ff_00ff_00ff_00ff);
}

#[inline(always)]
fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

/// [`unshuffle_bits`].
struct Bits<'a> {
    input: &'a [u8],
    output: &'a mut [u8],
    size: usize,
}

impl NullaryFnOnce for Bits<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        match self.size {
            1 => bits_of::<1>(self.input, self.output),
            2 => bits_of::<2>(self.input, self.output),
            4 => bits_of::<4>(self.input, self.output),
            8 => bits_of::<8>(self.input, self.output),
            16 => bits_of::<16>(self.input, self.output),
            size => bits_of_any(self.input, self.output, size),
        }
    }
}

#[inline(always)]
fn bits_of<const S: usize>(input: &[u8], output: &mut [u8]) {
    let row = input.len() / (8 * S);
    let mut group = 0;
    while group + 8 * LANES <= row {
        bit_tile::<S, LANES>(input, row, group, &mut output[group * 8 * S..]);
        group += 8 * LANES;
    }
    while group + 8 <= row {
        bit_tile::<S, 1>(input, row, group, &mut output[group * 8 * S..]);
        group += 8;
    }
    if group < row {
        // The last groups in rows that are filled up with zeros.
        let mut rows = [0; 64 * WIDEST];
        let mut elements = [0; 64 * WIDEST];
        for (n, filled) in rows[..64 * S].chunks_exact_mut(8).enumerate() {
            filled[..row - group].copy_from_slice(&input[n * row + group..(n + 1) * row]);
        }
        bit_tile::<S, 1>(&rows[..64 * S], 8, 0, &mut elements[..64 * S]);
        let last = &mut output[group * 8 * S..];
        last.copy_from_slice(&elements[..last.len()]);
    }
}

/// Puts together `64 * L` elements, of which `input` has 8 bits in each byte from `group` on of its
/// rows.
#[inline(always)]
fn bit_tile<const S: usize, const L: usize>(
    input: &[u8],
    row: usize,
    group: usize,
    output: &mut [u8],
) {
    // [element in a group of 8][byte], words with 8 groups.
    let mut bytes = [[[0; L]; S]; 8];
    for byte in 0..S {
        let mut rows = [[0; L]; 8];
        for (bit, words) in rows.iter_mut().enumerate() {
            let from = &input[(8 * byte + bit) * row + group..][..8 * L];
            for (lane, to) in words.iter_mut().enumerate() {
                *to = word(from, 8 * lane);
            }
        }
        transpose_bits(&mut rows);
        for (element, words) in rows.iter().enumerate() {
            bytes[element][byte] = *words;
        }
    }
    let output = &mut output[..64 * S * L];
    for (tile, rows) in bytes
        .as_flattened_mut()
        .as_chunks_mut::<8>()
        .0
        .iter_mut()
        .enumerate()
    {
        transpose_bytes(rows);
        for lane in 0..L {
            for (group, words) in rows.iter().enumerate() {
                let at = (8 * lane + group) * 8 * S + 8 * tile;
                output[at..at + 8].copy_from_slice(&words[lane].to_le_bytes());
            }
        }
    }
}

/// [`bits_of`] elements of any size.
#[inline(always)]
fn bits_of_any(input: &[u8], output: &mut [u8], size: usize) {
    let row = input.len() / (8 * size);
    for group in 0..row {
        for byte in 0..size {
            let mut rows = [[0]; 8];
            for (bit, word) in rows.iter_mut().enumerate() {
                *word = [u64::from(input[(8 * byte + bit) * row + group])];
            }
            transpose_bits(&mut rows);
            for (element, [value]) in rows.iter().enumerate() {
                output[(8 * group + element) * size + byte] = *value as u8;
            }
        }
    }
}

/// Puts the bytes of elements together: row n of `input` has byte n of all elements. Both slices
/// have the same length, a multiple of the element size.
pub(super) struct Bytes<'a> {
    pub(super) input: &'a [u8],
    pub(super) output: &'a mut [u8],
    pub(super) size: usize,
}

impl NullaryFnOnce for Bytes<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        match self.size {
            2 => bytes_of::<2>(self.input, self.output),
            4 => bytes_of::<4>(self.input, self.output),
            8 => bytes_of::<8>(self.input, self.output),
            16 => bytes_of::<16>(self.input, self.output),
            size => {
                let row = self.input.len() / size;
                for (element, bytes) in self.output.chunks_exact_mut(size).enumerate() {
                    for (byte, to) in bytes.iter_mut().enumerate() {
                        *to = self.input[byte * row + element];
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn bytes_of<const S: usize>(input: &[u8], output: &mut [u8]) {
    let row = input.len() / S;
    let rows: [&[u8]; S] = std::array::from_fn(|byte| &input[byte * row..(byte + 1) * row]);
    for (element, bytes) in output.as_chunks_mut::<S>().0.iter_mut().enumerate() {
        for byte in 0..S {
            bytes[byte] = rows[byte][element];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits by the definition, one by one.
    fn shuffle_bits(elements: &[u8], size: usize) -> Vec<u8> {
        let row = elements.len() / (8 * size);
        let mut rows = vec![0; elements.len()];
        for (n, value) in elements.iter().enumerate() {
            let (element, byte) = (n / size, n % size);
            for bit in 0..8 {
                rows[(8 * byte + bit) * row + element / 8] |= (value >> bit & 1) << (element % 8);
            }
        }
        rows
    }

    #[test]
    fn bits_are_those_of_the_definition() {
        for size in [1, 2, 3, 4, 5, 8, 12, 16, 24] {
            for groups in [1, 2, 7, 8, 9, 31, 32, 33, 75] {
                let elements: Vec<u8> = (0..groups * 8 * size)
                    .map(|n| (n * n * 31 + n * 7 + n / 5) as u8)
                    .collect();
                let mut found = vec![0; elements.len()];
                unshuffle_bits(&shuffle_bits(&elements, size), &mut found, size);
                assert!(found == elements, "size {size}, {groups} groups");
            }
        }
    }

    #[test]
    fn bytes_are_those_of_the_definition() {
        for size in [1, 2, 3, 4, 8, 16, 17] {
            for (count, left) in [(0, 0), (1, 0), (37, 1), (64, 0), (1001, 0)] {
                let input: Vec<u8> = (0..count * size + left)
                    .map(|n| (n * 37 + n / 3) as u8)
                    .collect();
                let mut found = vec![0; input.len()];
                super::super::shuffle::unshuffle(&input, &mut found, size);
                let whole = input.len() / size * size;
                let row = input.len() / size;
                for (n, value) in found[..whole].iter().enumerate() {
                    assert_eq!(*value, input[n % size * row + n / size]);
                }
                assert_eq!(found[whole..], input[whole..]);
            }
        }
    }
}

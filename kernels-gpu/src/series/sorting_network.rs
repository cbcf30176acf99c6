//! Sorting networks, generated at compile time, for keys in registers.
//!
//! Batcher's odd-even merge sort: D. E. Knuth, The Art of Computer Programming 3, section 5.2.2, algorithm M. The
//! pairs are constants and the loops over them have a known length, so that every key stays in its register.

/// Puts the lesser of two keys first.
#[inline(always)]
pub(super) fn exchange<const N: usize>(keys: &mut [u64; N], a: usize, b: usize) {
    let (x, y) = (keys[a], keys[b]);
    let turned = y < x;
    keys[a] = if turned { y } else { x };
    keys[b] = if turned { x } else { y };
}

/// The pairs that sort `N` keys (a power of two).
const fn sorting<const N: usize, const PAIRS: usize>() -> [[u8; 2]; PAIRS] {
    let mut pairs = [[0; 2]; PAIRS];
    let mut count = 0;
    let mut p = 1;
    while p < N {
        let mut k = p;
        while k >= 1 {
            let mut j = k % p;
            while j + k < N {
                let mut i = 0;
                while i < k && i + j + k < N {
                    if (i + j) / (2 * p) == (i + j + k) / (2 * p) {
                        pairs[count] = [(i + j) as u8, (i + j + k) as u8];
                        count += 1;
                    }
                    i += 1;
                }
                j += 2 * k;
            }
            k /= 2;
        }
        p *= 2;
    }
    assert!(count == PAIRS);
    pairs
}

/// The pairs that sort `N` keys which first fall and then rise, or the reverse.
const fn merging<const N: usize, const PAIRS: usize>() -> [[u8; 2]; PAIRS] {
    let mut pairs = [[0; 2]; PAIRS];
    let mut count = 0;
    let mut stride = N / 2;
    while stride > 0 {
        let mut i = 0;
        while i < N {
            if i & stride == 0 {
                pairs[count] = [i as u8, (i + stride) as u8];
                count += 1;
            }
            i += 1;
        }
        stride /= 2;
    }
    assert!(count == PAIRS);
    pairs
}

/// Keys that a thread holds in registers.
pub(super) trait Registers {
    /// Sorts the keys.
    fn sort(&mut self);
}

/// Keys of which a warp holds several in each lane; see [`Registers`].
pub(super) trait Merged {
    /// Sorts the keys, provided that they first fall and then rise, or the reverse.
    fn merge(&mut self);
}

macro_rules! network {
    ($trait:ident::$name:ident, $n:literal, $pairs:literal, $make:ident, [$($from:literal..$to:literal),+]) => {
        impl $trait for [u64; $n] {
            #[inline(always)]
            fn $name(&mut self) {
                const PAIRS: [[u8; 2]; $pairs] = $make::<$n, $pairs>();
                $(
                    for pair in $from..$to {
                        let [a, b] = PAIRS[pair];
                        exchange(self, a as usize, b as usize);
                    }
                )+
            }
        }
    };
}

network!(Registers::sort, 2, 1, sorting, [0..1]);
network!(Registers::sort, 4, 5, sorting, [0..5]);
network!(Registers::sort, 8, 19, sorting, [0..19]);
network!(Registers::sort, 16, 63, sorting, [0..63]);
// The network is split into parts: a longer loop would not be unrolled.
network!(
    Registers::sort,
    32,
    191,
    sorting,
    [0..48, 48..96, 96..144, 144..191]
);
network!(Merged::merge, 2, 1, merging, [0..1]);
network!(Merged::merge, 4, 4, merging, [0..4]);
network!(Merged::merge, 8, 12, merging, [0..12]);
network!(Merged::merge, 16, 32, merging, [0..32]);

#[cfg(test)]
mod tests {
    use super::*;

    // A network that sorts all arrangements of two values sorts everything (Knuth, 5.3.4, theorem Z).
    fn sorts_zeros_and_ones<const N: usize>()
    where
        [u64; N]: Registers,
    {
        let turns = if N == 32 { 1 << 20 } else { 1_u64 << N };
        for bits in 0..turns {
            let bits = if N == 32 {
                bits.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 31
            } else {
                bits
            };
            let mut keys: [u64; N] = std::array::from_fn(|i| bits >> i & 1);
            keys.sort();
            let ones = keys.iter().filter(|k| **k == 1).count();
            assert_eq!(ones, (0..N).filter(|i| bits >> i & 1 == 1).count());
            assert!(keys.is_sorted());
        }
    }

    #[test]
    fn networks_sort() {
        sorts_zeros_and_ones::<2>();
        sorts_zeros_and_ones::<4>();
        sorts_zeros_and_ones::<8>();
        sorts_zeros_and_ones::<16>();
        sorts_zeros_and_ones::<32>();
    }
}

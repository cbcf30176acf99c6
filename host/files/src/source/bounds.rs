//! Bounds on numbers of which files store little, and what errors say of them.

/// Bytes of numbers in memory that are read whatever files store of them.
pub const UNJUDGED: u128 = 256 << 20;
/// Most bytes of numbers for each stored byte. Frames of 512 x 512 pixels with 1000 photons have up
/// to 700, and those without any up to 1000 with deflate, 250 with LZ4 and 20 000 with Zstandard.
pub const GREATEST_RATIO: u128 = 1000;
/// Bytes of numbers for each stored byte from which on some of them are looked at.
pub const LOOKED_AT: u128 = 100;

/// The bound on compressed numbers, as errors state it.
pub const RATIO: &str = "at most 1000 bytes of numbers for each stored byte";
/// The demand on numbers that take few bytes, as errors state it.
pub const DIFFERENT: &str = "numbers that differ from each other";

/// The advice in errors on datasets of which few numbers were written.
pub const ADVICE_SPARSE: &str = "if that is meant, permit it with --set data.sparse=true";
/// The advice in errors on numbers that are stored in far fewer bytes than they have.
pub const ADVICE_UNCOMPRESSED: &str =
    "if that is meant, write the file again without compression, for example with h5repack -f NONE";

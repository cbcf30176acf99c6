//! Options that limit memory: `--memory`, `--device-memory`, `--host-memory`.

use crate::failure::Failure;
#[cfg(any(feature = "series", all(feature = "ptycho", feature = "hdf5")))]
use warpstride::system::Memory;

/// Least accepted limit in bytes.
const MIN_BYTES: u64 = 64 << 10;
const UNITS: [(char, u32); 4] = [('K', 10), ('M', 20), ('G', 30), ('T', 40)];

/// Parses the value of `option`, a number of bytes, optionally followed by K, M, G or T (powers of
/// 1024).
pub(super) fn parse(option: &str, args: Option<&str>) -> Result<Option<u64>, Failure> {
    let Some(text) = args else { return Ok(None) };
    let refused = || {
        Failure::usage(format!(
            "{option} {text}: expected a size of at least 64K, such as 500M or 8G"
        ))
    };
    let number = text.trim_end_matches("iB").trim_end_matches('B');
    let unit = UNITS.iter().find(|(letter, _)| {
        let last = number.chars().last();
        last.is_some_and(|c| c.to_ascii_uppercase() == *letter)
    });
    let (digits, shift) = match unit {
        Some((_, shift)) => (&number[..number.len() - 1], *shift),
        None => (number, 0),
    };
    let count: f64 = digits.parse().map_err(|_| refused())?;
    let bytes = count * (1_u64 << shift) as f64;
    // Sizes beyond 2^53 bytes need not be exact to the byte.
    if !(bytes >= MIN_BYTES as f64
        && bytes <= 9e18
        && digits.starts_with(|c: char| c.is_ascii_digit()))
    {
        return Err(refused());
    }
    Ok(Some(bytes as u64))
}

/// What is available of the host's memory, or `most` if that is less.
#[cfg(all(feature = "ptycho", feature = "hdf5"))]
pub(super) fn host_limit(most: Option<u64>) -> Memory {
    let available = Memory::available();
    Memory::limited(available.limit().min(most.unwrap_or(u64::MAX)))
}

/// The default limit: half of the available memory. The other half is left to reading, the system
/// and its file cache.
#[cfg(feature = "series")]
pub(super) fn half_of(available: Memory) -> u64 {
    (available.limit() / 2).max(MIN_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_suffixes_are_powers_of_1024() {
        for (text, bytes) in [
            ("65536", 65_536),
            ("64K", 65_536),
            ("500M", 500 << 20),
            ("8G", 8 << 30),
            ("8GiB", 8 << 30),
            ("8gB", 8 << 30),
            ("1.5g", 3 << 29),
            ("1T", 1 << 40),
        ] {
            assert_eq!(
                parse("--memory", Some(text)).unwrap(),
                Some(bytes),
                "{text}"
            );
        }
        assert_eq!(parse("--memory", None).unwrap(), None);
    }

    #[test]
    fn invalid_sizes_are_rejected() {
        for text in [
            "", "G", "-5G", "0", "1K", "5X", "5 G", "nan", "inf", "1e30", "é", "5Gé",
        ] {
            let Err(Failure::Usage(why)) = parse("--memory", Some(text)) else {
                panic!("{text}");
            };
            assert!(why.contains("500M"), "{why}");
        }
    }
}

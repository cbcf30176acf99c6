//! `--memory`.

use crate::cli::failure::Failure;
use warpstride::io::Memory;

/// Bytes with which anything can be done.
const LEAST: u64 = 64 << 10;
const UNITS: [(char, u32); 4] = [('K', 10), ('M', 20), ('G', 30), ('T', 40)];

/// Bytes that were typed: a number, or one with K, M, G or T (powers of 1024) behind it.
pub(super) fn limit(typed: Option<&str>) -> Result<Option<u64>, Failure> {
    let Some(text) = typed else { return Ok(None) };
    let refused = || {
        Failure::usage(format!(
            "--memory {text}: a size such as 500M or 8G, 64K or more, is expected"
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
    // Beyond 2^53 nobody means single bytes.
    if !(bytes >= LEAST as f64 && bytes <= 9e18 && digits.starts_with(|c: char| c.is_ascii_digit()))
    {
        return Err(refused());
    }
    Ok(Some(bytes as u64))
}

/// What may be taken where nothing was typed: the other half is for reading, for the system and its cache of files.
pub(super) fn half_of(available: Memory) -> u64 {
    (available.limit() / 2).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_1024() {
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
            assert_eq!(limit(Some(text)).unwrap(), Some(bytes), "{text}");
        }
        assert_eq!(limit(None).unwrap(), None);
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in [
            "", "G", "-5G", "0", "1K", "5X", "5 G", "nan", "inf", "1e30", "é", "5Gé",
        ] {
            let Err(Failure::Usage(why)) = limit(Some(text)) else {
                panic!("{text}");
            };
            assert!(why.contains("500M"), "{why}");
        }
    }
}

//! How much memory a file's contents may take.

use super::IoError;
use std::fmt;

/// Share of the available memory that one read may fill; the rest is left for the plan, the
/// transforms and the system.
const USABLE: f64 = 0.9;

/// Bytes that may be allocated for what a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    limit: u64,
}

impl Memory {
    /// Nine tenths of the memory that the system calls available (`MemAvailable` of
    /// `/proc/meminfo`); no limit where it does not say.
    #[must_use]
    pub fn available() -> Self {
        let limit = std::fs::read_to_string("/proc/meminfo")
            .ok()
            .and_then(|text| available_in(&text))
            .map_or(u64::MAX, |bytes| (bytes as f64 * USABLE) as u64);
        Self { limit }
    }

    /// `bytes` and no more.
    #[must_use]
    pub fn limited(bytes: u64) -> Self {
        Self { limit: bytes }
    }

    /// Bytes that may be allocated.
    #[must_use]
    pub fn limit(self) -> u64 {
        self.limit
    }

    /// Agrees to `needed` bytes for `dataset` of `file`.
    ///
    /// # Errors
    /// [`IoError::TooLarge`].
    pub(crate) fn allow(self, file: &str, dataset: &str, needed: u128) -> Result<(), IoError> {
        if needed <= u128::from(self.limit) {
            return Ok(());
        }
        Err(IoError::TooLarge {
            file: file.to_owned(),
            dataset: dataset.to_owned(),
            needed: Bytes(needed),
            available: Bytes(u128::from(self.limit)),
        })
    }
}

/// `MemAvailable` in bytes of a text like `/proc/meminfo`'s.
fn available_in(text: &str) -> Option<u64> {
    let line = text.lines().find(|l| l.starts_with("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    kib.checked_mul(1024)
}

/// A number of bytes that prints in GiB, MiB or KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes(pub u128);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u32); 3] = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
        for (unit, shift) in UNITS {
            if self.0 >> shift > 0 {
                let value = self.0 as f64 / (1_u128 << shift) as f64;
                return write!(f, "{value:.1} {unit}");
            }
        }
        write!(f, "{} bytes", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_available_line_is_read_in_kibibytes() {
        let text = "MemTotal: 100 kB\nMemAvailable:    2048 kB\nBuffers: 1 kB\n";
        assert_eq!(available_in(text), Some(2048 * 1024));
        assert_eq!(available_in("MemTotal: 5 kB"), None);
        assert_eq!(available_in("MemAvailable: many kB"), None);
    }

    #[test]
    fn a_refusal_names_what_is_needed_and_what_there_is() {
        let m = Memory::limited(1 << 20);
        assert!(m.allow("a.cxi", "/d", 1 << 20).is_ok());
        let text = m.allow("a.cxi", "/d", 3 << 30).unwrap_err().to_string();
        assert!(
            text.contains("3.0 GiB") && text.contains("1.0 MiB"),
            "{text}"
        );
    }
}

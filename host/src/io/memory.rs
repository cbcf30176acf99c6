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
    /// Nine tenths of what the process may still take: the memory that the system calls available
    /// (`MemAvailable` of `/proc/meminfo`), its control group's limit, its limit of address space,
    /// whichever is least; no limit where the system says nothing.
    #[must_use]
    pub fn available() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).ok();
        let limits = [
            read("/proc/meminfo").and_then(|text| available_in(&text)),
            control_group_rest(read),
            read("/proc/self/limits")
                .zip(read("/proc/self/statm"))
                .and_then(|(limits, statm)| address_space_rest(&limits, &statm)),
        ];
        let limit = limits
            .into_iter()
            .flatten()
            .min()
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

/// What the process's control group (version 2) still allows, with `read` in place of the files.
fn control_group_rest(read: impl Fn(&str) -> Option<String>) -> Option<u64> {
    let groups = read("/proc/self/cgroup")?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let number = |file: &str| -> Option<u64> {
        read(&format!(
            "/sys/fs/cgroup{}/{file}",
            path.trim_end_matches('/')
        ))?
        .trim()
        .parse()
        .ok()
    };
    // `max` is no number: no limit.
    Some(number("memory.max")?.saturating_sub(number("memory.current")?))
}

/// What the limit of address space leaves, from texts like `/proc/self/limits` and
/// `/proc/self/statm` (pages of 4 KiB).
fn address_space_rest(limits: &str, statm: &str) -> Option<u64> {
    let line = limits
        .lines()
        .find_map(|l| l.strip_prefix("Max address space"))?;
    let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
    let pages: u64 = statm.split_whitespace().next()?.parse().ok()?;
    Some(limit.saturating_sub(pages.saturating_mul(4096)))
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
    fn narrower_limits_than_the_machine_count() {
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax address space         307200000            unlimited            bytes\n";
        assert_eq!(
            address_space_rest(limits, "1000 5 5"),
            Some(307_200_000 - 4_096_000)
        );
        let unlimited = "Max address space         unlimited            unlimited            bytes";
        assert_eq!(address_space_rest(unlimited, "1000 5 5"), None);
        let files = |max: &'static str| {
            move |path: &str| match path {
                "/proc/self/cgroup" => Some("0::/job\n".to_owned()),
                "/sys/fs/cgroup/job/memory.max" => Some(max.to_owned()),
                "/sys/fs/cgroup/job/memory.current" => Some("300\n".to_owned()),
                _ => None,
            }
        };
        assert_eq!(control_group_rest(files("1000\n")), Some(700));
        assert_eq!(control_group_rest(files("max\n")), None);
    }

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

//! The limit of memory for the contents of a file.

use std::fmt;

/// Fraction of the available memory that one read may fill; the rest is left for the computation
/// and the operating system.
const USABLE: f64 = 0.9;

/// A limit of memory for the contents of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    limit: u64,
}

impl Memory {
    /// Nine tenths of the memory that the process may still allocate: the least of the available
    /// memory (`MemAvailable` of `/proc/meminfo`) and what the limits of its control group and of
    /// its address space leave. Without any of these, there is no limit.
    #[must_use]
    pub fn available() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).ok();
        let limits = [
            read("/proc/meminfo").and_then(|text| available_in(&text)),
            control_group_headroom(read),
            read("/proc/self/limits")
                .zip(read("/proc/self/statm"))
                .and_then(|(limits, statm)| address_space_headroom(&limits, &statm)),
        ];
        let limit = limits
            .into_iter()
            .flatten()
            .min()
            .map_or(u64::MAX, |bytes| (bytes as f64 * USABLE) as u64);
        Self { limit }
    }

    /// A limit of `bytes`.
    #[must_use]
    pub fn limited(bytes: u64) -> Self {
        Self { limit: bytes }
    }

    /// The limit in bytes.
    #[must_use]
    pub fn limit(self) -> u64 {
        self.limit
    }
}

/// `MemAvailable` in bytes, from the contents of `/proc/meminfo`.
fn available_in(text: &str) -> Option<u64> {
    let line = text.lines().find(|l| l.starts_with("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    kib.checked_mul(1024)
}

/// Bytes that the process's control group (version 2) still allows; `read` reads a file.
fn control_group_headroom(read: impl Fn(&str) -> Option<String>) -> Option<u64> {
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
    // `max` stands for no limit.
    Some(number("memory.max")?.saturating_sub(number("memory.current")?))
}

/// Bytes that the limit of address space leaves, from the contents of `/proc/self/limits` and
/// `/proc/self/statm` (pages of 4 KiB).
fn address_space_headroom(limits: &str, statm: &str) -> Option<u64> {
    let line = limits
        .lines()
        .find_map(|l| l.strip_prefix("Max address space"))?;
    let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
    let pages: u64 = statm.split_whitespace().next()?.parse().ok()?;
    Some(limit.saturating_sub(pages.saturating_mul(4096)))
}

/// Bytes of memory that are left free besides what is asked for: for what is not counted, as of
/// threads.
const UNCOUNTED: u64 = 32 << 20;

/// Whether the system gives `bytes` of memory, and some more: under a limit of the address space it
/// may refuse any. They are given back at once. The error says how much was asked for, and how much
/// there is.
pub fn can_allocate(bytes: u64) -> Result<(), [Bytes; 2]> {
    let needed = bytes.saturating_add(UNCOUNTED);
    let mut values: Vec<u8> = Vec::new();
    let reserved = usize::try_from(needed).is_ok_and(|n| values.try_reserve_exact(n).is_ok());
    // The compiler may leave out an allocation of which nothing is seen.
    std::hint::black_box(values.as_ptr());
    match reserved {
        true => Ok(()),
        false => {
            let available = Memory::available().limit().min(needed - 1);
            Err([needed, available].map(|bytes| Bytes(u128::from(bytes))))
        }
    }
}

/// A number of bytes, displayed in GiB, MiB or KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes(pub u128);

impl Bytes {
    /// As text, exactly if `other` is a different size with the same rounded text.
    #[must_use]
    pub fn beside(self, other: Self) -> String {
        let text = self.to_string();
        if self.0 != other.0 && text == other.to_string() {
            return format!("{} bytes", self.0);
        }
        text
    }
}

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
    fn memory_that_the_system_does_not_give_is_refused() {
        assert_eq!(can_allocate(1 << 20), Ok(()));
        let [needed, available] = can_allocate(1 << 60).unwrap_err();
        assert!(needed.0 > 1 << 60 && available.0 < needed.0);
    }

    #[test]
    fn limits_of_address_space_and_control_group_are_read() {
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax address space         307200000            unlimited            bytes\n";
        assert_eq!(
            address_space_headroom(limits, "1000 5 5"),
            Some(307_200_000 - 4_096_000)
        );
        let unlimited = "Max address space         unlimited            unlimited            bytes";
        assert_eq!(address_space_headroom(unlimited, "1000 5 5"), None);
        let files = |max: &'static str| {
            move |path: &str| match path {
                "/proc/self/cgroup" => Some("0::/job\n".to_owned()),
                "/sys/fs/cgroup/job/memory.max" => Some(max.to_owned()),
                "/sys/fs/cgroup/job/memory.current" => Some("300\n".to_owned()),
                _ => None,
            }
        };
        assert_eq!(control_group_headroom(files("1000\n")), Some(700));
        assert_eq!(control_group_headroom(files("max\n")), None);
    }

    #[test]
    fn sizes_with_the_same_rounded_text_are_exact() {
        let (a, b) = (Bytes(4 << 20), Bytes((4 << 20) + 5));
        assert_eq!(a.beside(b), "4194304 bytes");
        assert_eq!(b.beside(a), "4194309 bytes");
        assert_eq!(a.beside(a), "4.0 MiB");
        assert_eq!(a.beside(Bytes(9 << 20)), "4.0 MiB");
    }

    #[test]
    fn available_memory_is_read_in_kibibytes() {
        let text = "MemTotal: 100 kB\nMemAvailable:    2048 kB\nBuffers: 1 kB\n";
        assert_eq!(available_in(text), Some(2048 * 1024));
        assert_eq!(available_in("MemTotal: 5 kB"), None);
        assert_eq!(available_in("MemAvailable: many kB"), None);
    }
}

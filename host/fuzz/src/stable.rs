//! Fuzzing without a nightly compiler and without coverage: seeds are changed at random, and
//! panics, long runs and much memory are reported.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longest time of an input.
const SLOW: Duration = Duration::from_secs(1);
/// Largest memory of the process, KiB.
const MOST_MEMORY: u64 = 300 << 10;
/// Longest input, bytes.
const LONGEST: usize = 1 << 20;
/// Most findings that are kept.
const MOST_FINDINGS: usize = 20;

/// Integers at the ends of their ranges, and those of sizes that are often wrong.
const BOUNDARIES: [u64; 14] = [
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    1 << 40,
    i64::MAX as u64,
    u64::MAX,
];

/// Texts that readers treat in a special way.
const WORDS: [&str; 16] = [
    "nan",
    "inf",
    "-",
    "1e400",
    "1e-400",
    "99999999999999999999",
    "\"",
    "\n",
    "\r\n",
    ",",
    "\t",
    "#",
    "[",
    "]",
    "\u{feff}",
    "%b",
];

/// What was run.
#[derive(Debug, Default)]
pub struct Report {
    /// Inputs.
    pub runs: u64,
    /// Time, s.
    pub seconds: f64,
    /// Longest time of an input, s.
    pub longest: f64,
    /// Files with inputs that panicked, took long or much memory.
    pub findings: Vec<PathBuf>,
}

/// Random numbers: xorshift64* (S. Vigna, ACM Trans. Math. Softw. 42 (2016) 30).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 16) as usize % end.max(1)
    }
}

/// Runs `read` on changed seeds for `seconds`, beginning with the seeds as they are. Inputs that
/// are found are kept in `folder`, and the one that is running in its file `running`, for crashes
/// that end the process.
///
/// # Errors
/// The folder cannot be written to.
pub fn run(
    seeds: &[Vec<u8>],
    (seconds, seed): (f64, u64),
    folder: &Path,
    read: impl Fn(&[u8]),
) -> std::io::Result<Report> {
    std::fs::create_dir_all(folder)?;
    let running = folder.join("running");
    let mut random = Random(seed | 1);
    let mut report = Report::default();
    let begin = Instant::now();
    while begin.elapsed().as_secs_f64() < seconds && report.findings.len() < MOST_FINDINGS {
        let number = report.runs as usize;
        let input = match seeds.get(number) {
            Some(seed) => seed.clone(),
            None => changed(seeds, &mut random),
        };
        std::fs::write(&running, &input)?;
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        let at = Instant::now();
        let panicked = catch_unwind(AssertUnwindSafe(|| read(&input))).is_err();
        let took = at.elapsed();
        report.runs += 1;
        report.longest = report.longest.max(took.as_secs_f64());
        let memory = peak_memory();
        if panicked || took > SLOW || memory > MOST_MEMORY {
            let what = if panicked { "panic" } else { "slow" };
            let path = folder.join(format!("{what}-{number}"));
            std::fs::write(&path, &input)?;
            eprintln!("{}: {took:?}, {memory} KiB", path.display());
            report.findings.push(path);
        }
    }
    report.seconds = begin.elapsed().as_secs_f64();
    Ok(report)
}

/// Largest memory of the process since it was last reset, KiB.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap_or(0)
}

/// A seed with one to eight changes.
fn changed(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = seeds
        .get(random.below(seeds.len()))
        .cloned()
        .unwrap_or_default();
    // Half of the changes are near each other: headers are short parts of long files.
    let focus = random.below(input.len());
    for _ in 0..=random.below(8) {
        change(&mut input, focus, seeds, random);
    }
    input.truncate(LONGEST);
    input
}

fn change(input: &mut Vec<u8>, focus: usize, seeds: &[Vec<u8>], random: &mut Random) {
    let length = input.len();
    if length == 0 {
        input.push(random.next() as u8);
        return;
    }
    let at = if random.below(2) == 0 {
        random.below(length)
    } else {
        (focus + random.below(64)).min(length - 1)
    };
    match random.below(10) {
        0 | 1 => input[at] ^= 1 << random.below(8),
        2 => input[at] = random.next() as u8,
        3 | 4 => {
            let width = [1, 2, 4, 8][random.below(4)];
            let value = BOUNDARIES[random.below(BOUNDARIES.len())];
            let mut bytes = value.to_le_bytes();
            if random.below(3) == 0 {
                bytes[..width].reverse();
            }
            put(input, at, &bytes[..width]);
        }
        5 => {
            // A neighbouring number.
            let by = if random.below(2) == 0 { 1 } else { 255 };
            input[at] = input[at].wrapping_add(by);
        }
        6 => input.truncate(at),
        7 => {
            // A part of another seed, or of this one, over or between the bytes.
            let other = &seeds[random.below(seeds.len())];
            let from = random.below(other.len());
            let count = (1 << random.below(9)).min(other.len() - from);
            let part = other[from..from + count].to_vec();
            if random.below(2) == 0 {
                put(input, at, &part);
            } else {
                input.splice(at..at, part);
            }
        }
        8 => {
            let end = (at + (1 << random.below(8))).min(length);
            if random.below(2) == 0 {
                input.drain(at..end);
            } else {
                let part = input[at..end].to_vec();
                input.splice(at..at, part);
            }
        }
        _ => {
            let word = WORDS[random.below(WORDS.len())];
            input.splice(at..at, word.bytes());
        }
    }
}

/// Overwrites bytes from `at` on.
fn put(input: &mut [u8], at: usize, bytes: &[u8]) {
    for (to, from) in input.iter_mut().skip(at).zip(bytes) {
        *to = *from;
    }
}

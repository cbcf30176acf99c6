//! What the program says of an allocation that has failed, formatted without memory of the heap.

use std::fmt::{self, Write};

/// Most bytes of the text.
const MOST: usize = 400;

/// A text of at most [`MOST`] bytes; what is beyond is left out.
pub(crate) struct Sentence {
    text: [u8; MOST],
    length: usize,
}

impl Sentence {
    /// The sentence on `bytes` that could not be had.
    pub(crate) fn new(bytes: usize) -> Self {
        let mut sentence = Self {
            text: [0; MOST],
            length: 0,
        };
        let (value, unit) = match bytes {
            0..1024 => (bytes as f64, "bytes"),
            1024..1_048_576 => (bytes as f64 / 1024.0, "KiB"),
            1_048_576..1_073_741_824 => (bytes as f64 / 1_048_576.0, "MiB"),
            _ => (bytes as f64 / 1_073_741_824.0, "GiB"),
        };
        let decimals = usize::from(bytes >= 1024);
        // What does not fit is left out.
        let _ = writeln!(
            sentence,
            "warpstride: {value:.decimals$} {unit} more of memory are needed than there are: raise the limit (ulimit -v, or that of the batch job), use fewer threads, or compute less at once (fewer frames or a smaller part of each, fewer or smaller files)"
        );
        sentence
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.text[..self.length]
    }
}

impl Write for Sentence {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let left = &mut self.text[self.length..];
        let some = text.len().min(left.len());
        left[..some].copy_from_slice(&text.as_bytes()[..some]);
        self.length += some;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (bytes, expected) in [
            (1000, "warpstride: 1000 bytes more"),
            (1536, "warpstride: 1.5 KiB more"),
            (33_816_576, "warpstride: 32.2 MiB more"),
            (3 << 30, "warpstride: 3.0 GiB more"),
        ] {
            let sentence = Sentence::new(bytes);
            let text = std::str::from_utf8(sentence.as_bytes()).unwrap();
            assert!(text.starts_with(expected), "{text}");
            assert!(text.ends_with("files)\n"), "{text}");
        }
    }
}

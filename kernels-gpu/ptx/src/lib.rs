//! The built kernels of warpstride: one PTX text per science and one of the Fourier transforms, compressed.
//!
//! `cargo xtask build-ptx` writes the texts beside this crate's `Cargo.toml`, where they are committed and readable;
//! the build script compresses those of the enabled sciences. Every item here is a `static`, so that a program holds
//! each text once however many crates use it.
//!
//! A science has one text for compute capability 8.0, which runs on every later device, and may have a second one
//! for a later architecture. The second text has only the kernels that are faster there: take each kernel from the
//! newest text that runs on the device and has the kernel.

/// A compressed PTX text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Packed {
    /// The lowest compute capability that the text runs on, times ten (80, 90).
    pub arch: u32,
    /// Name of the file in `kernels-gpu/ptx`, for messages.
    pub file: &'static str,
    /// Length of the text in bytes.
    pub length: usize,
    data: &'static [u8],
}

impl Packed {
    /// The text, in ASCII. Decompresses it on each call, at several hundred MB/s.
    ///
    /// The data cannot be damaged short of damage to the program itself; the text would then be empty, and the
    /// driver would refuse it.
    #[must_use]
    pub fn text(&self) -> String {
        zstd::bulk::decompress(self.data, self.length)
            .ok()
            .and_then(|text| String::from_utf8(text).ok())
            .unwrap_or_default()
    }

    /// Length of the compressed data in bytes.
    #[must_use]
    pub fn compressed_length(&self) -> usize {
        self.data.len()
    }
}

#[allow(unused_macros, reason = "unused only without any science")]
macro_rules! packed {
    ($arch:literal $name:literal) => {
        Packed {
            arch: $arch,
            file: concat!($name, ".ptx"),
            length: include!(concat!(env!("OUT_DIR"), "/", $name, ".length")),
            data: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".zst")),
        }
    };
}

/// The kernels of Fourier transforms.
#[cfg(feature = "fft")]
pub static FFT: &[Packed] = &[packed!(80 "fft")];

/// The kernels of Jacobi relaxation.
#[cfg(feature = "jacobi")]
pub static JACOBI: &[Packed] = &[packed!(80 "jacobi")];

/// The kernels of magnetic resonance imaging.
#[cfg(feature = "mri")]
pub static MRI: &[Packed] = &[packed!(80 "mri")];

/// The kernels of ptychography; the text for compute capability 9.0 has those with vector atomics.
#[cfg(feature = "ptycho")]
pub static PTYCHO: &[Packed] = &[packed!(80 "ptycho"), packed!(90 "ptycho_sm90")];

/// The kernels of small-angle scattering.
#[cfg(feature = "sas")]
pub static SAS: &[Packed] = &[packed!(80 "sas")];

/// The kernels of time series.
#[cfg(feature = "series")]
pub static SERIES: &[Packed] = &[packed!(80 "series")];

static SCIENCES: &[&[Packed]] = &[
    #[cfg(feature = "fft")]
    FFT,
    #[cfg(feature = "jacobi")]
    JACOBI,
    #[cfg(feature = "mri")]
    MRI,
    #[cfg(feature = "ptycho")]
    PTYCHO,
    #[cfg(feature = "sas")]
    SAS,
    #[cfg(feature = "series")]
    SERIES,
];

/// All texts of the enabled sciences, science by science in alphabetical order.
pub fn all() -> impl Iterator<Item = &'static Packed> {
    SCIENCES.iter().copied().flatten()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    #[test]
    fn texts_are_the_committed_files() {
        assert!(super::all().next().is_some());
        for packed in super::all() {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(packed.file);
            let committed = fs::read_to_string(&path).expect("a committed text");
            assert!(packed.text() == committed, "{}", packed.file);
            assert_eq!(packed.length, committed.len());
            assert!(committed.contains(&format!(".target sm_{}\n", packed.arch)));
        }
    }
}

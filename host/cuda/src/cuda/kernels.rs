//! Kernels as PTX text, before a device has compiled them.

use std::collections::BTreeSet;

use super::error::{CudaError, Result};

/// The line that begins a kernel, up to its name.
const ENTRY: &str = ".visible .entry ";

/// Kernels as PTX text, from which a [`Module`](super::Module) is loaded.
///
/// There may be several texts for different architectures, each with all or some of the kernels. A
/// device uses, for each kernel, the newest text that contains it and that the device can run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kernels {
    texts: Vec<Text>,
}

/// PTX for one architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    /// Lowest compute capability that runs the text, times ten.
    pub(super) arch: u32,
    pub(super) ptx: String,
}

impl Kernels {
    /// One PTX text for devices of compute capability `arch` / 10 and above.
    #[must_use]
    pub fn new(arch: u32, ptx: impl Into<String>) -> Self {
        Self {
            texts: vec![Text {
                arch,
                ptx: ptx.into(),
            }],
        }
    }

    /// These kernels and those of `other`.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.texts.extend(other.texts);
        self
    }

    /// Only the kernels for whose names `uses_kernel` returns true. The driver compiles every
    /// kernel of a text, so selecting the kernels that are launched makes loading faster.
    #[must_use]
    pub fn only(&self, uses_kernel: impl Fn(&str) -> bool) -> Self {
        let texts = self.texts.iter().map(|text| Text {
            arch: text.arch,
            ptx: only(&text.ptx, &uses_kernel),
        });
        Self {
            texts: texts.collect(),
        }
    }

    /// The names of the kernels.
    #[must_use]
    pub fn names(&self) -> BTreeSet<&str> {
        let texts = self.texts.iter();
        texts.flat_map(|text| names(&text.ptx)).collect()
    }

    /// The highest architecture (times ten) among the texts that a device of compute capability
    /// `found` (times ten) can run.
    ///
    /// # Errors
    /// [`CudaError::Architecture`]: all texts are for newer devices.
    pub fn arch_for(&self, found: u32) -> Result<u32> {
        let archs = self.texts.iter().map(|text| text.arch);
        archs
            .clone()
            .filter(|arch| *arch <= found)
            .max()
            .ok_or_else(|| CudaError::Architecture {
                found,
                lowest: archs.min().unwrap_or(0),
            })
    }

    /// The texts for a device of compute capability `found` (times ten), with each kernel once.
    ///
    /// # Errors
    /// As for [`Kernels::arch_for`].
    pub(super) fn for_device(&self, found: u32) -> Result<Vec<Text>> {
        if self.texts.is_empty() {
            return Ok(Vec::new());
        }
        self.arch_for(found)?;
        let mut runnable: Vec<&Text> = self.texts.iter().filter(|t| t.arch <= found).collect();
        runnable.sort_by_key(|text| std::cmp::Reverse(text.arch));
        let mut taken = BTreeSet::new();
        let mut texts = Vec::new();
        for text in runnable {
            let own = names(&text.ptx);
            let repeated = own.iter().any(|name| taken.contains(name));
            let ptx = if repeated {
                only(&text.ptx, &|name| !taken.contains(name))
            } else {
                text.ptx.clone()
            };
            let all_repeated = !own.is_empty() && own.iter().all(|name| taken.contains(name));
            if !all_repeated {
                texts.push(Text {
                    arch: text.arch,
                    ptx,
                });
            }
            taken.extend(own);
        }
        Ok(texts)
    }
}

/// The names of the kernels in a text.
pub(super) fn names(ptx: &str) -> BTreeSet<&str> {
    let rests = ptx.lines().filter_map(|line| line.strip_prefix(ENTRY));
    rests.map(name).collect()
}

/// The name at the start of the text after [`ENTRY`].
fn name(rest: &str) -> &str {
    rest.split('(').next().unwrap_or(rest).trim()
}

/// The text without the kernels for whose names `uses_kernel` returns false.
fn only(ptx: &str, uses_kernel: &impl Fn(&str) -> bool) -> String {
    let mut kept = String::with_capacity(ptx.len());
    // LLVM begins a kernel with a line that starts with `ENTRY` and ends it with a line that is
    // only a brace.
    let mut skipping = false;
    for line in ptx.split_inclusive('\n') {
        if let Some(rest) = line.strip_prefix(ENTRY) {
            skipping = !uses_kernel(name(rest));
        }
        if !skipping {
            kept.push_str(line);
        }
        if line.trim_end() == "}" {
            skipping = false;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = ".version 8.1\n\n.visible .entry a(\n)\n{\nret;\n}\n// end\n\
                       .visible .entry b(\n)\n.maxntid 32\n{\n{ inner }\nret;\n}\n// end\n";

    #[test]
    fn selected_kernels_are_complete() {
        let all = Kernels::new(80, TWO);
        assert_eq!(all.only(|_| true), all);
        let b = all.only(|name| name == "b");
        let text = &b.texts[0].ptx;
        assert!(
            text.starts_with(".version 8.1\n\n// end\n.visible .entry b(\n"),
            "{text}"
        );
        assert!(text.ends_with("{ inner }\nret;\n}\n// end\n"), "{text}");
        assert!(!all.only(|_| false).texts[0].ptx.contains("ret;"));
        assert_eq!(all.names(), BTreeSet::from(["a", "b"]));
    }

    #[test]
    fn each_kernel_comes_from_the_newest_text_that_the_device_can_run() {
        let kernels = Kernels::new(80, TWO).and(Kernels::new(90, TWO).only(|name| name == "b"));
        let old = kernels.for_device(89).unwrap();
        assert_eq!(old, Kernels::new(80, TWO).texts);
        let new = kernels.for_device(120).unwrap();
        let found: Vec<_> = new
            .iter()
            .map(|text| (text.arch, names(&text.ptx)))
            .collect();
        assert_eq!(
            found,
            [(90, BTreeSet::from(["b"])), (80, BTreeSet::from(["a"]))]
        );
        assert_eq!(kernels.arch_for(90).unwrap(), 90);
        assert_eq!(kernels.arch_for(86).unwrap(), 80);
    }

    #[test]
    fn a_device_that_is_too_old_is_an_error_with_both_architectures() {
        let error = Kernels::new(80, TWO).for_device(75).unwrap_err();
        let lowest = 80;
        assert_eq!(error, CudaError::Architecture { found: 75, lowest });
    }

    #[test]
    fn no_kernels_give_no_texts_and_duplicates_are_loaded_once() {
        assert_eq!(Kernels::default().for_device(75).unwrap(), []);
        let none = Kernels::new(80, TWO).and(Kernels::new(90, TWO));
        assert_eq!(none.for_device(90).unwrap().len(), 1);
    }
}

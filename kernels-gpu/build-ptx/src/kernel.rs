//! Kernels as their `#[kernel]` attributes describe them, read from the linked bitcode.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// What `#[kernel]` calls the static that describes a kernel, before the kernel's name.
const PREFIX: &str = "@__warpstride_kernel_";

/// A kernel as its attribute describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// Entry name in the PTX.
    pub entry: String,
    /// Threads of a block (x, y, z).
    pub block: [u32; 3],
    /// Whether the kernel relies on exactly this block.
    pub exact_block: bool,
    /// Blocks that must fit on a multiprocessor together (launch bound); 0: not stated.
    pub min_blocks: u32,
    /// Whether the kernel must not use local memory.
    pub hot: bool,
    /// Whether the kernel may use double precision.
    pub f64_allowed: bool,
    /// The lowest compute capability, times ten (80, 90).
    pub min_arch: u32,
    /// Blocks of a thread block cluster along x; 1: none.
    pub cluster: u32,
    /// A later compute capability, times ten, that has a faster variant of the kernel; 0: none.
    pub variant: u32,
}

impl Kernel {
    /// Reads the text that `#[kernel]` writes (`warpstride-macros`, `expand.rs`).
    ///
    /// # Errors
    /// A text without one of the fields, as from another version of `warpstride-device`.
    fn parse(text: &str) -> Result<Self> {
        let mut words = text.split(' ');
        let entry = words.next().unwrap_or_default().to_owned();
        let field = |name: &str| {
            text.split(' ')
                .find_map(|word| word.split_once('=').filter(|(field, _)| *field == name))
                .map(|(_, value)| value)
                .with_context(|| {
                    format!("the description of a kernel, {text:?}: expected a field {name}")
                })
        };
        let number = |name: &str| -> Result<u32> {
            let value = field(name)?;
            value.parse().with_context(|| {
                format!("the description of a kernel, {text:?}: {name}: expected a number")
            })
        };
        let mut block = [1; 3];
        for (extent, value) in block.iter_mut().zip(field("block")?.split(',')) {
            *extent = value.parse()?;
        }
        Ok(Self {
            block,
            exact_block: number("exact_block")? != 0,
            min_blocks: number("min_blocks")?,
            hot: number("hot")? != 0,
            f64_allowed: number("f64")? != 0,
            min_arch: number("min_arch")?,
            cluster: number("cluster")?,
            variant: number("variant")?,
            entry,
        })
    }

    /// Whether a text for `arch` (times ten) that complements one for a lower architecture has the kernel: the
    /// kernel has a variant there, or does not run on less.
    #[must_use]
    pub fn gains_from(&self, arch: u32) -> bool {
        self.variant == arch || self.min_arch == arch
    }
}

/// Takes the descriptions of kernels out of a linked module: the module without them, and the kernels by name.
///
/// # Errors
/// A description that cannot be read.
pub(crate) fn take(module: &str) -> Result<(String, Vec<Kernel>)> {
    let mut rest = String::with_capacity(module.len());
    let mut kernels = Vec::new();
    for line in module.lines() {
        if line.starts_with(PREFIX) {
            let text = line
                .split_once(" c\"")
                .and_then(|(_, text)| text.split('"').next())
                .with_context(|| format!("cannot read the description of a kernel: {line}"))?;
            kernels.push(Kernel::parse(text)?);
        } else {
            rest.push_str(line);
            rest.push('\n');
        }
    }
    kernels.sort_by(|a, b| a.entry.cmp(&b.entry));
    Ok((rest, kernels))
}

#[cfg(test)]
pub(crate) fn sample() -> Kernel {
    Kernel {
        entry: "saxpy".into(),
        block: [256, 1, 1],
        exact_block: false,
        min_blocks: 4,
        hot: true,
        f64_allowed: false,
        min_arch: 80,
        cluster: 1,
        variant: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "saxpy block=256,1,1 exact_block=0 min_blocks=4 hot=1 f64=0 min_arch=80 cluster=1 variant=0";

    #[test]
    fn descriptions_leave_the_module() {
        for initial in [
            format!("[81 x i8] c\"{TEXT}\""),
            format!("<{{ [81 x i8] }}> <{{ [81 x i8] c\"{TEXT}\" }}>"),
        ] {
            let module = format!(
                "source_filename = \"k\"\n@__warpstride_kernel_saxpy = constant {initial}, align 1\n@other = global i32 0\n"
            );
            let (rest, kernels) = take(&module).unwrap();
            assert_eq!(rest, "source_filename = \"k\"\n@other = global i32 0\n");
            assert_eq!(kernels, [sample()]);
        }
    }

    #[test]
    fn a_missing_field_is_named() {
        let error = Kernel::parse("saxpy block=256,1,1 exact_block=0").unwrap_err();
        assert!(
            error.to_string().contains("expected a field min_blocks"),
            "{error}"
        );
        assert!(Kernel::parse(&TEXT.replace("min_arch=80", "min_arch=hopper")).is_err());
    }

    #[test]
    fn a_variant_gains_from_its_architecture_only() {
        let mut kernel = sample();
        assert!(!kernel.gains_from(90));
        kernel.variant = 90;
        assert!(kernel.gains_from(90));
        let later = Kernel {
            min_arch: 90,
            cluster: 4,
            ..sample()
        };
        assert!(later.gains_from(90));
    }
}

//! NVIDIA's assembler: checks that the PTX assembles, and reports the resources that each kernel uses.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::compiler::number_pair;
use crate::kernel::Kernel;
use crate::process;
use crate::wheel;

/// The PyPI wheel with `ptxas`, which works without a GPU and without a CUDA toolkit.
const PACKAGE: &str = "nvidia-cuda-nvcc";
const PACKAGE_VERSION: &str = "13.0.88";

/// The first release whose `ptxas` knows PTX 8.1 (vector atomics on sm_90).
const OLDEST_RELEASE: &str = "12.1";

/// Finds `ptxas`: the one in WARPSTRIDE_PTXAS, a CUDA toolkit on PATH or in its usual folder, or PyPI's wheel,
/// downloaded into the folder `tools`.
///
/// # Errors
///
/// No `ptxas` exists and none can be downloaded.
pub fn find(tools: &Path) -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("WARPSTRIDE_PTXAS") {
        let path = PathBuf::from(path);
        let release = release_of(&path).context("WARPSTRIDE_PTXAS: expected a usable ptxas")?;
        println!("ptxas {release}: {}", path.display());
        return Ok(path);
    }
    for candidate in ["ptxas", "/usr/local/cuda/bin/ptxas"] {
        let Ok(release) = release_of(Path::new(candidate)) else {
            continue;
        };
        if number_pair(&release)? >= number_pair(OLDEST_RELEASE)? {
            println!("ptxas {release}: {candidate}");
            return Ok(candidate.into());
        }
        println!("ptxas {release} ({candidate}) is older than {OLDEST_RELEASE} and not used");
    }
    wheel::tool(tools, "ptxas", PACKAGE, PACKAGE_VERSION, "bin/ptxas").context(
        "found no ptxas: set WARPSTRIDE_PTXAS, install a CUDA toolkit, or let this command download PyPI's wheel",
    )
}

fn release_of(ptxas: &Path) -> Result<String> {
    let printed = process::output(Command::new(ptxas).arg("--version"))?;
    release(&printed).with_context(|| format!("{} --version: expected a release", ptxas.display()))
}

/// `13.0` in "Cuda compilation tools, release 13.0, V13.0.88".
fn release(printed: &str) -> Option<String> {
    let (_, rest) = printed.split_once("release ")?;
    Some(rest.split(',').next()?.trim().to_owned())
}

/// The resources that one kernel uses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) kernel: String,
    /// 32-bit registers in a thread.
    pub(crate) registers: u32,
    /// Bytes of static shared memory in a block.
    pub(crate) shared: u32,
    /// Bytes of stack in a thread.
    pub(crate) stack: u32,
    /// Bytes that a thread stores to spill registers.
    pub(crate) spill_stores: u32,
    /// Bytes that a thread loads to restore them.
    pub(crate) spill_loads: u32,
}

/// Assembles `ptx` for compute capability `arch` / 10.
pub(crate) fn assemble(ptxas: &Path, ptx: &Path, arch: u32) -> Result<Vec<Usage>> {
    let scratch = tempfile::tempdir()?;
    let mut command = Command::new(ptxas);
    command
        .arg(format!("-arch=sm_{arch}"))
        .arg("-v")
        .arg(ptx)
        .arg("-o")
        .arg(scratch.path().join("kernels.cubin"));
    let output = command
        .output()
        .with_context(|| format!("cannot start `{}`", process::shown(&command)))?;
    let printed = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        bail!("{} does not assemble:\n{}", ptx.display(), printed.trim());
    }
    parse(&printed)
}

/// Reads the output of `ptxas -v`.
fn parse(printed: &str) -> Result<Vec<Usage>> {
    let mut usages: Vec<Usage> = Vec::new();
    let mut of_kernel = false;
    for line in printed.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let kernel = rest.split('\'').next().unwrap_or_default().to_owned();
            usages.push(Usage {
                kernel,
                ..Usage::default()
            });
        }
        let Some(usage) = usages.last_mut() else {
            continue;
        };
        if let Some((_, name)) = line.split_once("Function properties for ") {
            // Functions that were not inlined have properties of their own.
            of_kernel = name.trim() == usage.kernel;
        } else if of_kernel && line.contains("bytes stack frame") {
            usage.stack = before(line, " bytes stack frame")?;
            usage.spill_stores = before(line, " bytes spill stores")?;
            usage.spill_loads = before(line, " bytes spill loads")?;
        } else if line.contains(" registers") {
            usage.registers = before(line, " registers")?;
            usage.shared = if line.contains(" bytes smem") {
                before(line, " bytes smem")?
            } else {
                0
            };
        }
    }
    usages.sort_by(|a, b| a.kernel.cmp(&b.kernel));
    Ok(usages)
}

/// The number before `unit`.
fn before(line: &str, unit: &str) -> Result<u32> {
    line.split_once(unit)
        .and_then(|(text, _)| text.rsplit([' ', ',']).next())
        .and_then(|number| number.parse().ok())
        .with_context(|| format!("{line:?}, printed by ptxas: expected a number before {unit:?}"))
}

/// A table for the terminal.
pub(crate) fn table(usages: &[Usage], kernels: &[&Kernel]) -> String {
    let width = usages
        .iter()
        .map(|usage| usage.kernel.len())
        .max()
        .unwrap_or(0)
        .max("kernel".len());
    let mut table = format!(
        "{:width$}  {:>5}  {:>9}  {:>14}  {:>7}  {:>13}  {:>13}\n",
        "kernel", "hot", "registers", "shared (bytes)", "stack", "spilled (st.)", "spilled (ld.)"
    );
    for usage in usages {
        let hot = kernels
            .iter()
            .any(|kernel| kernel.entry == usage.kernel && kernel.hot);
        let _ = writeln!(
            table,
            "{:width$}  {:>5}  {:>9}  {:>14}  {:>7}  {:>13}  {:>13}",
            usage.kernel,
            if hot { "hot" } else { "" },
            usage.registers,
            usage.shared,
            usage.stack,
            usage.spill_stores,
            usage.spill_loads
        );
    }
    table
}

/// The hot kernels that spill registers or use a stack, each with its problem.
pub(crate) fn complaints(usages: &[Usage], kernels: &[&Kernel]) -> Vec<String> {
    let mut complaints = Vec::new();
    for info in kernels {
        let Some(usage) = usages.iter().find(|usage| usage.kernel == info.entry) else {
            complaints.push(format!("{}: expected a report of ptxas", info.entry));
            continue;
        };
        if !info.hot {
            continue;
        }
        if usage.spill_stores + usage.spill_loads > 0 {
            complaints.push(format!(
                "{}: spills {} bytes a thread: raise its registers (fewer threads or min_blocks)",
                info.entry, usage.spill_stores
            ));
        }
        if usage.stack > 0 {
            complaints.push(format!(
                "{}: has {} bytes of stack a thread",
                info.entry, usage.stack
            ));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel;

    const PRINTED: &str = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'saxpy' for 'sm_80'
ptxas info    : Function properties for saxpy
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 16 registers, used 0 barriers, 384 bytes cmem[0]
ptxas info    : Compile time = 3.089 ms
ptxas info    : Compiling entry function 'reverse' for 'sm_80'
ptxas info    : Function properties for helper
    64 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Function properties for reverse
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 16 bytes cumulative stack size, 1024 bytes smem, 360 bytes cmem[0]
";

    fn reverse() -> Kernel {
        Kernel {
            entry: "reverse".into(),
            min_blocks: 0,
            ..kernel::sample()
        }
    }

    #[test]
    fn resource_usage_is_read() {
        let usages = parse(PRINTED).unwrap();
        assert_eq!(
            usages[0],
            Usage {
                kernel: "reverse".into(),
                registers: 255,
                shared: 1024,
                stack: 16,
                spill_stores: 8,
                spill_loads: 12,
            }
        );
        assert_eq!(usages[1].kernel, "saxpy");
        assert_eq!((usages[1].registers, usages[1].shared), (16, 0));
        assert!(table(&usages, &[&reverse()]).contains("reverse    hot        255"));
    }

    #[test]
    fn hot_kernels_must_not_spill() {
        let usages = parse(PRINTED).unwrap();
        let hot = complaints(&usages, &[&reverse()]);
        assert_eq!(hot.len(), 2, "{hot:?}");
        let cold = Kernel {
            hot: false,
            ..reverse()
        };
        assert!(complaints(&usages, &[&cold]).is_empty());
    }

    #[test]
    fn a_kernel_that_was_not_assembled_is_a_complaint() {
        assert_eq!(complaints(&[], &[&reverse()]).len(), 1);
    }

    #[test]
    fn releases_are_read() {
        let printed = "Cuda compilation tools, release 13.0, V13.0.88\nBuild cuda_13.0\n";
        assert_eq!(release(printed).unwrap(), "13.0");
        assert_eq!(release("gcc 12.2"), None);
    }
}

//! NVIDIA's assembler as a judge: does the PTX assemble, and what does each kernel cost?

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use warpstride_device::launch::KernelInfo;

use crate::compiler::number_pair;
use crate::process;
use crate::wheel;

/// The PyPI wheel that carries `ptxas` alone works without a GPU and without CUDA.
const PACKAGE: &str = "nvidia-cuda-nvcc";
const PACKAGE_VERSION: &str = "13.0.88";

/// The first release whose `ptxas` knows PTX 8.1 (vector atomics on sm_90).
const OLDEST_RELEASE: &str = "12.1";

/// Finds `ptxas`: the override, a CUDA toolkit on PATH or in its usual folder, PyPI's wheel.
///
/// # Errors
/// No `ptxas` is there and none could be fetched.
pub(crate) fn find() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("WARPSTRIDE_PTXAS") {
        let path = PathBuf::from(path);
        let release = release_of(&path).context("WARPSTRIDE_PTXAS names no usable ptxas")?;
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
        println!("ptxas {release} ({candidate}) is older than {OLDEST_RELEASE}: passed over");
    }
    wheel::tool("ptxas", PACKAGE, PACKAGE_VERSION, "bin/ptxas").context(
        "no ptxas: set WARPSTRIDE_PTXAS, install a CUDA toolkit, or let this command fetch PyPI's wheel",
    )
}

fn release_of(ptxas: &Path) -> Result<String> {
    let printed = process::output(Command::new(ptxas).arg("--version"))?;
    release(&printed).with_context(|| format!("{} states no release", ptxas.display()))
}

/// `13.0` in «Cuda compilation tools, release 13.0, V13.0.88».
fn release(printed: &str) -> Option<String> {
    let (_, rest) = printed.split_once("release ")?;
    Some(rest.split(',').next()?.trim().to_owned())
}

/// What one kernel uses of a multiprocessor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) kernel: String,
    /// 32-bit registers of a thread.
    pub(crate) registers: u32,
    /// Bytes of static shared memory of a block.
    pub(crate) shared: u32,
    /// Bytes of stack of a thread.
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

/// Reads what `ptxas -v` prints.
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

/// The number that stands before `unit`.
fn before(line: &str, unit: &str) -> Result<u32> {
    line.split_once(unit)
        .and_then(|(text, _)| text.rsplit([' ', ',']).next())
        .and_then(|number| number.parse().ok())
        .with_context(|| format!("ptxas prints {line:?}, without a number before {unit:?}"))
}

/// A table for people.
pub(crate) fn table(usages: &[Usage], kernels: &[&KernelInfo]) -> String {
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
            .any(|info| info.entry == usage.kernel && info.hot);
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

/// The hot kernels that spill registers or keep a stack, each with what is wrong.
pub(crate) fn complaints(usages: &[Usage], kernels: &[&KernelInfo]) -> Vec<String> {
    let mut complaints = Vec::new();
    for info in kernels {
        let Some(usage) = usages.iter().find(|usage| usage.kernel == info.entry) else {
            complaints.push(format!("{}: ptxas says nothing of it", info.entry));
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

    const REVERSE: KernelInfo = KernelInfo {
        entry: "reverse",
        block: [256, 1, 1],
        exact_block: false,
        min_blocks: 0,
        hot: true,
        f64_allowed: false,
        min_arch: 80,
    };

    #[test]
    fn figures_are_read() {
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
        assert!(table(&usages, &[&REVERSE]).contains("reverse    hot        255"));
    }

    #[test]
    fn hot_kernels_must_not_spill() {
        let usages = parse(PRINTED).unwrap();
        let hot = complaints(&usages, &[&REVERSE]);
        assert_eq!(hot.len(), 2, "{hot:?}");
        let cold = KernelInfo {
            hot: false,
            ..REVERSE
        };
        assert!(complaints(&usages, &[&cold]).is_empty());
    }

    #[test]
    fn a_kernel_that_was_not_assembled_is_a_complaint() {
        assert_eq!(complaints(&[], &[&REVERSE]).len(), 1);
    }

    #[test]
    fn releases_are_read() {
        let printed = "Cuda compilation tools, release 13.0, V13.0.88\nBuild cuda_13.0\n";
        assert_eq!(release(printed).unwrap(), "13.0");
        assert_eq!(release("gcc 12.2"), None);
    }
}

//! All checks of a generated text: lints, and NVIDIA's assembler.

use std::path::Path;

use anyhow::{Result, bail};

use crate::kernel::Kernel;
use crate::{lint, ptxas};

/// Lints the text in `file`, generated for `arch` (compute capability times ten) from `kernels`, and assembles it
/// with `ptxas`, if given, for each of `assemble_for`.
///
/// Returns tables of registers, shared memory, stack and spills.
///
/// # Errors
/// Everything that is wrong with the text, in one message.
pub fn check(
    file: &Path,
    arch: u32,
    kernels: &[&Kernel],
    ptxas: Option<&Path>,
    assemble_for: &[u32],
) -> Result<String> {
    let text = std::fs::read_to_string(file)?;
    let mut complaints: Vec<String> = lint::check(&text, arch, kernels)?
        .iter()
        .map(ToString::to_string)
        .collect();
    let mut tables = String::new();
    if let Some(ptxas) = ptxas {
        for &target in assemble_for {
            let usages = ptxas::assemble(ptxas, file, target)?;
            tables.push_str(&format!(
                "ptxas for sm_{target}\n{}",
                ptxas::table(&usages, kernels)
            ));
            for complaint in ptxas::complaints(&usages, kernels) {
                complaints.push(format!("{complaint} (sm_{target})"));
            }
        }
    }
    refuse(file, &complaints)?;
    Ok(tables)
}

/// An error with all `complaints` about the text in `file`, if there are any.
pub(crate) fn refuse(file: &Path, complaints: &[String]) -> Result<()> {
    if complaints.is_empty() {
        return Ok(());
    }
    bail!(
        "{}: the PTX fails the checks:\n  {}",
        file.display(),
        complaints.join("\n  ")
    )
}

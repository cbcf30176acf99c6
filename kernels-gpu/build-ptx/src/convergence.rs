//! Finds duplicated barriers, shuffles and votes. rustc's jump threading copies calls into the branches of a
//! condition that is tested before and after them; it does not know that all threads of a block or warp must execute
//! the same instruction (rust-lang/rust#137086). Threads that took different branches then wait for each other
//! forever.
//!
//! Without that pass the kernels are slower: some keep arrays in local memory. So they are built with it, and a
//! second time with [`STRAIGHT`] to make sure that no kernel has more of these instructions than in the second build.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::compiler;
use crate::ptx::{Line, Module};

/// Flags of rustc: no jump threading; and LLVM treats every function as convergent until it has shown otherwise, as
/// Clang does for device code (rustc after 1.96 does so by itself, rust-lang/rust#153995).
pub(crate) const STRAIGHT: [&str; 2] = [
    "-Zmir-enable-passes=-JumpThreading",
    "-Cllvm-args=-force-attribute=convergent",
];

/// Makes sure that `rustc` knows the flags: it ignores an unknown pass with a warning, and the comparison would then
/// compare two equal builds. Writes files into `folder`.
///
/// # Errors
///
/// rustc does not know the flags, or cannot be started.
pub(crate) fn check_flags(rustc: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    let source = folder.join("probe.rs");
    fs::write(&source, "pub fn probe(x: u32) -> u32 { x / 2 }\n")?;
    let mut command = Command::new(rustc);
    let output = compiler::clean(&mut command)
        .args(STRAIGHT)
        .args(["--crate-type=lib", "--emit=mir", "--out-dir"])
        .arg(folder)
        .arg(&source)
        .env("RUSTC_BOOTSTRAP", "1")
        .output()
        .with_context(|| format!("cannot start {}", rustc.display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || said.contains("unknown") {
        bail!(
            "{} does not take {}: {}; barriers that stand twice could not be found (docs/toolchain.md)",
            rustc.display(),
            STRAIGHT.join(" "),
            said.trim_end()
        );
    }
    Ok(())
}

/// Names of convergent instructions, up to the first dot, besides those with `.sync` or `.aligned`.
const CONVERGENT: [&str; 2] = ["bar", "barrier"];

/// The first part of the instructions of a cluster's barrier, `barrier.cluster.arrive` and `barrier.cluster.wait`.
const CLUSTER_BARRIER: &str = "barrier.cluster";

/// The kernels of `text` that have more of these instructions than in `straight`, built with [`STRAIGHT`].
///
/// # Errors
///
/// Text that is not PTX.
pub(crate) fn complaints(text: &str, straight: &str) -> Result<Vec<String>> {
    let (built, straight) = (Module::parse(text)?, Module::parse(straight)?);
    let mut complaints = Vec::new();
    for entry in built.kernels.keys() {
        let expected = count(&straight.reachable(entry));
        for (name, found) in count(&built.reachable(entry)) {
            let expected = expected.get(&name).copied().unwrap_or(0);
            if found > expected {
                complaints.push(format!(
                    "{entry}: has {found} instructions {name} and {expected} where rustc copies no calls: a \
                     condition is asked on both sides of a barrier, shuffle or vote, which is then made twice; compute \
                     without a branch on one side"
                ));
            }
        }
    }
    Ok(complaints)
}

fn count(lines: &[&Line]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    // Inline assembly may have several instructions, and braces, on one line.
    for instruction in lines
        .iter()
        .flat_map(|line| line.text.split([';', '{', '}']))
    {
        let mut words = instruction.split_whitespace();
        let first = words.next().unwrap_or_default();
        let operation = if first.starts_with('@') {
            words.next().unwrap_or_default()
        } else {
            first
        };
        let mut parts = operation.split('.');
        let name = parts.next().unwrap_or_default();
        if CONVERGENT.contains(&name) || parts.any(|part| part == "sync" || part == "aligned") {
            // The barrier of a cluster is another one than that of a block.
            let name = if operation.starts_with(CLUSTER_BARRIER) {
                CLUSTER_BARRIER
            } else {
                name
            };
            *counts.entry(name.to_owned()).or_default() += 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(body: &str) -> String {
        format!(
            ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry saxpy(\n)\n.maxntid 256, 1, 1\n{{\n\
             {body}\tret;\n}}\n"
        )
    }

    #[test]
    fn duplicated_instructions_are_found() {
        let once = text("\tbar.sync \t0;\n\tshfl.sync.up.b32 \t%r1, %r2, 1, 0, -1;\n");
        let twice = text(
            "\tbar.sync \t0;\n\tshfl.sync.up.b32 \t%r1, %r2, 1, 0, -1;\n\t@%p1 bra \t$L__BB0_1;\n\
             \tshfl.sync.up.b32 \t%r1, %r3, 1, 0, -1;\n$L__BB0_1:\n",
        );
        assert_eq!(complaints(&once, &once).unwrap(), Vec::<String>::new());
        assert_eq!(complaints(&once, &twice).unwrap(), Vec::<String>::new());
        let found = complaints(&twice, &once).unwrap();
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("saxpy: has 2 instructions shfl and 1 where"));
        let cluster = text("\tbarrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;\n");
        let found = complaints(&cluster, &once).unwrap();
        assert!(found[0].starts_with("saxpy: has 2 instructions barrier.cluster and 0"));
        let assembly =
            text("\t{ .reg .pred p; elect.sync _|p, -1; @p wgmma.fence.sync.aligned; }\n");
        let found = complaints(&assembly, &once).unwrap();
        assert_eq!(found.len(), 2, "{found:?}");
    }
}

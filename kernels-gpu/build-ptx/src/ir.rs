//! Edits of LLVM's textual IR for which no command-line tool exists: shared memory, launch bounds, clusters and the
//! architecture.

use std::collections::BTreeSet;
use std::fmt::Write;

use anyhow::{Result, bail};

use crate::kernel::Kernel;

/// The section that marks a static as a block's shared memory.
const SHARED_SECTION: &str = ", section \".shared\"";

/// A module without kernels, for what needs address spaces, which Rust does not have: the symbol of dynamic shared
/// memory with the function that returns its address, and the function that maps an address in shared memory (space 3)
/// to another block of the cluster (space 7). After inlining the casts disappear, and accesses are `ld.shared`/
/// `st.shared`, and `ld.shared::cluster`/`st.shared::cluster`.
pub(crate) const ADDRESS_SPACES: &str = r#"target triple = "nvptx64-nvidia-cuda"
@smem = external addrspace(3) global [0 x i8], align 16
define ptr @warpstride_dynamic_shared() alwaysinline nounwind memory(none) {
  ret ptr addrspacecast (ptr addrspace(3) @smem to ptr)
}
declare ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3), i32)
define ptr @warpstride_map_shared(ptr %address, i32 %rank) alwaysinline nounwind memory(none) {
  %own = addrspacecast ptr %address to ptr addrspace(3)
  %mapped = call ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3) %own, i32 %rank)
  %generic = addrspacecast ptr addrspace(7) %mapped to ptr
  ret ptr %generic
}
"#;

/// Moves every global of the section `.shared` to address space 3.
///
/// Each use of such a global becomes a cast to a generic pointer, which the optimiser then propagates into the
/// accesses.
///
/// # Errors
///
/// A shared global with an initial value, which the hardware cannot provide.
pub(crate) fn share(module: &str) -> Result<String> {
    let mut shared = BTreeSet::new();
    for line in module.lines().filter(|line| is_shared_global(line)) {
        let Some((name, _)) = symbol_at(line) else {
            bail!("cannot read the name of a shared global: {line}");
        };
        if !(line.contains(" undef, section") || line.contains(" poison, section")) {
            bail!(
                "the shared static {name} has an initial value; shared memory starts undefined: \
                 wrap it in MaybeUninit and start it with MaybeUninit::uninit()"
            );
        }
        shared.insert(name.to_owned());
    }
    let mut out = String::with_capacity(module.len());
    for line in module.lines() {
        if is_shared_global(line) {
            let moved = line
                .replacen(" global ", " addrspace(3) global ", 1)
                .replacen(SHARED_SECTION, "", 1);
            out.push_str(&moved);
        } else {
            cast_uses(line, &shared, &mut out);
        }
        out.push('\n');
    }
    Ok(out)
}

fn is_shared_global(line: &str) -> bool {
    line.starts_with('@') && line.contains(SHARED_SECTION) && line.contains(" global ")
}

/// The symbol (`@name` or `@"name"`) at the start of `text`, and its length in bytes.
fn symbol_at(text: &str) -> Option<(&str, usize)> {
    let rest = text.strip_prefix('@')?;
    let length = if let Some(quoted) = rest.strip_prefix('"') {
        quoted.find('"')? + 2
    } else {
        rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-$._".contains(c)))
            .unwrap_or(rest.len())
    };
    (length > 0).then(|| (&text[..=length], length + 1))
}

fn cast_uses(line: &str, shared: &BTreeSet<String>, out: &mut String) {
    let mut rest = line;
    while let Some(at) = rest.find('@') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some((symbol, length)) = symbol_at(rest) else {
            out.push('@');
            rest = &rest[1..];
            continue;
        };
        if shared.contains(symbol) {
            out.push_str("addrspacecast (ptr addrspace(3) ");
            out.push_str(symbol);
            out.push_str(" to ptr)");
        } else {
            out.push_str(symbol);
        }
        rest = &rest[length..];
    }
    out.push_str(rest);
}

/// Appends the launch bounds and clusters of `kernels` to a linked module.
///
/// Every LLVM reads `nvvm.annotations`: newer versions turn it into function attributes while they load the text.
pub(crate) fn bound(module: &str, kernels: &[&Kernel]) -> String {
    let free = module
        .lines()
        .filter_map(|line| line.strip_prefix('!')?.split_once(" = ")?.0.parse().ok())
        .max()
        .map_or(0, |highest: u64| highest + 1);
    let mut nodes = String::new();
    let mut names = Vec::new();
    for (node_number, bound) in (free..).zip(kernels) {
        let [x, y, z] = bound.block;
        let mut node = format!(
            "!{{ptr @{}, !\"maxntidx\", i32 {x}, !\"maxntidy\", i32 {y}, !\"maxntidz\", i32 {z}",
            bound.entry
        );
        if bound.min_blocks > 0 {
            let _ = write!(node, ", !\"minctasm\", i32 {}", bound.min_blocks);
        }
        if bound.cluster > 1 {
            let _ = write!(node, ", !\"cluster_dim_x\", i32 {}", bound.cluster);
        }
        let _ = writeln!(nodes, "!{node_number} = {node}}}");
        names.push(format!("!{node_number}"));
    }
    if names.is_empty() {
        return module.to_owned();
    }
    let mut out = String::with_capacity(module.len() + nodes.len());
    let mut merged = false;
    for line in module.lines() {
        match line.strip_prefix("!nvvm.annotations = !{") {
            Some(there) => {
                let there = there.trim_end_matches('}');
                let comma = if there.is_empty() { "" } else { ", " };
                let _ = writeln!(
                    out,
                    "!nvvm.annotations = !{{{there}{comma}{}}}",
                    names.join(", ")
                );
                merged = true;
            }
            None => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    if !merged {
        let _ = writeln!(out, "!nvvm.annotations = !{{{}}}", names.join(", "));
    }
    out + &nodes
}

/// Names of the kernels that `module` defines.
pub(crate) fn entries(module: &str) -> impl Iterator<Item = &str> {
    module
        .lines()
        .filter(|line| line.starts_with("define ") && line.contains(" ptx_kernel "))
        .filter_map(|line| symbol_at(&line[line.find('@')?..]))
        .map(|(symbol, _)| symbol.trim_start_matches('@').trim_matches('"'))
}

/// The module with its functions compiled for compute capability `arch` / 10 instead of [`BASE_ARCH`].
pub(crate) fn retarget(module: &str, arch: u32) -> String {
    module.replace(
        &format!("\"target-cpu\"=\"sm_{BASE_ARCH}\""),
        &format!("\"target-cpu\"=\"sm_{arch}\""),
    )
}

/// The architecture that rustc compiles for, whatever the target of the text, so that `core` is compiled once.
pub(crate) const BASE_ARCH: u32 = 80;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::sample;

    const MODULE: &str = r#"@_RNv4TILE = internal unnamed_addr global [1024 x i8] undef, section ".shared", align 4
@_RNv4TILE2 = internal global [4 x i8] zeroinitializer, align 4
@"quo ted" = internal global <{ [16 x i8] }> undef, section ".shared", align 16
define ptx_kernel void @reverse(ptr noundef %0) {
  %1 = getelementptr inbounds float, ptr @_RNv4TILE, i64 %3
  %2 = icmp eq ptr %1, @_RNv4TILE
  call void @f(ptr noundef nonnull @"quo ted", ptr @_RNv4TILE2)
  store ptr getelementptr (i8, ptr @_RNv4TILE, i64 8), ptr %0
}
!llvm.ident = !{!1}
!7 = !{i32 2}
"#;

    #[test]
    fn only_globals_of_the_section_move() {
        let shared = share(MODULE).unwrap();
        assert!(shared.contains(
            "@_RNv4TILE = internal unnamed_addr addrspace(3) global [1024 x i8] undef, align 4\n"
        ));
        assert!(shared.contains("@_RNv4TILE2 = internal global [4 x i8] zeroinitializer"));
        assert!(shared.contains(
            "@\"quo ted\" = internal addrspace(3) global <{ [16 x i8] }> undef, align 16"
        ));
        assert!(!shared.contains(".shared"));
    }

    #[test]
    fn every_kind_of_use_is_cast() {
        let shared = share(MODULE).unwrap();
        let cast = "addrspacecast (ptr addrspace(3) @_RNv4TILE to ptr)";
        assert!(shared.contains(&format!("float, ptr {cast}, i64 %3")));
        assert!(shared.contains(&format!("icmp eq ptr %1, {cast}")));
        assert!(shared.contains(&format!("getelementptr (i8, ptr {cast}, i64 8)")));
        assert!(shared.contains(
            "ptr noundef nonnull addrspacecast (ptr addrspace(3) @\"quo ted\" to ptr), ptr @_RNv4TILE2)"
        ));
    }

    #[test]
    fn a_longer_name_is_another_symbol() {
        let shared = share(MODULE).unwrap();
        assert!(!shared.contains("addrspace(3) @_RNv4TILE2"));
    }

    #[test]
    fn an_initial_value_is_refused() {
        let module =
            "@S = internal global [4 x i8] zeroinitializer, section \".shared\", align 4\n";
        let error = share(module).unwrap_err().to_string();
        assert!(error.contains("@S has an initial value"), "{error}");
    }

    #[test]
    fn a_module_without_shared_memory_stays() {
        let module = "define void @f() {\n  ret void\n}\n";
        assert_eq!(share(module).unwrap(), module);
    }

    fn kernels() -> [Kernel; 2] {
        [
            Kernel {
                entry: "reverse".into(),
                ..sample()
            },
            Kernel {
                block: [16, 16, 1],
                min_blocks: 0,
                cluster: 4,
                ..sample()
            },
        ]
    }

    #[test]
    fn kernels_are_listed() {
        assert_eq!(entries(MODULE).collect::<Vec<_>>(), ["reverse"]);
    }

    #[test]
    fn functions_change_their_architecture() {
        let module = "attributes #0 = { nounwind \"target-cpu\"=\"sm_80\" }\n";
        assert!(retarget(module, 90).contains("\"target-cpu\"=\"sm_90\""));
    }

    #[test]
    fn bounds_take_numbers_after_the_highest() {
        let bounded = bound(MODULE, &kernels().each_ref());
        assert!(bounded.contains("!nvvm.annotations = !{!8, !9}\n"));
        assert!(bounded.contains(
            "!8 = !{ptr @reverse, !\"maxntidx\", i32 256, !\"maxntidy\", i32 1, !\"maxntidz\", i32 1, !\"minctasm\", i32 4}\n"
        ));
        assert!(bounded.contains(
            "!9 = !{ptr @saxpy, !\"maxntidx\", i32 16, !\"maxntidy\", i32 16, !\"maxntidz\", i32 1, !\"cluster_dim_x\", i32 4}\n"
        ));
    }

    #[test]
    fn bounds_join_annotations_that_are_there() {
        let module = "!nvvm.annotations = !{!0}\n!0 = !{ptr @saxpy, !\"kernel\", i32 1}\n";
        let bounded = bound(module, &kernels().each_ref());
        assert!(bounded.starts_with("!nvvm.annotations = !{!0, !1, !2}\n"));
    }
}

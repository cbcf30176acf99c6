//! Checks of built PTX: exactly the expected kernels with their launch bounds and clusters, the lowest PTX version, shared memory
//! accessed by its own instructions, no local memory in hot kernels, and no double precision unless a kernel allows
//! it.

use std::fmt;

use crate::kernel::Kernel;
use crate::ptx::{self, Line, Module, Version};

/// One failed check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// The kernel, or `None` for the file.
    pub(crate) kernel: Option<String>,
    pub(crate) message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kernel {
            Some(kernel) => write!(f, "{kernel}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// All findings on `text`, built for compute capability `arch` / 10 from `kernels`.
///
/// # Errors
///
/// Text that is not PTX, or an unknown architecture.
pub(crate) fn check(text: &str, arch: u32, kernels: &[&Kernel]) -> anyhow::Result<Vec<Finding>> {
    let module = Module::parse(text)?;
    let mut findings = Vec::new();
    file(&module, text, arch, &mut findings)?;
    for info in kernels {
        kernel(&module, info, &mut findings);
    }
    for entry in module.kernels.keys() {
        if !kernels.iter().any(|info| &info.entry == entry) {
            findings.push(Finding {
                kernel: Some(entry.clone()),
                message: "is in the PTX without being expected".into(),
            });
        }
    }
    Ok(findings)
}

fn file(module: &Module, text: &str, arch: u32, findings: &mut Vec<Finding>) -> anyhow::Result<()> {
    let mut found = |message| {
        findings.push(Finding {
            kernel: None,
            message,
        });
    };
    let needed = ptx::needed_version(text).max(Version::lowest_for(arch)?);
    if module.version > needed {
        found(format!(
            ".version {}: expected {needed}, which suffices and runs with older drivers",
            module.version
        ));
    } else if module.version < needed {
        found(format!(
            ".version {}: expected {needed}, which has all instructions used",
            module.version
        ));
    }
    if module.target != format!("sm_{arch}") {
        found(format!(
            ".target: expected sm_{arch}, found {}",
            module.target
        ));
    }
    Ok(())
}

fn kernel(module: &Module, info: &Kernel, findings: &mut Vec<Finding>) {
    let mut found = |message| {
        findings.push(Finding {
            kernel: Some(info.entry.to_owned()),
            message,
        });
    };
    let Some(body) = module.kernels.get(&info.entry) else {
        found("is missing in the PTX".into());
        return;
    };
    if body.block != Some(info.block) {
        found(format!(
            ".maxntid: expected {:?}, found {:?}",
            info.block, body.block
        ));
    }
    if body.min_blocks.unwrap_or(0) != info.min_blocks {
        found(format!(
            ".minnctapersm: expected {}, found {}",
            info.min_blocks,
            body.min_blocks.unwrap_or(0)
        ));
    }
    let cluster = body.cluster.unwrap_or([1; 3]);
    if cluster != [info.cluster, 1, 1] {
        found(format!(
            ".reqnctapercluster: expected {:?}, found {cluster:?}",
            [info.cluster, 1, 1]
        ));
    }
    let lines = module.reachable(&info.entry);
    let first = |matches: fn(&Line) -> bool| lines.iter().find(|line| matches(line));
    // An asynchronous copy is inline assembly that takes generic addresses and converts them to shared ones.
    let copies = lines.iter().any(|line| line.text.contains("cp.async"));
    if let Some(line) = first(makes_shared_generic)
        && !(copies && line.text.starts_with("cvta.shared"))
    {
        found(format!(
            "reaches shared memory by a generic address (line {}: {}): inline the function it is passed to",
            line.number, line.text
        ));
    }
    if info.hot
        && let Some(line) = first(uses_local_memory)
    {
        found(format!(
            "uses local memory (line {}: {}): unroll the loop over its register array, or keep the array smaller",
            line.number, line.text
        ));
    }
    if !info.f64_allowed
        && let Some(line) = first(uses_f64)
    {
        found(format!(
            "computes in double precision (line {}: {}): find the f64 constant or conversion, or allow f64 for this kernel",
            line.number, line.text
        ));
    }
}

/// A shared symbol becomes generic by a conversion of its address or by the operator `generic()`; there is no third
/// way.
fn makes_shared_generic(line: &Line) -> bool {
    line.text.contains("cvta.shared") || line.text.contains("generic(")
}

fn uses_local_memory(line: &Line) -> bool {
    line.text.contains(".local")
}

fn uses_f64(line: &Line) -> bool {
    line.text
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '.'))
        .any(|word| word.split('.').any(|part| part == "f64"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::sample;

    fn text(body: &str) -> String {
        format!(
            ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry saxpy(\n)\n\
             .maxntid 256, 1, 1\n.minnctapersm 4\n{{\n{body}\tret;\n}}\n"
        )
    }

    fn messages(text: &str, info: Kernel) -> Vec<String> {
        check(text, 80, &[&info])
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn good_ptx_has_no_findings() {
        let good = text(
            "\tld.global.b32 \t%r1, [%rd1];\n\tst.shared.b32 \t[%rd2], %r1;\n\tcvta.to.shared.u64 \t%rd3, %rd4;\n\tfma.rn.f32 \t%r3, %r1, %r2, %r1;\n",
        );
        assert_eq!(messages(&good, sample()), Vec::<String>::new());
    }

    #[test]
    fn local_memory_is_found_in_hot_kernels_only() {
        let spilled = text("\t.local .align 16 .b8 \t__local_depot0[128];\n");
        assert!(messages(&spilled, sample())[0].contains("saxpy: uses local memory (line 9"));
        let cold = Kernel {
            hot: false,
            ..sample()
        };
        assert_eq!(messages(&spilled, cold), Vec::<String>::new());
    }

    #[test]
    fn double_precision_is_found_unless_allowed() {
        let doubled = text("\tcvt.rn.f32.f64 \t%r1, %rd1;\n");
        assert!(messages(&doubled, sample())[0].contains("double precision"));
        let allowed = Kernel {
            f64_allowed: true,
            ..sample()
        };
        assert_eq!(messages(&doubled, allowed), Vec::<String>::new());
    }

    #[test]
    fn a_name_with_f64_in_it_is_no_double() {
        let named = text("\tmov.b64 \t%rd1, table_f64x;\n");
        assert_eq!(messages(&named, sample()), Vec::<String>::new());
    }

    #[test]
    fn shared_memory_made_generic_is_found() {
        for line in [
            "\tcvta.shared.u64 \t%rd1, %rd2;\n",
            "\tmov.b64 \t%rd1, generic(smem);\n",
            "\tcvta.shared::cluster.u64 \t%rd1, %rd2;\n",
            "\t{ .reg .b64 %g; cvta.shared.u64 %g, %rd1; st.b32 [%g], %r1; }\n",
        ] {
            let messages = messages(&text(line), sample());
            assert!(
                messages
                    .iter()
                    .any(|message| message.contains("generic address"))
            );
        }
    }

    #[test]
    fn a_copy_into_shared_memory_takes_a_generic_address() {
        let copied = text(
            "\tcvta.shared.u64 \t%rd1, %rd2;\n\t{ .reg .b64 %s; cvta.to.shared.u64 %s, %rd1; cp.async.ca.shared.global [%s], [%rd3], 8; }\n",
        );
        assert_eq!(messages(&copied, sample()), Vec::<String>::new());
    }

    #[test]
    fn a_function_counts_for_the_kernels_that_call_it() {
        let called = format!(
            ".version 7.0\n.target sm_80\n.func helper(\n)\n{{\n\tst.local.b32 \t[%rd1], %r1;\n}}\n{}",
            &text("\tcall.uni helper, ();\n")[27..]
        );
        assert!(messages(&called, sample())[0].contains("st.local.b32"));
    }

    #[test]
    fn versions_must_be_the_lowest() {
        let high = text("").replace(".version 7.0", ".version 8.0");
        assert!(messages(&high, sample())[0].contains(".version 8.0: expected 7.0"));
        let low = text("\tred.global.add.v2.f32 \t[%rd1], {%r1, %r2};\n");
        assert!(messages(&low, sample())[0].contains(".version 7.0: expected 8.1"));
    }

    #[test]
    fn another_target_is_found() {
        let other = text("").replace("sm_80", "sm_75");
        assert!(messages(&other, sample())[0].contains("expected sm_80, found sm_75"));
    }

    #[test]
    fn registry_and_entries_must_agree() {
        let other = Kernel {
            entry: "daxpy".into(),
            ..sample()
        };
        let messages = messages(&text(""), other);
        assert_eq!(
            messages,
            [
                "daxpy: is missing in the PTX",
                "saxpy: is in the PTX without being expected"
            ]
        );
    }

    #[test]
    fn launch_bounds_must_agree() {
        let other = Kernel {
            block: [128, 2, 1],
            min_blocks: 0,
            ..sample()
        };
        let messages = messages(&text(""), other);
        assert!(messages[0].contains("expected [128, 2, 1]"));
        assert!(messages[1].contains(".minnctapersm: expected 0, found 4"));
    }

    #[test]
    fn clusters_must_agree() {
        let clustered = Kernel {
            cluster: 4,
            ..sample()
        };
        let none = messages(&text(""), clustered.clone());
        assert_eq!(
            none,
            ["saxpy: .reqnctapercluster: expected [4, 1, 1], found [1, 1, 1]"]
        );
        let four = text("").replace(
            ".minnctapersm 4\n",
            ".minnctapersm 4\n.explicitcluster\n.reqnctapercluster 4\n",
        );
        assert_eq!(messages(&four, clustered), Vec::<String>::new());
        assert_eq!(
            messages(&four, sample()),
            ["saxpy: .reqnctapercluster: expected [1, 1, 1], found [4, 1, 1]"]
        );
    }
}

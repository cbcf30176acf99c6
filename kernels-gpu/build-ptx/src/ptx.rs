//! Reads PTX as text: its version, its kernels, and the language features that it uses.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context, Result, bail};

/// A version of the PTX language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

const fn version(major: u32, minor: u32) -> Version {
    Version { major, minor }
}

impl Version {
    /// The first version that supports compute capability `arch` / 10 (PTX ISA, "Release notes").
    pub(crate) fn lowest_for(arch: u32) -> Result<Self> {
        match arch {
            75 => Ok(version(6, 3)),
            80 => Ok(version(7, 0)),
            86 => Ok(version(7, 1)),
            89 | 90 => Ok(version(7, 8)),
            _ => bail!("sm_{arch}: expected one of sm_75, sm_80, sm_86, sm_89, sm_90"),
        }
    }
}

/// Parts of instructions that need a higher PTX version than the architecture does (PTX ISA, "PTX ISA Notes" of
/// each). LLVM does not check inline assembly, so this table is needed.
const FEATURES: &[(&str, Version)] = &[
    (".xorsign", version(7, 2)),
    ("alloca", version(7, 3)),
    (".L1::no_allocate", version(7, 4)),
    (".L2::cache_hint", version(7, 4)),
    ("createpolicy", version(7, 4)),
    ("applypriority", version(7, 4)),
    ("szext", version(7, 6)),
    ("bmsk", version(7, 6)),
    ("barrier.cluster", version(7, 8)),
    ("shared::cluster", version(7, 8)),
    ("griddepcontrol", version(7, 8)),
    ("stmatrix", version(7, 8)),
    ("mapa", version(7, 8)),
    ("%cluster", version(7, 8)),
    ("cp.async.bulk", version(8, 0)),
    ("elect.sync", version(8, 0)),
    ("setmaxnreg", version(8, 0)),
    ("wgmma", version(8, 0)),
    ("fence.proxy", version(8, 0)),
    ("multimem", version(8, 1)),
    ("st.async", version(8, 1)),
];

/// Atomics on vectors, `red.global.add.v2.f32`: the space and the operation stand between the instruction's name and
/// its vector, so they cannot be in [`FEATURES`].
const VECTOR_ATOMICS: Version = version(8, 1);

/// The lowest version that has every instruction of `ptx`, as far as the tables above go. The architecture may need a
/// higher one ([`Version::lowest_for`]).
pub(crate) fn needed_version(ptx: &str) -> Version {
    let mut needed = version(0, 0);
    // Inline assembly may have several instructions, and braces, on one line.
    for line in ptx
        .lines()
        .flat_map(|line| code(line).split([';', '{', '}']))
        .map(str::trim)
    {
        for &(feature, since) in FEATURES {
            if line.contains(feature) {
                needed = needed.max(since);
            }
        }
        // Inline assembly may have several instructions on one line.
        for operation in line.split(';').map(operation) {
            let atomic = operation.starts_with("red.") || operation.starts_with("atom.");
            let vector = operation
                .split('.')
                .any(|part| part == "v2" || part == "v4");
            if atomic && vector {
                needed = needed.max(VECTOR_ATOMICS);
            }
        }
    }
    needed
}

/// `line` without its comment.
fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or_default().trim()
}

/// The instruction's name with its suffixes, without label and predicate: `ld.global.b32`.
fn operation(line: &str) -> &str {
    let mut words = line.split_whitespace();
    let first = words.next().unwrap_or_default();
    if first.starts_with('@') || first == "{" {
        words.next().unwrap_or_default()
    } else {
        first
    }
}

/// One instruction or declaration of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// Line number in the file, from 1.
    pub(crate) number: usize,
    pub(crate) text: String,
}

/// A kernel or a function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Body {
    /// `.maxntid`, padded with ones.
    pub(crate) block: Option<[u32; 3]>,
    /// `.minnctapersm`.
    pub(crate) min_blocks: Option<u32>,
    /// `.reqnctapercluster`, padded with ones.
    pub(crate) cluster: Option<[u32; 3]>,
    /// Header and instructions, without comments and empty lines.
    pub(crate) lines: Vec<Line>,
}

/// A PTX file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Module {
    pub(crate) version: Version,
    /// For example `sm_80`.
    pub(crate) target: String,
    /// By entry name.
    pub(crate) kernels: BTreeMap<String, Body>,
    /// Functions that were not inlined, by name.
    pub(crate) functions: BTreeMap<String, Body>,
}

impl Module {
    /// Reads `ptx` as LLVM writes it: a body's last brace stands alone at the start of a line.
    ///
    /// # Errors
    ///
    /// A file without version or target.
    pub(crate) fn parse(ptx: &str) -> Result<Self> {
        let mut version = None;
        let mut target = None;
        let mut kernels = BTreeMap::new();
        let mut functions = BTreeMap::new();
        let mut open: Option<(bool, String, Body)> = None;
        for (index, raw) in ptx.lines().enumerate() {
            let line = code(raw);
            if line.is_empty() {
                continue;
            }
            if let Some(number) = line.strip_prefix(".version ") {
                version = Some(parse_version(number)?);
            } else if let Some(name) = line.strip_prefix(".target ") {
                target = Some(name.split(',').next().unwrap_or(name).trim().to_owned());
            }
            if open.is_none() && !line.starts_with(".extern") {
                open = opened(line);
            }
            let Some((_, _, body)) = &mut open else {
                continue;
            };
            if let Some(list) = line.strip_prefix(".maxntid ") {
                body.block = Some(parse_extents(".maxntid", list)?);
            } else if let Some(list) = line.strip_prefix(".reqnctapercluster ") {
                body.cluster = Some(parse_extents(".reqnctapercluster", list)?);
            } else if let Some(number) = line.strip_prefix(".minnctapersm ") {
                body.min_blocks = Some(number.trim().parse()?);
            }
            body.lines.push(Line {
                number: index + 1,
                text: line.to_owned(),
            });
            // A declaration without a body ends with a semicolon before any brace.
            let braced = body.lines.iter().any(|line| line.text == "{");
            let ends = raw.starts_with('}') || (!braced && line.ends_with(';'));
            if ends && let Some((kernel, name, body)) = open.take() {
                if kernel {
                    kernels.insert(name, body);
                } else if braced {
                    functions.insert(name, body);
                }
            }
        }
        Ok(Self {
            version: version.context("the PTX: expected a line .version")?,
            target: target.context("the PTX: expected a line .target")?,
            kernels,
            functions,
        })
    }

    /// The lines of kernel `entry` and of every function that it can call.
    pub(crate) fn reachable(&self, entry: &str) -> Vec<&Line> {
        let mut lines: Vec<&Line> = Vec::new();
        let mut seen = Vec::new();
        let mut waiting: Vec<&Body> = self.kernels.get(entry).into_iter().collect();
        while let Some(body) = waiting.pop() {
            lines.extend(&body.lines);
            for (name, function) in &self.functions {
                if !seen.contains(&name) && body.lines.iter().any(|line| mentions(&line.text, name))
                {
                    seen.push(name);
                    waiting.push(function);
                }
            }
        }
        lines
    }
}

/// Whether `text` contains `name` as a whole identifier.
pub(crate) fn mentions(text: &str, name: &str) -> bool {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$' || c == '%'))
        .any(|word| word == name)
}

fn opened(line: &str) -> Option<(bool, String, Body)> {
    let identifier = |text: &str| -> String {
        text.trim_start()
            .chars()
            .take_while(|&c| c.is_ascii_alphanumeric() || c == '_' || c == '$')
            .collect()
    };
    if let Some((_, rest)) = line.split_once(".entry ") {
        return Some((true, identifier(rest), Body::default()));
    }
    let (_, rest) = line.split_once(".func ")?;
    let rest = rest.trim_start();
    // A result stands in parentheses before the name.
    let name = match rest.strip_prefix('(') {
        Some(result) => result.split_once(')')?.1,
        None => rest,
    };
    Some((false, identifier(name), Body::default()))
}

fn parse_version(text: &str) -> Result<Version> {
    let (major, minor) = text
        .trim()
        .split_once('.')
        .with_context(|| format!(".version {text}: expected a number such as 7.0"))?;
    Ok(version(major.parse()?, minor.parse()?))
}

fn parse_extents(directive: &str, list: &str) -> Result<[u32; 3]> {
    let mut extents = [1; 3];
    for (extent, text) in extents.iter_mut().zip(list.split(',')) {
        *extent = text
            .trim()
            .parse()
            .with_context(|| format!("{directive} {list}: expected numbers"))?;
    }
    Ok(extents)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = "\
//
// Generated by LLVM NVPTX Back-End
//

.version 7.0
.target sm_80, debug
.address_size 64

.extern .shared .align 16 .b8 smem[];
.extern .func vprintf;
.func  (.param .b32 func_retval0) helper(
\t.param .b32 helper_param_0
)
{
\tst.local.b32 \t[%rd1], %r1;
\tret;
                                        // -- End function
}
\t// .globl\tsaxpy                   // -- Begin function saxpy
.visible .entry saxpy(
\t.param .u32 saxpy_param_0
)
.maxntid 16, 8                          // @saxpy
.minnctapersm 4
.explicitcluster
.reqnctapercluster 2
{
\t.reg .b32 \t%r<12>;
// %bb.0:
\t{ // callseq 0, 0
\tcall.uni (retval0), helper, (param0);
\t}
\tret;
}
.visible .entry other(
)
{
\tret;
}
";

    #[test]
    fn kernels_and_functions_are_distinguished() {
        let module = Module::parse(SAMPLE).unwrap();
        assert_eq!(module.version, version(7, 0));
        assert_eq!(module.target, "sm_80");
        assert_eq!(
            module.kernels.keys().collect::<Vec<_>>(),
            ["other", "saxpy"]
        );
        assert_eq!(module.functions.keys().collect::<Vec<_>>(), ["helper"]);
        assert_eq!(module.kernels["saxpy"].block, Some([16, 8, 1]));
        assert_eq!(module.kernels["saxpy"].min_blocks, Some(4));
        assert_eq!(module.kernels["saxpy"].cluster, Some([2, 1, 1]));
        assert_eq!(module.kernels["other"].block, None);
        assert_eq!(module.kernels["other"].cluster, None);
    }

    #[test]
    fn a_call_makes_a_function_reachable() {
        let module = Module::parse(SAMPLE).unwrap();
        let local = |entry| {
            module
                .reachable(entry)
                .iter()
                .any(|line| line.text.contains(".local"))
        };
        assert!(local("saxpy"));
        assert!(!local("other"));
    }

    #[test]
    fn a_file_that_is_not_ptx_is_refused() {
        assert!(Module::parse("hello").is_err());
        assert!(Module::parse(".version seven\n.target sm_80\n").is_err());
    }

    #[test]
    fn names_are_matched_whole() {
        assert!(mentions("call.uni helper, (p);", "helper"));
        assert!(!mentions("call.uni helper2, (p);", "helper"));
    }

    #[test]
    fn features_raise_the_version() {
        let needed = |line: &str| needed_version(line).to_string();
        assert_eq!(needed("\tfma.rn.f32 \t%f1, %f2, %f3, %f4;"), "0.0");
        assert_eq!(
            needed("\tred.global.add.v2.f32 \t[%rd1], {%f1, %f2};"),
            "8.1"
        );
        assert_eq!(
            needed("\t@%p1 red.global.add.v2.f32 [%rd1], {%f1, %f2};"),
            "8.1"
        );
        assert_eq!(
            needed(
                "{ .reg .b64 %g; cvta.to.global.u64 %g, %rd1; red.global.add.v2.f32 [%g], {%f1, %f2}; }"
            ),
            "8.1"
        );
        assert_eq!(needed("\tred.global.add.f32 \t[%rd1], %f1;"), "0.0");
        assert_eq!(needed("\tld.global.nc.v4.b32 \t{%r1, %r2}, [%rd1];"), "0.0");
        assert_eq!(
            needed("\tld.global.L1::no_allocate.b32 \t%r1, [%rd1];"),
            "7.4"
        );
        assert_eq!(needed("\t// cp.async.bulk is only spoken of"), "0.0");
    }
}

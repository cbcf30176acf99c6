//! Checks that the project uses the terms of its fields: refuses words with a plain or an established
//! equivalent in file names, in names of items, and in documentation, comments and messages.

mod rules;
mod source;

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::workspace;
use rules::{ITEMS, Item, PATHS, PHRASES, Scope};
use source::{Kind, Part, Word};
use warpstride_build_ptx::process;

/// Files that are not checked: records of earlier measurements, and the rules themselves.
const EXCLUDED: [&str; 4] = [
    "benches/runs/",
    "docs/optimisation-log.md",
    "xtask/src/words.rs",
    "xtask/src/words/",
];

/// A refused word.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    path: String,
    /// From 1; 0 for the name of the file.
    line: usize,
    found: String,
    instead: &'static str,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            line,
            found,
            instead,
        } = self;
        match line {
            0 => write!(f, "{path}: file name `{found}`: write {instead}"),
            _ => write!(f, "{path}:{line}: `{found}`: write {instead}"),
        }
    }
}

/// Checks all files of the repository that are in scope, and prints the findings.
pub(crate) fn run() -> Result<()> {
    let root = workspace::root();
    let listed = process::output(
        std::process::Command::new("git")
            .args(["ls-files", "-z"])
            .current_dir(&root),
    )?;
    let mut findings = Vec::new();
    for path in listed.split('\0').filter(|path| is_checked(path)) {
        let file = root.join(path);
        // A file that is deleted but not yet committed is still listed.
        if !file.exists() {
            continue;
        }
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("{path}: expected UTF-8 text"))?;
        findings.extend(check(path, &text));
    }
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        count => {
            bail!("{count} words to replace, see above (the list is xtask/src/words/rules.rs)")
        }
    }
}

fn is_checked(path: &str) -> bool {
    let extension = Path::new(path).extension().and_then(|e| e.to_str());
    matches!(extension, Some("rs" | "md" | "toml" | "py"))
        && !EXCLUDED.iter().any(|prefix| path.starts_with(prefix))
}

/// All findings in the file `path` with the contents `text`, in the order of lines.
fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = check_path(path);
    let parts = if path.ends_with(".rs") {
        source::parts(text)
    } else {
        source::prose(text)
    };
    for part in &parts {
        match part.kind {
            Kind::Code => check_items(path, part, &mut findings),
            // A string without spaces is a name: an option, a key of JSON, a dataset.
            Kind::String if !part.text.trim().contains(' ') => {}
            _ => check_phrases(path, part, &mut findings),
        }
    }
    findings.sort_by_key(|finding| finding.line);
    findings
}

fn check_path(path: &str) -> Vec<Finding> {
    let Some(stem) = Path::new(path).file_stem().and_then(|s| s.to_str()) else {
        return Vec::new();
    };
    let folders = path.split('/').rev().skip(1);
    let names = std::iter::once(stem).chain(folders);
    let found = names.flat_map(|name| {
        PATHS
            .iter()
            .filter(move |rule| rule.applies_to(path) && rule.names.contains(&name))
            .map(move |rule| (name, rule.instead))
    });
    found
        .map(|(name, instead)| Finding {
            path: path.to_owned(),
            line: 0,
            found: name.to_owned(),
            instead,
        })
        .collect()
}

/// Checks the names of items that are defined in `part`.
fn check_items(path: &str, part: &Part, findings: &mut Vec<Finding>) {
    let words = part.words();
    for pair in words.windows(2) {
        let [keyword, name] = pair else { continue };
        if !name.follows {
            continue;
        }
        let item = match keyword.text {
            "struct" | "enum" | "trait" | "type" | "union" => Item::Type,
            "fn" | "mod" | "const" | "static" => Item::Other,
            _ => continue,
        };
        let subwords = source::subwords(name.text);
        let rules = ITEMS.iter().filter(|rule| rule.applies_to(path));
        for rule in rules.filter(|rule| rule.matches(item, name.text, &subwords)) {
            findings.push(Finding {
                path: path.to_owned(),
                line: name.line,
                found: format!("{} {}", keyword.text, name.text),
                instead: rule.instead,
            });
        }
    }
}

/// Checks the phrases in `part`, which may extend over several lines.
fn check_phrases(path: &str, part: &Part, findings: &mut Vec<Finding>) {
    let words = part.words();
    for rule in PHRASES.iter().filter(|rule| rule.applies_to(path)) {
        if rule.scope == Scope::Messages && part.kind != Kind::String {
            continue;
        }
        for start in 0..words.len() {
            let Some(phrase) = words.get(start..start + rule.words.len()) else {
                break;
            };
            let matches = phrase
                .iter()
                .zip(rule.words)
                .all(|(word, expected)| is(word, expected))
                && phrase[1..].iter().all(|word| word.follows);
            if !matches {
                continue;
            }
            let before = start.checked_sub(1).map(|at| &words[at]);
            let before = before.filter(|_| words[start].follows);
            let after = words.get(start + rule.words.len()).filter(|w| w.follows);
            let allowed = |word: Option<&Word<'_>>, list: &[&str]| {
                word.is_some_and(|word| list.iter().any(|allowed| is(word, allowed)))
            };
            if !allowed(before, rule.unless_after) && !allowed(after, rule.unless_before) {
                findings.push(Finding {
                    path: path.to_owned(),
                    line: words[start].line,
                    found: rule.words.join(" "),
                    instead: rule.instead,
                });
            }
        }
    }
    if part.kind == Kind::Documentation {
        check_start(path, part, findings);
    }
}

/// Whether `word` is `expected`: in any case, but exactly if `expected` has a capital.
fn is(word: &Word<'_>, expected: &str) -> bool {
    if expected.chars().any(char::is_uppercase) {
        word.text == expected
    } else {
        word.text.to_lowercase() == expected
    }
}

/// Checks that a doc comment does not begin with a fragment of a sentence.
fn check_start(path: &str, part: &Part, findings: &mut Vec<Finding>) {
    let text = part.text.trim();
    let fragment = ["Of ", "Which ", "As there", "See above"]
        .into_iter()
        .find(|fragment| text.starts_with(fragment));
    let fragment = fragment.or((text == "Which.").then_some("Which."));
    if let Some(fragment) = fragment {
        findings.push(Finding {
            path: path.to_owned(),
            line: part.line,
            found: fragment.trim().to_owned(),
            instead: "a sentence or a noun phrase that stands alone",
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<(usize, String)> {
        check(path, text)
            .into_iter()
            .map(|finding| (finding.line, finding.found))
            .collect()
    }

    fn assert_refused(path: &str, text: &str, line: usize, word: &str) {
        assert_eq!(found(path, text), [(line, word.to_owned())], "{text}");
    }

    fn assert_allowed(path: &str, text: &str) {
        assert_eq!(found(path, text), [], "{text}");
    }

    #[test]
    fn comments_are_checked_over_lines() {
        assert_refused(
            "a.rs",
            "fn a() {}\n// A run that goes on\n// bit for bit.",
            2,
            "goes on bit",
        );
        assert_refused("a.rs", "/// Nobody reads it.\nfn a() {}", 1, "nobody");
        assert_refused("a.md", "One.\n\nAn array of\nNumPy.", 3, "array of numpy");
        assert_allowed("a.rs", "// Resumes bit for bit.");
        // Without the second comment mark, the lines are not one comment.
        assert_allowed("a.rs", "// goes\nlet on = 1;\n// on bit for bit");
    }

    #[test]
    fn messages_are_checked_and_names_in_strings_are_not() {
        assert_refused(
            "a.rs",
            "bail!(\"{n}: 1 to 3 are expected\");",
            1,
            "are expected",
        );
        assert_refused(
            "a.rs",
            "bail!(\n    \"a number \\\n     is expected\"\n);",
            3,
            "is expected",
        );
        assert_refused("a.rs", "f(r#\"the \"fleet\" of\"#);", 1, "fleet");
        assert_allowed("a.rs", "let key = \"figures\";");
        assert_allowed("a.rs", "// The error is expected.");
        assert_allowed("a.rs", "f(\"is expected to be faster\");");
        assert_allowed(
            "a.rs",
            "let fleet: char = '\"'; // quote\nlet whoever = \"x\";",
        );
    }

    #[test]
    fn established_terms_are_allowed() {
        assert_refused(
            "host/src/a.rs",
            "// The only fence for unsafe code.",
            1,
            "fence",
        );
        assert_allowed("host/src/a.rs", "// A memory fence orders the writes.");
        assert_allowed(
            "host/src/a.rs",
            "// device_fence() is cheap; a fence instruction is not.",
        );
        assert_refused("docs/mri.md", "The figures of a run.", 1, "figures");
        assert_allowed("docs/mri.md", "Three significant figures.");
        assert_refused(
            "host/mri/src/nufft/a.rs",
            "// The heap of a tile.",
            1,
            "heap",
        );
        assert_allowed("host/files/src/global_heap.rs", "// HDF5's global heap.");
    }

    #[test]
    fn names_of_items_are_checked() {
        assert_refused("a.rs", "pub struct BookedFleet;", 1, "struct BookedFleet");
        assert_refused("a.rs", "enum FitTyped {}", 1, "enum FitTyped");
        assert_refused("a.rs", "pub(crate) fn retreat() {}", 1, "fn retreat");
        assert_refused(
            "a.rs",
            "fn a() {\n    const FIGURES: f64 = 1.0;\n}",
            2,
            "const FIGURES",
        );
        assert_refused("a.rs", "mod told;", 1, "mod told");
        assert_allowed("a.rs", "struct StretchedExponential;");
        assert_allowed("a.rs", "struct Engine { fleet: usize }");
        assert_allowed("a.rs", "type F = fn(Fleet) -> usize;");
        assert_allowed("a.rs", "const fn typed() {}");
    }

    #[test]
    fn file_names_are_checked() {
        assert_refused("host/src/cli/words.rs", "", 0, "words");
        assert_refused("tests/tests/rooms/main.rs", "", 0, "rooms");
        assert_allowed("xtask/src/words.rs", "");
        assert_allowed("host/files/src/global_heap.rs", "");
    }

    #[test]
    fn doc_comments_stand_alone() {
        assert_refused("a.rs", "/// Of rates.\nfn a() {}", 1, "Of");
        assert_refused("a.rs", "fn a() {}\n/// Which.\nfn b() {}", 2, "Which.");
        assert_allowed("a.rs", "// Of a comment nothing is required.");
        assert_allowed("a.rs", "/// Offset in bytes.\nfn a() {}");
    }

    #[test]
    fn records_and_other_kinds_of_files_are_excluded() {
        assert!(is_checked("host/src/lib.rs") && is_checked("README.md"));
        assert!(!is_checked("kernels-gpu/ptx/jacobi.ptx"));
        assert!(!is_checked("benches/runs/2026-11-20-h200/README.md"));
        assert!(!is_checked("docs/optimisation-log.md"));
    }
}

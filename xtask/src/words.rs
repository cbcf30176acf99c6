//! Checks that the project uses the terms of its fields: refuses the words of `xtask/words.toml`,
//! which have a plain or an established equivalent, and wrong spelling, if `typos` is installed.

use anyhow::{Context, Result, bail};
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use std::process::Command;

use crate::workspace;
use warpstride_build_ptx::process;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    not_files: String,
    word: Vec<Word>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Word {
    find: String,
    instead: String,
    unless: Option<String>,
    files: Option<String>,
    not_files: Option<String>,
}

/// A word, ready to be looked for.
struct Rule {
    find: Regex,
    instead: String,
    unless: Option<Regex>,
    files: Option<Regex>,
    not_files: Option<Regex>,
}

impl Rule {
    fn new(word: Word) -> Result<Self> {
        // Two words may stand in two lines of a comment or of a string.
        let find = word.find.replace(' ', r"[\s/!\\]+");
        let optional = |text: Option<String>| text.as_deref().map(regex).transpose();
        Ok(Self {
            find: regex(&find)?,
            instead: word.instead,
            unless: optional(word.unless)?,
            files: optional(word.files)?,
            not_files: optional(word.not_files)?,
        })
    }

    /// The places of the word in `text`, with the lines, from 1, in which they end.
    fn found<'a>(&self, path: &str, text: &'a str) -> Vec<(usize, &'a str)> {
        let is_in = |list: &Option<Regex>, text: &str| list.as_ref().map(|l| l.is_match(text));
        if is_in(&self.files, path) == Some(false) || is_in(&self.not_files, path) == Some(true) {
            return Vec::new();
        }
        let found = self.find.find_iter(text).map(|found| {
            let line = text[..found.end()].lines().count();
            let first = text[..found.start()].rfind('\n').map_or(0, |at| at + 1);
            let after = text[found.end()..].find('\n');
            let last = after.map_or(text.len(), |at| found.end() + at);
            (line, found.as_str(), &text[first..last])
        });
        found
            .filter(|(_, _, lines)| is_in(&self.unless, lines) != Some(true))
            .map(|(line, word, _)| (line, word))
            .collect()
    }
}

fn regex(pattern: &str) -> Result<Regex> {
    RegexBuilder::new(pattern)
        .case_insensitive(true)
        .multi_line(true)
        .build()
        .with_context(|| format!("xtask/words.toml: `{pattern}` is no regular expression"))
}

fn rules() -> Result<(Regex, Vec<Rule>)> {
    let list: List = toml::from_str(include_str!("../words.toml")).context("xtask/words.toml")?;
    let rules = list.word.into_iter().map(Rule::new);
    Ok((regex(&list.not_files)?, rules.collect::<Result<_>>()?))
}

/// Checks all files of the repository that are in scope, and prints what is found.
pub(crate) fn run() -> Result<()> {
    let root = workspace::root();
    let (not_files, rules) = rules()?;
    let listed = process::output(
        Command::new("git")
            .args(["ls-files", "-z"])
            .current_dir(&root),
    )?;
    let is_text = |path: &&str| {
        [".rs", ".md", ".toml", ".py"]
            .iter()
            .any(|e| path.ends_with(e))
    };
    let mut count = 0;
    for path in listed
        .split('\0')
        .filter(is_text)
        .filter(|path| !not_files.is_match(path))
    {
        let file = root.join(path);
        // A file that is deleted but not yet committed is still listed.
        if !file.exists() {
            continue;
        }
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("{path}: expected UTF-8 text"))?;
        for rule in &rules {
            for (line, found) in rule.found(path, &text) {
                println!("{path}:{line}: `{found}`: write {}", rule.instead);
                count += 1;
            }
        }
    }
    if count > 0 {
        bail!("{count} words to replace, see above (the list is xtask/words.toml)");
    }
    if process::output(Command::new("typos").arg("--version")).is_err() {
        println!(
            "SKIPPED: typos is not installed, so spelling was NOT checked (pip install typos)"
        );
        return Ok(());
    }
    process::run(Command::new("typos").current_dir(&root))
}

#[cfg(test)]
mod tests {
    use super::rules;

    fn found(path: &str, text: &str) -> Vec<(usize, String)> {
        let rules = rules().expect("the list is valid").1;
        let found = rules.iter().flat_map(|rule| rule.found(path, text));
        found.map(|(line, word)| (line, word.to_owned())).collect()
    }

    #[test]
    fn words_are_found_over_lines_and_allowed_as_terms() {
        for (path, text, line) in [
            (
                "a.rs",
                "fn a() {}\n// A run that goes on\n// bit for bit.",
                3,
            ),
            ("a.rs", "/// Nobody reads it.\nfn a() {}", 1),
            ("a.md", "One.\n\nAn array of\nNumPy.", 4),
            ("a.rs", "bail!(\"{n}: 1 to 3 are expected\");", 1),
            ("host/src/a.rs", "// The only fence for unsafe code.", 1),
            ("host/mri/src/nufft/a.rs", "// The heap of a tile.", 1),
            ("a.rs", "pub struct BookedFleet;", 1),
            ("a.rs", "fn a() {}\n/// Which.\nfn b() {}", 2),
        ] {
            assert_eq!(found(path, text).first().map(|f| f.0), Some(line), "{text}");
        }
        for (path, text) in [
            ("a.rs", "// Resumes bit for bit."),
            ("a.rs", "// goes\nlet on = 1;\n// on bit for bit"),
            ("a.rs", "// The error is expected."),
            ("host/src/a.rs", "// A memory fence orders the writes."),
            ("docs/mri.md", "Three significant figures."),
            ("host/files/src/global_heap.rs", "// HDF5's global heap."),
            ("a.rs", "/// Offset in bytes.\nfn a() {}"),
        ] {
            assert_eq!(found(path, text), [], "{text}");
        }
    }
}

//! The table of modules in `src/lib.rs` against the `crate::…` paths of the sources: every use is in
//! the table, every entry of the table is used, and no modules use each other in a circle. Tests may
//! use everything.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The modules used by each module.
type Uses = BTreeMap<String, BTreeSet<String>>;

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The table under the heading `# Modules` in the documentation of `src/lib.rs`.
fn table() -> Uses {
    let text = fs::read_to_string(sources().join("lib.rs")).expect("src/lib.rs");
    let lines = text.lines().filter_map(|line| line.strip_prefix("//!"));
    let mut section = lines.skip_while(|line| *line != " # Modules").skip(1);
    let rows = section.by_ref().take_while(|line| !line.starts_with(" # "));
    let rows = rows.filter_map(|line| line.trim().strip_prefix("| `")?.strip_suffix('|'));
    let row = |row: &str| {
        let (module, uses) = row.split_once("` |").expect("a row of two cells");
        // Every second part is between backticks.
        let uses = uses.split('`').skip(1).step_by(2);
        (module.to_owned(), uses.map(str::to_owned).collect())
    };
    rows.map(row).collect()
}

/// Every file of Rust below `folder` that is not a test's.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("a file of sources").path();
        let stem = path.file_stem().unwrap_or_default();
        if stem == "tests" {
            continue;
        }
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The module of a file: the first part of its path in `src`.
fn module(path: &Path) -> Option<String> {
    let path = path.strip_prefix(sources()).expect("a path in src");
    let names: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    match &names[..] {
        [root] if root == "lib.rs" || root == "main.rs" => None,
        [first, ..] => Some(first.trim_end_matches(".rs").to_owned()),
        [] => None,
    }
}

/// The code of a file without comments, and without the module of unit tests at its end.
fn code(text: &str) -> String {
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let code: Vec<_> = lines.collect();
    let code = code.join("\n");
    let end = code.find("#[cfg(test)]\nmod tests {").unwrap_or(code.len());
    code[..end].to_owned()
}

/// The modules that follow `crate::`, alone or in braces.
fn paths(code: &str) -> BTreeSet<String> {
    let identifier = |text: &str| {
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
        text[..end.unwrap_or(text.len())].to_owned()
    };
    let mut found = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        let Some(group) = rest.strip_prefix('{') else {
            found.insert(identifier(rest));
            continue;
        };
        let mut depth = 0;
        let mut begins = true;
        for (at, character) in group.char_indices() {
            match character {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => begins = true,
                c if begins && !c.is_whitespace() => {
                    begins = false;
                    found.insert(identifier(&group[at..]));
                }
                _ => {}
            }
        }
    }
    found
}

/// What the sources use.
fn used() -> Uses {
    let mut paths_of = Vec::new();
    files(&sources(), &mut paths_of);
    let mut uses = Uses::new();
    for path in paths_of {
        let Some(module) = module(&path) else {
            continue;
        };
        let text = fs::read_to_string(&path).expect("a file of sources");
        let mut found = paths(&code(&text));
        found.remove(&module);
        uses.entry(module).or_default().extend(found);
    }
    uses
}

/// All modules that `from` uses, directly or through others.
fn reachable<'u>(uses: &'u Uses, from: &str) -> BTreeSet<&'u str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        for used in uses.get(module).into_iter().flatten() {
            if reached.insert(used.as_str()) {
                open.push(used);
            }
        }
    }
    reached
}

#[test]
fn the_table_is_what_the_sources_use() {
    let (table, used) = (table(), used());
    let modules = |uses: &Uses| uses.keys().cloned().collect::<Vec<_>>();
    assert_eq!(modules(&table), modules(&used), "the rows of the table");
    for (module, used) in &used {
        assert_eq!(&table[module], used, "what `{module}` uses");
    }
}

#[test]
fn there_are_no_circles() {
    let uses = used();
    for module in uses.keys() {
        let circle = reachable(&uses, module).contains(module.as_str());
        assert!(!circle, "`{module}` uses itself through others");
    }
}

#[test]
fn paths_are_found_alone_and_in_braces() {
    let text = "// use crate::no::X;\nuse crate::a::{b, c};\nuse crate::{d, e::{f, g}, h};\n\
                fn x() -> crate::i {}\n#[cfg(test)]\nmod tests { use crate::no; }";
    let expected = ["a", "d", "e", "h", "i"].map(str::to_owned);
    assert_eq!(paths(&code(text)), BTreeSet::from(expected));
}

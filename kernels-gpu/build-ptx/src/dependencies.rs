//! The source files that entered a build, from cargo's dependency list.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The files under `root` that the dependency list `list` names, with the descriptions (`Cargo.toml`) of their
/// packages, sorted.
///
/// # Errors
/// A list that names no file under `root`.
pub(crate) fn sources(list: &str, root: &Path) -> Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = Vec::new();
    for file in parse(list) {
        let file = if file.is_absolute() {
            file
        } else {
            root.join(file)
        };
        if !file.starts_with(root) {
            continue;
        }
        let package = file
            .ancestors()
            .map(|folder| folder.join("Cargo.toml"))
            .find(|description| description.is_file())
            .with_context(|| format!("{}: expected a file of a package", file.display()))?;
        files.extend([file, package]);
    }
    files.sort();
    files.dedup();
    if files.is_empty() {
        bail!(
            "the build's dependency list names no file under {}",
            root.display()
        );
    }
    Ok(files)
}

/// The files that cargo's dependency list (`.d`) names.
fn parse(list: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in list.lines() {
        let Some((_, names)) = line.split_once(": ") else {
            continue;
        };
        // A space inside a name is written `\ `.
        let mut name = String::new();
        let mut characters = names.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '\\' if characters.peek() == Some(&' ') => name.extend(characters.next()),
                ' ' => files.push(std::mem::take(&mut name)),
                other => name.push(other),
            }
        }
        files.push(name);
    }
    files.retain(|name| !name.is_empty());
    files.sort();
    files.dedup();
    files.into_iter().map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependency_lists_are_read() {
        let list = "/t/k.ptx: /w/src/b.rs /w/my\\ folder/a.rs\n/t/k.rmeta: /w/src/b.rs\n\n";
        assert_eq!(
            parse(list),
            [
                PathBuf::from("/w/my folder/a.rs"),
                PathBuf::from("/w/src/b.rs")
            ]
        );
    }

    #[test]
    fn packages_belong_to_their_files() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        std::fs::create_dir_all(root.join("one/src")).unwrap();
        std::fs::write(root.join("one/Cargo.toml"), "").unwrap();
        let list = format!(
            "k.ptx: {}/one/src/lib.rs one/src/b.rs /elsewhere/c.rs\n",
            root.display()
        );
        assert_eq!(
            sources(&list, root).unwrap(),
            [
                root.join("one/Cargo.toml"),
                root.join("one/src/b.rs"),
                root.join("one/src/lib.rs")
            ]
        );
        assert!(sources("k.ptx: /elsewhere/c.rs\n", root).is_err());
    }
}

//! `kernels-gpu/ptx/manifest.json`: what the committed PTX was made from, and with what.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The whole file: one record for each architecture, by its name (`sm_80`).
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    pub(crate) builds: BTreeMap<String, Build>,
}

/// What one PTX file was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Build {
    /// Name of the PTX file beside the manifest.
    pub(crate) file: String,
    /// SHA-256 of its bytes.
    pub(crate) sha256: String,
    /// First line of `rustc --version`.
    pub(crate) rustc: String,
    /// Version of the LLVM tools.
    pub(crate) llvm: String,
    /// Options of the link step that decide the code.
    pub(crate) recipe: String,
    /// SHA-256 over names and contents of `sources`.
    pub(crate) sources_sha256: String,
    /// SHA-256 of each source that enters the device code, by its path in the checkout.
    pub(crate) sources: BTreeMap<String, String>,
}

impl Manifest {
    /// Reads the manifest at `path`; a missing one is empty.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        match fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .with_context(|| format!("{} is not a manifest", path.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    /// Writes the manifest to `path`.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}

impl Build {
    /// The sources whose content differs, or which only one of the two has.
    pub(crate) fn changed_sources<'a>(&'a self, other: &'a Self) -> Vec<&'a str> {
        let mut names: Vec<&str> = self
            .sources
            .iter()
            .filter(|(name, hash)| other.sources.get(*name) != Some(hash))
            .map(|(name, _)| name.as_str())
            .chain(
                other
                    .sources
                    .keys()
                    .filter(|name| !self.sources.contains_key(*name))
                    .map(String::as_str),
            )
            .collect();
        names.sort_unstable();
        names
    }

    /// Whether both were made by the same compiler.
    pub(crate) fn same_compiler(&self, other: &Self) -> bool {
        self.rustc == other.rustc && self.llvm == other.llvm
    }
}

/// SHA-256 in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Hashes `files`, which lie under `root`: independent of where the checkout is, of the order and
/// of how its lines end.
pub(crate) fn hash_sources(
    root: &Path,
    files: &[PathBuf],
) -> Result<(String, BTreeMap<String, String>)> {
    let mut sources = BTreeMap::new();
    for file in files {
        let inside = file
            .strip_prefix(root)
            .with_context(|| format!("{} is outside the checkout", file.display()))?;
        let name: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
        let text = fs::read_to_string(file)
            .with_context(|| format!("cannot read {}", file.display()))?
            .replace("\r\n", "\n");
        sources.insert(name.join("/"), sha256(text.as_bytes()));
    }
    let list: String = sources
        .iter()
        .map(|(name, hash)| format!("{hash} {name}\n"))
        .collect();
    Ok((sha256(list.as_bytes()), sources))
}

/// The files that cargo's dependency list (`.d`) names.
pub(crate) fn dependency_list(list: &str) -> Vec<PathBuf> {
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

    fn checkout(files: &[(&str, &str)]) -> (tempfile::TempDir, Vec<PathBuf>) {
        let root = tempfile::tempdir().unwrap();
        let paths = files
            .iter()
            .map(|(name, text)| {
                let path = root.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, text).unwrap();
                path
            })
            .collect();
        (root, paths)
    }

    fn hash(files: &[(&str, &str)]) -> String {
        let (root, paths) = checkout(files);
        hash_sources(root.path(), &paths).unwrap().0
    }

    #[test]
    fn place_order_and_line_endings_do_not_matter() {
        let one = hash(&[("src/a.rs", "fn a() {}\n"), ("src/b.rs", "fn b() {}\n")]);
        let other = hash(&[("src/b.rs", "fn b() {}\r\n"), ("src/a.rs", "fn a() {}\n")]);
        assert_eq!(one, other);
    }

    #[test]
    fn names_and_contents_matter() {
        let one = hash(&[("src/a.rs", "fn a() {}\n")]);
        assert_ne!(one, hash(&[("src/b.rs", "fn a() {}\n")]));
        assert_ne!(one, hash(&[("src/a.rs", "fn a() { }\n")]));
    }

    #[test]
    fn hashes_are_sha256() {
        // FIPS 180-2, appendix B.1.
        assert_eq!(
            sha256(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn a_file_outside_the_checkout_is_refused() {
        let (_root, paths) = checkout(&[("a.rs", "")]);
        let other = tempfile::tempdir().unwrap();
        assert!(hash_sources(other.path(), &paths).is_err());
    }

    #[test]
    fn dependency_lists_are_read() {
        let list = "/t/k.ptx: /w/src/b.rs /w/my\\ folder/a.rs\n/t/k.rmeta: /w/src/b.rs\n\n";
        assert_eq!(
            dependency_list(list),
            [
                PathBuf::from("/w/my folder/a.rs"),
                PathBuf::from("/w/src/b.rs")
            ]
        );
    }

    fn build(sources: &[(&str, &str)]) -> Build {
        Build {
            file: "k.ptx".into(),
            sha256: "0".into(),
            rustc: "rustc 1.96.0".into(),
            llvm: "22.1.8".into(),
            recipe: "opt".into(),
            sources_sha256: "1".into(),
            sources: sources
                .iter()
                .map(|&(name, hash)| (name.to_owned(), hash.to_owned()))
                .collect(),
        }
    }

    #[test]
    fn changed_sources_are_named() {
        let before = build(&[("a", "1"), ("b", "2"), ("c", "3")]);
        let after = build(&[("a", "1"), ("b", "9"), ("d", "4")]);
        assert_eq!(before.changed_sources(&after), ["b", "c", "d"]);
        assert!(before.changed_sources(&before).is_empty());
    }

    #[test]
    fn a_manifest_survives_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("manifest.json");
        assert_eq!(Manifest::read(&path).unwrap(), Manifest::default());
        let manifest = Manifest {
            builds: [("sm_80".to_owned(), build(&[("a", "1")]))].into(),
        };
        manifest.write(&path).unwrap();
        assert_eq!(Manifest::read(&path).unwrap(), manifest);
        fs::write(&path, "{\"builds\": 3}").unwrap();
        assert!(Manifest::read(&path).is_err());
    }
}

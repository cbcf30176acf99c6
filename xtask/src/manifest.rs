//! `kernels-gpu/ptx/manifest.json`: the sources and tools that the committed PTX was built with.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use warpstride_build_ptx::compiler::DeviceCompiler;

/// The whole file: one record for each text, by the name of its file beside the manifest.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    pub(crate) texts: BTreeMap<String, Text>,
}

/// The origin of one PTX text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Text {
    /// The feature of `warpstride-kernels` that has the kernels.
    pub(crate) science: String,
    /// Compute capability times ten.
    pub(crate) arch: u32,
    /// SHA-256 of its bytes.
    pub(crate) sha256: String,
    /// First line of `rustc --version`.
    pub(crate) rustc: String,
    /// Version of the LLVM tools.
    pub(crate) llvm: String,
    /// Options of the link step that affect the code.
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
                .with_context(|| format!("{}: expected a manifest", path.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    /// The texts of a science, by the names of their files.
    pub(crate) fn of(&self, science: &str) -> impl Iterator<Item = (&str, &Text)> {
        self.texts
            .iter()
            .filter(move |(_, text)| text.science == science)
            .map(|(file, text)| (file.as_str(), text))
    }

    /// Writes the manifest to `path`.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}

impl Text {
    /// Whether `compiler` made it.
    pub(crate) fn built_by(&self, compiler: &DeviceCompiler) -> bool {
        self.rustc == compiler.rustc_version && self.llvm == compiler.llvm_version
    }

    /// The sources that differ, or that only one of the two has.
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

/// Hashes `files`, which lie under `root`. The result does not depend on the location of the
/// checkout, the order of the files, or line endings.
pub(crate) fn hash_sources(
    root: &Path,
    files: &[PathBuf],
) -> Result<(String, BTreeMap<String, String>)> {
    let mut sources = BTreeMap::new();
    for file in files {
        let inside = file
            .strip_prefix(root)
            .with_context(|| format!("{}: expected a file of the checkout", file.display()))?;
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

    fn build(sources: &[(&str, &str)]) -> Text {
        Text {
            science: "series".into(),
            arch: 80,
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
            texts: [("series.ptx".to_owned(), build(&[("a", "1")]))].into(),
        };
        manifest.write(&path).unwrap();
        assert_eq!(Manifest::read(&path).unwrap(), manifest);
        fs::write(&path, "{\"texts\": 3}").unwrap();
        assert!(Manifest::read(&path).is_err());
    }
}

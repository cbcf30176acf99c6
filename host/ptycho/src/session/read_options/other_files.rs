//! The files that the options name beside that of the scan.

use super::ReadOptions;
use std::path::{Path, PathBuf};

impl ReadOptions {
    /// The files that reading a scan reads beside its own: further frames, positions, dark, flat,
    /// mask and monitor. Those that links lead to are not among them.
    #[must_use]
    pub fn other_files(&self) -> Vec<PathBuf> {
        let further = self.files.iter().map(PathBuf::from);
        let positions = self.positions.iter().map(|of| of.path().0.to_owned());
        let arrays = [&self.dark, &self.flat, &self.mask, &self.monitor];
        let arrays = arrays
            .into_iter()
            .flatten()
            .filter_map(|name| file_of(name));
        let mut files: Vec<PathBuf> = further.chain(positions).chain(arrays).collect();
        let mut seen = std::collections::BTreeSet::new();
        files.retain(|file| seen.insert(file.clone()));
        files
    }
}

/// The file of an array that is called `/DATASET` (of the scan), `FILE:/DATASET` or `FILE`.
fn file_of(name: &str) -> Option<PathBuf> {
    match name.rsplit_once(':') {
        Some((file, dataset)) if dataset.starts_with('/') && !file.is_empty() => Some(file.into()),
        _ if name.starts_with('/') && !Path::new(name).is_file() => None,
        _ => Some(name.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_once() {
        let options: ReadOptions = toml::from_str(
            "files = [\"b.h5\"]\ndark = \"c.h5:/d\"\nflat = \"c.h5:/f\"\nmask = \"/entry/mask\"\nmonitor = \"i.npy\"\n[positions]\nfile = \"p.h5:/xy\"\n",
        )
        .unwrap();
        let names = ["b.h5", "p.h5", "c.h5", "i.npy"];
        assert_eq!(options.other_files(), names.map(PathBuf::from));
    }
}

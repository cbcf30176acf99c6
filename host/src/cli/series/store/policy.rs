//! `--policy`.

use crate::cli::failure::Failure;
use std::io::Read;
use std::path::Path;
use warpstride::series::store::Policy;

/// Longest file of a policy, bytes.
const LONGEST: u64 = 1 << 20;

/// A built-in policy, or one of a file.
pub(super) fn read(word: &str) -> Result<Policy, Failure> {
    if let Some(policy) = Policy::built_in(word) {
        return Ok(policy);
    }
    let path = Path::new(word);
    let toml = path.extension().is_some_and(|ending| ending == "toml");
    if !toml && !path.exists() {
        return Err(Failure::usage(format!(
            "--policy {word}: low, medium, high or the name of a TOML file is expected"
        )));
    }
    let cannot =
        |e: &dyn std::fmt::Display| Failure::failed(format!("{word}: cannot be read: {e}"));
    let file = std::fs::File::open(path).map_err(|e| cannot(&e))?;
    let mut text = String::new();
    let mut some = file.take(LONGEST + 1);
    some.read_to_string(&mut text).map_err(|e| cannot(&e))?;
    if text.len() as u64 > LONGEST {
        return Err(cannot(&"a policy of at most 1 MiB is expected"));
    }
    let name = path.file_stem().unwrap_or(path.as_os_str());
    Ok(Policy::from_toml(word, &name.to_string_lossy(), &text)?)
}

//! The option `--policy`.

use crate::failure::Failure;
use std::io::Read;
use std::path::Path;
use warpstride::series::store::Policy;

/// Largest size of a policy file in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Returns a built-in policy, or reads one from a file.
pub(super) fn read(argument: &str) -> Result<Policy, Failure> {
    if let Some(policy) = Policy::built_in(argument) {
        return Ok(policy);
    }
    let path = Path::new(argument);
    let toml = path.extension().is_some_and(|ending| ending == "toml");
    if !toml && !path.exists() {
        return Err(Failure::usage(format!(
            "--policy {argument}: expected low, medium, high or the name of a TOML file"
        )));
    }
    let cannot =
        |e: &dyn std::fmt::Display| Failure::failed(format!("{argument}: cannot be read: {e}"));
    // Opening a pipe waits for its writer.
    if !std::fs::metadata(path).map_err(|e| cannot(&e))?.is_file() {
        return Err(Failure::failed(format!(
            "{argument}: expected a policy (TOML), found a folder, device or pipe"
        )));
    }
    let file = std::fs::File::open(path).map_err(|e| cannot(&e))?;
    let mut text = String::new();
    let mut limited = file.take(MAX_FILE_BYTES + 1);
    limited.read_to_string(&mut text).map_err(|e| cannot(&e))?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(Failure::failed(format!(
            "{argument}: expected a policy (TOML) of at most {MAX_FILE_BYTES} bytes, found more"
        )));
    }
    let name = path.file_stem().unwrap_or(path.as_os_str());
    Ok(Policy::from_toml(argument, &name.to_string_lossy(), &text)?)
}
